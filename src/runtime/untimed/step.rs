//! Making a choice happen: inputs into machines, lists into effects.

use super::choice::{Choice, Refusal};
use super::facts::Fact;
use super::state::{
    Actor, Channel, Incoming, Instance, Mail, Operation, OperationKind, Queued, Stage, Strand,
    Touch,
};
use super::turn::{Outside, Turn};
use super::{World, adapter_choices};
use crate::fingerprint::Shared;
use crate::memory::Parcel;
use crate::monitors::buffers::{Lends, Statement};
use crate::rules::{Cut, Defect, Fault, breach};
use mpi::observation::Observation;
use mpi::rma::access;
use mpi::rma::update::Effect;
use protocols::contract::{
    Action, ActionOf, Change, Counter, Entry, Input, InputOf, Lane, Machine, Process, Program,
    ProtocolError, Region, Route, Space, Thread, Token, Toward, Via,
};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// Makes `choice` happen.
    ///
    /// A defect of a protocol that shows in it becomes the world's outcome, a broken law one of
    /// its violations; neither is an error here.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the choice is not among [`Self::choices`]; the world is then unchanged.
    ///
    /// # Panics
    ///
    /// Only where this runtime contradicts itself: an enabled choice that cannot happen.
    pub fn apply(&mut self, choice: Choice) -> Result<(), Refusal> {
        self.refusal(choice).map_or(Ok(()), |reason| Err(Refusal { choice, reason }))?;
        self.make_happen(choice);
        Ok(())
    }

    /// Whether a choice may happen now.
    pub(crate) fn offers(&self, choice: Choice) -> bool {
        self.refusal(choice).is_none()
    }

    /// Makes a choice happen that is among [`Self::choices`].
    ///
    /// # Panics
    ///
    /// Where it is not, perhaps.
    pub(crate) fn make_happen(&mut self, choice: Choice) {
        match choice {
            Choice::Enter { process, thread } => {
                self.take_turn(Actor { process, thread }, Turn::Enter);
            }
            Choice::Act { process, thread } => self.take_turn(Actor { process, thread }, Turn::Act),
            Choice::TakePacket { process, thread, from, via } => {
                let incoming = self.ports[process.0 as usize].change().take_packet(from, via);
                self.take_turn(Actor { process, thread }, Turn::Packet(from, incoming));
            }
            Choice::TakeDone { process, thread, lane } => {
                let token = self.ports[process.0 as usize].change().take_done(lane);
                self.take_turn(Actor { process, thread }, Turn::Done(token, lane));
            }
            Choice::EndPass { process, thread } => {
                self.take_turn(Actor { process, thread }, Turn::EndPass);
            }
            Choice::Match { process, from } => {
                let port = self.ports[process.0 as usize].change();
                let incoming = port.take_packet(from, Via::Hca);
                let input = self.landed(process, from, &incoming);
                self.done_by_adapter(process, input);
            }
            Choice::Conclude { process, token } => {
                let completions = &mut self.ports[process.0 as usize].change().completions;
                completions.retain(|&(_, other)| other != token);
                self.done_by_adapter(process, Input::Done(token));
            }
            Choice::Touch { process, thread } => {
                self.take_turn(Actor { process, thread }, Turn::Touch);
            }
            Choice::Move { process, token } => self.move_bytes(process, token),
            Choice::Finish { process, token } => self.finish(process, token),
            Choice::Wire { to, from, does } => self.move_on_wire(to, from, does),
            Choice::Crash { process } => self.die(process),
        }
    }

    /// Takes the turn of a thread.
    pub(super) fn take_turn(&mut self, actor: Actor, turn: Turn<M>) {
        match turn {
            Turn::Enter => self.enter(actor),
            Turn::Act => self.act(actor),
            Turn::Touch => {
                self.touch(actor);
                self.settle(actor.process);
            }
            Turn::EndPass => {
                let token = self.strand(actor).pass.take();
                let token = token.expect("the thread is in a pass: the choice was enabled");
                self.input(actor, Input::Polled(token));
            }
            Turn::Packet(from, incoming) => {
                let input = self.landed(actor.process, from, &incoming);
                self.input(actor, input);
            }
            Turn::Done(token, lane) => self.input_on(actor, Input::Done(token), lane),
        }
    }

    /// Lets programs read and write memory of their own, until they do something else.
    pub(super) fn settle(&mut self, process: Process) {
        for thread in (0u16..).take(self.instances[process.0 as usize].threads.len()) {
            let actor = Actor { process, thread: Thread(thread) };
            let private = |stage: &Stage<M::Call>| matches!(stage, Stage::Touches(touch) if touch.is_private());
            while private(&self.instances[process.0 as usize].threads[usize::from(thread)].stage) {
                self.touch(actor);
            }
        }
    }

    /// A program reads or writes memory, and decides what it does then.
    fn touch(&mut self, actor: Actor) {
        let Actor { process, thread } = actor;
        let Stage::Touches(touch) = self.strand(actor).stage else {
            unreachable!("the thread is about to read or write: the choice was enabled")
        };
        self.look_at_memory(process, touch.regions());
        self.watch(actor, &touch);
        match touch {
            Touch::Load(region) => {
                let value = self.memories.load(process, region);
                self.strand(actor).program.loaded(value);
            }
            Touch::Take(region) => {
                let value = self.memories.load(process, region);
                self.strand(actor).program.loaded(value);
                self.memories.forget(process, region.space);
            }
            Touch::Tell(fact) => self.observe(actor, &fact),
            Touch::Store(region, value) => {
                self.memories.store(process, region, &value.to_le_bytes());
            }
            Touch::Copy(from, to) => self.memories.copy(process, from, to),
        }
        self.instances[process.0 as usize].change().advance(usize::from(thread.0), None);
    }

    /// The monitors see memory that others can reach being touched.
    fn watch(&mut self, actor: Actor, touch: &Touch) {
        use access::Touch::{Load, Store};
        let touched = match *touch {
            Touch::Load(region) | Touch::Take(region) => [Some((region, Load)), None],
            Touch::Store(region, _) => [Some((region, Store)), None],
            Touch::Copy(from, to) => [Some((from, Load)), Some((to, Store))],
            Touch::Tell(_) => [None, None],
        };
        for (region, touch) in touched.into_iter().flatten() {
            if region.is_in_a_window() {
                let place = self.position(actor);
                self.monitor(actor.process, Fact::Touches { region, touch, place });
            }
        }
    }

    /// The completion of an operation is delivered.
    fn finish(&mut self, process: Process, token: Token) {
        let port = self.ports[process.0 as usize].change();
        let place = port.operation(token);
        let place = place.expect("it is under way: the choice was enabled");
        let Operation { lane, does, .. } = port.operations.remove(place);
        port.completions.push_back((lane, token));
        if let OperationKind::Updates { into, carried, .. } = does {
            self.writes(into.0, into.1);
            self.memories.write(into.0, into.1, &carried);
        }
    }

    /// Why a choice may not happen now; `None` where it may.
    fn refusal(&self, choice: Choice) -> Option<&'static str> {
        if self.fault.is_some() {
            return Some("the run was stopped by a fault");
        }
        if self.gave_up().is_some() {
            return Some("a queue pair has given up, which ends the job");
        }
        match choice {
            Choice::Enter { process, thread }
            | Choice::Act { process, thread }
            | Choice::TakePacket { process, thread, .. }
            | Choice::TakeDone { process, thread, .. }
            | Choice::EndPass { process, thread }
            | Choice::Touch { process, thread } => {
                let Some(instance) = self.instances.get(process.0 as usize) else {
                    return Some("there is no such process");
                };
                let Some(strand) = instance.threads.get(usize::from(thread.0)) else {
                    return Some("there is no such thread");
                };
                self.strand_refusal(choice, process, thread, instance, strand)
            }
            Choice::Move { process, token } | Choice::Finish { process, token } => {
                let Some(port) = self.ports.get(process.0 as usize) else {
                    return Some("there is no such process");
                };
                let moves = matches!(choice, Choice::Move { .. });
                match port.operation(token).map(|place| &port.operations[place]) {
                    None => Some("no such operation is under way"),
                    Some(operation) if operation.waits() => Some(
                        "an operation before it in its stream or queue pair comes first, or its turn has not come",
                    ),
                    Some(operation) if operation.is_cut_off(self.crash.victim()) => {
                        Some("a process that it names has died")
                    }
                    Some(operation) if operation.moved == moves => Some(if moves {
                        "its bytes have moved already"
                    } else {
                        "its bytes have not moved yet"
                    }),
                    Some(_) => None,
                }
            }
            Choice::Wire { to, from, does } => self.wire_refusal(to, from, does),
            Choice::Match { process, .. } | Choice::Conclude { process, .. } => {
                let at = process.0 as usize;
                let known = self.instances.get(at).zip(self.ports.get(at));
                let mut open = Vec::new();
                if let Some((instance, port)) = known.filter(|_| self.adapters) {
                    adapter_choices(process, instance, port, &mut open);
                }
                (!open.contains(&choice))
                    .then_some("the adapter has nothing to take from there now")
            }
            Choice::Crash { process } => self.crash_refusal(process),
        }
    }

    fn strand_refusal(
        &self,
        choice: Choice,
        process: Process,
        thread: Thread,
        instance: &Instance<M, P>,
        strand: &Strand<M, P>,
    ) -> Option<&'static str> {
        let port = &self.ports[process.0 as usize];
        let (missing, entry) = match choice {
            Choice::Act { .. } => {
                let resumes =
                    matches!(strand.list.last(), Some(Action::Resume(_) | Action::Consult { .. }));
                let blocked = resumes && !instance.grants(thread, &Entry::Resume);
                let idle = strand.list.is_empty().then_some("its list is empty");
                return idle.or(blocked.then_some("another thread is inside the guard"));
            }
            Choice::Enter { .. } => match &strand.stage {
                Stage::Calls(call) if strand.list.is_empty() => (None, Entry::Call(call)),
                Stage::Calls(_)
                | Stage::Touches(_)
                | Stage::Inside
                | Stage::Unborn
                | Stage::Joining
                | Stage::Ended
                | Stage::Dead => {
                    return Some("its program is not about to call");
                }
            },
            Choice::Touch { .. } => {
                let touches = strand.list.is_empty() && matches!(strand.stage, Stage::Touches(_));
                return (!touches).then_some("its program is not about to read or write");
            }
            _ if !strand.polls() => (Some("it does not poll"), Entry::Polled),
            Choice::TakePacket { from, via, .. } => {
                let polled = instance.machine.reaches(thread).contains(from.own);
                let place = port.channel(from, via).ok().filter(|_| polled);
                let empty = place.is_none_or(|place| !port.channels[place].is_open());
                let entry = Entry::Packet(from.own);
                (empty.then_some("it polls no such channel, or it is empty"), entry)
            }
            Choice::TakeDone { lane, .. } => {
                let polled = instance.machine.reaches(thread).contains(lane);
                let empty = !polled || port.completion(lane).is_none();
                (empty.then_some("the completion queue is empty"), Entry::Done(lane))
            }
            Choice::EndPass { .. } => {
                (strand.pass.is_none().then_some("it is in no pass"), Entry::Polled)
            }
            Choice::Match { .. }
            | Choice::Conclude { .. }
            | Choice::Move { .. }
            | Choice::Finish { .. }
            | Choice::Wire { .. }
            | Choice::Crash { .. } => (None, Entry::Done(Lane(0))),
        };
        let blocked = !instance.grants(thread, &entry);
        missing.or(blocked.then_some("another thread is inside the guard"))
    }

    fn enter(&mut self, actor: Actor) {
        let strand = self.strand(actor);
        let Stage::Calls(call) = std::mem::replace(&mut strand.stage, Stage::Inside) else {
            unreachable!("the thread is about to call: the choice was enabled")
        };
        let (lent, also) = (call.lends(), call.lends_also());
        let statement =
            call.elements().map(|elements| Statement::new(elements, self.position(actor)));
        let Some(list) = self.handle(actor, Input::Call(call), Lane(0)) else { return };
        self.lend(actor.process, (lent, also), statement, &list);
        self.begin(actor, list);
    }

    /// The adapter does all that an input asks for, under no guard.
    fn done_by_adapter(&mut self, process: Process, input: InputOf<M>) {
        let actor = Actor { process, thread: Thread(0) };
        let mut list = Vec::with_capacity(8);
        let machine = &mut self.instances[process.0 as usize].change().machine;
        let handled = machine.change().handle_by_adapter(input, &mut list);
        match (handled, breach(&list)) {
            (Err(refused), _) => self.stop(actor, Defect::Refused(refused)),
            (Ok(()), Some(rule)) => self.stop(actor, Defect::Broke(rule.into())),
            (Ok(()), None) => {
                for action in list {
                    if self.fault.is_none() {
                        self.perform(actor, action);
                    }
                }
            }
        }
    }

    /// A packet that was taken, with its payload where it lands.
    fn landed(&mut self, process: Process, from: Route, mail: &Mail<M>) -> InputOf<M> {
        let Incoming { packet, parcel, .. } = &**mail;
        let landing = parcel.as_ref().map(|parcel| self.memories.land(process, parcel));
        let packet = packet.clone();
        Input::Packet { from, packet, landing }
    }

    fn move_bytes(&mut self, process: Process, token: Token) {
        let port = self.ports[process.0 as usize].change();
        let place = port.operation(token).expect("it is under way: the choice was enabled");
        port.operations[place].moved = true;
        let operation = port.operations[place].clone();
        let mut others = operation.sides().into_iter().filter(|(owner, _)| *owner != process);
        if let Some(error) = others.find_map(|(owner, region)| self.exposes(owner, region).err()) {
            return self.stop(Actor { process, thread: Thread(0) }, error.into());
        }
        match operation.does {
            OperationKind::Copies { from: (from, source), to: (to, target), .. } => {
                self.reads(from, source);
                self.writes(to, target);
                let parcel = self.memories.capture(from, source);
                self.memories.write(to, target, &parcel);
                self.packets_follow(process, to, token);
                self.others_follow(process, token);
            }
            OperationKind::Asks { process, work, .. } => {
                self.memories.work(process, &work);
                self.others_follow(process, token);
            }
            OperationKind::Watches { .. } => unreachable!("it has nothing to move"),
            OperationKind::Updates { at: (owner, target), update, carried, into } => {
                self.writes(owner, target);
                self.windows_see_update(process, owner, target);
                let carried = self.memories.update_by(owner, target, update, &carried);
                let at = (owner, target);
                let operation = &mut self.ports[process.0 as usize].change().operations[place];
                operation.does = OperationKind::Updates { at, update, carried, into };
            }
        }
    }

    /// The next operation of a stream or a queue pair may begin: the one before it has ended, or moved its bytes.
    fn others_follow(&mut self, process: Process, token: Token) {
        for other in &mut self.ports[process.0 as usize].change().operations {
            other.does.ends_after(token);
        }
    }

    /// The bytes of a write have moved: what it carries besides can be taken, and packets behind it.
    fn packets_follow(&mut self, writer: Process, to: Process, token: Token) {
        self.whole_on_wires(writer, to, token);
        let channels = &self.ports[to.0 as usize].channels;
        let comes = |incoming: &Mail<M>| incoming.part_of == Some(token);
        let from =
            |channel: &Channel<M>| channel.from.peer == writer && channel.packets.iter().any(comes);
        let Some(place) = channels.iter().position(from) else { return };
        let packets = &mut self.ports[to.0 as usize].change().channels[place].packets;
        for incoming in packets.iter_mut().filter(|incoming| incoming.part_of == Some(token)) {
            incoming.change().part_of = None;
        }
    }

    fn exposes(&self, owner: Process, region: Region) -> Result<(), ProtocolError> {
        self.instances[owner.0 as usize].machine.exposes(region)
    }

    /// Gives an input to a machine and does the first step of what it wants.
    fn input(&mut self, actor: Actor, input: InputOf<M>) {
        self.input_on(actor, input, Lane(0));
    }

    /// The same; a completion was taken from this lane.
    fn input_on(&mut self, actor: Actor, input: InputOf<M>, lane: Lane) {
        if let Some(list) = self.handle(actor, input, lane) {
            self.begin(actor, list);
        }
    }

    /// `handle` at the grant; `None` where it ended in a fault.
    fn handle(&mut self, actor: Actor, input: InputOf<M>, lane: Lane) -> Option<Vec<ActionOf<M>>> {
        let instance = self.instances[actor.process.0 as usize].change();
        instance.grant(actor.thread, &input.entry(lane));
        let question = self.memo.question(&instance.machine, actor.thread, &input);
        if let Some((machine, list)) = self.memo.answer(question) {
            instance.machine = machine;
            return Some(list.to_vec());
        }
        let mut list = Vec::with_capacity(8);
        let handled = instance.machine.change().handle(actor.thread, input, &mut list);
        let defect = match (handled, breach(&list)) {
            (Err(refused), _) => Defect::Refused(refused),
            (Ok(()), Some(rule)) => Defect::Broke(rule.into()),
            (Ok(()), None) => {
                self.memo.keep(question, &instance.machine, &list);
                return Some(list);
            }
        };
        self.stop(actor, defect);
        None
    }

    fn begin(&mut self, actor: Actor, mut list: Vec<ActionOf<M>>) {
        list.reverse();
        self.strand(actor).list = list;
        self.go_on(actor, Cut::new());
    }

    /// The step that begins with the first action of the thread's list.
    fn act(&mut self, actor: Actor) {
        let action = self.strand(actor).list.pop().expect("the choice was enabled");
        let mut cut = Cut::new();
        cut.before(&action);
        if let Action::Resume(token) = action {
            self.input(actor, Input::Resume(token));
        } else if let Action::Consult { counters, token } = action {
            self.notes.spoil();
            let values = self.counters.read(counters);
            self.input(actor, Input::Counters { token, values });
        } else {
            self.perform(actor, action);
            self.go_on(actor, cut);
        }
    }

    /// Does the rest of a step; at the end of the list the guard is free.
    fn go_on(&mut self, actor: Actor, mut cut: Cut) {
        while self.fault.is_none() {
            let list = &mut self.strand(actor).list;
            match list.last() {
                None => return self.leave(actor),
                Some(action) if cut.before(action) => return,
                Some(_) => {}
            }
            let action = list.pop().expect("it was looked at just now");
            self.perform(actor, action);
        }
    }

    fn leave(&mut self, actor: Actor) {
        let instance = &mut self.instances[actor.process.0 as usize];
        if instance.owners.iter().any(|&(_, owner)| owner == actor.thread) {
            instance.change().owners.retain(|&(_, owner)| owner != actor.thread);
        }
    }

    fn perform(&mut self, actor: Actor, action: ActionOf<M>) {
        let process = actor.process;
        self.look_at(process, &action);
        match action {
            Action::Work(_) | Action::Register { .. } | Action::Expose { .. } => {}
            Action::Walk { fact, .. } => fact.iter().for_each(|fact| self.observe(actor, fact)),
            Action::PeerCopy { peer, toward, own, remote } => {
                self.peer_copy(actor, peer, toward, own, remote);
            }
            Action::Count { counter, change } => self.count(counter, change),
            Action::Watch { counter, value, token } => {
                let met = self.counters.value(counter) == value;
                let lane = self.machine(process).polls(actor.thread).first;
                self.post(
                    actor,
                    token,
                    lane,
                    OperationKind::Watches { process, counter, value, met },
                );
            }
            Action::Copy { from, to } => {
                self.reads(process, from);
                self.writes(process, to);
                self.memories.copy(process, from, to);
            }
            Action::Pack(copy) => self.pack(process, &copy),
            Action::Combine { from, into, reduction, side } => {
                self.reads(process, from);
                self.writes(process, into);
                self.memories.combine(process, (from, into), reduction, side);
            }
            Action::Update { target, update, operand, old, .. } => {
                self.update(process, target, update, operand, old);
            }
            Action::Send { to, via, header: _, packet, payload } => {
                let parcel = payload.map(|region| {
                    self.reads(process, region);
                    self.memories.capture(process, region)
                });
                self.send(actor, to, via, Shared::new(Incoming { packet, parcel, part_of: None }));
            }
            Action::RdmaWrite { to, from, into, token, immediate } => {
                if let Some(packet) = immediate {
                    let (packet, part_of) = (*packet, Some(token));
                    let incoming = Incoming { packet, parcel: None, part_of };
                    self.send(actor, to, Via::Hca, Shared::new(incoming));
                }
                let queued = Some(Queued { pair: to, behind: None });
                let (from, into) = ((process, from), (to.peer, into));
                let does = OperationKind::Copies { from, to: into, queued };
                self.post(actor, token, to.own, does);
            }
            Action::RdmaRead { from, remote, into, token } => {
                let (remote, into) = ((from.peer, remote), (process, into));
                let does = OperationKind::Copies { from: remote, to: into, queued: None };
                self.post(actor, token, from.own, does);
            }
            Action::RdmaAtomic { at, target, update, operand, into, token } => {
                let carried = operand.map_or_else(Parcel::default, |operand| {
                    self.reads(process, operand);
                    self.memories.capture(process, operand)
                });
                let (at, lane) = ((at.peer, target), at.own);
                let does = OperationKind::Updates { at, update, carried, into: (process, into) };
                self.post(actor, token, lane, does);
            }
            Action::Device { stream, work, token } => {
                let operations = &self.ports[process.0 as usize].operations;
                let before = |one: &&Operation| matches!(one.does, OperationKind::Asks { stream: other, .. } if other == stream);
                let after = operations.iter().filter(before).filter(|one| !one.moved);
                let after = after.map(|one| one.token).collect();
                let lane = self.machine(process).polls(actor.thread).first;
                self.post(actor, token, lane, OperationKind::Asks { process, stream, work, after });
            }
            Action::Repost { landing, from: _ } => self.repost(actor, landing),
            Action::Release => self.leave(actor),
            Action::Poll(token) => self.poll(actor, token),
            Action::Resume(_) | Action::Consult { .. } => {
                unreachable!("`Cut` makes it the first action of its step")
            }
            Action::Complete { code: _, buffer, fact } => self.complete(actor, buffer, fact),
            Action::Observe(fact) => self.observe(actor, &fact),
            Action::Return { thread, reply } => self.return_to(actor, thread, reply),
        }
    }

    /// A counter changes, and threads that wait for its value can see it.
    fn count(&mut self, counter: Counter, change: Change) {
        self.counters.change(counter, change, &mut self.found);
        let now = self.counters.value(counter);
        let watched = |one: &Operation| matches!(one.does, OperationKind::Watches { counter: other, .. } if other == counter);
        for port in &mut self.ports {
            if port.operations.iter().any(watched) {
                for operation in &mut port.change().operations {
                    operation.does.sees(counter, now);
                }
            }
        }
    }

    fn peer_copy(
        &mut self,
        actor: Actor,
        peer: Process,
        toward: Toward,
        own: Region,
        remote: Region,
    ) {
        if peer.0 as usize >= self.instances.len() {
            return self.stop(actor, Defect::Broke("a copy names no process".into()));
        }
        let ((from, source), (to, target)) = match toward {
            Toward::Own => ((peer, remote), (actor.process, own)),
            Toward::Peer => ((actor.process, own), (peer, remote)),
        };
        self.reads(from, source);
        self.writes(to, target);
        let parcel = self.memories.capture(from, source);
        self.memories.write(to, target, &parcel);
    }

    fn repost(&mut self, actor: Actor, landing: Region) {
        if self.memories.is_landed(actor.process, landing) {
            self.memories.free_landing(actor.process, landing);
        } else {
            self.stop(actor, Defect::Broke(format!("{landing:?} is reposted, but not in use")));
        }
    }

    pub(super) fn send(&mut self, actor: Actor, to: Route, via: Via, mut incoming: Mail<M>) {
        self.notes.note(|| Outside::Sends { to, via, incoming: incoming.clone() });
        let write = self.ports[actor.process.0 as usize].write_before(to, via, &incoming);
        if write.is_some() {
            incoming.change().part_of = write;
        }
        let from = to.back(actor.process);
        if self.crash.victim() == Some(to.peer) {
            return;
        }
        if to.peer.0 as usize >= self.ports.len() {
            return self.stop(actor, Defect::Broke(format!("there is no process {}", to.peer.0)));
        }
        if let Some(incoming) = self.post_to_wire(to.peer, from, via, incoming) {
            self.deliver(to.peer, from, via, incoming);
        }
    }

    /// A message comes to the end of its channel.
    pub(super) fn deliver(&mut self, to: Process, from: Route, via: Via, incoming: Mail<M>) {
        self.ports[to.0 as usize].change().deliver(from, via, incoming);
    }

    fn update(
        &mut self,
        process: Process,
        target: Region,
        update: Effect,
        operand: Option<Region>,
        old: Option<Region>,
    ) {
        if let Some(operand) = operand {
            self.reads(process, operand);
        }
        for region in [Some(target), old].into_iter().flatten() {
            self.writes(process, region);
        }
        self.memories.update(process, target, update, operand, old);
    }

    pub(super) fn post(&mut self, actor: Actor, token: Token, lane: Lane, does: OperationKind) {
        self.notes.note(|| Outside::Posts { token, lane, does: does.clone() });
        let (last, fits) = match &does {
            OperationKind::Copies { from, to, .. } => (from.0.max(to.0), from.1.len == to.1.len),
            OperationKind::Updates { at, into, .. } => (at.0, at.1.len == into.1.len),
            OperationKind::Asks { process, .. } | OperationKind::Watches { process, .. } => {
                (*process, true)
            }
        };
        if last.0 as usize >= self.ports.len() {
            return self.stop(actor, Defect::Broke("a transfer names no process".into()));
        }
        if !fits {
            return self.stop(actor, Defect::Broke("the two sides of a transfer differ".into()));
        }
        let port = &mut self.ports[actor.process.0 as usize];
        if port.operation(token).is_some() {
            let words = format!("two operations under way have the token {}", token.0);
            return self.stop(actor, Defect::Broke(words));
        }
        port.change().post(Operation::new(token, lane, does));
    }

    fn poll(&mut self, actor: Actor, token: Token) {
        let strand = self.strand(actor);
        if strand.pass.is_some() || strand.stage != Stage::Inside {
            let words = "a pass begins inside a call, and not inside another pass";
            return self.stop(actor, Defect::Broke(words.into()));
        }
        strand.pass = Some(token);
    }

    fn return_to(&mut self, actor: Actor, thread: Thread, reply: M::Reply) {
        let instance = self.instances[actor.process.0 as usize].change();
        match instance.threads.get(usize::from(thread.0)) {
            // It may still have work in its list: its program's call waits for the end of that.
            Some(strand) if strand.stage == Stage::Inside && strand.pass.is_none() => {
                instance.advance(usize::from(thread.0), Some(reply));
                self.settle(actor.process);
            }
            _ => {
                let words = format!("thread {} returns, but is not waiting in a call", thread.0);
                self.stop(actor, Defect::Broke(words));
            }
        }
    }

    fn complete(&mut self, actor: Actor, buffer: Option<Region>, fact: Option<Observation>) {
        if let Some(fact) = &fact {
            self.observe(actor, fact);
        }
        let Some(Region { space: Space::User(_), .. }) = buffer else { return };
        let (broken, memories) = (self.found.len(), &mut self.memories);
        let (process, buffers) = (actor.process, self.buffers[actor.process.0 as usize].change());
        buffers.completed(memories, process, fact.as_ref(), buffer, &mut self.found);
        let met = std::mem::take(&mut buffers.sometimes);
        self.met.add(&met.into());
        self.spoil_if(broken);
    }

    fn observe(&mut self, actor: Actor, fact: &Observation) {
        let place = self.position(actor);
        self.monitor(actor.process, Fact::Tells { fact: *fact, place });
    }

    pub(super) fn reads(&mut self, process: Process, region: Region) {
        let broken = self.found.len();
        self.buffers[process.0 as usize].reads(process, region, &mut self.found);
        self.spoil_if(broken);
    }

    pub(super) fn writes(&mut self, process: Process, region: Region) {
        let broken = self.found.len();
        self.buffers[process.0 as usize].writes(process, region, &mut self.found);
        self.spoil_if(broken);
    }

    /// A turn that breaks a law of buffers is not kept: there are more laws now than `broken` ones.
    fn spoil_if(&mut self, broken: usize) {
        if self.found.len() > broken {
            self.notes.spoil();
        }
    }

    fn stop(&mut self, actor: Actor, defect: Defect) {
        self.notes.spoil();
        let position = self.position(actor);
        let Actor { process, thread } = actor;
        self.fault = Some(Box::new(Fault { process, thread, position, defect }));
    }

    fn position(&self, Actor { process, thread }: Actor) -> Option<u32> {
        self.program(process, thread).position()
    }

    fn strand(&mut self, actor: Actor) -> &mut Strand<M, P> {
        let instance = self.instances[actor.process.0 as usize].change();
        instance.threads[usize::from(actor.thread.0)].change()
    }
}
