//! A choice in words: what is called, taken, moved, and where that stands in the scenario.

use super::World;
use super::choice::Choice;
use super::state::{Operation, OperationKind, Stage, Strand, Touch};
use crate::monitors::buffers::Lends;
use calls::packing::Task;
use calls::typed::TypedCopy;
use protocols::contract::{Action, Machine, Process, Program, Route, Thread, Token, Toward, Via};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// Event of `choice`, made now, in words; its plain form where it is not enabled.
    pub fn tell(&self, choice: Choice) -> String {
        self.told(choice).unwrap_or_else(|| choice.to_string())
    }

    /// Where the call of the acting thread stands in the scenario.
    pub fn position_of(&self, choice: Choice) -> Option<u32> {
        let (process, thread) = (choice.process(), choice.thread()?);
        let instance = self.instances.get(process.0 as usize)?;
        instance.threads.get(usize::from(thread.0))?.program.position()
    }

    fn told(&self, choice: Choice) -> Option<String> {
        Some(match choice {
            Choice::Enter { process, thread } => {
                let Stage::Calls(call) = &self.strand_at(process, thread)?.stage else {
                    return None;
                };
                format!("{} calls {}", self.name(process, thread), M::call_in_words(call))
            }
            Choice::Act { process, thread } => {
                let step = self.strand_at(process, thread)?.list.last()?;
                format!("{} {}", self.name(process, thread), in_words(step))
            }
            Choice::TakePacket { process, thread, from, via } => {
                let port = &self.ports[process.0 as usize];
                let channel = &port.channels[port.channel(from, via).ok()?];
                let packet = &channel.packets.front()?.packet;
                let (who, packet) = (self.name(process, thread), M::packet_in_words(packet));
                format!("{who} takes {packet} from process {}{}", from.peer.0, by(from, via))
            }
            Choice::TakeDone { process, thread, .. } => {
                format!("{} takes a completion", self.name(process, thread))
            }
            Choice::Match { process, from } => {
                let port = &self.ports[process.0 as usize];
                let channel = &port.channels[port.channel(from, Via::Hca).ok()?];
                let packet = M::packet_in_words(&channel.packets.front()?.packet);
                let (peer, who) = (from.peer.0, process.0);
                format!("the adapter of process {who} takes {packet} from process {peer}")
            }
            Choice::Conclude { process, .. } => {
                format!("the adapter of process {} takes a completion", process.0)
            }
            Choice::EndPass { process, thread } => {
                format!("{} ends its pass over the channels", self.name(process, thread))
            }
            Choice::Touch { process, thread } => {
                let Stage::Touches(touch) = self.strand_at(process, thread)?.stage else {
                    return None;
                };
                let verb = match touch {
                    Touch::Load(_) | Touch::Take(_) => "reads its window",
                    Touch::Store(..) => "writes its window",
                    Touch::Copy(..) => "copies between its own buffers",
                    Touch::Tell(_) => "tells a fact",
                };
                format!("{} {verb}", self.name(process, thread))
            }
            Choice::Move { process, token } => {
                let (source, target) = match &self.operation_at(process, token)?.does {
                    OperationKind::Copies { from, to, .. } => (*from, *to),
                    OperationKind::Updates { at: (owner, element), .. } => {
                        let (bytes, owner) = (element.len, owner.0);
                        return Some(format!(
                            "the RDMA atomic of process {} changes {bytes} B of process {owner}",
                            process.0
                        ));
                    }
                    OperationKind::Watches { .. } => return None,
                    OperationKind::Asks { .. } => {
                        return Some(format!("the GPU of process {} has worked", process.0));
                    }
                };
                let kind = if source.0 == process { "write" } else { "read" };
                let (bytes, from, to) = (source.1.len, source.0.0, target.0.0);
                format!(
                    "the RDMA {kind} of process {} moves {bytes} B from process {from} to process {to}",
                    process.0
                )
            }
            Choice::Finish { process, token } => {
                let kind = match self.operation_at(process, token)?.does {
                    OperationKind::Watches { .. } => {
                        return Some(format!("process {} can see its turn", process.0));
                    }
                    OperationKind::Asks { .. } => "operation of the GPU",
                    OperationKind::Copies { .. } | OperationKind::Updates { .. } => {
                        "RDMA operation"
                    }
                };
                format!("an {kind} of process {} completes", process.0)
            }
            Choice::Wire { .. } => choice.to_string(),
            Choice::Crash { process } => format!("process {} dies", process.0),
        })
    }

    fn strand_at(&self, process: Process, thread: Thread) -> Option<&Strand<M, P>> {
        let instance = self.instances.get(process.0 as usize)?;
        instance.threads.get(usize::from(thread.0)).map(|strand| &**strand)
    }

    fn operation_at(&self, process: Process, token: Token) -> Option<&Operation> {
        let port = self.ports.get(process.0 as usize)?;
        port.operation(token).map(|place| &port.operations[place])
    }

    /// The thread is left out where it is the only one.
    fn name(&self, process: Process, thread: Thread) -> String {
        let alone = self.instances[process.0 as usize].threads.len() == 1;
        let thread = if alone { String::new() } else { format!(", thread {},", thread.0) };
        format!("process {}{thread}", process.0)
    }
}

/// How a packet came, as far as that is not the usual way.
fn by(from: Route, via: Via) -> String {
    let lanes = if (from.own.0, from.remote.0) == (0, 0) {
        String::new()
    } else {
        format!(", lane {} to {}", from.remote.0, from.own.0)
    };
    let wire = match via {
        Via::Hca => "",
        Via::SharedMemory => ", by shared memory",
    };
    format!("{wire}{lanes}")
}

/// Next action of a thread, in words.
fn in_words<P, R>(action: &Action<P, R>) -> String {
    match action {
        Action::Return { .. } => "returns".to_owned(),
        Action::Release => "leaves the lock".to_owned(),
        Action::Resume(_) => "comes back under the lock".to_owned(),
        Action::Copy { from, .. } => format!("copies {} B", from.len),
        Action::PeerCopy { peer, toward: Toward::Own, own, .. } => {
            format!("copies {} B out of process {}", own.len, peer.0)
        }
        Action::PeerCopy { peer, toward: Toward::Peer, own, .. } => {
            format!("copies {} B into process {}", own.len, peer.0)
        }
        Action::Consult { .. } => "reads the counters of its node".to_owned(),
        Action::Count { .. } => "changes a counter of its node".to_owned(),
        Action::Watch { .. } => "waits for a counter of its node".to_owned(),
        Action::Combine { from, .. } => format!("combines {} B", from.len),
        Action::Pack(TypedCopy { task: Task::Pack, packed, .. }) => {
            format!("packs {} B", packed.len)
        }
        Action::Pack(TypedCopy { task: Task::Unpack, packed, .. }) => {
            format!("unpacks {} B", packed.len)
        }
        Action::Update { target, .. } => format!("updates {} B", target.len),
        Action::Work(_)
        | Action::Walk { .. }
        | Action::Register { .. }
        | Action::Expose { .. }
        | Action::Send { .. }
        | Action::RdmaWrite { .. }
        | Action::RdmaRead { .. }
        | Action::RdmaAtomic { .. }
        | Action::Device { .. }
        | Action::Repost { .. }
        | Action::Poll(_)
        | Action::Complete { .. }
        | Action::Observe(_) => "goes on".to_owned(),
    }
}
