//! Lines of windows that several processes map: they travel between the cores that use them, which
//! costs time and decides nothing.

use crate::common::{self, Script};
use crate::small::{WORLD, barrier};
use crate::windows::{
    LAZY, Line, NO_OP, WIN, WORD, accumulate, fetch, free_window, lock_all_unchecked, put, rma,
    set, sum, swap_if, unlock_all,
};
use mpisim::hardware::core::Pinning;
use mpisim::protocols::contract::{Next, Process, Region, Space};
use mpisim::protocols::rma::Settings;
use mpisim::protocols::rma::call::{Flavor, RmaCall, Spacing};
use mpisim::runtime::account::{Account, Part};
use mpisim::runtime::timed::Outcome;

const LINE: u64 = 61_000;
const NUMBERS: &[(&str, &str)] = &[("coh.line_same_socket", "61 ns")];
/// Words of a line.
const WORDS: u64 = 8;

/// Ranks on one node; the memory of all is that of rank 0. The untimed world takes the same way.
fn timed(programs: Vec<Vec<Line>>, changes: &[(&str, &str)], pinning: Pinning) -> Outcome {
    let words = 1 << 12;
    let create = |rank: usize| {
        let (flavor, bytes) = (Flavor::Shared(Spacing::Contiguous), words * WORD);
        let bytes = if rank == 0 { bytes } else { 0 };
        rma(RmaCall::Create { win: WIN, comm: WORLD, flavor, memory: 0, bytes, unit: WORD })
    };
    let whole = |(rank, steps): (usize, Vec<Line>)| {
        let begins = [create(rank), lock_all_unchecked()];
        let ends = [Next::Call(barrier(WORLD)), unlock_all(), free_window()];
        Script::new(begins.into_iter().chain(steps).chain(ends))
    };
    let scripts = programs.into_iter().enumerate().map(whole).collect();
    let changes = [NUMBERS, changes].concat();
    let mut job = common::job(common::model("broadwell-edr", &changes), scripts);
    (job.mpi.rma, job.nodes, job.pinning) = (Settings { watch: false, ..LAZY }, 1, pinning);
    common::finished(common::cross(job).expect("the untimed world takes the run").outcome)
}

const fn word(index: u64) -> Region {
    words(index, 1)
}

const fn words(index: u64, count: u64) -> Region {
    Region { space: Space::Shared(0), offset: index * WORD, len: count * WORD }
}

const fn store(index: u64) -> Line {
    Next::Store(word(index), 1)
}

const fn load(index: u64) -> Line {
    Next::Load(word(index))
}

/// Who has its turn, and what it does.
type Turn = (u32, Vec<Line>);

/// What the steps of a rank take, each between two marks, after others have had their turns; one turn
/// begins when the one before it is over.
fn turns(turns: &[Turn], changes: &[(&str, &str)]) -> Vec<u64> {
    let outcome = in_turns(turns, changes, Pinning::Scatter);
    times(turns, &outcome)
}

fn in_turns(turns: &[Turn], changes: &[(&str, &str)], pinning: Pinning) -> Outcome {
    let ranks = turns.iter().map(|(rank, _)| rank + 1).max().unwrap();
    let program = |rank: u32| {
        let mut steps = vec![set(1, 0, 1)];
        for (number, (whose, turn)) in (0..).zip(turns) {
            if *whose == rank {
                let marked = [Next::Mark(2 * number)].into_iter().chain(turn.clone());
                steps.extend(marked.chain([Next::Mark(2 * number + 1)]));
            }
            steps.push(Next::Call(barrier(WORLD)));
        }
        steps
    };
    timed((0..ranks).map(program).collect(), changes, pinning)
}

fn times(turns: &[Turn], outcome: &Outcome) -> Vec<u64> {
    let took = |(number, (rank, _)): (u32, &Turn)| {
        common::at(outcome, *rank, 2 * number + 1) - common::at(outcome, *rank, 2 * number)
    };
    (0..).zip(turns).map(took).collect()
}

/// Loads and stores cost nothing but the ways of lines.
#[test]
fn a_line_is_waited_for_where_another_core_has_it() {
    let found = turns(
        &[
            (0, vec![store(0), load(0)]),
            (1, vec![load(0), load(1), load(WORDS)]),
            (2, vec![load(0)]),
            (1, vec![load(0)]),
            (0, vec![load(0), store(0), store(0)]),
            (2, vec![load(0), store(WORDS - 1)]),
            (0, vec![load(WORDS)]),
        ],
        &[],
    );
    assert_eq!(
        found,
        [
            0,        // Nobody had it.
            LINE,     // The first word brings its neighbour; the next line nobody had.
            LINE,     // It comes from core 0 once more.
            0,        // Copies stay.
            LINE,     // They are taken away.
            2 * LINE, // A copy, and then for itself alone.
            LINE,     // Whoever read a line first has it.
        ]
    );
}

