//! Planted bugs of the library, each in the smallest world in which the named law finds it, over
//! every order of events; and changes that must not matter, which nothing may find.
//!
//! `cargo test --features mutants --test mutants library -- --nocapture` prints the table.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few replies of many")]

use crate::{layouts, windows};
use std::sync::Arc;

use crate::reference::Example;
use crate::small::{
    FIRST, Small, WORLD, World, all, at, barrier, create, free, gives, iprobe, irecv, isend, own,
    recv, send, user, wait_all,
};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm, CommCall, Outcome, Reply};
use mpisim::protocols::collectives::{Algorithm, Blocks, Collective, Kind};
use mpisim::protocols::contract::{Handle, Next, Process, Thread};
use mpisim::protocols::library::{Endpoints, Queues, SharedJob};
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::protocols::rma::call::{Flavor, Operation, Spacing};
use mpisim::protocols::rma::{Issue, MappedLocks, Settings, Transport};
use mpisim::protocols::xios_ep::tag::USER_BITS;
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::untimed;
use mpisim::units::Bytes;

/// What the library itself does in a world.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sound {
    /// Every order ends well.
    Ends,
    /// No order ends: the program is wrong, and that is said.
    Stuck,
    /// Every order ends, and the program left something open, which is said.
    LeavesOpen,
    /// Every order ends with a refusal that says this.
    Refused(&'static str),
}

type Judge = Box<dyn Fn(&World) -> Option<Violation>>;

/// A world, what the library does in it, and who is found or not found there.
struct Case {
    world: Small,
    sound: Sound,
    judge: Judge,
    /// Each with the check that must find it: a law, or `deadlock`.
    found: &'static [(Mutant, &'static str)],
    harmless: &'static [Mutant],
}

impl Case {
    fn new(world: Small) -> Self {
        Self { world, sound: Sound::Ends, judge: Box::new(|_| None), found: &[], harmless: &[] }
    }

    /// At a good end `holds` must be true.
    fn judged(
        self,
        law: &'static str,
        statement: &'static str,
        holds: impl Fn(&World) -> bool + 'static,
    ) -> Self {
        let judge = move |world: &World| {
            let detail = "it does not hold at this end".to_owned();
            let broken = Violation { id: law, statement, objects: Vec::new(), detail };
            (!holds(world)).then_some(broken)
        };
        Self { judge: Box::new(judge), ..self }
    }

    /// The same without its world.
    fn tried(self) -> Tried {
        let Self { world, sound, judge, found, harmless } = self;
        let survey = move |mutant: Option<Mutant>, states| {
            let start = world.world_of(|job| planted(job, mutant));
            explore::judged(&start, Budget { states, reduce: false }, &judge)
        };
        Tried { survey: Box::new(survey), sound, found, harmless }
    }
}

fn planted(job: SharedJob, mutant: Option<Mutant>) -> SharedJob {
    match mutant {
        Some(mutant) => job.with(mutant),
        None => job,
    }
}

/// A case whose world may be of any machines: what is found of a mutant after so many states.
struct Tried {
    survey: Box<dyn Fn(Option<Mutant>, usize) -> Survey>,
    sound: Sound,
    found: &'static [(Mutant, &'static str)],
    harmless: &'static [Mutant],
}

impl Tried {
    fn survey(&self, mutant: Option<Mutant>, states: usize) -> Survey {
        (self.survey)(mutant, states)
    }

    /// Whether nothing but what belongs to the world was found.
    fn is_sound(&self, survey: &Survey) -> bool {
        let found: Vec<&str> = survey.violations.iter().map(|(broken, _)| broken.id).collect();
        match self.sound {
            Sound::Ends => survey.is_clean(),
            Sound::Stuck => {
                survey.complete
                    && survey.finals == 0
                    && found.is_empty()
                    && survey.faults.is_empty()
            }
            Sound::LeavesOpen => survey.complete && survey.dead == 0 && found == ["S4"],
            Sound::Refused(words) => {
                let mut faults = survey.faults.iter().map(|(fault, _)| fault.to_string());
                survey.complete
                    && survey.finals == 0
                    && found.is_empty()
                    && !survey.faults.is_empty()
                    && faults.all(|fault| fault.contains(words))
            }
        }
    }

