//! What processes agree on to make or free communicators: a context, and a few numbers of all,
//! as that of its endpoints.
//!
//! ```text
//!   Contexts   round k: send rank + 2^k the greatest context number known, receive from rank - 2^k
//!   Counts     round k: send rank - 2^k all counts known, receive as many from rank + 2^k
//! ```
//!
//! Both take ceil(log2 P) rounds. Counts travel four in a word of the library's own messages, so
//! that they do not depend on whether payloads exist.
//!
//! Source: `endpoints` Sec. 3.2 (collective over the parent); Bruck, Ho, Kipnis, Upfal, Weathersby:
//! Efficient algorithms for all-to-all communications in multiport message-passing systems, 1997
//! (the all-gather); Hensgen, Finkel, Manber 1988 (the dissemination).

use mpi::envelope::Rank;

/// Bit of the tags of the first phase.
/// Encoding: collectives have their kind from bit 16 on, and lie below.
const CONTEXTS: i32 = 1 << 24;
/// Bit of the tags of the second phase.
/// Encoding: the bit above that of the first one.
const COUNTS: i32 = 1 << 25;
/// Counts in a word.
/// Encoding: 16 bits each, in a word of 64.
const IN_A_WORD: usize = 4;

/// One rank's progress.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Agreement {
    rank: usize,
    size: usize,
    round: u32,
    /// Words of this round that were exchanged.
    part: usize,
    context: u32,
    /// The values known, of this rank and those after it.
    values: Vec<u16>,
    /// Values of each rank; without any only the context matters.
    width: usize,
    /// Ranks whose values were known when the round began.
    before: usize,
}

/// One word to send, and one to receive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exchange {
    /// Receiver of this rank's word.
    pub to: Rank,
    /// Sender of the word that is received.
    pub from: Rank,
    /// Tag of both.
    pub tag: i32,
    /// The word.
    pub word: u64,
}

impl Agreement {
    /// The agreement on a context not below `context`, and on the counts where this rank has one.
    pub fn new(rank: Rank, size: u32, context: u32, count: Option<u16>) -> Self {
        Self::of_values(rank, size, context, count.as_slice())
    }

    /// The agreement on a context, and on as many values of each rank.
    pub fn of_values(rank: Rank, size: u32, context: u32, values: &[u16]) -> Self {
        Self {
            rank: rank.0 as usize,
            size: size as usize,
            round: 0,
            part: 0,
            context,
            values: values.to_vec(),
            width: values.len(),
            before: 0,
        }
    }

    /// The agreement on as many more values of each rank, in the context that all have agreed on.
    pub fn on_more(&self, values: &[u16]) -> Self {
        let (values, width) = (values.to_vec(), values.len());
        Self { values, width, round: 0, part: 0, before: 1, ..*self }
    }

    /// How many ranks agree.
    ///
    /// # Panics
    ///
    /// Never: ranks are numbered in 32 bits.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.size).expect("ranks are u32")
    }

    /// The next exchange; `None` when everything is known.
    ///
    /// # Panics
    ///
    /// Never: there are fewer than 32 rounds and 2^32 ranks.
    pub fn next_exchange(&mut self) -> Option<Exchange> {
        let rank = |at: usize| Rank(u32::try_from(at % self.size).expect("ranks are u32"));
        let tag = i32::try_from(self.round).expect("at most 32 rounds");
        if self.before == 0 {
            let distance = 1 << self.round;
            if distance < self.size {
                let (to, from) =
                    (rank(self.rank + distance), rank(self.rank + self.size - distance));
                return Some(Exchange { to, from, tag: CONTEXTS + tag, word: self.context.into() });
            }
            if self.width == 0 {
                return None;
            }
            (self.round, self.part, self.before) = (0, 0, 1);
            return self.next_exchange();
        }
        if self.before >= self.size || self.width == 0 {
            return None;
        }
        let (to, from) = (rank(self.rank + self.size - self.before), rank(self.rank + self.before));
        let first = self.part * IN_A_WORD;
        let sent = &self.values[first..self.wanted().min(first + IN_A_WORD)];
        let word = sent.iter().rev().fold(0, |word, &count| word << 16 | u64::from(count));
        Some(Exchange { to, from, tag: COUNTS + tag, word })
    }

    /// Values of this round.
    fn wanted(&self) -> usize {
        self.before.min(self.size - self.before) * self.width
    }

    /// The word of the exchange's other side has come.
    ///
    /// # Panics
    ///
    /// When it is no word of an agreement: a defect of the library.
    pub fn hear(&mut self, word: u64) {
        if self.before == 0 {
            let context = u32::try_from(word).expect("contexts are u32");
            self.context = self.context.max(context);
            self.round += 1;
            return;
        }
        let left = self.wanted() - self.part * IN_A_WORD;
        let heard = (0..left.min(IN_A_WORD)).map(|index| low(word >> (16 * index)));
        self.values.extend(heard);
        self.part += 1;
        if self.part * IN_A_WORD >= self.wanted() {
            self.before = self.values.len() / self.width;
            (self.part, self.round) = (0, self.round + 1);
        }
    }

    /// The context that all agree on.
    pub const fn context(&self) -> u32 {
        self.context
    }

    /// The counts by rank, once everything is known.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = u16> + '_ {
        let (size, rank) = (self.size, self.rank);
        (0..size).map(move |at| self.values[(at + size - rank) % size])
    }

    /// The values by rank, once everything is known.
    pub fn values(&self) -> Vec<u16> {
        let (size, width) = (self.size, self.width);
        let of = |at: usize| {
            let first = (at + size - self.rank) % size * width;
            &self.values[first..first + width]
        };
        (0..size).flat_map(of).copied().collect()
    }
}

fn low(word: u64) -> u16 {
    u16::try_from(word & 0xFFFF).expect("masked to 16 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_knows_the_greatest_context_and_all_counts() {
        for size in 1..=40_u32 {
            let count = |rank: u32| u16::try_from((rank * 7 + 1) % 65_536).unwrap();
            let mut all: Vec<Agreement> = (0..size)
                .map(|rank| Agreement::new(Rank(rank), size, 10 + rank % 5, Some(count(rank))))
                .collect();
            let mut messages = 0;
            loop {
                let said: Vec<_> = all.iter_mut().map(Agreement::next_exchange).collect();
                if said.iter().all(Option::is_none) {
                    break;
                }
                for (rank, said_here) in said.iter().enumerate() {
                    let heard = said_here.unwrap();
                    let other = said[heard.from.0 as usize].unwrap();
                    assert_eq!((other.to.0 as usize, other.tag), (rank, heard.tag));
                    all[rank].hear(other.word);
                    messages += 1;
                }
            }
            for agreement in &all {
                assert_eq!(agreement.context(), 10 + (size - 1).min(4));
                let counts: Vec<u16> = agreement.counts().collect();
                assert_eq!(counts, (0..size).map(count).collect::<Vec<_>>());
            }
            let rounds = u64::from(size.next_power_of_two().ilog2());
            let words = u64::from(size) * (2 * rounds + u64::from(size) / 4 + 1);
            assert!(messages <= words, "{messages} messages among {size}");
        }
    }

    #[test]
    fn without_counts_it_is_a_barrier() {
        let mut lone = Agreement::new(Rank(0), 1, 3, None);
        assert_eq!(lone.next_exchange(), None);
        let mut pair = Agreement::new(Rank(1), 2, 3, None);
        let said = pair.next_exchange().unwrap();
        assert_eq!((said.to, said.from), (Rank(0), Rank(0)));
        pair.hear(9);
        assert_eq!((pair.next_exchange(), pair.context()), (None, 9));
    }
}
