//! What the processes of a window tell each other together: addresses, counts, or nothing.
//!
//! ```text
//!   gather   know blocks of d ranks; send rank - d as many, receive as many from rank + d; d doubles
//!   scatter  d halves: tell rank + d the sums for ranks from there on, add what rank - d tells
//!   barrier  send to rank + d, receive from rank - d; d doubles
//! ```
//!
//! Each takes ceil(log2 P) rounds. The scatter is the gather backwards: it ends with the sum of what
//! all ranks have for this one, as `MPI_Reduce_scatter_block` does.
//!
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications
//! in multiport message-passing systems, 1997; Hensgen, Finkel, Manber 1988 (the barrier).

use std::sync::Arc;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Pattern {
    Gather { width: usize },
    Scatter,
    Barrier,
}

/// One rank's part of an exchange.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Exchange {
    rank: usize,
    size: usize,
    pattern: Pattern,
    /// Distance of this round; 0 when a scatter is over.
    distance: usize,
    words: Vec<u64>,
}

/// One message of an exchange, and the one that is waited for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Leg {
    /// Receiver of this rank's words.
    pub(super) to: u32,
    /// Sender of the words that are received.
    pub(super) from: u32,
    /// Words to send.
    pub(super) words: Arc<[u64]>,
}

impl Exchange {
    /// Every rank gets the words of all: as many from each.
    pub(super) fn gather(rank: u32, size: u32, own: &[u64]) -> Self {
        let pattern = Pattern::Gather { width: own.len() };
        Self::new(rank, size, pattern, 1, own.to_vec())
    }

    /// Every rank gets the sum of what all have for it; `of` has a number for each rank.
    pub(super) fn scatter(rank: u32, size: u32, of: impl Fn(u32) -> u64) -> Self {
        let numbers = (0..size).map(|step| of((rank + step) % size)).collect();
        let distance = if size > 1 { 1 << (size - 1).ilog2() } else { 0 };
        Self::new(rank, size, Pattern::Scatter, distance, numbers)
    }

    /// No rank knows its end before all have started it.
    pub(super) fn barrier(rank: u32, size: u32) -> Self {
        Self::new(rank, size, Pattern::Barrier, 1, Vec::new())
    }

    fn new(rank: u32, size: u32, pattern: Pattern, distance: usize, words: Vec<u64>) -> Self {
        Self { rank: rank as usize, size: size as usize, pattern, distance, words }
    }

    /// The message of this round; `None` when everything is known.
    ///
    /// # Panics
    ///
    /// Never: ranks are below 2^32.
    pub(super) fn leg(&self) -> Option<Leg> {
        let rank = |at: usize| u32::try_from(at % self.size).expect("ranks are u32");
        let (distance, size) = (self.distance, self.size);
        let (up, down) = (rank(self.rank + distance), rank(self.rank + size - distance % size));
        match self.pattern {
            Pattern::Gather { width } => (distance < size).then(|| {
                let blocks = distance.min(size - distance);
                Leg { to: down, from: up, words: self.words[..blocks * width].into() }
            }),
            Pattern::Scatter => (distance > 0).then(|| {
                let told = &self.words[distance..];
                Leg { to: up, from: down, words: told.into() }
            }),
            Pattern::Barrier => {
                (distance < size).then(|| Leg { to: up, from: down, words: Arc::default() })
            }
        }
    }

    /// The words of the round's other side have come.
    pub(super) fn hear(&mut self, words: &[u64]) {
        match self.pattern {
            Pattern::Gather { .. } => {
                self.words.extend(words);
                self.distance *= 2;
            }
            Pattern::Scatter => {
                self.words.truncate(self.distance);
                for (sum, word) in self.words.iter_mut().zip(words) {
                    *sum += word;
                }
                self.distance /= 2;
            }
            Pattern::Barrier => self.distance *= 2,
        }
    }

    /// After a gather: the words of each rank.
    pub(super) fn gathered(&self) -> impl Iterator<Item = &[u64]> {
        let Pattern::Gather { width } = self.pattern else { unreachable!("it is no gather") };
        let (size, rank) = (self.size, self.rank);
        (0..size).map(move |at| {
            let block = (at + size - rank) % size;
            &self.words[block * width..][..width]
        })
    }

    /// After a scatter: the sum for this rank.
    pub(super) fn sum(&self) -> u64 {
        self.words[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers messages of all ranks until none is left; answers the number of messages.
    fn talk(all: &mut [Exchange]) -> usize {
        let mut messages = 0;
        loop {
            let legs: Vec<Option<Leg>> = all.iter().map(Exchange::leg).collect();
            if legs.iter().all(Option::is_none) {
                return messages;
            }
            for (rank, exchange) in all.iter_mut().enumerate() {
                let leg = legs[rank].as_ref().expect("all ranks take as many rounds");
                let heard = legs[leg.from as usize].as_ref().expect("as above");
                assert_eq!(heard.to as usize, rank);
                exchange.hear(&heard.words);
                messages += 1;
            }
        }
    }

    #[test]
    fn everybody_learns_everybodys_words() {
        for size in 1..=33 {
            let own = |rank: u32| [u64::from(rank) * 7, 1000 + u64::from(rank)];
            let mut all: Vec<_> =
                (0..size).map(|rank| Exchange::gather(rank, size, &own(rank))).collect();
            talk(&mut all);
            for exchange in &all {
                let gathered: Vec<Vec<u64>> = exchange.gathered().map(<[u64]>::to_vec).collect();
                assert_eq!(gathered, (0..size).map(|r| own(r).to_vec()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn everybody_learns_the_sum_of_what_is_for_it_in_log_rounds() {
        for size in 1..=33_u32 {
            let count = |from: u32, to: u32| u64::from(from * 100 + to * to);
            let mut all: Vec<_> =
                (0..size).map(|rank| Exchange::scatter(rank, size, |to| count(rank, to))).collect();
            let messages = talk(&mut all);
            let rounds = size.next_power_of_two().ilog2();
            assert_eq!(messages, (size * rounds) as usize);
            for (to, exchange) in (0..size).zip(&all) {
                assert_eq!(exchange.sum(), (0..size).map(|from| count(from, to)).sum::<u64>());
            }
        }
    }

    #[test]
    fn nobody_leaves_a_barrier_before_everybody_has_entered() {
        for size in 1..=17_u32 {
            for late in 0..size {
                let mut all: Vec<_> = (0..size).map(|rank| Exchange::barrier(rank, size)).collect();
                // All but one go on as far as they can.
                let mut said = vec![Vec::new(); size as usize];
                loop {
                    let mut moved = false;
                    for rank in (0..size).filter(|&rank| rank != late) {
                        let Some(leg) = all[rank as usize].leg() else { continue };
                        let round = all[rank as usize].distance;
                        if !said[rank as usize].contains(&round) {
                            said[rank as usize].push(round);
                        }
                        if said[leg.from as usize].contains(&round) {
                            all[rank as usize].hear(&[]);
                            moved = true;
                        }
                    }
                    if !moved {
                        break;
                    }
                }
                let out = (0..size).filter(|&rank| rank != late);
                assert!(out.into_iter().all(|rank| all[rank as usize].leg().is_some()));
            }
        }
    }
}