    /// The fewest states after which `check` has found the mutant.
    fn until_found(&self, mutant: Mutant, check: &str, states: usize) -> usize {
        let (mut low, mut high) = (0, states);
        while low < high {
            let middle = low + (high - low) / 2;
            if way(&self.survey(Some(mutant), middle), check).is_some() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// How many choices lead to what `check` finds: a law, a deadlock, or a library that refuses.
fn way(survey: &Survey, check: &str) -> Option<usize> {
    if check == "deadlock" {
        return survey.way_to_dead.as_ref().map(Vec::len);
    }
    if check == "refusal" {
        return survey.faults.first().map(|(_, way)| way.len());
    }
    let mut broken = survey.violations.iter();
    broken.find(|(violation, _)| violation.id == check).map(|(_, way)| way.len())
}

const ALL: usize = 1_000_000;

fn two_of_a_kind() -> Case {
    let sender = vec![isend(WORLD, 0, 1, 1, 8), isend(WORLD, 1, 1, 1, 4), wait_all(0, 2)];
    let receiver = [0, 1].map(|id| recv(WORLD, Some(0), Some(1), id, 8)).to_vec();
    let two = Endpoints { lanes: 2, ..Endpoints::default() };
    Case {
        found: &[(Mutant::TwoRails, "M1"), (Mutant::Resends, "M4")],
        harmless: &[
            Mutant::RailPerPeer,
            Mutant::ExtraProbe,
            // Harmless here: one communicator, one rank a process, no wildcard.
            Mutant::PartOfContext,
            Mutant::NoDestination,
            Mutant::Tail,
        ],
        ..Case::new(Small::new(vec![sender, receiver]).with(two))
    }
}

fn a_wildcard_before_an_exact_receive() -> Case {
    let sender = vec![isend(WORLD, 0, 1, 1, 8), isend(WORLD, 1, 1, 1, 8), wait_all(0, 2)];
    let receiver =
        vec![irecv(WORLD, Some(0), None, 0), irecv(WORLD, Some(0), Some(1), 1), wait_all(0, 2)];
    Case {
        found: &[(Mutant::ExactFirst, "M2")],
        harmless: &[Mutant::OtherSource, Mutant::ExtraProbe, Mutant::Tail],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}

/// The same where an adapter may match, and where none does.
fn receives_before_an_adapter(adapters: bool) -> Case {
    let case = a_wildcard_before_an_exact_receive();
    let world = Small { adapters, ..case.world };
    if adapters {
        Case {
            found: &[(Mutant::NicExactFirst, "M2")],
            harmless: &[Mutant::NicFinFirst],
            ..Case::new(world)
        }
    } else {
        Case { harmless: &[Mutant::NicExactFirst], ..Case::new(world) }
    }
}

/// A large message: the buffer of its sender is free when it has FIN.
fn a_read_by_an_adapter() -> Case {
    let calls =
        vec![vec![send(WORLD, 1, 1, 40)], vec![irecv(WORLD, Some(0), Some(1), 0), wait_all(0, 1)]];
    let world = Small { adapters: true, ..Small::new(calls) };
    Case {
        found: &[(Mutant::NicFinFirst, "V2")],
        harmless: &[Mutant::NicExactFirst, Mutant::PinsTwice],
        ..Case::new(world)
    }
}

fn two_senders_to_wildcards() -> Case {
    let sender = vec![isend(WORLD, 0, 2, 1, 8), isend(WORLD, 1, 2, 1, 40), wait_all(0, 2)];
    let receiver = (0..4).map(|id| recv(WORLD, None, None, id, 40)).collect();
    Case {
        found: &[(Mutant::Tail, "M3")],
        harmless: &[Mutant::OtherSource, Mutant::ExactFirst],
        ..Case::new(Small::new(vec![sender.clone(), sender, receiver]))
    }
}

fn two_communicators() -> Case {
    let sender = vec![send(WORLD, 1, 1, 8), send(Comm(1), 1, 1, 8)];
    let receiver = vec![recv(Comm(1), Some(0), Some(1), 0, 8), recv(WORLD, Some(0), Some(1), 1, 8)];
    Case {
        found: &[(Mutant::PartOfContext, "M5")],
        harmless: &[Mutant::NoDestination],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}

/// Rank 0 sends to rank 2, then to rank 1; both are endpoints of the other process.
fn two_endpoints(queues: Queues) -> Case {
    let one = vec![
        create(1, FIRST),
        isend(at(0), 0, 2, 0, 8),
        isend(at(0), 1, 1, 0, 4),
        wait_all(0, 2),
        free(at(0)),
    ];
    let two = vec![
        create(2, FIRST),
        irecv(at(0), Some(0), Some(0), 0),
        irecv(at(1), Some(0), Some(0), 1),
        wait_all(0, 2),
        free(at(0)),
        free(at(1)),
    ];
    let world = Small::new(vec![one, two]).with(Endpoints { queues, ..own(1) });
    let case = Case { harmless: &[Mutant::ContextGaps], ..Case::new(world) };
    match queues {
        Queues::Shared => Case { found: &[(Mutant::NoDestination, "M6")], ..case },
        // Whoever looks at a queue of one endpoint need not look at the destination.
        Queues::Own => Case { harmless: &[Mutant::NoDestination, Mutant::ContextGaps], ..case },
    }
}

fn a_thread_between_search_and_append() -> Case {
    let sender = all([send(WORLD, 1, 1, 8), send(WORLD, 1, 2, 8)]);
    let receiver = [1, 2].map(|tag| all([recv(WORLD, Some(0), Some(tag), tag.unsigned_abs(), 8)]));
    Case {
        found: &[(Mutant::Unlocks, "deadlock")],
        harmless: &[Mutant::ExtraProbe],
        ..Case::new(Small::threads(vec![vec![sender], receiver.to_vec()]))
    }
}

/// Of one thread alone nothing can come in between.
fn a_lone_thread_searches_and_appends() -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 8)], vec![recv(WORLD, Some(0), Some(1), 0, 8)]];
    Case { harmless: &[Mutant::Unlocks], ..Case::new(Small::new(calls)) }
}

fn a_receive_that_is_too_short() -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 8)], vec![recv(WORLD, Some(0), Some(1), 0, 4)]];
    Case { found: &[(Mutant::PastTheEnd, "M8")], ..Case::new(Small::new(calls)) }
}

fn one_endpoint_and_two() -> Case {
    let one = vec![
        create(1, FIRST),
        recv(at(0), None, Some(0), 0, 8),
        recv(at(0), None, Some(0), 1, 8),
        free(at(0)),
    ];
    let two = vec![
        create(2, FIRST),
        send(at(0), 0, 0, 8),
        send(at(1), 0, 0, 8),
        free(at(0)),
        free(at(1)),
    ];
    Case {
        found: &[(Mutant::OwnCount, "E1")],
        harmless: &[Mutant::ContextGaps],
        ..Case::new(Small::new(vec![one, two]).with(own(2)))
    }
}

/// Endpoint 0 of the second process never calls between its creation and its end.
fn an_endpoint_that_is_silent() -> Case {
    let sender =
        vec![create(2, FIRST), isend(at(1), 0, 3, 0, 8), wait_all(0, 1), free(at(0)), free(at(1))];
    let silent = [Next::Call(create(2, FIRST)), Next::Fork, Next::Join];
    let frees = all([free(at(0)), free(at(1))]);
    let first = silent.into_iter().chain(frees).collect();
    let second = all([recv(at(1), Some(1), Some(0), 0, 8)]);
    let world = Small::threads(vec![vec![all(sender)], vec![first, second]]).with(own(2));
    Case {
        found: &[(Mutant::FirstPolls, "deadlock")],
        harmless: &[Mutant::NoDestination],
        ..Case::new(world)
    }
}

/// Between its two frees a process sends what the other needs before it frees.
fn a_message_between_two_frees() -> Case {
    let sender = vec![create(2, FIRST), free(at(0)), send(at(1), 3, 0, 8), free(at(1))];
    let receiver =
        vec![create(2, FIRST), recv(at(1), Some(1), Some(0), 0, 8), free(at(0)), free(at(1))];
    let world = Small::new(vec![sender, receiver]).with(own(2));
    Case { found: &[(Mutant::FreesFirst, "deadlock")], ..Case::new(world) }
}

