//! Numbers that messages of the library's own carry in their headers, kept for the thread that waits.

use std::collections::BTreeMap;

use super::{Key, Thread};

/// The numbers that messages have brought to the threads of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Carried {
    /// By each thread's inner receive.
    inner: Vec<u64>,
    /// By the first chunks of messages to GPU memory, for each thread that receives one.
    chunks: BTreeMap<Thread, Option<u64>>,
    /// By the messages of each duplicate of a communicator that is under way.
    words: Option<Box<Words>>,
}

/// The last number that came for each duplicate, by its slot.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Words(BTreeMap<u16, u64>);

impl Carried {
    /// For so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self { inner: vec![0; threads], chunks: BTreeMap::new(), words: None }
    }

    /// A receive is matched with a message that carries `word`.
    #[inline]
    pub(super) fn receive(&mut self, key: Key, word: u64) {
        match key {
            Key::Inner(thread) => self.inner[usize::from(thread.0)] = word,
            Key::Part(thread, 1) => {
                if let Some(number) = self.chunks.get_mut(&thread) {
                    *number = Some(word);
                }
            }
            Key::Later(slot, 0) => {
                if let Some(number) = self.words.as_mut().and_then(|words| words.0.get_mut(&slot)) {
                    *number = word;
                }
            }
            Key::User(_)
            | Key::Part(..)
            | Key::Buffered(_)
            | Key::Later(..)
            | Key::Joint(..)
            | Key::Partition(..) => {}
        }
    }

    /// The number that a receive of an agreement brought: a thread's inner one, or that of a duplicate.
    ///
    /// # Panics
    ///
    /// Where no agreement has such a receive.
    pub(super) fn word(&self, key: Key) -> u64 {
        if let Key::Inner(thread) = key {
            self.inner[usize::from(thread.0)]
        } else if let Key::Later(slot, _) = key {
            self.words.as_ref().expect("a duplicate is under way").0[&slot]
        } else {
            unreachable!("{key:?} is no receive of an agreement")
        }
    }

    /// A duplicate is under way in this slot.
    pub(super) fn await_word(&mut self, slot: u16) {
        self.words.get_or_insert_default().0.insert(slot, 0);
    }

    /// The duplicate of this slot is over.
    pub(super) fn end_words(&mut self, slot: u16) {
        if let Some(words) = &mut self.words {
            words.0.remove(&slot);
        }
    }

    /// A thread receives a message to GPU memory: its first chunk is [`Key::Part`] 1.
    pub(super) fn await_chunk(&mut self, thread: Thread) {
        self.chunks.insert(thread, None);
    }

    /// The number that the first chunk brought.
    pub(super) fn chunk(&self, thread: Thread) -> Option<u64> {
        *self.chunks.get(&thread)?
    }

    /// The message to GPU memory is complete.
    pub(super) fn end_chunks(&mut self, thread: Thread) {
        self.chunks.remove(&thread);
    }
}
