//! Buffers in pieces under protocols that know contiguous ones only.
//!
//! ```text
//!   a protocol's core copies out of the buffer  ──▶ gathers from the pieces, straight to where it copies
//!   the HCA or a neighbour is to reach it       ──▶ all is packed into the staging buffer before
//!   a protocol's core copies into the buffer    ──▶ scatters to the pieces, straight from where it copies
//!   the bytes came without this core            ──▶ unpacked from the staging buffer when they are there
//! ```
//!
//! To matching, requests and protocols the buffer of such a message is the staging buffer,
//! [`Space::Packed`]. Their actions pass [`Typed::carry`], which puts the pieces in its
//! place. So an eager message is packed into its eager buffer and unpacked out of it or, where it came
//! unexpected, out of the library's; cells of shared memory are packed and unpacked one by one; a buffered
//! message is packed into the room that is attached; and RDMA and copies through the kernel move packed
//! bytes: those of a sender are packed before the RTS where that tells an address or exposes the buffer (RGET, and
//! every protocol that copies through the kernel), else at the CTS.
//!
//! Source: MPI-3.1, Sec. 4.1; that libraries pack into the buffers that the message needs anyway is
//! common to MPICH and Open MPI, which also pipeline large messages in fragments.
//! Left out: that pipeline (a message by RDMA is packed whole before any of it moves), and gathering by
//! the HCA. Noticeable from some hundred kilobytes on. Staging buffers are kept and stay pinned. All that a
//! sender has is packed, also where a shorter receive truncates it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::buffer_numbers::BufferNumbers;
use super::{Action, LibraryAction, Region, Space, Thread};
use crate::contract::Emit;
use calls::packing::Task;
use calls::typed::{Elements, TypedCopy};
use mpi::observation::Observation;

/// The messages in pieces that are open.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Typed {
    /// By number of their staging buffer.
    open: BTreeMap<u32, Message>,
    staging: BufferNumbers,
}

/// One of them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Message {
    task: Task,
    buffer: u32,
    elements: Arc<Elements>,
    /// Of a send, whether all is packed; of a receive, whether its bytes went to their places at once.
    done: bool,
}

impl Message {
    /// A copy between the pieces and `packed`, which has the bytes of the message from `first` on.
    fn copy(&self, packed: Region, first: u64) -> LibraryAction {
        let Self { task, buffer, elements, .. } = self;
        let (task, buffer, elements) = (*task, *buffer, Arc::clone(elements));
        Action::Pack(TypedCopy { task, buffer, elements, packed, first })
    }
}

/// The staging buffer that an action of a core copies from or to: where to or from, and which bytes.
fn copied(action: &LibraryAction) -> Option<(u32, Task, Region, u64)> {
    let Action::Copy { from, to } = *action else { return None };
    if let Space::Packed(slot) = from.space {
        Some((slot, Task::Pack, to, from.offset))
    } else if let Space::Packed(slot) = to.space {
        Some((slot, Task::Unpack, from, to.offset))
    } else {
        None
    }
}

/// The staging buffer that others may reach from this action on.
fn reached(action: &LibraryAction) -> Option<u32> {
    let (Action::Register { region }
    | Action::Expose { region }
    | Action::PeerCopy { own: region, .. }
    | Action::RdmaWrite { from: region, .. }
    | Action::Send { payload: Some(region), .. }) = action
    else {
        return None;
    };
    if let Space::Packed(slot) = region.space { Some(slot) } else { None }
}

impl Typed {
    /// A staging buffer for a message of this thread.
    pub(super) fn stage(
        &mut self,
        thread: Thread,
        (buffer, task): (u32, Task),
        elements: &Arc<Elements>,
    ) -> Region {
        let (elements, done) = (Arc::clone(elements), false);
        let packed = elements.packed();
        let slot = self.staging.take(thread);
        self.open.insert(slot, Message { task, buffer, elements, done });
        Region::new(Space::Packed(slot), packed)
    }

    /// Whether a message in pieces is open.
    pub(super) fn has_pieces(&self) -> bool {
        !self.open.is_empty()
    }

    /// Puts the pieces of messages in the place of their staging buffers in the actions of this thread
    /// from `first` on; `shared` says whether another thread may ask for a staging buffer before this
    /// one is through with it. Answers whether a staging buffer is still in use.
    pub(super) fn carry(
        &mut self,
        thread: Thread,
        shared: bool,
        first: usize,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        self.staging.is_through(thread);
        let by = shared.then_some(thread);
        for action in out.split_off(first) {
            self.carry_one(action, by, out);
        }
        !self.staging.is_idle()
    }

    fn message(&mut self, slot: u32) -> &mut Message {
        self.open.get_mut(&slot).expect("a staging buffer is named while its message is open")
    }

    /// One action; `by` empties staging buffers, where others run beside it.
    fn carry_one(
        &mut self,
        action: LibraryAction,
        by: Option<Thread>,
        out: &mut Vec<LibraryAction>,
    ) {
        if let Some((slot, task, other, first)) = copied(&action) {
            let message = self.message(slot);
            if task == Task::Pack && message.done {
                // All was packed for others to reach: copies begin there too.
                return out.push(action);
            }
            message.done |= task == Task::Unpack;
            out.push(message.copy(other, first));
            return;
        }
        if let Some(slot) = reached(&action) {
            let message = self.message(slot);
            if message.task == Task::Pack && !message.done {
                message.done = true;
                out.push(message.copy(whole(slot, message), 0));
            }
        }
        let Action::Complete { code, buffer: Some(region), fact } = action else {
            return out.push(action);
        };
        let buffer = Some(self.complete(region, fact.as_ref(), by, out));
        out.emit(|| Action::Complete { code, buffer, fact });
    }

    /// The buffer of a request that is complete: what came without this core is unpacked before.
    fn complete(
        &mut self,
        region: Region,
        fact: Option<&Observation>,
        by: Option<Thread>,
        out: &mut Vec<LibraryAction>,
    ) -> Region {
        let Space::Packed(slot) = region.space else { return region };
        let message = self.message(slot);
        if let (Task::Unpack, false, Some(&Observation::Received { bytes: 1.., .. })) =
            (message.task, message.done, fact)
        {
            out.push(message.copy(region, 0));
        }
        let data = message.elements.data(message.buffer);
        self.open.remove(&slot);
        self.staging.give_back(slot, by);
        data
    }
}

/// All of a staging buffer.
fn whole(slot: u32, message: &Message) -> Region {
    Region::new(Space::Packed(slot), message.elements.packed())
}
