//! What a search keeps decides nothing: its states and worlds take the same steps, whatever the
//! libraries, the wires and the memory are.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{self, Script, ideal, job, model};
use crate::small::{self, Small, WORLD, barrier, irecv, isend, recv, send, wait_all};
use crate::windows::{
    EXCLUSIVE, LAZY, Line, SHARED, WIN, WORD, accumulate, fetch, flush, free_window, get, lock,
    lock_all, put, rma, set, settings, sum, unlock, unlock_all, window,
};
use mpisim::calls::packing::{Layout, Method};
use mpisim::hardware::reliable::Settings as Retries;
use mpisim::mpi::datatype::{Datatype, Primitive};
use mpisim::protocols::contract::{Machine, Next, Program};
use mpisim::protocols::device::DeviceBuffer;
use mpisim::protocols::library::Library;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::protocols::rma::call::{Flavor, RmaCall, Spacing};
use mpisim::protocols::rma::{MappedLocks, Settings};
use mpisim::runtime::explore::{Scope, search, walk};
use mpisim::runtime::faults::Allowed;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::monitors::buffers::Lends;
use mpisim::runtime::untimed::states::{Known, States};
use mpisim::runtime::untimed::{Between, PacketFaults, World};
use mpisim::units::Bytes;
use mpisim::workloads::gpu::GpuPingPong;
use mpisim::workloads::job::AnyProgram;
use mpisim::workloads::kind::Workload as _;
use mpisim::workloads::mutex::{Algorithm, contenders};
use mpisim::workloads::xios_ep::Rules;

/// Steps of one way at most.
const STEPS: usize = 400;

/// Random ways through a world, taken by states as well: with all results kept, and with hardly any.
#[track_caller]
fn compare<M: Machine<Call: Lends>, P: Program<M>>(name: &str, start: &World<M, P>, ways: u64) {
    let (mut prints, mut fingerprints) = (BTreeMap::new(), BTreeMap::new());
    for crowd in [usize::MAX, 3] {
        let (mut states, first) = States::forgetting(start, crowd);
        for way in 0..ways {
            let choices = walk(&mut start.clone(), 7, way, STEPS).choices;
            assert!(!choices.is_empty(), "{name}");
            let (mut plain, mut row) = (start.clone(), first.clone());
            plain.take_sometimes();
            let mut wrong = None;
            for choice in &choices {
                if states.are_crowded() {
                    states.keep_only([&first[..], &row[..]].into_iter());
                }
                let words = format!("{name}, way {way}: {choice}");
                let mut steps = Vec::new();
                states.steps_into(&row, &mut steps);
                let offered: Vec<_> = steps.iter().map(|step| step.choice).collect();
                assert_eq!(plain.choices(), offered, "{words}");
                plain.apply(*choice).unwrap();
                let step = states.step_of(&row, *choice);
                wrong = states.follow(&mut row, step).err();
                assert_eq!(plain.take_sometimes(), states.take_sometimes(), "{words}");
                if wrong.is_some() {
                    break;
                }
                // A search tells the same states apart, whichever of both it knows them by.
                let (fingerprint, print) =
                    (plain.fingerprint(), states.print(&row, Known::ByPlace));
                assert_eq!(*prints.entry(fingerprint).or_insert(print), print, "{words}");
                let known = *fingerprints.entry(print).or_insert(fingerprint);
                assert_eq!(known, fingerprint, "{words}");
                let kept = states.world(&row);
                assert!(plain == *kept, "{words}");
                assert_eq!((plain.violations(), kept.violations()), (&[][..], &[][..]), "{words}");
            }
            let kept = wrong.as_deref().unwrap_or_else(|| states.world(&row));
            let name = format!("{name}, way {way}");
            assert!(plain == *kept, "{name}");
            assert_eq!(plain.violations(), kept.violations(), "{name}");
            assert_eq!((plain.fault(), plain.outcome()), (kept.fault(), kept.outcome()), "{name}");
            assert_eq!(plain.conclude(), kept.conclude(), "{name}");
            assert_eq!(plain.deadlock(), kept.deadlock(), "{name}");
        }
    }
}

/// The same where packets may be lost, repeated and overtaken, and where a process may die.
fn compare_with_faults<M: Machine<Call: Lends>, P: Program<M>>(
    name: &str,
    start: &World<M, P>,
    ways: u64,
) {
    compare(name, start, ways);
    compare(&format!("{name}, a crash"), &start.clone().with_crash(), ways);
    let allowed = Allowed { losses: 2, repeats: 1, overtakings: 1 };
    for retries in [0, 7] {
        let (settings, between) = (Retries::new(retries), Between::All);
        let lossy = start.clone().with_packet_faults(PacketFaults { allowed, settings, between });
        compare(&format!("{name}, {retries} retries"), &lossy, ways);
    }
}

