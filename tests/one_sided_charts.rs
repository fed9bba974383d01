//! The messages of one-sided epochs, as charts: `docs/rma-messages.md` is what they say.
//!
//! Where the page differs, the test leaves the right one in the build's temporary folder.

#[path = "common/chart.rs"]
mod chart;
#[path = "common/windows.rs"]
mod windows;

use std::fmt::Write;

use chart::Chart;
use mpisim::protocols::call::{Call, Comm, Peer};
use mpisim::protocols::contract::{Machine, Next, Thread};
use mpisim::protocols::rma::{Issue, Settings};
use windows::{
    EXCLUSIVE, LAZY, Line, NO_OP, SHARED, accumulate, complete, fence, fetch, flush, get, lock,
    lock_all, post, put, start, sum, unlock, unlock_all, wait_window, window,
};

const UNMERGED: Settings = Settings { merge: false, ..LAZY };

fn call(line: Line) -> Call {
    match line {
        Next::Call(call) => call,
        other @ (Next::Compute(_)
        | Next::Mark(_)
        | Next::Fork
        | Next::Join
        | Next::Load(_)
        | Next::Take(_)
        | Next::Store(..)
        | Next::Copy(..)
        | Next::Tell(_)
        | Next::End) => unreachable!("{other:?} is no call"),
    }
}

/// Ranks with a window of four words.
fn opened(ranks: u32, rma: Settings) -> Chart {
    let chart = chart::windows(ranks, rma);
    let mut chart =
        (0..ranks as usize).fold(chart, |chart, rank| chart.call(rank, call(window(4))));
    chart = chart.settle();
    chart.story.clear();
    chart
}

/// What was sent; the calls of a rank follow each other as soon as they return.
fn sent(chart: &Chart) -> Vec<String> {
    chart.story.iter().filter(|line| line.contains(" sends ")).cloned().collect()
}

/// What rank 0 and rank 1 say while rank 0 makes these calls and rank 1 waits for a message.
fn of_two(rma: Settings, lines: Vec<Line>) -> Vec<String> {
    let waits = Call::Recv {
        source: Peer::Any,
        tag: None,
        comm: Comm(0),
        buffer: mpisim::protocols::call::Buffer { id: 99, bytes: 0 },
    };
    let chart = opened(2, rma).call(1, waits);
    sent(&lines.into_iter().fold(chart, |chart, line| chart.call(0, call(line)).settle()))
}

/// What all say while they make these calls, one after the other, all at once.
fn of_all(ranks: u32, rma: Settings, lines: impl Fn(u32) -> Vec<Line>) -> Vec<String> {
    let programs: Vec<Vec<Line>> = (0..ranks).map(lines).collect();
    let longest = programs.iter().map(Vec::len).max().unwrap_or(0);
    let mut chart = opened(ranks, rma);
    for turn in 0..longest {
        for (rank, program) in programs.iter().enumerate() {
            if let Some(line) = program.get(turn) {
                chart = chart.call(rank, call(line.clone()));
            }
        }
        chart = chart.settle();
    }
    assert!((0..ranks as usize).all(|rank| chart.ranks[rank].waits(Thread(0)).is_none()));
    sent(&chart)
}

/// A section of the page: what is said, and how often.
struct Section {
    title: &'static str,
    note: &'static str,
    messages: Vec<String>,
}

fn section(title: &'static str, note: &'static str, messages: Vec<String>) -> Section {
    Section { title, note, messages }
}