fn frees_at_the_end() -> Case {
    let rank = || vec![create(2, FIRST), free(at(1)), free(at(0))];
    let world = Small::new(vec![rank(), rank()]).with(own(2));
    // Nobody waits for anything else: too early is not noticed.
    Case { harmless: &[Mutant::FreesFirst, Mutant::ContextAgain], ..Case::new(world) }
}

/// Makes A and B, frees A, makes C: messages of B and C must not meet.
fn made_after_a_free() -> Case {
    let (a, b, c) = (Comm(10), Comm(20), Comm(30));
    let begin = [create(1, a.0), create(1, b.0), free(a), create(1, c.0)];
    let sends = [isend(b, 0, 1, 0, 4), isend(c, 1, 1, 0, 8), wait_all(0, 2)];
    let takes = [recv(c, Some(0), Some(0), 0, 8), recv(b, Some(0), Some(0), 1, 8)];
    let end = [free(b), free(c)];
    let sender = begin.iter().chain(&sends).chain(&end).cloned().collect();
    let receiver = begin.iter().chain(&takes).chain(&end).cloned().collect();
    Case {
        found: &[(Mutant::ContextAgain, "E6")],
        harmless: &[Mutant::ContextGaps],
        ..Case::new(Small::new(vec![sender, receiver]).with(own(1)))
    }
}

/// Two threads of each process duplicate two communicators at once.
fn duplicates_of_two_threads() -> Case {
    let dup = |comm, new| Call::Communicators(CommCall::Dup { comm, new });
    let process = || vec![all([dup(WORLD, Comm(10))]), all([dup(Comm(1), Comm(11))])];
    Case {
        found: &[(Mutant::ReadsCounter, "E6")],
        ..Case::new(Small::threads(vec![process(), process()]))
    }
}

/// The same one after the other, by one thread: the number is counted in time.
fn duplicates_of_one_thread() -> Case {
    let dup = |comm, new| Call::Communicators(CommCall::Dup { comm, new });
    let process = || vec![dup(WORLD, Comm(10)), dup(Comm(1), Comm(11))];
    Case { harmless: &[Mutant::ReadsCounter], ..Case::new(Small::new(vec![process(), process()])) }
}

/// Frees one of two endpoints and makes another; two are open at the end.
fn names_of_endpoints() -> Case {
    let calls = vec![create(2, FIRST), free(at(0)), create(1, 20)];
    Case {
        sound: Sound::LeavesOpen,
        found: &[(Mutant::IdAgain, "E6")],
        ..Case::new(Small::new(vec![calls]).with(own(1)))
    }
}

fn allreduce(size: u32, reduction: Reduction) -> Case {
    let example = Example::combining(Kind::Allreduce, size, 0, 1, reduction);
    let example = example.by(|call| call.by(Algorithm::AllreduceRecursiveDoubling).unwrap());
    let world = Small::collective(&example);
    Case::new(world)
        .judged("C1", "a result is the sequential one", move |world| gives(&example, world))
}

fn affine() -> Reduction {
    Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair).unwrap()
}

fn sum() -> Reduction {
    Reduction::new(Operator::Sum, Datatype::Int32).unwrap()
}

/// What is sent after the barrier cannot be there before it.
fn a_probe_before_a_barrier() -> Case {
    let calls = vec![
        vec![barrier(WORLD), send(WORLD, 1, 1, 8)],
        vec![iprobe(WORLD), barrier(WORLD), recv(WORLD, Some(0), Some(1), 0, 8)],
        vec![barrier(WORLD)],
    ];
    Case {
        found: &[(Mutant::SkipsRound, "C3"), (Mutant::LetsOneOut, "C3")],
        harmless: &[Mutant::HearsFirst, Mutant::ExtraProbe, Mutant::OtherSource],
        ..Case::new(Small::new(calls))
    }
}

fn a_gather_meets_a_broadcast() -> Case {
    let (input, output) = (user(0, 8), user(1, 0));
    let gather = Collective::gather(WORLD, Rank(1), input, output, Blocks::Equal(8));
    let bcast = Collective::bcast(WORLD, Rank(0), user(1, 8));
    let calls = [gather, bcast].map(|call| vec![Call::Collective(Arc::new(call))]);
    Case {
        sound: Sound::Stuck,
        found: &[(Mutant::EqualTags, "C4")],
        ..Case::new(Small::new(calls.to_vec()))
    }
}

/// Programs of one-sided calls on a window of two words, by rank.
fn on_windows(programs: Vec<Vec<Next<Call>>>, rma: Settings) -> Small {
    let program = |steps: Vec<Next<Call>>| {
        let opens = [windows::window(2)].into_iter();
        vec![opens.chain(steps).chain([windows::free_window()]).collect()]
    };
    Small { rma, ..Small::threads(programs.into_iter().map(program).collect()) }
}

const UNMERGED: Settings = Settings { merge: false, ..windows::LAZY };
const EAGER: Settings = Settings { issue: Issue::Eager, ..UNMERGED };

fn value(world: &World, rank: u32, id: u32, index: u64) -> u64 {
    let region = windows::buffer(id, index + 1).part(index * windows::WORD, windows::WORD);
    world.memories().load(Process(rank), region)
}

fn own_word(world: &World, rank: u32, index: u64) -> u64 {
    world.memories().load(Process(rank), windows::own_word(index))
}

/// A rank writes two words alone, another reads both.
fn a_writer_and_a_reader() -> Case {
    use windows::{EXCLUSIVE, SHARED, get, lock, put, set, unlock};
    let writer = vec![
        set(1, 0, 7),
        lock(0, EXCLUSIVE),
        put(0, 0, 1),
        windows::flush(0),
        put(0, 1, 1),
        unlock(0),
    ];
    let reader = vec![lock(0, SHARED), get(0, 0, 2, 0), unlock(0)];
    Case {
        found: &[(Mutant::SharedJoins, "R10")],
        harmless: &[Mutant::LocksAtOnce, Mutant::ExtraFlush, Mutant::DoneLost],
        ..Case::new(on_windows(vec![vec![], writer, reader], UNMERGED)).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 2, 0, 0) == value(world, 2, 0, 1),
        )
    }
}