fn pair(bytes: u64) -> Small {
    let one = |me: u32| {
        let receive = irecv(WORLD, Some(1 - me), Some(1), 1);
        vec![receive, isend(WORLD, 0, 1 - me, 1, bytes), wait_all(0, 2)]
    };
    Small::new(vec![one(0), one(1)])
}

#[test]
fn messages_are_the_same() {
    for bytes in [8, 40] {
        compare_with_faults("pair", &pair(bytes).world(), 6);
        let adapters = Small { adapters: true, ..pair(bytes) };
        compare_with_faults("adapters", &adapters.world(), 10);
    }
    for rendezvous in [Protocol::RPut, Protocol::RGet, Protocol::RPutImmediate] {
        let small = Small { rendezvous, ..pair(40) };
        compare_with_faults(rendezvous.name(), &small.world(), 4);
    }
}

#[test]
fn messages_inside_a_node_are_the_same() {
    for scheme in [Scheme::Fixed(Protocol::CoopP2p), Scheme::Coll, Scheme::Hybrid] {
        let (chunk, page) = (Some(Bytes::new(8)), Bytes::new(1));
        let near = Cooperation { chunk, page, free_cores: true, ..Cooperation::by(scheme) };
        compare(scheme.name(), &Small { near: Some(near), ..pair(40) }.world(), 8);
    }
}

#[test]
fn threads_and_agents_are_the_same() {
    let threads = |one: Vec<_>, other: Vec<_>| vec![small::all(one), small::all(other)];
    let sends = threads(vec![send(WORLD, 1, 1, 40)], vec![send(WORLD, 1, 2, 8)]);
    let receive = |tag| vec![recv(WORLD, Some(0), Some(tag), 1, 40)];
    let receive_other = |tag| vec![recv(WORLD, Some(0), Some(tag), 2, 40)];
    let small = Small::threads(vec![sends, threads(receive(1), receive_other(2))]);
    compare_with_faults("threads", &small.world(), 6);
    compare_with_faults("agents", &pair(40).assisted(|job| job), 6);
}

/// A program on a window of one word a rank.
fn on(steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let begin = [window(1), Next::Call(barrier(WORLD))];
    begin.into_iter().chain(steps).chain([free_window()]).collect()
}

#[test]
fn windows_are_the_same() {
    let adds = |id: u32| {
        on([set(id, 0, 1), lock_all(), fetch(0, 0, sum(), id, 5), flush(0), unlock_all()])
    };
    let puts = || on([set(1, 0, 7), lock(0, EXCLUSIVE), put(0, 0, 1), unlock(0)]);
    let one = |steps: &[Line]| vec![steps.to_vec()];
    for (name, rma) in settings() {
        for other in [adds(2), puts()] {
            let threads = vec![one(&adds(1)), one(&other)];
            let world = Small { rma, ..Small::threads(threads) }.world();
            compare(name, &world, 5);
            compare(name, &world.with_crash(), 3);
        }
    }
}

/// A program on memory that all ranks map.
fn mapped(steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let (flavor, bytes) = (Flavor::Shared(Spacing::Contiguous), WORD);
    let create = RmaCall::Create { win: WIN, comm: WORLD, flavor, memory: 0, bytes, unit: WORD };
    [rma(create)].into_iter().chain(steps).chain([free_window()]).collect()
}

/// Memory of a neighbour, counters that are watched, and locks that are none of the library's own.
#[test]
fn memory_of_a_node_is_the_same() {
    let writes = || mapped([set(1, 0, 7), lock(0, EXCLUSIVE), put(0, 0, 1), unlock(0)]);
    let reads = || mapped([lock(0, SHARED), get(0, 0, 1, 2), unlock(0)]);
    let adds = || mapped([set(1, 0, 1), lock(0, SHARED), accumulate(0, 0, 1, sum(), 1), unlock(0)]);
    for mapped_locks in [MappedLocks::Messages, MappedLocks::Atomics] {
        for programs in [[writes(), reads(), reads()], [adds(), adds(), writes()]] {
            let rma = Settings { mapped_locks, ..LAZY };
            let threads = programs.into_iter().map(|steps| vec![steps]).collect();
            let world = Small { rma, together: true, ..Small::threads(threads) }.world();
            compare("mapped", &world, 10);
            compare("mapped, a crash", &world.with_crash(), 5);
        }
    }
}

