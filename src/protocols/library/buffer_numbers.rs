//! Numbers of the library's own buffers: who has one, and when it is free again. They stage messages in
//! pieces, and keep unexpected ones.
//!
//! ```text
//!   free ──▶ a message has it ──▶ a thread empties it ──▶ free
//!                                  (until its next input)
//! ```
//!
//! A message is over when the actions that empty its buffer are requested, and its thread's core carries
//! them out one after the other. Until it is through, another thread of the process that runs beside it
//! (own or independent lanes) must not have the buffer. A thread that has another input is through: the
//! contract gives it none before.

use std::collections::BTreeSet;

use super::Thread;

/// The numbers of one process, for buffers of one use.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct BufferNumbers {
    /// Those below are in use, or emptied, or free.
    below: u32,
    free: BTreeSet<u32>,
    /// Those of messages that are over, with the threads that empty them.
    emptied: Vec<(Thread, u32)>,
}

impl BufferNumbers {
    /// The lowest free number, for a message of this thread.
    pub(super) fn take(&mut self, thread: Thread) -> u32 {
        self.is_through(thread);
        self.take_lowest()
    }

    /// The lowest free number, for a message.
    pub(super) fn take_lowest(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.below = self.below.checked_add(1).expect("fewer than 2^32 messages are open");
            self.below - 1
        })
    }

    /// The lowest free number.
    #[inline]
    pub(super) fn lowest(&self) -> u32 {
        self.free.first().copied().unwrap_or(self.below)
    }

    /// The message of this buffer is over; `by` is the thread that empties it, where others run beside.
    pub(super) fn give_back(&mut self, number: u32, by: Option<Thread>) {
        match by {
            Some(thread) => self.emptied.push((thread, number)),
            None => self.set_free(number),
        }
    }

    /// A thread has an input: it has emptied what it was to empty.
    #[inline]
    pub(super) fn is_through(&mut self, thread: Thread) {
        if !self.emptied.is_empty() {
            self.free_emptied(thread);
        }
    }

    fn free_emptied(&mut self, thread: Thread) {
        let (its, others): (Vec<_>, Vec<_>) =
            self.emptied.iter().copied().partition(|(by, _)| *by == thread);
        self.emptied = others;
        for (_, number) in its {
            self.set_free(number);
        }
    }

    fn set_free(&mut self, number: u32) {
        self.free.insert(number);
        // Equal situations look equal, whatever led to them.
        while self.below > 0 && self.free.remove(&(self.below - 1)) {
            self.below -= 1;
        }
    }

    /// Whether no buffer is in use.
    pub(super) const fn is_idle(&self) -> bool {
        self.below == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Thread = Thread(0);
    const B: Thread = Thread(1);

    #[test]
    fn the_lowest_number_is_taken_again() {
        let mut numbers = BufferNumbers::default();
        let taken: Vec<_> = (0..4).map(|_| numbers.take(A)).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
        for number in [2, 1] {
            numbers.give_back(number, None);
        }
        assert_eq!([numbers.take(A), numbers.take(B), numbers.take(A)], [1, 2, 4]);
    }

    #[test]
    fn a_buffer_is_nobody_s_while_a_thread_empties_it() {
        let mut numbers = BufferNumbers::default();
        assert_eq!((numbers.take(A), numbers.take(A)), (0, 1));
        numbers.give_back(0, Some(B));
        assert_eq!(numbers.take(A), 2, "B is not through with 0");
        numbers.is_through(A);
        assert_eq!(numbers.take(A), 3);
        assert_eq!(numbers.take(B), 0, "B itself is");
    }

    /// A thread that empties without ever sending does not make numbers grow.
    #[test]
    fn numbers_stay_few_where_another_thread_empties() {
        let mut numbers = BufferNumbers::default();
        for _ in 0..70_000 {
            let number = numbers.take(A);
            assert!(number < 2);
            numbers.is_through(B);
            numbers.give_back(number, Some(B));
        }
        numbers.is_through(B);
        assert!(numbers.is_idle() && numbers == BufferNumbers::default());
    }

    /// As many as a 16-bit number could not name, at once and one after the other.
    #[test]
    fn more_messages_than_a_short_number_counts_have_buffers_of_their_own() {
        const MANY: u32 = 70_000;
        let mut numbers = BufferNumbers::default();
        for number in 0..MANY {
            assert_eq!(numbers.take(A), number);
        }
        for number in (0..MANY).rev() {
            numbers.give_back(number, None);
        }
        assert_eq!(numbers, BufferNumbers::default(), "what is idle is as at the start");
        for _ in 0..MANY {
            assert_eq!(numbers.take(A), 0);
            numbers.give_back(0, None);
        }
    }
}
