//! What two groups tell each other through their leaders: a context, and any numbers of each side.
//!
//! ```text
//!   swap   the leaders send each other their words, one for one, through a communicator of both
//!   tell   each leader sends its group what it has received, rank by rank
//! ```
//!
//! The greater context of both is that of both. The first word has the count of numbers and the
//! context, each further one two numbers: words travel in headers, as those of an [agreement].
//!
//! Source: MPI-3.1, Sec. 6.6.1 (the leaders' exchange); how a leader tells its group is not said
//! there. Left out: a tree in the second step. Noticeable where groups are large.
//!
//! [agreement]: super::agreement

use std::sync::Arc;

use mpi::envelope::Rank;

/// Which communicator a word goes through.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Through {
    /// That of both leaders.
    Peer,
    /// That of the own group.
    Own,
}

/// One step: a word to send, a word to receive, or both.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exchange {
    /// Both sides' communicator.
    pub through: Through,
    /// Receiver of this rank's word, and the word.
    pub to: Option<(Rank, u64)>,
    /// Sender of the word that is received.
    pub from: Option<Rank>,
}

/// One rank's progress.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Coupling {
    role: Role,
    /// Words that were sent.
    sent: usize,
    /// Words that were received.
    heard: Vec<u64>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Role {
    /// Swaps these words with rank `remote` of the peer communicator.
    Swaps { words: Arc<[u64]>, remote: Rank, group: Group },
    /// Tells its group these.
    Tells { words: Arc<[u64]>, group: Group },
    /// Gets a word from this rank.
    Told { by: Rank },
}

/// The group of a leader, without itself.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Group {
    leader: Rank,
    size: u32,
}

impl Coupling {
    /// The leader of a group of `size` ranks: it has this context and these numbers for rank
    /// `remote` of the peer communicator, which leads the other group.
    pub fn leader(leader: Rank, size: u32, remote: Rank, context: u32, numbers: &[u32]) -> Self {
        let (words, group) = (words(context, numbers), Group { leader, size });
        Self { role: Role::Swaps { words, remote, group }, sent: 0, heard: Vec::new() }
    }

    /// Another rank of a group with this leader.
    pub const fn member(leader: Rank) -> Self {
        Self { role: Role::Told { by: leader }, sent: 0, heard: Vec::new() }
    }

    /// The next step; `None` when everything is known and sent.
    pub fn next_exchange(&mut self) -> Option<Exchange> {
        let hears = !self.has_heard_all();
        match &self.role {
            Role::Swaps { words, remote, .. } if hears || self.sent < words.len() => {
                let to = words.get(self.sent).map(|word| (*remote, *word));
                self.sent += usize::from(to.is_some());
                Some(Exchange { through: Through::Peer, to, from: hears.then_some(*remote) })
            }
            Role::Swaps { group, .. } => {
                let words = words(self.context(), &self.numbers());
                (self.role, self.sent) = (Role::Tells { words, group: *group }, 0);
                self.next_exchange()
            }
            Role::Tells { words, group } => {
                let (place, word) = (self.sent / words.len(), words[self.sent % words.len()]);
                let mut others = (0..group.size).map(Rank).filter(|rank| *rank != group.leader);
                let to = others.nth(place)?;
                self.sent += 1;
                Some(Exchange { through: Through::Own, to: Some((to, word)), from: None })
            }
            Role::Told { by } => {
                hears.then_some(Exchange { through: Through::Own, to: None, from: Some(*by) })
            }
        }
    }

    /// The word of a step has come.
    pub fn hear(&mut self, word: u64) {
        self.heard.push(word);
    }

    fn has_heard_all(&self) -> bool {
        self.heard.first().is_some_and(|first| self.heard.len() > count(*first).div_ceil(2))
    }

    /// The context of both sides, once everything is known.
    pub fn context(&self) -> u32 {
        let own = match &self.role {
            Role::Swaps { words, .. } | Role::Tells { words, .. } => low(words[0]),
            Role::Told { .. } => 0,
        };
        self.heard.first().map_or(own, |first| own.max(low(*first)))
    }