#[test]
fn mutexes_are_the_same() {
    for algorithm in Algorithm::ALL {
        let programs = contenders(algorithm, 3, common::lingering(2));
        let mut mutex = job(ideal(&[]), programs);
        mutex.mpi.payload = Payload::Real;
        compare(&format!("{algorithm:?}"), &mutex.untimed().unwrap(), 4);
    }
}

#[test]
fn devices_are_the_same() {
    let double = Datatype::named(Primitive::Double);
    let layout = Layout::new(Datatype::vector(3, 1, 2, &double).unwrap(), 1).unwrap();
    for method in [Method::Kernel, Method::KernelStaged] {
        let [sent, received] = [0, 1].map(|id| {
            let whole = DeviceBuffer::new(id, layout.clone(), method).unwrap();
            Arc::new(whole.in_chunks(16))
        });
        let workload = GpuPingPong { sent, received, warm_up: 0, rounds: 1 };
        let programs = workload.programs().into_iter().map(AnyProgram::Score).collect();
        let machine = model("arc-c2050-qdr", &[]);
        let job = job(machine, programs);
        let mut world: World<Library, AnyProgram> = job.untimed().unwrap();
        for (process, region, bytes) in workload.contents() {
            world.store(process, region, &bytes);
        }
        compare_with_faults("gpu", &world, 4);
    }
}

#[test]
fn the_endpoint_library_is_the_same() {
    let sends = |to: u32| Script::new([Next::Call(send(WORLD, to, 1, 40))]);
    let hears = |from: u32| Script::new([Next::Call(recv(WORLD, Some(from), Some(1), 1, 40))]);
    let mut threads = job(ideal(&[]), vec![sends(2), hears(3), hears(0), sends(1)]);
    (threads.threads, threads.mpi.payload) = (2, Payload::Real);
    threads.mpi.eager_inter = Some(Bytes::new(16));
    let world = threads.untimed_over_xios_ep(Rules::default()).unwrap();
    compare_with_faults("endpoints", &world, 6);
    threads.mpi.payload = Payload::Phantom;
    let world = threads.untimed_over_xios_ep(Rules::default()).unwrap();
    compare_with_faults("endpoints without bytes", &world, 3);
}

#[test]
fn a_search_by_name_visits_at_least_the_states_of_one_by_place() {
    let worlds = [pair(8).world(), pair(40).world(), pair(40).world().with_crash()];
    for world in worlds {
        let search = |known| search(&world, Scope::default(), known, |_| None);
        let (by_place, by_name) = (search(Known::ByPlace), search(Known::ByName));
        assert_eq!(by_place.dead, by_name.dead);
        assert!(by_place.states <= by_name.states && by_place.complete);
    }
}

/// Lengths times sizes: bytes of buffers count wherever they are kept, and alike in each run.
#[test]
fn the_memory_that_is_told_has_payloads_in_it() {
    let explored = |bytes: u64, memory: usize| {
        let scope = Scope { memory, ..Scope::default() };
        let world = pair(bytes).world();
        search(&world, scope, Known::ByPlace, |_| None)
    };
    let [small, large] = [40, 20_000].map(|bytes| explored(bytes, usize::MAX));
    assert_eq!((small.states, small.finals), (large.states, large.finals));
    // Some turn leaves a process with both of its buffers: what it sends, and what it got.
    assert!(large.memory > small.memory + 2 * 19_960, "{} and {}", small.memory, large.memory);
    assert_eq!(explored(20_000, usize::MAX).memory, large.memory);
    let cut = explored(20_000, large.memory / 2);
    assert!(cut.out_of_memory && cut.states < large.states, "{} states", cut.states);
    assert!(!explored(20_000, large.memory).out_of_memory);
}

#[test]
fn what_is_kept_of_a_turn_counts_with_the_memory_that_it_leaves() {
    let after = |bytes: u64| {
        let (mut states, mut row) = States::new(&pair(bytes).world());
        for _ in 0..4 {
            let mut steps = Vec::new();
            states.steps_into(&row, &mut steps);
            states.follow(&mut row.clone(), steps[0]).unwrap();
            // Taken again: nothing is new.
            let known = states.bytes();
            states.follow(&mut row, steps[0]).unwrap();
            assert_eq!(states.bytes(), known, "{}", steps[0].choice);
        }
        states.bytes()
    };
    let [small, large] = [40, 20_000].map(after);
    assert!(large >= small + 19_960, "a send buffer was filled: {large} after {small}");
}
