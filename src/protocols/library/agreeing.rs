//! How a process agrees with others: one message after the other, in one call.
//!
//! ```text
//!   call ─▶ send, post a receive ─▶ its message comes ─▶ the next … ─▶ all have agreed ─▶ return
//! ```
//!
//! [`agreement`] and [`coupling`] decide on the numbers; here they become messages of the library's own.
//! Agreements of two threads of a process run beside each other where their parents differ, or the tags
//! of groups: each thread has an inner receive of its own.
//!
//! [`agreement`]: collectives::agreement
//! [`coupling`]: collectives::coupling

use std::sync::Arc;

use super::messages::Messages;
use super::{Key, LibraryAction, ProtocolError, Thread};
use crate::call::{Comm, GROUP_TAG_MAX, NamedEdges};
use collectives::agreement::Agreement;
use collectives::coupling::{Coupling, Through};
use mpi::envelope::{Context, Rank};
use mpi::topology::Topology;

/// An agreement under way.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Agreeing {
    pub(super) parent: Comm,
    talk: Talk,
    /// The parent ranks that agree, where they are not all.
    pub(super) among: Option<Arc<[Rank]>>,
    /// The parent ranks that have the new communicator, where those who agree are more.
    pub(super) some: Option<Arc<[Rank]>>,
    /// The topology of the new communicator.
    pub(super) topology: Option<Topology>,
    /// Edges of it that each rank names.
    edges: Option<Box<Edges>>,
    /// Keeps the messages of agreements apart that several groups of one parent may have at once.
    base: i32,
    pub(super) purpose: Purpose,
}

/// Edges of a graph that each rank names.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Edges {
    own: Arc<NamedEdges>,
    /// How many each rank names, once all know.
    counts: Option<Box<[u32]>>,
}

/// Which processes exchange messages.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Talk {
    /// All with all.
    All(Agreement),
    /// Two groups through their leaders.
    Leaders { coupling: Coupling, peer: Peering },
}

/// How a leader reaches the other one; others of its group have no use for it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Peering {
    /// The communicator of both.
    pub(super) comm: Comm,
    /// The tag of its messages.
    pub(super) says: i32,
    /// The tag of the messages that it receives.
    pub(super) hears: i32,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Purpose {
    Create {
        first: Comm,
        count: u16,
    },
    Free {
        context: Context,
    },
    Dup {
        new: Comm,
    },
    /// None: without a color.
    Split {
        new: Option<Comm>,
    },
    Group {
        new: Comm,
    },
    /// Some of those who agree: None, if the caller is not among them.
    Some {
        new: Option<Comm>,
    },
    Intercomm {
        new: Comm,
    },
    Merge {
        new: Comm,
    },
    Couple,
    Numbers,
}

/// Bit of the tags of agreements of some members.
/// Encoding: agreements of all members lie below.
const GROUPS: i32 = 1 << 26;
/// Bit of the tags of agreements in which members free endpoints.
/// Encoding: the bit above that.
const FREES: i32 = 1 << 27;
/// Bit of the tags of agreements of two groups.
/// Encoding: the bit above that; with that one they are the tags of duplicates.
const TOLD: i32 = 1 << 28;
const DUPLICATES: i32 = TOLD | FREES;
/// Bits of a tag for the rounds of an agreement.
/// Encoding: an agreement has fewer than 2^5.
const ROUNDS: i32 = 5;
/// Above the tag of a group stand the phases of an agreement.
const _: () = assert!(GROUP_TAG_MAX < 1 << (24 - ROUNDS));

/// Nonblocking duplicates of one communicator, before their numbers come again.
/// Encoding: the bits of a tag between those of the rounds and of the kind of agreement.
pub(super) const MOST_NUMBERED: u32 = 1 << (24 - ROUNDS);

/// Words of an agreement that carry a number.
/// Encoding: 16 bits each.
const WORDS: usize = 2;

pub(super) fn words(numbers: impl IntoIterator<Item = u32>) -> Vec<u16> {
    let halves = |number: u32| [low(number), low(number >> 16)];
    numbers.into_iter().flat_map(halves).collect()
}

pub(super) fn numbers(words: &[u16]) -> Vec<u32> {
    let number = |halves: &[u16]| u32::from(halves[0]) | u32::from(halves[1]) << 16;
    words.chunks_exact(WORDS).map(number).collect()
}

fn low(number: u32) -> u16 {
    u16::try_from(number & 0xFFFF).expect("masked to 16 bits")
}

/// The messages of one step.
struct Exchange {
    send: Option<(Comm, Rank, i32, u64)>,
    receive: Option<(Comm, Rank, i32)>,
}