fn passive() -> Vec<Section> {
    let epoch = |kind, op| vec![lock(1, kind), op, unlock(1)];
    let add = || accumulate(1, 0, 1, sum(), 1);
    let read = || fetch(1, 0, NO_OP, 9, 3);
    let later = |op: fn() -> Line| {
        let first = of_two(UNMERGED, vec![lock_all(), op(), flush(1)]).len();
        let lines = vec![lock_all(), op(), flush(1), op(), flush(1)];
        of_two(UNMERGED, lines).split_off(first)
    };
    let one_way = Settings { done_after_merge: false, ..LAZY };
    let put = || put(1, 0, 1);
    let get = || get(1, 0, 1, 3);
    vec![
        section(
            "Exclusive write (12a)",
            "The unlock returns when its packet is sent: the target ends this epoch before it grants another.",
            of_two(UNMERGED, epoch(EXCLUSIVE, put())),
        ),
        section(
            "Shared write (12b)",
            "Others may hold the lock: only the answer says that third ranks see the value.",
            of_two(UNMERGED, epoch(SHARED, add())),
        ),
        section(
            "Write inside lock-all (12c)",
            "Every operation and flush after the first one to a target.",
            later(|| accumulate(1, 0, 1, sum(), 1)),
        ),
        section("Exclusive read (12d)", "", of_two(UNMERGED, epoch(EXCLUSIVE, get()))),
        section(
            "Shared read (12e)",
            "The bytes say that all before them is done.",
            of_two(UNMERGED, epoch(SHARED, read())),
        ),
        section("Read inside lock-all (12f)", "", later(|| fetch(1, 0, NO_OP, 9, 3))),
        section(
            "First write inside lock-all",
            "The target's lock is asked for with its first operation.",
            of_two(UNMERGED, vec![lock_all(), add(), flush(1)]),
        ),
        section(
            "First read inside lock-all",
            "",
            of_two(UNMERGED, vec![lock_all(), read(), flush(1)]),
        ),
        section("Merged write, answered", "", of_two(LAZY, epoch(EXCLUSIVE, put()))),
        section(
            "Merged write, one way",
            "A third rank that is told of it may still read the old value.",
            of_two(one_way, epoch(EXCLUSIVE, put())),
        ),
        section("Merged read", "", of_two(LAZY, epoch(SHARED, get()))),
        section("Fetching operations do not merge", "", of_two(LAZY, epoch(SHARED, read()))),
        section(
            "Eager shared write",
            "Lock and operation leave with their calls; the unlock needs a packet of its own.",
            of_two(Settings { issue: Issue::Eager, ..UNMERGED }, epoch(SHARED, put())),
        ),
        section("Empty epoch", "", of_two(UNMERGED, vec![lock(1, SHARED), unlock(1)])),
        section(
            "Unlock of a lock-all that touched one target",
            "",
            of_two(UNMERGED, vec![lock_all(), add(), unlock_all()]),
        ),
    ]
}

const EAGER: Settings = Settings { issue: Issue::Eager, ..UNMERGED };

fn active() -> Vec<Section> {
    let put_right = |rank: u32| put((rank + 1) % 2, 0, 1);
    let both = |rank| vec![fence(), put_right(rank), fence()];
    vec![
        section(
            "Lazy fence of two",
            "The first fence says nothing; the second is a reduce-scatter of the numbers of operations, the operations, and a barrier.",
            of_all(2, UNMERGED, both),
        ),
        section(
            "Eager fence of two",
            "A barrier, the operations, a flush of every target, and a barrier.",
            of_all(2, EAGER, both),
        ),
        section(
            "Post, start, complete, wait of two",
            "",
            of_all(2, UNMERGED, |rank| {
                let other = 1 - rank;
                vec![post(&[other]), start(&[other]), put_right(rank), complete(), wait_window()]
            }),
        ),
    ]
}

/// Messages that one rank sends in a halo exchange on a ring: by post and start, by lazy and by
/// eager fences.
///
/// claim: rma-sem-pscw
fn halo(ranks: u32) -> [usize; 3] {
    let neighbours = |rank: u32| [(rank + 1) % ranks, (rank + ranks - 1) % ranks];
    let puts = |rank| neighbours(rank).map(|to| put(to, 0, 1));
    let by_post = |rank| {
        let group = neighbours(rank);
        let opens = [post(&group), start(&group)];
        opens.into_iter().chain(puts(rank)).chain([complete(), wait_window()]).collect()
    };
    let by_fence = |rank| [vec![fence()], puts(rank).into(), vec![fence()]].concat();
    let of_one = |all: Vec<String>| {
        let each =
            |rank: u32| all.iter().filter(|line| line.starts_with(&format!("{rank} "))).count();
        assert!((0..ranks).all(|rank| each(rank) == each(0)), "all ranks say as much");
        each(0)
    };
    [
        of_one(of_all(ranks, UNMERGED, by_post)),
        of_one(of_all(ranks, UNMERGED, by_fence)),
        of_one(of_all(ranks, EAGER, by_fence)),
    ]
}

