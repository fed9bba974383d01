//! What programs call: windows, operations on them, and their synchronisation.
//!
//! Source: MPI 3.1, Chapter 11; `rma` Sec. 2.

use std::any::Any;

use calls::arguments::Comm;
pub use calls::arguments::Win;
use calls::identity::Handle;
use calls::rows::{Field, FieldMut, Fields};
use calls::space::Region;
use mpi::operator::Datatype;
pub use mpi::rma::layout::Spacing;
pub use mpi::rma::synchronisation::LockKind;
use mpi::rma::synchronisation::RankSet;
use mpi::rma::update::Effect;

/// How a window gets its memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flavor {
    /// `MPI_Win_create`: memory that the program has.
    Create,
    /// `MPI_Win_allocate`: memory that the library provides.
    Allocate,
    /// `MPI_Win_allocate_shared`: one piece of memory that all processes of the window map, which are
    /// on one node.
    Shared(Spacing),
    /// `MPI_Win_create_dynamic`: none at first, see [`RmaCall::Attach`].
    Dynamic,
}

/// Assertions of a fence.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct FenceAssert {
    /// `MPI_MODE_NOPRECEDE`: nothing was done since the last fence.
    pub no_precede: bool,
    /// `MPI_MODE_NOSUCCEED`: nothing will be done until the next fence.
    pub no_succeed: bool,
}

/// Where in a target's window an operation takes place.
///
/// Displacements are in units of the target's window; in a dynamic window they are bytes from
/// [`address`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct At {
    /// Displacement of the operation.
    pub disp: u64,
    /// Bytes from there to the first block, which may lie before it.
    pub first: i64,
    /// Bytes of a block.
    pub block: u64,
    /// Blocks.
    pub count: u32,
    /// Bytes from the start of one block to that of the next.
    pub stride: u64,
}

impl At {
    /// `bytes` consecutive bytes.
    pub const fn contiguous(disp: u64, bytes: u64) -> Self {
        Self { disp, first: 0, block: bytes, count: 1, stride: bytes }
    }

    /// Bytes that move.
    pub const fn bytes(self) -> u64 {
        self.block * self.count as u64
    }

    /// Bytes from the first block to behind the last one.
    pub const fn span(self) -> u64 {
        match self.count {
            0 => 0,
            count => self.stride * (count as u64 - 1) + self.block,
        }
    }
}

/// The address of a byte of attached memory.
pub const fn address(memory: u32, offset: u64) -> u64 {
    (memory as u64) << 32 | offset
}

/// One-sided operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operation {
    /// `MPI_Put`, `MPI_Rput`.
    Put {
        /// The bytes.
        origin: Region,
    },
    /// `MPI_Get`, `MPI_Rget`.
    Get {
        /// Where they go.
        into: Region,
    },
    /// `MPI_Accumulate`, `MPI_Raccumulate`; and with a result `MPI_Get_accumulate`,
    /// `MPI_Rget_accumulate`, `MPI_Fetch_and_op` and `MPI_Compare_and_swap`.
    Update {
        /// Effect on each element.
        update: Effect,
        /// The operand, as long as the update says; `None` where it has none.
        origin: Option<Region>,
        /// Where the old elements go.
        result: Option<Region>,
    },
}

impl Operation {
    /// Whether its buffers are as long as `bytes` bytes at the target need.
    pub(crate) fn fits(&self, bytes: u64) -> Result<(), String> {
        let (needed, back) = match self {
            Self::Put { .. } => (bytes, None),
            Self::Get { .. } => (0, Some(bytes)),
            Self::Update { update, .. } => {
                let width = update.datatype().width();
                let single = matches!(update, Effect::CompareAndSwap(_));
                if !bytes.is_multiple_of(width) || single && bytes != width {
                    let name = update.datatype().name();
                    return Err(format!("{bytes} B are not what {} of {name} takes", self.name()));
                }
                (update.operand(bytes), Some(bytes))
            }
        };
        let given = self.origin().map_or(0, |origin| origin.len);
        let room = self.result().map(|result| result.len);
        if given != needed || room.is_some() && room != back {
            let room = room.unwrap_or(0);
            return Err(format!(
                "buffers of {given} B and {room} B do not fit {bytes} B at the target of {}",
                self.name()
            ));
        }
        Ok(())
    }