/// The same in memory that all map, whose lock is a ticket lock there.
fn a_writer_and_a_reader_of_mapped_memory() -> Case {
    use windows::{EXCLUSIVE, SHARED, free_window, get, lock, put, set, unlock, window_of};
    let opens = || window_of(Flavor::Shared(Spacing::Contiguous), 2);
    let writer = vec![
        opens(),
        set(1, 0, 7),
        lock(0, EXCLUSIVE),
        put(0, 0, 1),
        put(0, 1, 1),
        unlock(0),
        free_window(),
    ];
    let gets = [get(0, 0, 1, 0), get(0, 1, 1, 2)];
    let reader = [opens(), lock(0, SHARED)].into_iter().chain(gets);
    let reader = reader.chain([unlock(0), free_window()]).collect();
    let rma = Settings { mapped_locks: MappedLocks::Atomics, ..UNMERGED };
    let world = Small::threads(vec![vec![writer], vec![reader]]);
    Case {
        found: &[(Mutant::EntersWithReaders, "R10"), (Mutant::ForgetsReaders, "deadlock")],
        harmless: &[Mutant::ExtraFlush, Mutant::SharedJoins],
        ..Case::new(Small { rma, together: true, ..world }).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 1, 0, 0) == value(world, 1, 2, 0),
        )
    }
}

/// The same by one operation in two packets.
fn a_writer_in_pieces() -> Case {
    use windows::{EXCLUSIVE, SHARED, WORD, buffer, get, lock, operate, set, unlock, words};
    let both = Operation::Put { origin: buffer(1, 2) };
    let both = operate(0, words(0, 2), both, None);
    let writer = vec![set(1, 0, 7), set(1, 1, 7), lock(0, EXCLUSIVE), both, unlock(0)];
    let reader = vec![lock(0, SHARED), get(0, 0, 2, 0), unlock(0)];
    let pieces = Settings { segment: Some(WORD), ..UNMERGED };
    Case {
        found: &[(Mutant::FirstPieceCloses, "R10")],
        harmless: &[Mutant::LocksAtOnce],
        ..Case::new(on_windows(vec![vec![], writer, reader], pieces)).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 2, 0, 0) == value(world, 2, 0, 1),
        )
    }
}

/// The owner writes two words under its own lock.
fn a_writer_at_home() -> Case {
    use windows::{EXCLUSIVE, get, lock, store, unlock};
    // A look at the queues lets others in.
    let look = || Next::Call(iprobe(WORLD));
    let writer = vec![look(), lock(0, EXCLUSIVE), store(0, 7), look(), store(1, 7), unlock(0)];
    let reader = vec![lock(0, EXCLUSIVE), get(0, 0, 2, 0), windows::flush(0), unlock(0)];
    Case {
        found: &[(Mutant::OwnLockAtOnce, "R10")],
        harmless: &[Mutant::LocksAtOnce],
        ..Case::new(on_windows(vec![writer, reader], UNMERGED)).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 1, 0, 0) == value(world, 1, 0, 1),
        )
    }
}

/// A third rank that is told of a value reads it by its HCA.
fn a_value_by_hearsay() -> Case {
    use windows::{SHARED, accumulate, get, lock, set, unlock};
    let tells = Next::Call(send(WORLD, 2, 0, 8));
    let update = accumulate(0, 0, 1, windows::REPLACE, 1);
    let writer = vec![set(1, 0, 7), lock(0, SHARED), update, unlock(0), tells];
    let hears = Next::Call(recv(WORLD, Some(1), Some(0), 91, 8));
    let reader = vec![windows::lock_all_unchecked(), hears, get(0, 0, 1, 0), windows::unlock_all()];
    let mixed = Settings { transport: Transport::Mixed, ..UNMERGED };
    Case {
        found: &[(Mutant::AnswersFirst, "R8"), (Mutant::DoneLost, "deadlock")],
        harmless: &[Mutant::LocksAtOnce],
        ..Case::new(on_windows(vec![vec![], writer, reader], mixed)).judged(
            "R8",
            "what an epoch wrote is there when a third rank hears of its end",
            |world| value(world, 2, 0, 0) == 7,
        )
    }
}

/// The owner holds the lock until it has heard that rank 1 asked, and then rank 2.
fn a_queue_for_a_lock() -> Case {
    use windows::{EXCLUSIVE, lock, put, set, unlock};
    let hears = |from| Next::Call(recv(WORLD, Some(from), Some(0), 90 + from, 8));
    let tells = |to| Next::Call(send(WORLD, to, 0, 8));
    let owner = vec![lock(0, EXCLUSIVE), hears(1), tells(2), hears(2), unlock(0)];
    // The message follows the request.
    let writes = |value| [set(1, 0, value), lock(0, EXCLUSIVE), tells(0), put(0, 0, 1), unlock(0)];
    let second = [hears(0)].into_iter().chain(writes(9)).collect();
    Case {
        found: &[(Mutant::GrantsNewest, "lock-order")],
        ..Case::new(on_windows(vec![owner, writes(7).into(), second], EAGER)).judged(
            "lock-order",
            "a lock is granted in the order of the requests",
            |world| own_word(world, 0, 0) == 9,
        )
    }
}

fn a_sum() -> Case {
    use windows::{SHARED, accumulate, flush, lock, set, unlock};
    let add = || accumulate(0, 0, 1, windows::sum(), 1);
    let adder = vec![set(1, 0, 7), lock(0, SHARED), add(), flush(0), flush(0), add(), unlock(0)];
    Case {
        found: &[(Mutant::IssuesTwice, "R12")],
        harmless: &[Mutant::ExtraFlush],
        ..Case::new(on_windows(vec![vec![], adder], UNMERGED)).judged(
            "R12",
            "every operation is applied once",
            |world| own_word(world, 0, 0) == 14,
        )
    }
}

fn two_gets() -> Case {
    use windows::{SHARED, get, lock, store, unlock};
    let barrier = || Next::Call(barrier(WORLD));
    let owner = vec![store(0, 5), store(1, 6), barrier()];
    let reader = vec![barrier(), lock(0, SHARED), get(0, 0, 1, 3), get(0, 1, 1, 4), unlock(0)];
    Case {
        found: &[(Mutant::WrongSlot, "R7")],
        ..Case::new(on_windows(vec![owner, reader], UNMERGED)).judged(
            "R7",
            "each operation has its own bytes",
            |world| [value(world, 1, 3, 0), value(world, 1, 4, 0)] == [5, 6],
        )
    }
}

