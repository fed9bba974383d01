//! Envelopes: context, source, destination and tag, and the selection of a receive.

use std::fmt;

/// The matching context of a communicator; messages never match across contexts.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Context(pub u32);

/// A rank in a communicator.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rank(pub u32);

/// The envelope of a message.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: Context,
    /// Rank of the sender in that communicator.
    pub source: Rank,
    /// Rank of the receiver: it decides where several ranks of one process share a queue.
    pub dest: Rank,
    /// Tag, 0 to [`TAG_UB`].
    pub tag: i32,
}

/// The largest tag.
pub const TAG_UB: i32 = i32::MAX;

/// The selection of a receive or a probe; `None` is the wildcard.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Selection {
    /// Context of the communicator: no wildcard exists for it.
    pub context: Context,
    /// The receiver's own rank: no wildcard exists for it either.
    pub dest: Rank,
    /// The wanted sender, or `MPI_ANY_SOURCE`.
    pub source: Option<Rank>,
    /// The wanted tag, or `MPI_ANY_TAG`.
    pub tag: Option<i32>,
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, source, dest, tag } = self;
        write!(
            f,
            "from rank {} to rank {} with tag {tag} in context {}",
            source.0, dest.0, context.0
        )
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source.map_or("any rank".to_owned(), |rank| format!("rank {}", rank.0));
        let tag = self.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
        write!(
            f,
            "a receive of rank {} from {source} with {tag} in context {}",
            self.dest.0, self.context.0
        )
    }
}

impl Selection {
    /// Whether some message could satisfy both. Pure.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |one: Option<i64>, other: Option<i64>| {
            one.is_none_or(|one| other.is_none_or(|other| one == other))
        };
        let source = |selection: &Self| selection.source.map(|rank| i64::from(rank.0));
        let tag = |selection: &Self| selection.tag.map(i64::from);
        self.context == other.context
            && self.dest == other.dest
            && meet(source(self), source(other))
            && meet(tag(self), tag(other))
    }
}

impl Envelope {
    /// How [`Self::never_received`] ends.
    pub const NEVER_RECEIVED: &str = "was never received";

    /// That a message of so many bytes was never received: one of the program, or of the collective of this name, whose
    /// tags are the library's.
    pub fn never_received(&self, bytes: u64, collective: Option<&str>) -> String {
        let Self { source, dest, tag, .. } = self;
        let (from, to, end) = (source.0, dest.0, Self::NEVER_RECEIVED);
        collective.map_or_else(
            || format!("a message of {bytes} B from rank {from} to rank {to} with tag {tag} {end}"),
            |name| format!("a message of {name} of {bytes} B from rank {from} to rank {to} {end}"),
        )
    }

    /// Whether a receive with this selection may take the message. Pure.
    pub fn matches(&self, selection: &Selection) -> bool {
        self.context == selection.context
            && self.dest == selection.dest
            && selection.source.is_none_or(|source| source == self.source)
            && selection.tag.is_none_or(|tag| tag == self.tag)
    }
}
