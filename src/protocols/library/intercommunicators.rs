//! Intercommunicators of processes: two groups, each of which sends to the ranks of the other.
//!
//! ```text
//!   program's messages     context       source: rank in the own group, dest: rank in the other one
//!   library's messages     context + 1   ranks of both groups, one after the other
//! ```
//!
//! In the order of the library's ranks the group comes first whose rank 0 is the lower process; so it
//! does in a merge where both sides pass the same value of `high`, which MPI leaves open.
//!
//! Collectives between the groups are those of `collectives/between.rs`.
//!
//! Source: MPI-3.1, Sec. 6.6.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::call::{Call, Comm, CommCall};
use collectives::{Between, Side};
use mpi::envelope::Rank;
use mpi::group::{Choice, Group, Part, SplitError};

/// The groups of an intercommunicator, as one of its processes has them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Sides {
    pub(super) local: Arc<Group>,
    pub(super) remote: Arc<Group>,
}

impl Sides {
    /// Both groups in the order of the library's ranks.
    pub(super) fn in_order(&self) -> [&Arc<Group>; 2] {
        let lowest = |group: &Group| group.process(Rank(0));
        let (local, remote) = (&self.local, &self.remote);
        if lowest(local) < lowest(remote) { [local, remote] } else { [remote, local] }
    }

    /// Their places among the ranks of both.
    pub(super) fn between(&self) -> Between {
        let [local, remote] = [&self.local, &self.remote].map(|group| group.size());
        let is_first = Arc::ptr_eq(self.in_order()[0], &self.local);
        let (own, other) = if is_first { (0, local) } else { (remote, 0) };
        Between {
            own: Side { first: own, size: local },
            other: Side { first: other, size: remote },
        }
    }

    /// The group of a merge, by the values of `high` in the order of [`Self::in_order`]; `Err` says
    /// which rank of a side differs from its rank 0.
    pub(super) fn merged(&self, high: &[u16]) -> Result<Group, String> {
        let [first, second] = self.in_order();
        let (one, other) = high.split_at(first.size() as usize);
        for side in [one, other] {
            if let Some(rank) = side.iter().position(|flag| *flag != side[0]) {
                return Err(format!("ranks 0 and {rank} of a side differ"));
            }
        }
        Ok(if one[0] > other[0] { second.union(first) } else { first.union(second) })
    }
}

impl Sides {
    /// The sides that this process has after a split, by the choices in the order of [`Self::in_order`]: those
    /// of its color on either side; `None` where the other side has none of them, or it gave no color.
    pub(super) fn split(&self, choices: &[Choice], me: u32) -> Result<Option<Self>, SplitError> {
        let [first, second] = self.in_order();
        let (one, other) = choices.split_at(first.size() as usize);
        let (one, other) = (first.split(one)?, second.split(other)?);
        let has_me = |part: &&Part| part.group.rank(me).is_some();
        let own =
            one.iter().map(|part| (part, &other)).chain(other.iter().map(|part| (part, &one)));
        let own = own.into_iter().find(|(part, _)| has_me(part));
        let sides = own.and_then(|(local, across)| {
            let remote = across.iter().find(|part| part.color == local.color)?;
            let [local, remote] = [local, remote].map(|part| Arc::new(part.group.clone()));
            Some(Self { local, remote })
        });
        Ok(sides)
    }
}

/// The intercommunicators of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Intercommunicators(BTreeMap<Comm, Sides>);

impl Intercommunicators {
    /// Whether the process has none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The two groups of an intercommunicator.
    pub(super) fn get(&self, comm: Comm) -> Option<&Sides> {
        self.0.get(&comm)
    }

    /// All of them, by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Comm, &Sides)> {
        self.0.iter()
    }

    pub(super) fn insert(&mut self, comm: Comm, sides: Sides) {
        self.0.insert(comm, sides);
    }

    pub(super) fn remove(&mut self, comm: Comm) {
        self.0.remove(&comm);
    }

    /// Whether a call names an intercommunicator and is none of those that intercommunicators have.
    pub(super) fn refuses(&self, call: &Call) -> bool {
        let names_one = |comm: Comm| self.0.contains_key(&comm);
        !is_between_groups(call) && call.comm().is_some_and(names_one)
    }
}

/// Whether an intercommunicator has this call.
fn is_between_groups(call: &Call) -> bool {
    if let Call::Prepare(operation) = call {
        return is_between_groups(operation);
    }
    if let Call::Communicators(of) = call {
        return matches!(
            of,
            CommCall::Free { .. }
                | CommCall::Merge { .. }
                | CommCall::Dup { .. }
                | CommCall::Idup { .. }
                | CommCall::Split { .. }
                | CommCall::Numbers { .. }
        );
    }
    !matches!(
        call,
        Call::Device(_)
            | Call::Partitioned(_)
            | Call::Compare { .. }
            | Call::CreateEndpoints { .. }
    )
}
