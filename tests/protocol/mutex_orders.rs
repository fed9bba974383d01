//! The MCS mutex under every order of events: how many states it has, that none of them is doomed,
//! and that what is left out changes no end.

#![allow(clippy::print_stdout, reason = "the sizes of explorations are of interest")]

use crate::common;
use std::cell::RefCell;
use std::collections::BTreeSet;

use mpisim::explore::registry;
use mpisim::explore::{Options, Planted, Size};
use mpisim::protocols::call::{Call, Reply};
use mpisim::protocols::contract::{Next, Process, Program, Region, Space, Thread};
use mpisim::protocols::library::Library;
use mpisim::runtime::explore::{Rule, Scope, Survey, search, walk};
use mpisim::runtime::fingerprint::Fingerprint;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::monitors::Sometimes;
use mpisim::runtime::untimed::World;
use mpisim::runtime::untimed::states::Known;
use mpisim::shipped::SHIPPED;
use mpisim::workloads::mutex::{Algorithm, Contender, Cycles, contenders};

/// Explores `mutex/mcs`: no order fails, and from every state some order ends well.
#[track_caller]
fn check_states(ranks: u32, ops: u32, reduce: bool, states: usize, finals: usize) {
    let (entry, _) = registry::find("mutex/mcs", SHIPPED).unwrap();
    let options = Options { reduce, memory: 8 << 30, states: 60_000_000, ..Options::default() };
    let found = entry.subject(Size { ranks, ops }, Planted::default()).explore(&options);
    println!("{ranks} x {ops}, reduce {reduce}: {} states", found.states);
    assert!(found.failures.is_empty(), "{:#?}", found.failures);
    assert_eq!((found.states, found.finals, found.stopped), (states, finals, None));
    assert_eq!(found.sometimes.contended > 0, ranks > 1, "{:?}", found.sometimes);
}

#[test]
fn small_mutexes_have_as_many_states_as_the_documentation_says() {
    check_states(2, 1, false, 1_549, 3);
    check_states(2, 2, false, 6_321, 3);
    check_states(2, 1, true, 274, 3);
    check_states(2, 2, true, 840, 3);
    check_states(3, 1, true, 11_730, 13);
}

fn asked(cycles: u32) -> Cycles {
    common::lingering(cycles)
}

fn start<P: Program<Library>>(programs: Vec<P>) -> World<Library, P> {
    let mut job = common::job(common::ideal(&[]), programs);
    job.mpi.payload = Payload::Real;
    job.untimed().unwrap()
}

/// A contender that keeps what it has read: its buffers tell states apart.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Keeps(Contender);

impl Program<Library> for Keeps {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        match Program::<Library>::next(&mut self.0, reply) {
            Next::Take(region) => Next::Load(region),
            other @ (Next::Call(_)
            | Next::Compute(_)
            | Next::Mark(_)
            | Next::Clock
            | Next::Fork
            | Next::Join
            | Next::Load(_)
            | Next::Store(..)
            | Next::Copy(..)
            | Next::Offload(..)
            | Next::Tell(_)
            | Next::End) => other,
        }
    }

    fn loaded(&mut self, value: u64) {
        Program::<Library>::loaded(&mut self.0, value);
    }
}

/// How ranks end, apart from buffers of their own that nobody reads again.
fn end<P: Program<Library>>(
    world: &World<Library, P>,
    ranks: u32,
    contender: impl Fn(&P) -> &Contender,
) -> u128 {
    let window = Region::new(Space::Window(0), 8);
    let ends: Vec<_> = (0..ranks)
        .map(Process)
        .map(|process| {
            let bytes = world.memories().bytes(process, window);
            let program = contender(world.program(process, Thread(0)));
            (world.machine(process).clone(), program.clone(), bytes)
        })
        .collect();
    Fingerprint::of(&ends)
}

/// Every order under a rule, and the different ends.
fn ends<P: Program<Library>>(
    programs: Vec<P>,
    rule: Rule,
    contender: impl Fn(&P) -> &Contender,
) -> (Survey, BTreeSet<u128>) {
    let ranks = u32::try_from(programs.len()).unwrap();
    let found = RefCell::new(BTreeSet::new());
    let survey =
        search(&start(programs), Scope { rule, ..Scope::default() }, Known::ByPlace, |world| {
            found.borrow_mut().insert(end(world, ranks, &contender));
            None
        });
    (survey, found.into_inner())
}

/// What a program has read once tells no two states apart, and every rule leaves every end.
#[test]
fn buffers_that_were_read_and_steps_that_commute_change_no_end() {
    for algorithm in [Algorithm::Mcs, Algorithm::McsCasFirst, Algorithm::TestAndSet] {
        for (ranks, cycles) in [(2, 1), (2, 2), (3, 1)] {
            if ranks == 3 && algorithm != Algorithm::Mcs {
                continue;
            }
            let programs = || contenders(algorithm, ranks, asked(cycles));
            let keeping = programs().into_iter().map(Keeps).collect();
            let (all, kept) = ends(keeping, Rule::Nothing, |program: &Keeps| &program.0);
            assert!(all.is_clean(), "{all:#?}");
            let mut states = all.states + 1;
            for rule in [Rule::Nothing, Rule::Returns, Rule::Alone] {
                let (some, left) = ends(programs(), rule, |program| program);
                assert!(some.is_clean(), "{rule:?}: {some:#?}");
                assert_eq!(left, kept, "{algorithm:?} {ranks} x {cycles} {rule:?}");
                assert!(some.finals <= all.finals && some.states < states, "{rule:?}");
                states = some.states;
            }
        }
    }
}

/// Branches that were met on the way to where a search starts are not counted by the search.
#[test]
fn a_search_counts_what_it_meets_itself() {
    let scope = Scope { states: 100_000, memory: usize::MAX, ..Scope::default() };
    for algorithm in Algorithm::ALL {
        let after = |steps| {
            let mut world = start(contenders(algorithm, 2, asked(1)));
            walk(&mut world, 7, 0, steps);
            world
        };
        let met_something = |world: &World<_, _>| world.sometimes() != Sometimes::default();
        let moved = (1..1_000).map(after).find(met_something).expect("a walk meets something");
        let mut emptied = moved.clone();
        emptied.take_sometimes();
        let met = |start| search(&start, scope, Known::ByPlace, |_: &World<_, _>| None).sometimes;
        assert_eq!(met(moved), met(emptied), "{algorithm:?}");
    }
}

/// `rma` Sec. 5.2: three ranks with three cycles, and four with one.
#[test]
#[cfg_attr(debug_assertions, ignore = "half a minute: `.ci/run test` runs it")]
fn three_ranks_with_three_cycles_and_four_with_one_end_well_in_every_order() {
    check_states(3, 1, false, 102_117, 13);
    check_states(3, 2, true, 147_546, 16);
    check_states(3, 3, true, 470_587, 16);
    check_states(4, 1, true, 599_475, 73);
}

/// `cargo test --release --test protocol mutex_orders::four -- --ignored --nocapture`
#[test]
#[ignore = "ten minutes and 8 GB"]
fn four_ranks_with_two_cycles_end_well_in_every_order() {
    check_states(4, 2, true, 25_528_466, 121);
}

/// `cargo test --release --test protocol mutex_orders::three -- --ignored --nocapture`
#[test]
#[ignore = "a minute: every order, with nothing left out"]
fn three_ranks_with_two_cycles_end_well_in_every_single_order() {
    check_states(3, 2, false, 1_031_054, 16);
}