fn page(sections: &[Section]) -> String {
    let mut text = String::from(
        "# Messages of one-sided epochs\n\nWhat the library of rank 0 (the origin) and that of rank \
         1 (the target) say to each other, one packet a line; written by \
         `tests/one_sided_charts.rs`, which fails where this page differs. `(12a)` and so on are \
         the parts of `rma` Fig. 12.\n",
    );
    for Section { title, note, messages } in sections {
        let count = messages.len();
        writeln!(text, "\n## {title}: {count}\n").expect("a string takes it");
        if !note.is_empty() {
            writeln!(text, "{note}\n").expect("a string takes it");
        }
        let lines = if messages.is_empty() { "nothing".to_owned() } else { messages.join("\n") };
        writeln!(text, "```text\n{lines}\n```").expect("a string takes it");
    }
    text.push_str("\n## Halo exchange on a ring: messages that one rank sends\n\n");
    text.push_str("| ranks | post, start, complete, wait | lazy fences | eager fences |\n");
    text.push_str("|---|---|---|---|\n");
    for ranks in [4, 8, 16, 32, 64] {
        let [post, lazy, eager] = halo(ranks);
        writeln!(text, "| {ranks} | {post} | {lazy} | {eager} |").expect("a string takes it");
    }
    text
}

// claim: rma-merge-write
// claim: rma-merge-read
// claim: rma-merge-scope
#[test]
fn passive_epochs_have_the_messages_of_the_figure() {
    let counts: Vec<(&str, usize)> =
        passive().iter().map(|section| (section.title, section.messages.len())).collect();
    let expected = [3, 4, 2, 4, 4, 2, 4, 4, 2, 1, 2, 4];
    let found: Vec<usize> = counts.iter().take(expected.len()).map(|(_, count)| *count).collect();
    assert_eq!(found, expected, "{counts:?}");
}

// claim: rma-sec71-fence
#[test]
fn a_lazy_fence_has_one_exchange_and_one_barrier() {
    let words = |sections: &[Section], at: usize| {
        sections[at].messages.iter().filter(|line| line.contains("WORDS")).count()
    };
    let sections = active();
    // Two ranks: every exchange and every barrier is one message of each.
    assert_eq!(words(&sections, 0), 2 * 2);
    assert_eq!(words(&sections, 1), 2 * 2, "two barriers");
    let told = |at: usize| sections[at].messages.iter().any(|line| line.contains("WORDS 1"));
    assert!(told(0) && !told(1), "numbers of operations are told by lazy fences only");
}

// claim: rma-sec21-halo
#[test]
fn post_and_start_touch_neighbours_only() {
    for ranks in [4, 8, 16, 32, 64] {
        let [post, lazy, eager] = halo(ranks);
        let rounds = ranks.ilog2() as usize;
        assert_eq!([post, lazy], [4, 2 + 2 * rounds], "{ranks} ranks");
        assert!(eager > lazy, "{ranks} ranks: {eager} messages");
    }
}

#[test]
fn the_page_says_what_the_charts_say() {
    let sections: Vec<Section> = passive().into_iter().chain(active()).collect();
    let text = page(&sections);
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rma-messages.md");
    let found = std::fs::read_to_string(place).unwrap_or_default();
    if found != text {
        let right = concat!(env!("CARGO_TARGET_TMPDIR"), "/rma-messages.md");
        std::fs::write(right, &text).expect("the build has a temporary folder");
        panic!("docs/rma-messages.md differs from {right}");
    }
}
