//! A toy library with two threads, work outside the guard and one-sided reads: each law of the
//! runtime, and each planted defect that must not get past it.

use super::states::{Known, States};
use super::*;
use crate::explore::{self, Budget, Survey};
use mpi::envelope::{Context, Envelope, Rank, Selection};
use mpi::observation::{MessageId, Observation, ReceiveId};
use protocols::contract::{
    Action, CodePath, Emit, Guard, Input, Next, ProtocolError, Route, Space, Token, Wait, WaitSet,
};
use protocols::uses::{Lent, UseAs};
use units::Bytes;

const LEN: u64 = 12;

/// The planted mistake.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Planted {
    Nothing,
    /// The sender's buffer is given back at once.
    EarlyComplete,
    /// A control: the same, but the bytes were copied before.
    CopiedAndFree,
    /// The note goes out before the bytes it announces are copied.
    NoteBeforeCopy,
    /// The receiver reads no further than the first bytes.
    ShortRead,
    /// The receiver forgets to return.
    NoReturn,
    /// The receiver sees a receive that was not posted first.
    LatestReceive,
    /// After leaving the guard a packet is sent.
    SendAfterRelease,
    /// A second FIN.
    TwoFins,
}

/// Every plant.
const PLANTED: [Planted; 9] = [
    Planted::Nothing,
    Planted::EarlyComplete,
    Planted::CopiedAndFree,
    Planted::NoteBeforeCopy,
    Planted::ShortRead,
    Planted::NoReturn,
    Planted::LatestReceive,
    Planted::SendAfterRelease,
    Planted::TwoFins,
];