fn loads_are(expected: &'static [u64]) -> impl Fn(&World) -> bool {
    move |world| world.program(Process(0), Thread(0)).loads == expected
}

const R9: &str = "an active epoch ends when its operations are done";

/// One put between two fences.
fn a_fence(rma: Settings) -> Case {
    use windows::{fence, load, put, set};
    let origin = vec![set(1, 0, 7), fence(), put(0, 0, 1), fence()];
    let target = vec![fence(), fence(), load(0)];
    let case = Case::new(on_windows(vec![target, origin], rma));
    let case = case.judged("R9", R9, loads_are(&[7]));
    let harmless = &[Mutant::LocksAtOnce];
    match rma.issue {
        Issue::Eager => Case { found: &[(Mutant::FenceWithoutBarrier, "R9")], harmless, ..case },
        _ => Case { found: &[(Mutant::CountsOneMore, "deadlock")], harmless, ..case },
    }
}

/// Two operations of one epoch between start and complete.
fn a_posted_window(rma: Settings) -> Case {
    use windows::{REPLACE, accumulate, complete, load, post, set, start, wait_window};
    let replace = |id| accumulate(0, 0, 1, REPLACE, id);
    let opens = [set(1, 0, 5), set(2, 0, 6), start(&[0])];
    // A look at the queues may find the post.
    let look = Next::Call(iprobe(WORLD));
    let origin = opens.into_iter().chain([replace(1), look, replace(2), complete()]).collect();
    let target = vec![post(&[1]), wait_window(), load(0)];
    let world = on_windows(vec![target, origin], rma);
    match rma.issue {
        Issue::Eager => Case {
            found: &[(Mutant::Overtakes, "R4")],
            ..Case::new(world).judged(
                "R4",
                "accumulates of one origin keep their order",
                loads_are(&[6]),
            )
        },
        _ => Case {
            found: &[(Mutant::CompletesFirst, "R9")],
            harmless: &[Mutant::Overtakes],
            ..Case::new(world).judged("R9", R9, loads_are(&[6]))
        },
    }
}

fn a_read_at_home() -> Case {
    use windows::{NO_OP, REPLACE, SHARED, accumulate, fetch, lock, set, unlock};
    let steps = vec![
        set(1, 0, 5),
        lock(0, SHARED),
        accumulate(0, 0, 1, REPLACE, 1),
        fetch(0, 0, NO_OP, 9, 3),
        unlock(0),
    ];
    let rdma = Settings { transport: Transport::Rdma, ..UNMERGED };
    Case {
        found: &[(Mutant::CoreReadsFirst, "R4")],
        ..Case::new(on_windows(vec![steps], rdma)).judged(
            "R4",
            "accumulates of one origin keep their order",
            |world| value(world, 0, 3, 0) == 5,
        )
    }
}

/// The second thread flushes when it has heard that the first one has.
fn two_threads_flush() -> Case {
    use windows::{flush, free_window, put, set, window};
    let tells = Next::Call(send(WORLD, 0, 3, 8));
    let hears = Next::Call(recv(WORLD, Some(0), Some(3), 92, 8));
    let first = windows::flushes_and_tells(tells);
    let second = vec![set(2, 0, 6), put(1, 1, 2), hears, flush(1)];
    let target = vec![window(2), free_window()];
    let world = Small::threads(vec![vec![first, second], vec![target]]);
    Case {
        found: &[(Mutant::FlushWaitsForOthers, "deadlock")],
        ..Case::new(Small { rma: UNMERGED, ..world })
    }
}

fn one_sided() -> Vec<(&'static str, Case)> {
    vec![
        ("3 ranks, a writer and a reader of two words", a_writer_and_a_reader()),
        (
            "2 ranks, a writer and a reader of mapped memory",
            a_writer_and_a_reader_of_mapped_memory(),
        ),
        ("3 ranks, a writer of two packets and a reader", a_writer_in_pieces()),
        ("2 ranks, the owner writes two words", a_writer_at_home()),
        ("3 ranks, two wait for a lock", a_queue_for_a_lock()),
        ("3 ranks, a value by hearsay", a_value_by_hearsay()),
        ("2 ranks, a sum", a_sum()),
        ("2 ranks, two gets", two_gets()),
        ("2 ranks, an eager fence", a_fence(EAGER)),
        ("2 ranks, a lazy fence", a_fence(UNMERGED)),
        ("2 ranks, post and start, lazy", a_posted_window(UNMERGED)),
        ("2 ranks, post and start, eager", a_posted_window(EAGER)),
        ("1 rank, replace and read over rdma", a_read_at_home()),
        ("2 processes, 2 threads flush", two_threads_flush()),
    ]
}

/// A message above the eager threshold.
fn by_rendezvous(rendezvous: Protocol) -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 40)], vec![recv(WORLD, Some(0), Some(1), 0, 40)]];
    let case = Case::new(Small { rendezvous, ..Small::new(calls) });
    match rendezvous {
        Protocol::RGet => Case {
            found: &[(Mutant::GetSender, "V2"), (Mutant::FinFirst, "V2")],
            harmless: &[Mutant::PinsTwice, Mutant::PutReceiver],
            ..case
        },
        Protocol::RPutImmediate => Case {
            found: &[(Mutant::PutReceiver, "V2"), (Mutant::FinFirst, "V2")],
            harmless: &[Mutant::PinsTwice, Mutant::GetSender],
            ..case
        },
        Protocol::RPut
        | Protocol::Rtr
        | Protocol::SharedMemory
        | Protocol::CoopP2p
        | Protocol::CoopHca => Case {
            found: &[(Mutant::PutReceiver, "V2")],
            harmless: &[Mutant::PinsTwice, Mutant::GetSender, Mutant::FinFirst],
            ..case
        },
    }
}