impl Purpose {
    /// Whether the caller gives this number to what it makes.
    pub(super) fn gives(self, comm: Comm) -> bool {
        match self {
            Self::Create { first, count } => {
                comm.0.checked_sub(first.0).is_some_and(|place| place < count)
            }
            Self::Split { new } | Self::Some { new } => new == Some(comm),
            Self::Dup { new }
            | Self::Group { new }
            | Self::Intercomm { new }
            | Self::Merge { new } => new == comm,
            Self::Free { .. } | Self::Couple | Self::Numbers => false,
        }
    }
}

impl Agreeing {
    /// All members of the parent agree, and the call returns before; the number keeps apart what they begin.
    ///
    /// # Panics
    ///
    /// Where the number is not below [`MOST_NUMBERED`].
    pub(super) fn numbered(self, number: u32) -> Self {
        let number = i32::try_from(number).expect("19 bits");
        Self { base: DUPLICATES | number << ROUNDS, ..self }
    }

    /// The number of a communicator that all members of a parent agree on.
    pub(super) const fn makes(&self) -> Option<Comm> {
        match self.purpose {
            Purpose::Dup { new } => Some(new),
            Purpose::Split { new } | Purpose::Some { new } => new,
            Purpose::Create { .. }
            | Purpose::Free { .. }
            | Purpose::Group { .. }
            | Purpose::Intercomm { .. }
            | Purpose::Merge { .. }
            | Purpose::Couple
            | Purpose::Numbers => None,
        }
    }

    /// All members of the parent agree.
    pub(super) fn of_all(parent: Comm, agreement: Agreement, purpose: Purpose) -> Self {
        Self {
            parent,
            talk: Talk::All(agreement),
            among: None,
            some: None,
            topology: None,
            edges: None,
            base: 0,
            purpose,
        }
    }

    /// Some members of the parent free the endpoints that only they have.
    pub(super) fn among(
        parent: Comm,
        agreement: Agreement,
        among: Arc<[Rank]>,
        purpose: Purpose,
    ) -> Self {
        // Several communicators of endpoints of one parent may be freed at once.
        let of = |context: Context| i32::try_from(context.0 / 2 % (1 << (24 - ROUNDS)));
        let which = if let Purpose::Free { context } = purpose { of(context) } else { Ok(0) };
        let base = FREES | which.expect("masked to 19 bits") << ROUNDS;
        Self {
            parent,
            talk: Talk::All(agreement),
            among: Some(among),
            some: None,
            topology: None,
            edges: None,
            base,
            purpose,
        }
    }

    /// A group makes its communicator, under a tag that is not above [`GROUP_TAG_MAX`].
    pub(super) fn of_group(
        parent: Comm,
        agreement: Agreement,
        (among, tag): (Arc<[Rank]>, i32),
        purpose: Purpose,
    ) -> Self {
        let base = GROUPS | tag << ROUNDS;
        Self {
            parent,
            talk: Talk::All(agreement),
            among: Some(among),
            some: None,
            topology: None,
            edges: None,
            base,
            purpose,
        }
    }

    /// Two groups tell each other.
    pub(super) const fn of_two(
        parent: Comm,
        coupling: Coupling,
        peer: Peering,
        purpose: Purpose,
    ) -> Self {
        Self {
            parent,
            talk: Talk::Leaders { coupling, peer },
            among: None,
            some: None,
            topology: None,
            edges: None,
            base: TOLD,
            purpose,
        }
    }