/// Sends are announced by a note, read by the receiver from the sender's buffer (or from a copy of
/// it); a FIN gives the buffer back. Every
/// receive copies outside the guard.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Toy {
    me: u32,
    threads: u16,
    planted: Planted,
    sent: u32,
    posted: u32,
    /// Sends that wait for FIN.
    sending: Vec<(Thread, MessageId, Region)>,
    /// Receives without a message: thread, receive, buffer.
    receives: Vec<(Thread, ReceiveId, Region)>,
    /// Messages without a receive.
    notes: Vec<(Route, MessageId, Region)>,
    /// Messages that are read into a landing cell of the library, then copied.
    reading: Vec<(Thread, ReceiveId, Region, Route, MessageId)>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Packet {
    Note(MessageId, Region),
    Fin(MessageId),
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Call {
    Send {
        to: u32,
        buffer: u32,
    },
    Receive {
        buffer: u32,
    },
    /// One pass; returns at its end.
    Poll,
}

impl Lends for Call {
    fn lends(&self) -> Option<Lent> {
        let region = |id| Region::new(Space::User(id), LEN);
        match *self {
            Self::Send { buffer, .. } => {
                Some(Lent { region: region(buffer), use_as: UseAs::Source })
            }
            Self::Receive { buffer } => {
                Some(Lent { region: region(buffer), use_as: UseAs::Destination })
            }
            Self::Poll => None,
        }
    }
}

type Out<'a> = &'a mut Vec<Action<Packet, ()>>;

/// The library's copy of a message, readable by peers.
fn window(id: MessageId) -> Region {
    Region::new(Space::Landing(1000 + id.serial), LEN)
}

fn cell(id: MessageId) -> Region {
    Region::new(Space::Unexpected(id.process * 10 + id.serial), LEN)
}

fn token(id: MessageId) -> Token {
    Token(u64::from(id.process) << 32 | u64::from(id.serial))
}

impl Toy {
    fn new(me: u32, threads: u16, planted: Planted) -> Self {
        Self {
            me,
            threads,
            planted,
            sent: 0,
            posted: 0,
            sending: Vec::new(),
            receives: Vec::new(),
            notes: Vec::new(),
            reading: Vec::new(),
        }
    }

    fn send(&mut self, thread: Thread, to: u32, buffer: Region, out: Out<'_>) {
        let message = MessageId { process: self.me, serial: self.sent };
        self.sent += 1;
        let envelope =
            Envelope { context: Context(0), dest: Rank(0), source: Rank(self.me), tag: 0 };
        out.push(Action::Observe(Observation::Sent {
            message,
            envelope,
            to,
            bytes: LEN,
            ready: false,
        }));
        let copies = matches!(self.planted, Planted::NoteBeforeCopy | Planted::CopiedAndFree);
        let completes = matches!(self.planted, Planted::EarlyComplete | Planted::CopiedAndFree);
        let remote = if copies { window(message) } else { buffer };
        let note = Action::Send {
            to: Route::to(Process(to)),
            via: Via::Hca,
            header: Bytes::new(8),
            packet: Packet::Note(message, remote),
            payload: None,
        };
        out.push(note);
        if copies {
            out.push(Action::Copy { from: buffer, to: window(message) });
            let note = out.len() - 2;
            out[note..].rotate_left(usize::from(self.planted == Planted::CopiedAndFree));
        }
        if completes {
            Self::end_send(thread, message, buffer, out);
        } else {
            self.sending.push((thread, message, buffer));
        }
    }

    fn end_send(thread: Thread, message: MessageId, buffer: Region, out: Out<'_>) {
        let fact = Some(Observation::SendComplete { message });
        out.push(Action::Complete { code: None, buffer: Some(buffer), fact });
        out.push(Action::Return { thread, reply: () });
    }

    fn receive(&mut self, thread: Thread, buffer: Region, out: Out<'_>) {
        let receive = ReceiveId { process: self.me, serial: self.posted };
        self.posted += 1;
        let selection = Selection { context: Context(0), dest: Rank(0), source: None, tag: None };
        out.push(Action::Observe(Observation::Posted { receive, selection, bytes: LEN }));
        self.receives.push((thread, receive, buffer));
        self.pair_up(out);
    }

    fn pair_up(&mut self, out: Out<'_>) {
        while !self.receives.is_empty() && !self.notes.is_empty() {
            let place =
                if self.planted == Planted::LatestReceive { self.receives.len() - 1 } else { 0 };
            let (thread, receive, buffer) = self.receives.remove(place);
            let (from, message, remote) = self.notes.remove(0);
            out.push(Action::Observe(Observation::Matched { message, receive }));
            let part = if self.planted == Planted::ShortRead { LEN - 1 } else { LEN };
            out.push(Action::RdmaRead {
                from,
                remote: remote.part(0, part),
                into: cell(message).part(0, part),
                token: token(message),
            });
            self.reading.push((thread, receive, buffer, from, message));
        }
    }

    fn place(&self, wanted: Token) -> Option<usize> {
        self.reading.iter().position(|(.., message)| token(*message) == wanted)
    }

    /// The bytes are here: copy them outside the guard, by whichever thread polled.
    fn done(&self, place: usize, out: Out<'_>) {
        let (_, _, buffer, from, message) = self.reading[place];
        let fin = || Action::Send {
            to: from,
            via: Via::Hca,
            header: Bytes::new(8),
            packet: Packet::Fin(message),
            payload: None,
        };
        out.push(fin());
        if self.planted == Planted::TwoFins {
            out.push(fin());
        }
        out.push(Action::Release);
        out.push(Action::Work(CodePath::Completion));
        out.push(Action::Copy { from: cell(message), to: buffer });
        if self.planted == Planted::SendAfterRelease {
            out.push(fin());
        }
        out.push(Action::Resume(token(message)));
    }

    fn resume(&mut self, place: usize, out: Out<'_>) {
        let (thread, receive, buffer, _, message) = self.reading.remove(place);
        let received = Observation::Received { receive, message, bytes: LEN, truncated: false };
        let fact = Some(received);
        out.push(Action::Complete { code: None, buffer: Some(buffer), fact });
        if self.planted != Planted::NoReturn {
            out.push(Action::Return { thread, reply: () });
        }
    }
}

impl Machine for Toy {
    type Packet = Packet;
    type Call = Call;
    type Reply = ();

    fn guard(&self, _: Thread, _: &Entry<'_, Call>) -> Option<Guard> {
        (self.threads > 1).then_some(Guard(0))
    }

    fn handle(
        &mut self,
        thread: Thread,
        input: Input<Packet, Call>,
        out: &mut impl Emit<Action<Packet, ()>>,
    ) -> Result<(), ProtocolError> {
        let out = out.list();
        let region = |id| Region::new(Space::User(id), LEN);
        match input {
            Input::Call(Call::Send { to, buffer }) => self.send(thread, to, region(buffer), out),
            Input::Call(Call::Receive { buffer }) => self.receive(thread, region(buffer), out),
            Input::Call(Call::Poll) => out.push(Action::Poll(Token(0))),
            Input::Polled(_) => out.push(Action::Return { thread, reply: () }),
            Input::Packet { from, packet: Packet::Note(message, remote), .. } => {
                let taken_by = None;
                out.push(Action::Observe(Observation::Arrived { message, taken_by }));
                self.notes.push((from, message, remote));
                self.pair_up(out);
            }
            Input::Packet { packet: Packet::Fin(message), .. } => {
                let place = self.sending.iter().position(|(_, sent, _)| *sent == message);
                match place {
                    Some(place) => {
                        let (thread, message, buffer) = self.sending.remove(place);
                        Self::end_send(thread, message, buffer, out);
                    }
                    None if self.planted == Planted::CopiedAndFree => {}
                    None => return Err(ProtocolError::refused("toy", "no send", message)),
                }
            }
            Input::Done(token) => self.done(self.place(token).expect("it was posted"), out),
            Input::Counters { token, .. } => {
                return Err(ProtocolError::refused("toy", "it asks for no counters", token));
            }
            Input::Resume(token) => self.resume(self.place(token).expect("it is here"), out),
        }
        Ok(())
    }

    fn waits(&self, thread: Thread) -> Option<WaitSet> {
        let receives = self.receives.iter().any(|(waiter, ..)| *waiter == thread)
            || self.reading.iter().any(|(waiter, ..)| *waiter == thread);
        let sends = self.sending.iter().any(|(waiter, ..)| *waiter == thread);
        let operation = if receives { "receive" } else { "send" };
        let wait =
            Wait { operation, peers: Vec::new(), thread: None, detail: String::new(), origin: 0 };
        (receives || sends).then(|| WaitSet::All(vec![wait]))
    }

    fn leftovers(&self) -> Vec<String> {
        self.notes.iter().map(|note| format!("{note:?}")).collect()
    }
}

/// Its calls, last one first.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Script(Vec<Call>);

impl Program<Toy> for Script {
    fn next(&mut self, _: Option<()>) -> Next<Call> {
        self.0.pop().map_or(Next::End, Next::Call)
    }
}

/// `calls[process][thread]`, each last call first.
fn world(planted: Planted, calls: &[&[&[Call]]]) -> World<Toy, Script> {
    let processes = (0u32..).zip(calls).map(|(me, threads)| {
        let count = u16::try_from(threads.len()).expect("small worlds");
        (Toy::new(me, count, planted), threads.iter().map(|calls| Script(calls.to_vec())).collect())
    });
    World::new(processes.collect(), Payload::Real)
}

fn survey(planted: Planted, calls: &[&[&[Call]]]) -> Survey {
    explore::exhaustive(&world(planted, calls), Budget::default())
}

const SEND: Call = Call::Send { to: 1, buffer: 0 };
const SEND_OTHER: Call = Call::Send { to: 1, buffer: 1 };
const RECEIVE: Call = Call::Receive { buffer: 0 };
const RECEIVE_OTHER: Call = Call::Receive { buffer: 1 };
/// Two threads send, two receive, under a guard.
const CROWD: &[&[&[Call]]] = &[&[&[SEND], &[SEND_OTHER]], &[&[RECEIVE], &[RECEIVE_OTHER]]];
const PAIR: &[&[&[Call]]] = &[&[&[SEND]], &[&[RECEIVE]]];

#[test]
fn the_toy_without_a_defect_ends_well_in_every_order() {
    let pair = survey(Planted::Nothing, PAIR);
    assert!(pair.is_clean(), "{pair:#?}");
    assert_eq!((pair.finals, pair.sometimes.compared > 0), (1, true));
    let crowd = survey(Planted::Nothing, CROWD);
    assert!(crowd.is_clean(), "{crowd:#?}");
    assert_eq!(crowd.finals, 4, "two messages to two receives, numbered in either order");
}

#[test]
fn a_pass_takes_some_or_all_or_nothing_and_then_ends() {
    let polls: &[&[&[Call]]] = &[&[&[SEND]], &[&[RECEIVE, Call::Poll, Call::Poll]]];
    let found = survey(Planted::Nothing, polls);
    assert!(found.is_clean(), "{found:#?}");
    assert_eq!(found.finals, 1);
    assert!(found.sometimes.unexpected > 0, "a pass took the note before the receive was posted");
    // No packet is taken while the receiver does not call: its two passes are all it does.
    let lost = survey(Planted::Nothing, &[&[&[SEND]], &[&[Call::Poll, Call::Poll]]]);
    assert!(lost.dead > 0 && lost.finals == 0);
}

#[track_caller]
fn check_killed(planted: Planted, calls: &[&[&[Call]]], law: &str) {
    let found = survey(planted, calls);
    let laws: Vec<&str> = found.violations.iter().map(|(violation, _)| violation.id).collect();
    assert!(laws.contains(&law), "{planted:?}: {laws:?}, {found:#?}");
    let (violation, way) =
        found.violations.iter().find(|(violation, _)| violation.id == law).expect("just seen");
    let mut world = world(planted, calls);
    explore::replay(&mut world, way).expect("its way leads there");
    assert!(world.violations().contains(violation) || world.conclude().contains(violation));
}

#[test]
fn every_planted_defect_is_killed_by_its_law() {
    check_killed(Planted::EarlyComplete, PAIR, "V2");
    check_killed(Planted::NoteBeforeCopy, PAIR, "V2");
    check_killed(Planted::ShortRead, PAIR, "V2");
    check_killed(Planted::LatestReceive, CROWD, "M2");
}

#[test]
fn a_receiver_that_never_returns_is_a_dead_end_with_its_point_of_no_return() {
    let found = survey(Planted::NoReturn, PAIR);
    assert!(found.dead > 0 && found.finals == 0);
    assert_eq!((found.doomed, found.way_to_doomed), (found.states, Some(vec![])));
}

#[track_caller]
fn check_fault(planted: Planted, calls: &[&[&[Call]]], words: &str) {
    let found = survey(planted, calls);
    let (fault, way) = found.faults.first().expect("a fault is found");
    assert!(fault.to_string().contains(words), "{fault}");
    let mut world = world(planted, calls);
    explore::replay(&mut world, way).expect("its way leads there");
    assert_eq!(world.outcome(), Outcome::Faulted(fault.clone()));
    assert_eq!(world.choices(), []);
    let refused = world.apply(way[0]).expect_err("nothing may happen after a fault");
    assert!(refused.to_string().ends_with("the run was stopped by a fault"), "{refused}");
}

#[test]
fn defects_of_a_machine_are_results_not_panics() {
    let after = "process 1, thread 0: the library broke a rule: after";
    check_fault(Planted::SendAfterRelease, PAIR, after);
    let polling: &[&[&[Call]]] = &[&[&[Call::Poll, SEND]], &[&[RECEIVE]]];
    check_fault(Planted::TwoFins, polling, "process 0, thread 0: toy: no send: MessageId");
}

#[test]
fn a_buffer_that_is_free_too_early_is_no_harm_where_it_was_copied() {
    // A control: this toy copies before it completes, so no monitor may complain.
    let found = survey(Planted::CopiedAndFree, PAIR);
    assert!(found.violations.is_empty() && found.dead == 0, "{found:#?}");
}

/// Polls for ever.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Poller;

impl Program<Toy> for Poller {
    fn next(&mut self, _: Option<()>) -> Next<Call> {
        Next::Call(Call::Poll)
    }
}

#[test]
fn a_livelock_is_doomed_without_being_dead() {
    let poller = vec![(Toy::new(0, 1, Planted::Nothing), vec![Poller])];
    let found = explore::exhaustive(&World::new(poller, Payload::Real), Budget::default());
    assert!(found.complete, "the states of a loop repeat");
    assert_eq!((found.finals, found.dead, found.doomed), (0, 0, found.states));
    assert_eq!((found.livelocked, found.way_to_livelock), (found.states, Some(vec![])));
}

#[test]
fn a_dead_end_is_no_livelock() {
    let found = survey(Planted::NoReturn, PAIR);
    assert_eq!((found.livelocked, found.way_to_livelock), (0, None));
    assert_eq!(found.point_of_no_return, Some(0));
}

#[test]
fn a_run_that_polls_for_ever_is_a_livelock_only_where_nothing_can_end_it() {
    let poller = vec![(Toy::new(0, 1, Planted::Nothing), vec![Poller])];
    let mut world = World::new(poller, Payload::Real);
    let walk = explore::walk(&mut world, 1, 1, 50);
    assert_eq!((walk.choices.len(), walk.outcome), (50, Outcome::Running));
    let failure = explore::failure_of(&world, |_| None);
    assert_eq!(failure, Some(explore::Failure::Livelock));
    // Cut off, but every order from here on ends.
    let polls: &[&[&[Call]]] = &[&[&[SEND]], &[&[RECEIVE, Call::Poll, Call::Poll]]];
    let mut world = self::world(Planted::Nothing, polls);
    explore::walk(&mut world, 1, 1, 3);
    assert_eq!(world.outcome(), Outcome::Running);
    assert_eq!(explore::failure_of(&world, |_| None), None);
}

#[test]
fn the_rule_that_follows_lone_steps_changes_no_verdict() {
    let polls: &[&[&[Call]]] =
        &[&[&[Call::Poll, SEND]], &[&[RECEIVE, Call::Poll]], &[&[SEND_OTHER]]];
    for planted in PLANTED {
        for calls in [PAIR, CROWD, polls] {
            let of = |rule| {
                let scope = explore::Scope { rule, ..explore::Scope::default() };
                let world = world(planted, calls);
                explore::search(&world, scope, Known::ByPlace, |_| None)
            };
            let (full, alone) = (of(explore::Rule::Nothing), of(explore::Rule::Alone));
            let verdict = |found: &Survey| {
                let mut laws: Vec<&str> = found.violations.iter().map(|one| one.0.id).collect();
                laws.sort_unstable();
                (found.complete, found.finals, found.dead, found.doomed > 0, laws)
            };
            let faults = |found: &Survey| found.faults.len();
            assert_eq!(verdict(&full), verdict(&alone), "{planted:?}");
            assert_eq!(faults(&full) > 0, faults(&alone) > 0, "{planted:?}");
            assert!(alone.states <= full.states, "{planted:?}");
        }
    }
}

#[test]
fn a_run_shrinks_to_the_choices_that_its_failure_needs() {
    let start = world(Planted::LatestReceive, CROWD);
    let failing = (0..200).find_map(|seed| {
        let mut end = start.clone();
        let walk = explore::walk(&mut end, seed, 1, 1_000);
        let failure = explore::failure_of(&end, |_| None)?;
        Some((walk.choices, failure.class()))
    });
    let (run, class) = failing.expect("one of 200 walks meets the defect");
    assert_eq!(class, "law M2");
    let shrunk = explore::shrink(&start, &run, &class, 1_000, |_| None).expect("it fails so");
    assert!(shrunk.forced.len() < run.len(), "{} of {}", shrunk.forced.len(), run.len());
    for left_out in 0..shrunk.forced.len() {
        let mut fewer = shrunk.forced.clone();
        fewer.remove(left_out);
        let end = explore::forced(&start, &fewer, 1_000).world;
        let failure = explore::failure_of(&end, |_| None).map(|failure| failure.class());
        assert_ne!(failure.as_ref(), Some(&class), "choice {left_out} is needed");
    }
}

#[test]
fn a_victim_stops_and_its_peer_is_known_to_wait() {
    let start = world(Planted::Nothing, PAIR).with_crash();
    let victim = Process(0);
    let mut world = start.clone();
    world.apply(Choice::Crash { process: victim }).expect("it may die");
    assert_eq!(world.crash(), Crash::Happened(victim));
    let refused = world.apply(Choice::Crash { process: Process(1) }).expect_err("one is enough");
    assert!(refused.to_string().ends_with("no process may die"), "{refused}");
    while let Some(&choice) = world.choices().first() {
        assert_eq!(choice.process(), Process(1), "the victim takes no step");
        world.apply(choice).expect("the world offered this choice");
    }
    assert_eq!(world.outcome(), Outcome::Stuck);
    let report = world.crash_report().expect("process 1 waits");
    assert_eq!((report.victim, report.direct.len(), report.behind.len()), (victim, 1, 0));
    // Without a crash nothing is new, and every moment of one is explained.
    let found = explore::exhaustive(&start, Budget::default());
    assert!(found.is_clean() && found.diagnosed > 0, "{found:#?}");
    assert_eq!(found.diagnoses.len(), 2);
}

#[test]
fn a_budget_that_does_not_suffice_says_so_and_claims_nothing() {
    let all = survey(Planted::Nothing, CROWD);
    let cut = explore::exhaustive(
        &world(Planted::Nothing, CROWD),
        Budget { states: 100, ..Budget::default() },
    );
    assert!(!cut.complete && !cut.is_clean() && cut.states < all.states);
    assert_eq!((cut.doomed, cut.way_to_doomed), (0, None));
}

#[test]
fn orders_that_lead_to_one_situation_lead_to_one_state() {
    // Two independent choices, in both orders.
    let start = world(Planted::Nothing, &[&[&[SEND]], &[&[RECEIVE]]]);
    let choices = start.choices();
    assert_eq!(choices.len(), 2);
    let run = |order: [usize; 2]| {
        let mut world = start.clone();
        for index in order {
            world.apply(choices[index]).expect("they do not disable each other");
        }
        world
    };
    let (one, other) = (run([0, 1]), run([1, 0]));
    assert_eq!(one, other);
    assert_eq!(one.fingerprint(), other.fingerprint());
    assert_ne!(one.fingerprint(), start.fingerprint());
}

/// Takes the same choices in a world and in the states of a search.
fn compare_with_states<M: Machine, P: Program<M>>(start: &World<M, P>, ways: u64)
where
    M::Call: Lends,
{
    let (mut states, first) = States::new(start);
    for way in 0..ways {
        let (mut plain, mut row) = (start.clone(), first.clone());
        let mut wrong = None;
        let mut state = way;
        while let choices = plain.choices()
            && !choices.is_empty()
        {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            let drawn = usize::try_from(state >> 33).expect("31 bits") % choices.len();
            let mut steps = Vec::new();
            states.steps_into(&row, &mut steps);
            assert_eq!(steps.iter().map(|step| step.choice).collect::<Vec<_>>(), choices);
            plain.apply(choices[drawn]).expect("it offered this choice");
            wrong = states.follow(&mut row, steps[drawn]).err();
            assert_eq!(plain.take_sometimes(), states.take_sometimes());
            if wrong.is_some() {
                break;
            }
            let kept = states.world(&row);
            assert_eq!(plain, *kept, "way {way}: {}", choices[drawn]);
            assert_eq!(plain.fingerprint(), kept.fingerprint());
            assert_eq!((plain.violations(), plain.fault()), (&[][..], None));
        }
        let kept = wrong.as_deref().unwrap_or_else(|| states.world(&row));
        assert_eq!(plain, *kept, "way {way}");
        assert_eq!((plain.violations(), plain.fault()), (kept.violations(), kept.fault()));
        assert_eq!(plain.conclude(), kept.conclude());
    }
}

#[test]
fn what_is_kept_of_turns_and_ports_and_monitors_changes_nothing() {
    for planted in PLANTED {
        compare_with_states(&world(planted, PAIR), 50);
        compare_with_states(&world(planted, CROWD), 100);
    }
}