/// The first line of a copy is waited for, what lies behind it is fetched ahead.
#[test]
fn a_large_copy_waits_for_one_line_and_fetches_the_others_ahead() {
    let (count, buffer) = (512, Region::new(Space::User(2), 512 * WORD));
    let copy = |from, to| vec![Next::Copy(from, to)];
    let takes = |changes: &[(&str, &str)]| {
        let found = turns(
            &[
                (0, copy(words(0, count), buffer)),
                (0, copy(buffer, words(0, count))),
                (1, copy(words(0, count), buffer)),
                (1, copy(words(0, count), buffer)),
            ],
            changes,
        );
        assert_eq!((found[0], found[0]), (found[1], found[3]), "nothing has to come");
        found[2] - found[3]
    };
    let ahead = (count * WORD - 64) * 100;
    assert_eq!(takes(&[]), LINE, "this machine's lines are at hand");
    assert_eq!(takes(&[("coh.cell_per_byte", "0.1 ns/B")]), LINE + ahead);
}

/// Calls reach memory by the core that makes them: they wait for its lines, once.
#[test]
fn puts_and_updates_wait_for_lines() {
    for call in [put(0, 0, 1), accumulate(0, 0, 1, sum(), 1), fetch(0, 0, NO_OP, 1, 2)] {
        let other = (0, vec![store(0)]);
        let own = (1, vec![call.clone()]);
        let found = turns(&[own.clone(), own.clone(), other.clone(), own.clone(), own, other], &[]);
        assert_eq!(found[3] - found[1], LINE, "{call:?}");
        assert_eq!(found[4], found[1], "{call:?}: it is there");
        assert_eq!(found[5], LINE, "{call:?}: it, or its copy, is fetched or taken away");
    }
}

/// Under its mutex a comparison that fails leaves the others their copies.
#[test]
fn only_a_swap_that_takes_place_takes_copies_away() {
    let read_after = |index: u64| {
        let swap = vec![swap_if(0, index, 1, 2)];
        turns(&[(0, vec![store(0)]), (1, swap), (0, vec![load(0)])], &[])[2]
    };
    assert_eq!(read_after(0), LINE, "the word is what it must be");
    assert_eq!(read_after(1), 0, "it is not");
}

/// Ranks fill one socket after the other; a copy on the own socket is nearer than the writer.
#[test]
fn a_line_of_another_socket_takes_its_time() {
    let far = [("coh.line_cross_socket", "200 ns"), ("coh.line_same_socket", "61 ns")];
    let mut steps = vec![(0, vec![store(0)])];
    steps.extend((1..16).map(|rank| (rank, vec![load(0)])));
    let mut expected = vec![LINE; 16];
    (expected[0], expected[14]) = (0, 200_000);
    assert_eq!(turns(&steps, &far), expected, "cores 14 and 15 are on the second socket");
}

/// Hardware threads of one core share its caches.
#[test]
fn siblings_have_each_others_lines() {
    let steps = [
        (0, vec![store(0)]),
        (1, vec![load(0), store(0)]),
        (2, vec![load(0)]),
        (3, vec![load(0)]),
        (0, vec![load(0), store(0)]),
        (3, vec![store(0)]),
        (2, vec![store(0)]),
    ];
    let outcome = in_turns(&steps, &[("cpu.smt", "2")], Pinning::Compact);
    assert_eq!(times(&steps, &outcome), [0, 0, LINE, 0, LINE, LINE, 0]);
}

/// Where the time of one turn went, of the ways of lines alone.
fn spent_on_lines(turn: &Line) -> [u64; 3] {
    let spent = |changes: &[(&str, &str)]| -> Account {
        let steps = [(0, vec![store(0)]), (1, vec![turn.clone()])];
        let outcome = in_turns(&steps, changes, Pinning::Scatter);
        let at = |number: u32| {
            let mut marks = outcome.marks.iter();
            marks.find(|mark| mark.process == Process(1) && mark.number == number).unwrap().account
        };
        at(3) - at(2)
    };
    let (own, longer) = (spent(&[]), spent(&[("coh.line_same_socket", "161 ns")]));
    let more = longer.total() - own.total();
    assert!(more.as_ps() > 0, "{turn:?} waits for its line");
    [Part::Outside, Part::Wait, Part::Copy].map(|part| {
        let more = longer.of(part) - own.of(part);
        more.as_ps()
    })
}

/// No work is booked for it, and nothing counts as copied.
#[test]
fn to_wait_for_a_line_is_to_wait() {
    let buffer = Region::new(Space::User(2), WORD);
    for outside in [load(0), store(0), Next::Copy(word(0), buffer)] {
        assert_eq!(spent_on_lines(&outside), [100_000, 0, 0], "{outside:?}");
    }
    for inside in [put(0, 0, 1), accumulate(0, 0, 1, sum(), 1)] {
        assert_eq!(spent_on_lines(&inside), [0, 100_000, 0], "{inside:?}");
    }
}

/// A core that has read lines before it writes them needs no bytes: copies are only taken away.
#[test]
fn lines_that_are_only_taken_away_move_no_bytes() {
    let (count, buffer) = (512, Region::new(Space::User(2), 512 * WORD));
    let ahead = [("coh.cell_per_byte", "0.1 ns/B")];
    let writes = (1, vec![Next::Copy(buffer, words(0, count))]);
    let fills = (0, vec![Next::Copy(buffer, words(0, count))]);
    let reads = (1, vec![Next::Copy(words(0, count), buffer)]);
    let found = turns(&[fills, reads, writes.clone(), writes], &ahead);
    assert_eq!(found[2] - found[3], LINE);
}