    pub(super) const fn operation(&self) -> &'static str {
        match self.purpose {
            Purpose::Create { .. } => "MPI_Comm_create_endpoints",
            Purpose::Free { .. } => "MPI_Comm_free",
            Purpose::Dup { .. } if self.edges.is_some() => "MPI_Dist_graph_create",
            Purpose::Dup { .. } => "MPI_Comm_dup",
            Purpose::Split { .. } => "MPI_Comm_split",
            Purpose::Group { .. } => "MPI_Comm_create_group",
            Purpose::Some { .. } => match self.topology {
                None => "MPI_Comm_create",
                Some(Topology::Grid(_)) => "MPI_Cart_create",
                Some(Topology::Graph(_) | Topology::OneWay) => "MPI_Graph_create",
            },
            Purpose::Intercomm { .. } | Purpose::Couple => "MPI_Intercomm_create",
            Purpose::Merge { .. } => "MPI_Intercomm_merge",
            Purpose::Numbers => "MPI_Allgather",
        }
    }

    /// Whether words of both could be taken for each other's.
    pub(super) fn clashes(&self, other: &Self) -> bool {
        self.parent == other.parent && self.base == other.base
    }

    /// Each rank of the parent names edges of a graph: first how many, then which.
    pub(super) fn with_edges(self, own: Arc<NamedEdges>) -> Self {
        Self { edges: Some(Box::new(Edges { own, counts: None })), ..self }
    }

    /// The edges that all have named, rank by rank.
    pub(super) fn edges(&self) -> Option<Vec<(Rank, Rank)>> {
        let counts = self.edges.as_ref()?.counts.as_ref()?;
        let values = numbers(&self.agreement().values());
        let each = values.len() / counts.len();
        let mut all = Vec::new();
        for (rank, count) in counts.iter().enumerate() {
            let own = values[rank * each..].chunks_exact(2).take(*count as usize);
            all.extend(own.map(|edge| (Rank(edge[0]), Rank(edge[1]))));
        }
        Some(all)
    }

    /// The edges that this rank names.
    #[cfg(feature = "mutants")]
    pub(super) fn own_edges(&self) -> Vec<(Rank, Rank)> {
        self.edges.as_ref().map_or_else(Vec::new, |edges| edges.own.edges().collect())
    }

    /// Goes on with the edges, where the ranks have said only how many they name.
    fn goes_on_with_edges(&mut self) -> bool {
        let Talk::All(agreement) = &mut self.talk else { return false };
        let Some(edges) = self.edges.as_mut().filter(|edges| edges.counts.is_none()) else {
            return false;
        };
        let counts = numbers(&agreement.values());
        let most = counts.iter().copied().max().unwrap_or(0) as usize;
        let named = edges.own.edges().flat_map(|(from, to)| [from.0, to.0]);
        let padded = named.chain(std::iter::repeat(0)).take(2 * most);
        *agreement = agreement.on_more(&words(padded));
        edges.counts = Some(counts.into());
        true
    }

    /// Agreement among all members: the words of each.
    ///
    /// # Panics
    ///
    /// Where leaders talked.
    pub(super) fn agreement(&self) -> &Agreement {
        match &self.talk {
            Talk::All(agreement) => agreement,
            Talk::Leaders { .. } => unreachable!("{:?} is agreed on by all", self.purpose),
        }
    }

    /// Exchange with the other group: the words of its leader.
    ///
    /// # Panics
    ///
    /// Where all members talked.
    pub(super) fn coupling(&self) -> &Coupling {
        match &self.talk {
            Talk::Leaders { coupling, .. } => coupling,
            Talk::All(_) => unreachable!("{:?} is between two groups", self.purpose),
        }
    }

    /// The message of this receive has come.
    pub(super) fn receive(&mut self, messages: &Messages, key: Key) {
        let word = messages.carried().word(key);
        match &mut self.talk {
            Talk::All(agreement) => agreement.hear(word),
            Talk::Leaders { coupling, .. } => coupling.hear(word),
        }
    }

    /// The messages of the next step; `None` when all have agreed.
    fn next_messages(&mut self) -> Option<Exchange> {
        let next = self.messages_of_step();
        if next.is_none() && self.edges.is_some() && self.goes_on_with_edges() {
            return self.messages_of_step();
        }
        next
    }

    fn messages_of_step(&mut self) -> Option<Exchange> {
        let (parent, base) = (self.parent, self.base);
        match &mut self.talk {
            Talk::All(agreement) => {
                let next = agreement.next_exchange()?;
                let all = &self.among;
                let name = |rank: Rank| all.as_ref().map_or(rank, |among| among[rank.0 as usize]);
                let tag = base + next.tag;
                let send = Some((parent, name(next.to), tag, next.word));
                Some(Exchange { send, receive: Some((parent, name(next.from), tag)) })
            }
            Talk::Leaders { coupling, peer } => {
                let next = coupling.next_exchange()?;
                let (comm, says, hears) = match next.through {
                    Through::Peer => (peer.comm, peer.says, peer.hears),
                    Through::Own => (parent, base, base),
                };
                let send = next.to.map(|(to, word)| (comm, to, says, word));
                Some(Exchange { send, receive: next.from.map(|from| (comm, from, hears)) })
            }
        }
    }

    /// Exchanges messages until one must be waited for, each received under `key`; answers whether all have
    /// agreed.
    pub(super) fn exchange(
        &mut self,
        messages: &mut Messages,
        (thread, key): (Thread, Key),
        out: &mut Vec<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        let waiter = matches!(key, Key::Inner(_)).then_some(thread);
        while let Some(next) = self.next_messages() {
            if let Some((comm, to, tag, word)) = next.send {
                messages.send_word(thread, comm, to, tag, word, out)?;
            }
            let Some((comm, from, tag)) = next.receive else { continue };
            messages.receive_word((thread, key), comm, from, tag, out)?;
            if messages.await_end(key, waiter) {
                return Ok(false);
            }
            messages.close(key);
            self.receive(messages, key);
        }
        Ok(true)
    }
}