    /// Makes its buffers as long as `bytes` bytes at the target need.
    pub const fn resize(&mut self, bytes: u64) {
        match self {
            Self::Put { origin: region } | Self::Get { into: region } => region.len = bytes,
            Self::Update { update, origin, result } => {
                if let Some(origin) = origin {
                    origin.len = update.operand(bytes);
                }
                if let Some(result) = result {
                    result.len = bytes;
                }
            }
        }
    }

    /// Its name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Put { .. } => "MPI_Put",
            Self::Get { .. } => "MPI_Get",
            Self::Update { update: Effect::CompareAndSwap(_), .. } => "MPI_Compare_and_swap",
            Self::Update { result: None, .. } => "MPI_Accumulate",
            Self::Update { result: Some(_), .. } => "MPI_Get_accumulate",
        }
    }

    /// The type of its elements, where it is of the accumulate family.
    pub const fn datatype(&self) -> Option<Datatype> {
        match self {
            Self::Put { .. } | Self::Get { .. } => None,
            Self::Update { update, .. } => Some(update.datatype()),
        }
    }

    /// Region that it reads at its origin.
    pub const fn origin(&self) -> Option<Region> {
        match *self {
            Self::Put { origin } => Some(origin),
            Self::Get { .. } => None,
            Self::Update { origin, .. } => origin,
        }
    }

    /// Region that it writes at its origin.
    pub const fn result(&self) -> Option<Region> {
        match *self {
            Self::Put { .. } => None,
            Self::Get { into } => Some(into),
            Self::Update { result, .. } => result,
        }
    }
}

calls::rows! {
    /// One call; fields are the arguments of the MPI function, and targets are ranks of the window's
    /// communicator.
    #[allow(missing_docs, reason = "argument names of MPI")]
    #[derive(Clone, Debug, Eq, Hash, PartialEq)]
    pub enum RmaCall {
        /// `MPI_Win_create`, `MPI_Win_allocate`, `MPI_Win_allocate_shared`, `MPI_Win_create_dynamic`:
        /// `bytes` of memory number `memory` of this process (of none in particular, where it is shared),
        /// counted in `unit` bytes.
        Create {
            win: Win as Window,
            comm: Comm as Over,
            flavor: Flavor,
            memory: u32,
            bytes: u64,
            unit: u64,
        },
        /// `MPI_Win_free`.
        Free { win: Win as Window },
        /// `MPI_Win_attach`.
        Attach { win: Win as Window, memory: u32, bytes: u64 },
        /// `MPI_Win_detach`.
        Detach { win: Win as Window, memory: u32 },
        /// Any operation; with a `request` its R-form. No target is `MPI_PROC_NULL`.
        Operate {
            win: Win as Window,
            target: Option<u32>,
            at: At,
            does: Operation as Inside,
            request: Option<Handle> as Opens,
        },
        /// `MPI_Win_fence`.
        Fence { win: Win as Window, assert: FenceAssert },
        /// `MPI_Win_post`.
        Post { win: Win as Window, group: RankSet },
        /// `MPI_Win_start`.
        Start { win: Win as Window, group: RankSet },
        /// `MPI_Win_complete`.
        Complete { win: Win as Window },
        /// `MPI_Win_wait`.
        Wait { win: Win as Window },
        /// `MPI_Win_test`.
        Test { win: Win as Window },
        /// `MPI_Win_lock`; `no_check` is `MPI_MODE_NOCHECK`: nobody holds or asks for a lock that
        /// conflicts.
        Lock { win: Win as Window, target: u32, kind: LockKind, no_check: bool },
        /// `MPI_Win_unlock`.
        Unlock { win: Win as Window, target: u32 },
        /// `MPI_Win_lock_all`.
        LockAll { win: Win as Window, no_check: bool },
        /// `MPI_Win_unlock_all`.
        UnlockAll { win: Win as Window },
        /// `MPI_Win_flush`, `MPI_Win_flush_local`.
        Flush { win: Win as Window, target: u32, local: bool },
        /// `MPI_Win_flush_all`, `MPI_Win_flush_local_all`.
        FlushAll { win: Win as Window, local: bool },
        /// `MPI_Win_sync`.
        Sync { win: Win as Window },
        /// `MPI_Win_shared_query`.
        Query { win: Win as Window, target: u32 },
    }
}

