//! How windows work, as all processes of a job have agreed.

use super::call::Operation;
use mpi::operator::Operator;
use mpi::rma::access::MemoryModel;
use mpi::rma::synchronisation::Rules;
use mpi::rma::update::Effect;

/// When operations of a passive epoch leave their origin.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Issue {
    /// With the flush or unlock that needs them.
    #[default]
    Lazy,
    /// As soon as the lock is granted, which is requested at once.
    Eager,
    /// Lazily, until so many operations or bytes wait for one target in one epoch.
    Adaptive {
        /// Operations.
        operations: u32,
        /// Bytes.
        bytes: u64,
    },
}

/// The part that carries operations out.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Transport {
    /// The target's library, told by messages.
    #[default]
    Messages,
    /// The target's HCA.
    Rdma,
    /// The HCA puts and gets, the library accumulates.
    Mixed,
}

/// How the locks of windows that are mapped are taken.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum MappedLocks {
    /// As those of other windows: the target's library grants them.
    #[default]
    Messages,
    /// The origin takes a ticket in shared memory, and waits until it is called.
    Atomics,
}

/// How windows work, the same in every process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Settings {
    /// When operations leave.
    pub issue: Issue,
    /// Component that carries them out.
    pub transport: Transport,
    /// Whether a single operation travels with its lock and unlock.
    pub merge: bool,
    /// Largest payload that does; without one, the largest eager message to that target.
    pub merge_limit: Option<u64>,
    /// Largest payload of a packet, behind which an operation goes on in the next one; without one,
    /// the largest eager message to that target.
    pub segment: Option<u64>,
    /// Whether a merged put or accumulate is answered.
    pub done_after_merge: bool,
    /// How the locks of windows that are mapped are taken.
    pub mapped_locks: MappedLocks,
    /// Which calls are held to be in order.
    pub rules: Rules,
    /// The memory model of windows.
    pub model: MemoryModel,
    /// Whether the monitors get each access and its origin.
    pub watch: bool,
}

impl std::fmt::Display for Settings {
    /// Writes the settings that distinguish the ways to carry the same calls out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.issue {
            Issue::Lazy => f.write_str("lazy issue")?,
            Issue::Eager => f.write_str("eager issue")?,
            Issue::Adaptive { operations, bytes } => {
                write!(f, "lazy issue up to {operations} operations or {bytes} B")?;
            }
        }
        f.write_str(match self.transport {
            Transport::Messages => ", by messages",
            Transport::Rdma => ", by RDMA",
            Transport::Mixed => ", by RDMA and messages",
        })?;
        f.write_str(match (self.merge, self.done_after_merge) {
            (false, _) => ", locks apart",
            (true, false) => ", locks merged",
            (true, true) => ", locks merged and answered",
        })?;
        if let Some(segment) = self.segment {
            write!(f, ", packets of {segment} B")?;
        }
        f.write_str(if self.mapped_locks == MappedLocks::Messages {
            ""
        } else {
            ", mapped locks in memory"
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            issue: Issue::default(),
            transport: Transport::default(),
            merge: true,
            merge_limit: None,
            segment: None,
            done_after_merge: true,
            mapped_locks: MappedLocks::default(),
            rules: Rules::Document,
            model: MemoryModel::Unified,
            watch: true,
        }
    }
}

impl Settings {
    /// Whether the HCA of the target carries this operation out.
    pub(crate) fn by_hca(&self, does: &Operation) -> bool {
        match (self.transport, does) {
            (Transport::Messages, _) | (Transport::Mixed, Operation::Update { .. }) => false,
            (Transport::Rdma | Transport::Mixed, _) => true,
        }
    }

    /// Whether so many operations and bytes wait for a target that an adaptive epoch turns eager.
    pub(crate) fn turns_eager(&self, waiting: usize, waiting_bytes: u64) -> bool {
        match self.issue {
            Issue::Eager => true,
            Issue::Lazy => false,
            Issue::Adaptive { operations, bytes } => {
                waiting > operations as usize || waiting_bytes > bytes
            }
        }
    }

    /// Why the HCA cannot do this; `None` where it can, or need not.
    pub(crate) fn refuses(&self, does: &Operation, element: u64) -> Option<String> {
        let Operation::Update { update, .. } = does else { return None };
        if !self.by_hca(does) {
            return None;
        }
        let integer = update.datatype().is_integer() && update.datatype().width() >= 4;
        let known = match update {
            Effect::Replace(_) | Effect::NoOp(_) | Effect::CompareAndSwap(_) => true,
            Effect::Reduce(reduction) => reduction.operator() == Operator::Sum,
        };
        let single = element == update.datatype().width();
        let fits = integer && known && single;
        (!fits).then(|| {
            "the HCA updates single integers of 4 or 8 bytes by replace, no_op, sum and \
             compare-and-swap"
                .to_owned()
        })
    }
}