    /// The numbers of the other side, once everything is known.
    pub fn numbers(&self) -> Vec<u32> {
        let Some((first, words)) = self.heard.split_first() else { return Vec::new() };
        words.iter().flat_map(|word| [low(*word), low(word >> 32)]).take(count(*first)).collect()
    }
}

fn words(context: u32, numbers: &[u32]) -> Arc<[u64]> {
    let first = (numbers.len() as u64) << 32 | u64::from(context);
    let pair = |pair: &[u32]| {
        u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or_default()) << 32
    };
    std::iter::once(first).chain(numbers.chunks(2).map(pair)).collect()
}

fn low(word: u64) -> u32 {
    u32::try_from(word & 0xFFFF_FFFF).expect("masked to 32 bits")
}

fn count(first: u64) -> usize {
    low(first >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    /// Where a word waits: a side, and the rank there that receives it; none in the peer communicator.
    type Place = (usize, Option<usize>);

    /// A rank, and where the word is that it waits for.
    type Running = (Coupling, Option<Place>);

    /// All ranks of both sides, and the words under way.
    struct World {
        sides: [Vec<Running>; 2],
        words: BTreeMap<Place, VecDeque<u64>>,
        messages: usize,
    }

    impl World {
        fn new(sizes: [u32; 2], leaders: [u32; 2], numbers: [&[u32]; 2]) -> Self {
            let rank = |side: usize, rank: u32| {
                let leader = Rank(leaders[side]);
                if rank != leader.0 {
                    return (Coupling::member(leader), None);
                }
                let context = 10 + 2 * u32::try_from(side).unwrap();
                (Coupling::leader(leader, sizes[side], Rank(9), context, numbers[side]), None)
            };
            let side = |side: usize| (0..sizes[side]).map(|at| rank(side, at)).collect();
            Self { sides: [0, 1].map(side), words: BTreeMap::new(), messages: 0 }
        }

        /// One step of a rank; false where it has ended or waits.
        fn step(&mut self, side: usize, at: usize) -> bool {
            let (rank, awaited) = &mut self.sides[side][at];
            if let Some(place) = awaited {
                let word = self.words.get_mut(place).and_then(VecDeque::pop_front);
                let Some(word) = word else { return false };
                *awaited = None;
                rank.hear(word);
                return true;
            }
            let Some(Exchange { through, to, from }) = rank.next_exchange() else { return false };
            let own = through == Through::Own;
            *awaited = from.map(|_| (side, own.then_some(at)));
            if let Some((to, word)) = to {
                let there = if own { (side, Some(to.0 as usize)) } else { (1 - side, None) };
                self.words.entry(there).or_default().push_back(word);
                self.messages += 1;
            }
            true
        }

        fn run(&mut self) {
            let all = |side: usize, ranks: usize| (0..ranks).map(move |at| (side, at));
            let sizes = self.sides.each_ref().map(Vec::len);
            let ranks: Vec<_> = all(0, sizes[0]).chain(all(1, sizes[1])).collect();
            let mut goes_on = true;
            while goes_on {
                goes_on = false;
                for (side, at) in &ranks {
                    goes_on |= self.step(*side, *at);
                }
            }
        }
    }

    #[test]
    fn each_side_hears_the_numbers_of_the_other_and_one_context() {
        let long: Vec<u32> = (0..9).map(|number| u32::MAX - number).collect();
        for (sizes, leaders) in [([1, 1], [0, 0]), ([3, 1], [2, 0]), ([4, 5], [1, 4])] {
            for numbers in [[&long[..], &[][..]], [&[7], &long], [&long[..4], &long[2..]]] {
                let mut world = World::new(sizes, leaders, numbers);
                world.run();
                for (side, other) in [(0, 1), (1, 0)] {
                    for (rank, awaited) in &world.sides[side] {
                        assert_eq!(rank.numbers(), numbers[other], "{sizes:?}");
                        assert_eq!((rank.context(), awaited), (12, &None));
                    }
                }
                let words = |side: usize| 1 + numbers[side].len().div_ceil(2);
                let told = |side: usize| (sizes[side] as usize - 1) * words(1 - side);
                assert_eq!(world.messages, words(0) + words(1) + told(0) + told(1));
            }
        }
    }
}