/// An odd message above the eager threshold, inside a node.
fn by_cooperation(scheme: Scheme, chunk: Option<u64>) -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 39)], vec![recv(WORLD, Some(0), Some(1), 0, 39)]];
    let (chunk, page) = (chunk.map(Bytes::new), Bytes::new(1));
    let near = Some(Cooperation { chunk, page, ..Cooperation::by(scheme) });
    Case::new(Small { near, ..Small::new(calls) })
}

/// Two receives are on offer, or not yet, when their messages are sent.
fn on_offer([one, two]: [(Option<u32>, Option<i32>); 2]) -> Case {
    let sends = [0, 1].map(|id| [iprobe(WORLD), isend(WORLD, id, 1, 1, 40)]);
    let sender = sends.into_iter().flatten().chain([wait_all(0, 2)]).collect();
    let receiver =
        vec![irecv(WORLD, one.0, one.1, 0), irecv(WORLD, two.0, two.1, 1), wait_all(0, 2)];
    let near = Some(Cooperation::by(Scheme::Fixed(Protocol::Rtr)));
    Case::new(Small { near, ..Small::new(vec![sender, receiver]) })
}

/// Two senders to a receive of any source, and to another one.
fn offered_to_two() -> Case {
    let sender = |id| vec![iprobe(WORLD), isend(WORLD, id, 1, 1, 40), wait_all(id, 1)];
    let wild = [0, 1].map(|id| irecv(WORLD, None, Some(1), id));
    let receiver = wild.into_iter().chain([wait_all(0, 2)]).collect();
    let near = Some(Cooperation::by(Scheme::Fixed(Protocol::Rtr)));
    Case::new(Small { near, ..Small::new(vec![sender(0), receiver, sender(0)]) })
}

/// COOP-coll has the sender copy everything: the receiver does not block.
fn a_sender_that_chooses() -> Case {
    let calls =
        vec![vec![send(WORLD, 1, 1, 39)], vec![irecv(WORLD, Some(0), Some(1), 0), wait_all(0, 1)]];
    let near = Some(Cooperation::by(Scheme::Coll));
    let case = Case::new(Small { near, ..Small::new(calls) });
    Case { found: &[(Mutant::SenderChooses, "V3")], ..case }
}

fn of_the_library() -> Vec<(&'static str, Case)> {
    let finds = |case: Case, found| Case { found, ..case };
    let passes = |case: Case, harmless| Case { harmless, ..case };
    let mut cases = vec![
        ("2 ranks, 2 equal messages", two_of_a_kind()),
        ("2 ranks, a wildcard before an exact receive", a_wildcard_before_an_exact_receive()),
        ("2 ranks, the same with adapters that match", receives_before_an_adapter(true)),
        ("2 ranks, the same with adapters that do not", receives_before_an_adapter(false)),
        ("2 ranks, a large message to an adapter", a_read_by_an_adapter()),
        ("3 ranks, 2 senders to 4 wildcards", two_senders_to_wildcards()),
        ("2 ranks, 2 communicators", two_communicators()),
        ("2 processes, 1 and 2 endpoints, one queue", two_endpoints(Queues::Shared)),
        ("2 processes, 1 and 2 endpoints, own queues", two_endpoints(Queues::Own)),
        ("2 processes, 2 threads receive", a_thread_between_search_and_append()),
        ("2 ranks, 1 message", a_lone_thread_searches_and_appends()),
        ("2 ranks, a receive that is too short", a_receive_that_is_too_short()),
        ("2 processes, 1 and 2 endpoints that send", one_endpoint_and_two()),
        ("2 x 2 endpoints, one is silent", an_endpoint_that_is_silent()),
        ("2 x 2 endpoints, a message between frees", a_message_between_two_frees()),
        ("2 x 2 endpoints, frees only", frees_at_the_end()),
        ("2 processes, endpoints made after a free", made_after_a_free()),
        ("2 processes x 2 threads, duplicates at once", duplicates_of_two_threads()),
        ("2 processes, duplicates one after the other", duplicates_of_one_thread()),
        ("1 process, names of endpoints", names_of_endpoints()),
        ("2 ranks, allreduce, in order", {
            let case = finds(allreduce(2, affine()), &[(Mutant::WrongSide, "C1")]);
            passes(case, &[Mutant::WrongFold])
        }),
        ("3 ranks, allreduce, in order", {
            let found = &[(Mutant::WrongSide, "C1"), (Mutant::WrongFold, "C1")];
            finds(allreduce(3, affine()), found)
        }),
        ("3 ranks, allreduce, any order", {
            passes(allreduce(3, sum()), &[Mutant::WrongSide, Mutant::WrongFold])
        }),
        ("3 ranks, a probe before a barrier", a_probe_before_a_barrier()),
        ("2 ranks, a gather meets a broadcast", a_gather_meets_a_broadcast()),
        ("2 ranks, 1 message by RGET", by_rendezvous(Protocol::RGet)),
        ("2 ranks, 1 message by RPUT", by_rendezvous(Protocol::RPut)),
        ("2 ranks, 1 message by RPUT, immediate", by_rendezvous(Protocol::RPutImmediate)),
        ("2 neighbours, 1 message by COOP-p2p", {
            let found = &[(Mutant::CoopOverlap, "V3"), (Mutant::CoopOnCopy, "V2")];
            let case = finds(by_cooperation(Scheme::Fixed(Protocol::CoopP2p), None), found);
            passes(case, &[Mutant::ExposesTwice, Mutant::LoadKept, Mutant::OffloadUncounted])
        }),
        ("2 neighbours, 1 message by RGET in chunks", {
            let found = &[(Mutant::ChunkLost, "V3")];
            finds(by_cooperation(Scheme::Fixed(Protocol::RGet), Some(8)), found)
        }),
        ("2 neighbours, 1 message by COOP-load", {
            finds(by_cooperation(Scheme::Load, None), &[(Mutant::LoadKept, "V5")])
        }),
        ("2 neighbours, 1 message by adaptive offload", {
            finds(by_cooperation(Scheme::Adaptive, None), &[(Mutant::OffloadUncounted, "V5")])
        }),
        ("2 neighbours, a blocking send to a non-blocking receive", a_sender_that_chooses()),
        ("2 neighbours, 2 receives on offer", {
            let exact = (Some(0), Some(1));
            let case = finds(on_offer([exact, exact]), &[(Mutant::OfferCrosses, "refusal")]);
            passes(case, &[Mutant::OffersWildcard])
        }),
        ("2 neighbours, a receive on offer behind a wildcard", {
            let case = on_offer([(None, None), (Some(0), Some(1))]);
            finds(case, &[(Mutant::OffersBehind, "refusal")])
        }),
        ("3 neighbours, a wildcard that is offered to two", {
            finds(offered_to_two(), &[(Mutant::OffersWildcard, "refusal")])
        }),
    ];
    cases.extend(one_sided());
    cases
}