impl RmaCall {
    /// Its name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Create { flavor: Flavor::Create, .. } => "MPI_Win_create",
            Self::Create { flavor: Flavor::Allocate, .. } => "MPI_Win_allocate",
            Self::Create { flavor: Flavor::Shared(_), .. } => "MPI_Win_allocate_shared",
            Self::Create { flavor: Flavor::Dynamic, .. } => "MPI_Win_create_dynamic",
            Self::Free { .. } => "MPI_Win_free",
            Self::Attach { .. } => "MPI_Win_attach",
            Self::Detach { .. } => "MPI_Win_detach",
            Self::Operate { does, request: None, .. } => does.name(),
            Self::Operate { does, request: Some(_), .. } => match does {
                Operation::Put { .. } => "MPI_Rput",
                Operation::Get { .. } => "MPI_Rget",
                Operation::Update { result: None, .. } => "MPI_Raccumulate",
                Operation::Update { result: Some(_), .. } => "MPI_Rget_accumulate",
            },
            Self::Fence { .. } => "MPI_Win_fence",
            Self::Post { .. } => "MPI_Win_post",
            Self::Start { .. } => "MPI_Win_start",
            Self::Complete { .. } => "MPI_Win_complete",
            Self::Wait { .. } => "MPI_Win_wait",
            Self::Test { .. } => "MPI_Win_test",
            Self::Lock { .. } => "MPI_Win_lock",
            Self::Unlock { .. } => "MPI_Win_unlock",
            Self::LockAll { .. } => "MPI_Win_lock_all",
            Self::UnlockAll { .. } => "MPI_Win_unlock_all",
            Self::Flush { local: false, .. } => "MPI_Win_flush",
            Self::Flush { local: true, .. } => "MPI_Win_flush_local",
            Self::FlushAll { local: false, .. } => "MPI_Win_flush_all",
            Self::FlushAll { local: true, .. } => "MPI_Win_flush_local_all",
            Self::Sync { .. } => "MPI_Win_sync",
            Self::Query { .. } => "MPI_Win_shared_query",
        }
    }

    /// The window that it names.
    ///
    /// # Panics
    ///
    /// Never: each row names one.
    pub fn win(&self) -> Win {
        let win =
            self.first(|field| if let Field::Window(win) = field { Some(*win) } else { None });
        win.expect("each row has a window")
    }
}

impl Fields for Operation {
    fn fields<'a>(&'a self, see: &mut impl FnMut(Field<'a>)) {
        match self {
            Self::Put { origin } => see(Field::Input(origin)),
            Self::Get { into } => see(Field::Output(into)),
            Self::Update { origin, result, .. } => {
                origin.iter().map(Field::Input).for_each(&mut *see);
                result.iter().map(Field::Output).for_each(see);
            }
        }
    }

    fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut(FieldMut<'a>)) {
        match self {
            Self::Put { origin } => see(FieldMut::Input(origin)),
            Self::Get { into } => see(FieldMut::Output(into)),
            Self::Update { origin, result, .. } => {
                origin.iter_mut().map(FieldMut::Input).for_each(&mut *see);
                result.iter_mut().map(FieldMut::Output).for_each(see);
            }
        }
    }

    /// Its regions at the origin: `origin` is that of a get, too.
    fn named(&mut self, name: &str) -> Option<&mut dyn Any> {
        let ((
            Self::Put { origin: region }
            | Self::Get { into: region }
            | Self::Update { origin: Some(region), .. },
            "origin",
        )
        | (Self::Update { result: Some(region), .. }, "result")) = (self, name)
        else {
            return None;
        };
        Some(region)
    }
}
