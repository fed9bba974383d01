//! Actions by which a turn depends on more than its process and what it takes from its port.

use super::World;
use protocols::contract::{Action, ActionOf, Machine, Process, Program, Region};

impl<M: Machine, P: Program<M>> World<M, P> {
    /// An action that a process is about to carry out spoils a turn where it depends on more than
    /// its library, programs and memory.
    pub(super) fn look_at(&mut self, process: Process, action: &ActionOf<M>) {
        let foreign = |region: &Region| is_foreign(process, *region);
        let spoils = match action {
            Action::Copy { from, to } => foreign(from) || foreign(to),
            Action::Combine { from, into, .. } => foreign(from) || foreign(into),
            Action::Pack(copy) => foreign(&copy.packed),
            Action::Update { target, operand, old, .. } => {
                foreign(target) || operand.iter().chain(old).any(foreign)
            }
            Action::Send { payload: bytes, .. } | Action::RdmaAtomic { operand: bytes, .. } => {
                bytes.as_ref().is_some_and(foreign)
            }
            Action::PeerCopy { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Device { .. } => true,
            Action::Work(_)
            | Action::Walk { .. }
            | Action::Expose { .. }
            | Action::Register { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::Repost { .. }
            | Action::Release
            | Action::Poll(_)
            | Action::Complete { .. }
            | Action::Resume(_)
            | Action::Observe(_)
            | Action::Return { .. } => false,
        };
        if spoils {
            self.notes.spoil();
        }
    }

    /// The same for memory that a program is about to touch.
    pub(super) fn look_at_memory(
        &mut self,
        process: Process,
        mut regions: impl Iterator<Item = Region>,
    ) {
        if regions.any(|region| is_foreign(process, region)) {
            self.notes.spoil();
        }
    }
}

/// Whether memory is kept with another process.
fn is_foreign(process: Process, region: Region) -> bool {
    region.space.root().is_some_and(|root| root != process)
}