/// A world of endpoints of the endpoint library; at a good end `holds` must be true.
fn of_endpoints(
    counts: &'static [u16],
    scripts: Vec<layouts::Script>,
    law: (&'static str, &'static str),
    holds: impl Fn(&layouts::World) -> bool + 'static,
) -> Tried {
    of_many_endpoints((counts, false), scripts, law, holds)
}

/// The same; where there are too many orders, those are left out that differ in nothing else.
fn of_many_endpoints(
    (counts, reduce): (&'static [u16], bool),
    scripts: Vec<layouts::Script>,
    (law, statement): (&'static str, &'static str),
    holds: impl Fn(&layouts::World) -> bool + 'static,
) -> Tried {
    let survey = move |mutant: Option<Mutant>, states| {
        let judge = |world: &layouts::World| {
            let detail = "it does not hold at this end".to_owned();
            let broken = Violation { id: law, statement, objects: Vec::new(), detail };
            (!holds(world)).then_some(broken)
        };
        let start = layouts::world_from(counts, scripts.clone(), |job| planted(job, mutant));
        explore::judged(&start, Budget { states, reduce }, judge)
    };
    Tried { survey: Box::new(survey), sound: Sound::Ends, found: &[], harmless: &[] }
}

/// A message between two ranks with progress threads, one of which computes between its two calls.
fn beside_agents(near: Option<Cooperation>) -> Tried {
    let answer = recv(WORLD, Some(1), Some(2), 3, 8);
    let sender = all([isend(WORLD, 0, 1, 1, 40), wait_all(0, 1), answer]);
    let receive = irecv(WORLD, Some(0), Some(1), 1);
    // The send returns at once, also while the agent has begun a copy.
    let calls = [send(WORLD, 0, 2, 8), wait_all(1, 1)];
    let begin = [Next::Call(receive), Next::Compute(1)];
    let receiver = begin.into_iter().chain(all(calls)).collect();
    let rendezvous = Protocol::RPut;
    let world = Small { rendezvous, near, ..Small::threads(vec![vec![sender], vec![receiver]]) };
    let survey = move |mutant: Option<Mutant>, states| {
        let start = world.assisted(|job| planted(job, mutant));
        explore::judged(&start, Budget { states, reduce: false }, |_| None)
    };
    Tried { survey: Box::new(survey), sound: Sound::Ends, found: &[], harmless: &[] }
}

const BETWEEN: (&str, &str) =
    ("M12", "a message between two groups reaches the rank that its sender named");

/// Endpoint 0 and both endpoints of process 1 are two groups; one message to a rank of the second.
fn a_message_between_two_groups(receiver: u32) -> Tried {
    let (own, inter) = (Comm(7), Comm(8));
    let endpoint = |me: u32| {
        let (color, remote) = if me == 0 { (0, 1) } else { (1, 0) };
        let split = CommCall::Split { comm: WORLD, color: Some(color), key: 0, new: own };
        let (leader, remote_leader, peer, tag, new) = (Rank(0), Rank(remote), WORLD, 3, inter);
        let create = CommCall::Intercomm { comm: own, leader, peer, remote_leader, tag, new };
        let then = match me {
            0 => Some(send(inter, receiver, 5, 8)),
            _ => (me == 1 + receiver).then(|| recv(inter, Some(0), Some(5), 0, 8)),
        };
        [split, create].map(Call::Communicators).into_iter().chain(then).collect()
    };
    let came = move |world: &layouts::World| {
        let thread = Thread(u16::try_from(receiver).unwrap());
        let replies = &world.program(Process(1), thread).program().replies;
        matches!(replies.last(), Some(Reply::Outcome(Outcome::Received(status))) if status.count == 8)
    };
    of_many_endpoints((&[1, 2], true), scripts((0..3).map(endpoint).collect()), BETWEEN, came)
}

const PACKING: (&str, &str) = ("M10", "a value that does not fit a packed tag is an error");
const TYPES: (&str, &str) = ("M11", "a test completes a request of type 1 or 3 only");

const ONE_MEMORY: (&str, &str) = ("W1", "the windows of a server of endpoints show one memory");

fn scripts(calls: Vec<Vec<Call>>) -> Vec<layouts::Script> {
    calls.into_iter().map(layouts::Script::new).collect()
}

/// Both threads of a client process put a word, each by its own window of the server.
fn two_windows_of_a_server() -> Tried {
    let opens = || windows::window_of(Flavor::Create, 2);
    let client = |rank: u32| {
        layouts::Script::of([
            windows::set(1, 0, 5 + u64::from(rank)),
            opens(),
            windows::lock(2, windows::SHARED),
            windows::put(2, rank.into(), 1),
            windows::unlock(2),
            windows::free_window(),
        ])
    };
    let server = layouts::Script::of([opens(), windows::free_window()]);
    let both_are_there = |world: &layouts::World| {
        let word = |index| world.memories().load(Process(1), windows::own_word(index));
        [word(0), word(1)] == [5, 6]
    };
    of_endpoints(&[2, 1], vec![client(0), client(1), server], ONE_MEMORY, both_are_there)
}

/// The user's tag is one above what its field holds; as 0 it would be that of the receive.
fn a_tag_that_does_not_fit(tag: i32) -> Tried {
    let calls = vec![vec![send(WORLD, 1, tag, 8)], vec![recv(WORLD, Some(0), Some(0), 0, 8)]];
    of_endpoints(&[1, 1], scripts(calls), PACKING, move |_| tag == 0)
}

/// A test before or after the arrival of its message; the second one ends the receive.
fn a_test_of_a_pending_receive() -> Tried {
    let test = Call::Test { request: Handle(0) };
    let calls = vec![vec![send(WORLD, 1, 1, 8)], vec![irecv(WORLD, Some(0), Some(1), 0), test]];
    let true_or_not_yet = |world: &layouts::World| {
        let replies = &world.program(Process(1), Thread(0)).program().replies;
        replies.iter().all(|reply| match reply {
            Reply::Tested(Some(Outcome::Received(status))) => status.count == 8,
            _ => true,
        })
    };
    of_endpoints(&[1, 1], scripts(calls), TYPES, true_or_not_yet)
}

fn cases() -> Vec<(&'static str, Tried)> {
    let mut all: Vec<(&str, Tried)> =
        of_the_library().into_iter().map(|(name, case)| (name, case.tried())).collect();
    let too_large = Tried {
        sound: Sound::Refused("tag 32768 is out of range"),
        found: &[(Mutant::MasksTag, "M10")],
        harmless: &[Mutant::ChecksTwice],
        ..a_tag_that_does_not_fit(1 << USER_BITS)
    };
    let fits = Tried {
        harmless: &[Mutant::MasksTag, Mutant::ChecksTwice, Mutant::EndsPending],
        ..a_tag_that_does_not_fit(0)
    };
    let tested = Tried {
        sound: Sound::LeavesOpen,
        found: &[(Mutant::EndsPending, "M11")],
        harmless: &[Mutant::MasksTag, Mutant::ChecksTwice],
        ..a_test_of_a_pending_receive()
    };
    all.push(("2 assisted ranks, 1 message by RPUT, a computation", {
        Tried { found: &[(Mutant::LeavesWaiting, "deadlock")], ..beside_agents(None) }
    }));
    all.push(("2 assisted neighbours, 1 message by COOP-load in chunks", {
        let by_load = Cooperation { chunk: Some(Bytes::new(16)), ..Cooperation::by(Scheme::Load) };
        Tried { found: &[(Mutant::SharesWorks, "deadlock")], ..beside_agents(Some(by_load)) }
    }));
    all.push(("2 endpoints over plain MPI, a tag too large", too_large));
    all.push(("2 endpoints over plain MPI, 1 message", fits));
    all.push(("2 endpoints over plain MPI, a test", tested));
    let windows = Tried {
        found: &[(Mutant::SplitsMemory, "W1")],
        harmless: &[Mutant::MasksTag, Mutant::EndsPending],
        ..two_windows_of_a_server()
    };
    all.push(("3 endpoints over plain MPI, a window of each client", windows));
    let between = |receiver| Tried {
        harmless: &[Mutant::EndsPending, Mutant::ChecksTwice],
        ..a_message_between_two_groups(receiver)
    };
    let printed = Tried { found: &[(Mutant::AsPrinted, "refusal")], ..between(1) };
    all.push(("3 endpoints over plain MPI, a message between two groups", printed));
    let equal = Tried { harmless: &[Mutant::AsPrinted], ..between(0) };
    all.push(("3 endpoints over plain MPI, a message between ranks 0 of two groups", equal));
    all
}

#[test]
fn the_library_itself_is_sound_in_every_world() {
    for (name, case) in cases() {
        let survey = case.survey(None, ALL);
        assert!(case.is_sound(&survey), "{name}: {survey:#?}");
    }
}

/// Two groups in which the printed lookups find an entry, but a wrong one: the message for rank 1 of
/// the second group comes to its rank 2, and rank 1 waits for ever.
#[test]
fn a_message_routed_as_printed_reaches_another_endpoint() {
    let (own, inter) = (Comm(7), Comm(8));
    let endpoint = |me: u32| {
        let (color, remote) = if me < 2 { (0, 2) } else { (1, 0) };
        let split = CommCall::Split { comm: WORLD, color: Some(color), key: 0, new: own };
        let (leader, remote_leader, peer, tag, new) = (Rank(0), Rank(remote), WORLD, 3, inter);
        let create = CommCall::Intercomm { comm: own, leader, peer, remote_leader, tag, new };
        let then = match me {
            0 => Some(send(inter, 1, 5, 8)),
            3 => Some(recv(inter, Some(0), Some(5), 0, 8)),
            _ => None,
        };
        [split, create].map(Call::Communicators).into_iter().chain(then).collect()
    };
    let calls: Vec<Vec<Call>> = (0..5).map(endpoint).collect();
    for (mutant, ends) in [(None, true), (Some(Mutant::AsPrinted), false)] {
        for seed in 0..10 {
            let start = calls.iter().cloned().map(layouts::Script::new);
            let mut world = layouts::world_from(&[1, 1, 2, 1], start, |job| planted(job, mutant));
            let walk = explore::walk(&mut world, seed, 5, 100_000);
            assert_eq!(walk.outcome == untimed::Outcome::Finished, ends, "{mutant:?}, {seed}");
            assert!(world.fault().is_none(), "nobody refuses it");
        }
    }
}

/// The table, and its verdicts.
#[test]
#[expect(clippy::print_stdout, reason = "a table for a reader, with --nocapture")]
fn every_mutant_is_found_by_its_law_and_no_harmless_change_is() {
    let mut met = Vec::new();
    println!("| change | law | found by | states until then | of | choices | world |");
    println!("|---|---|---|---|---|---|---|");
    for (name, case) in cases() {
        for &(mutant, check) in case.found {
            let survey = case.survey(Some(mutant), ALL);
            let way = way(&survey, check);
            let way = way.unwrap_or_else(|| panic!("{mutant:?} lives, {name}: {survey:#?}"));
            let states = case.until_found(mutant, check, survey.states);
            let (id, law) = (mutant.id(), mutant.law());
            assert!(["deadlock", "refusal", law].contains(&check) || (law, check) == ("E3", "C3"));
            println!("| {id} | {law} | {check} | {states} | {} | {way} | {name} |", survey.states);
            met.push(mutant);
        }
        for &change in case.harmless {
            let survey = case.survey(Some(change), ALL);
            assert!(case.is_sound(&survey), "{change:?} is harmless, {name}: {survey:#?}");
            let (id, states) = (change.id(), survey.states);
            println!("| {id} | | nothing | | {states} | | {name} |");
            if change.law().is_empty() {
                met.push(change);
            }
        }
    }
    for mutant in Mutant::ALL {
        assert!(met.contains(mutant), "{mutant:?} ({}) is in no world", mutant.words());
    }
}
