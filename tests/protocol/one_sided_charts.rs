//! The messages of one-sided epochs, as charts: `docs/model/rma-messages.md` is what they say.
//!
//! Where the page differs, the test leaves the right one in the build's temporary folder.

use crate::chart;
use std::fmt::Write;

use crate::chart::Chart;
use crate::windows::{
    EXCLUSIVE, LAZY, Line, NO_OP, SHARED, WORD, accumulate, buffer, complete, fence, fetch, flush,
    get, lock, lock_all, lock_all_unchecked, operate, post, put, start, sum, swap_if, unlock,
    unlock_all, wait_window, window, words as at,
};
use mpisim::protocols::call::{Call, Comm, Peer};
use mpisim::protocols::contract::{Machine, Next, Thread};
use mpisim::protocols::rma::call::{At, Operation};
use mpisim::protocols::rma::{Issue, Settings, Transport};

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
        | Next::Clock
        | Next::Store(..)
        | Next::Copy(..)
        | Next::Offload(..)
        | Next::Tell(_)
        | Next::End) => unreachable!("{other:?} is no call"),
    }
}

/// Ranks on nodes of their own with a window of four words.
fn opened(ranks: u32, rma: Settings) -> Chart {
    opened_on((0..ranks).collect(), 4, rma)
}

/// Ranks on these nodes with a window of some words.
fn opened_on(node_of: Vec<u32>, words: u64, rma: Settings) -> Chart {
    let ranks = node_of.len();
    let chart = chart::windows(node_of, rma);
    let mut chart = (0..ranks).fold(chart, |chart, rank| chart.call(rank, call(window(words))));
    chart = chart.settle();
    chart.story.clear();
    chart.headers.clear();
    chart
}

/// A rank waits for a message that never comes: what reaches it is handled.
fn listens(chart: Chart, rank: usize) -> Chart {
    let buffer = mpisim::protocols::call::Buffer { id: 99, bytes: 0 };
    chart.call(rank, Call::Recv { source: Peer::Any, tag: None, comm: Comm(0), buffer })
}

/// Rank 0 makes these calls, each as soon as the one before it returns.
fn by_rank_0(chart: Chart, lines: impl IntoIterator<Item = Line>) -> Chart {
    lines.into_iter().fold(chart, |chart, line| chart.call(0, call(line)).settle())
}

/// What was sent; the calls of a rank follow each other as soon as they return.
fn sent(chart: &Chart) -> Vec<String> {
    chart.story.iter().filter(|line| line.contains(" sends ")).cloned().collect()
}

/// What rank 0 and rank 1 say while rank 0 makes these calls and rank 1 waits for a message.
fn of_two(rma: Settings, lines: Vec<Line>) -> Vec<String> {
    sent(&by_rank_0(listens(opened(2, rma), 1), lines))
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
            "A third rank that learns of the write may still read the old value.",
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
        "# Messages of one-sided epochs\n\nThe packets between rank 0 (the origin) and rank 1 \
         (the target), one a line. `tests/protocol/one_sided_charts.rs` writes this page, and fails \
         if it differs. `(12a)` and so on are the parts of `rma` Fig. 12.\n",
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

// claim: rma-fig12-excl-lt-shared
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
    assert!(found[0] < found[1], "an exclusive write needs no answer, a shared one does");
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
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/model/rma-messages.md");
    let found = std::fs::read_to_string(place).unwrap_or_default();
    if found != text {
        let right = concat!(env!("CARGO_TARGET_TMPDIR"), "/rma-messages.md");
        std::fs::write(right, &text).expect("the build has a temporary folder");
        panic!("docs/model/rma-messages.md differs from {right}");
    }
}

/// What rank 0 sends to rank 1 for an exclusive put of some bytes, in an epoch of its own.
fn exclusive_put(node_of: [u32; 2], bytes: u64) -> usize {
    let words = bytes / WORD;
    let chart = opened_on(node_of.into(), words, Settings::default());
    let origin = buffer(1, words);
    let put = operate(1, at(0, words), Operation::Put { origin }, None);
    sent(&by_rank_0(listens(chart, 1), [lock(1, EXCLUSIVE), put, unlock(1)])).len()
}

/// `rma` Sec. 4.2: what merges is what would be sent eagerly as a message.
#[test]
fn what_merges_is_as_large_as_an_eager_message() {
    let (inside, between) = (chart::EAGER_INSIDE.as_u64(), chart::EAGER_INSIDE.as_u64() / 2);
    for (node_of, limit) in [([0, 0], inside), ([0, 1], between)] {
        assert_eq!(exclusive_put(node_of, limit), 2, "nodes {node_of:?}");
        // The lock, its grant, and two packets: what does not merge does not fit one either.
        assert_eq!(exclusive_put(node_of, limit + WORD), 4, "nodes {node_of:?}");
    }
}

const ALL_SETTINGS: [Settings; 3] = [LAZY, UNMERGED, EAGER];

/// Rank 1 has the window of rank 2 alone, and says so.
fn held_by_rank_1(rma: Settings) -> Chart {
    let chart = listens(opened(3, rma), 2);
    let lines = [lock(2, EXCLUSIVE), put(2, 0, 1), flush(2)];
    let chart = lines.into_iter().fold(chart, |chart, line| chart.call(1, call(line)).settle());
    assert!(!chart.inside[1] && chart.wires.is_empty());
    chart
}

// claim: rma-sem-lock-lazy
// claim: rma-sem-not-mutex
#[test]
fn a_lock_returns_before_it_is_granted() {
    for rma in ALL_SETTINGS {
        let before = held_by_rank_1(rma);
        let said = sent(&before).len();
        let chart = before.call(0, call(lock(2, EXCLUSIVE)));
        assert!(!chart.inside[0], "{rma:?}: the call waits");
        let asks = usize::from(rma.issue == Issue::Eager);
        assert_eq!(sent(&chart).len() - said, asks, "{rma:?}: a lazy lock asks nobody");
        // Both are between lock and unlock now. The second comes out when the first has left.
        let chart = by_rank_0(chart, [put(2, 1, 1)]).call(0, call(unlock(2))).settle();
        assert!(chart.inside[0], "{rma:?}: the unlock must wait for the lock");
        let chart = chart.call(1, call(unlock(2))).settle();
        assert!(!chart.inside[0] && !chart.inside[1], "{rma:?}");
    }
}

// claim: rma-sem-nonblocking
#[test]
fn operations_return_without_anybody_else() {
    let operations = || {
        let at_once =
            |request| operate(2, at(0, 1), Operation::Put { origin: buffer(1, 1) }, request);
        [
            at_once(None),
            at_once(Some(1)),
            get(2, 0, 1, 3),
            accumulate(2, 0, 1, sum(), 1),
            fetch(2, 0, NO_OP, 9, 4),
            swap_if(2, 0, 5, 6),
        ]
    };
    for rma in ALL_SETTINGS {
        // Not even the lock can be granted.
        for line in operations() {
            let chart =
                by_rank_0(held_by_rank_1(rma), [lock(2, SHARED)]).call(0, call(line.clone()));
            assert!(!chart.inside[0], "{rma:?}: {line:?} waits");
        }
    }
}

// claim: rma-sem-lockall
#[test]
fn a_lock_of_all_asks_the_targets_that_are_touched() {
    let locks = |chart: &Chart| sent(chart).iter().filter(|line| line.contains("LOCK")).count();
    for touched in 0..=4_u32 {
        let chart = (1..5).fold(opened(5, UNMERGED), listens);
        let chart = by_rank_0(chart, [lock_all()]);
        assert_eq!(locks(&chart), 0, "nobody is asked by the call itself");
        let twice = (1..=touched).chain(1..=touched);
        let chart = by_rank_0(chart, twice.map(|target| put(target, 0, 1)));
        assert_eq!(locks(&chart), 0, "nor by an operation that waits");
        let flushes = (1..=touched).map(flush);
        let chart = by_rank_0(chart, flushes);
        assert_eq!(locks(&chart), touched as usize, "but by the first flush");
        let again = (1..=touched).flat_map(|target| [put(target, 0, 1), flush(target)]);
        let chart = by_rank_0(chart, again.chain([unlock_all()]));
        let asked = sent(&chart).iter().filter(|line| line.contains("sends LOCK")).count();
        assert_eq!(asked, touched as usize, "once each");
    }
}

// claim: rma-sem-op-queues
#[test]
fn a_target_has_a_queue_in_passive_epochs_and_the_window_one_in_active_ones() {
    let puts = || [put(2, 0, 1), put(1, 0, 1), put(2, 1, 1)];
    let to = |said: Vec<String>| -> Vec<char> {
        let puts = said.iter().filter(|line| line.starts_with("0 sends PUT"));
        puts.filter_map(|line| line.chars().last()).collect()
    };
    // What waits for rank 2 stays when rank 1 is flushed, and leaves together.
    let passive = listens(listens(opened(3, UNMERGED), 1), 2);
    let passive = by_rank_0(passive, [lock_all()].into_iter().chain(puts()).chain([flush(1)]));
    assert_eq!(to(sent(&passive)), ['1']);
    assert_eq!(to(sent(&by_rank_0(passive, [flush(2)]))), ['1', '2', '2']);
    // One queue: operations leave in the order of their calls, whatever their targets.
    let by_rank = |rank| match rank {
        0 => [vec![fence()], puts().into(), vec![fence()]].concat(),
        _ => vec![fence(), fence()],
    };
    assert_eq!(to(of_all(3, UNMERGED, by_rank)), ['2', '1', '2']);
}

// claim: rma-sem-handler
#[test]
fn an_operation_waits_for_the_library_of_its_target() {
    let write = || [lock_all(), accumulate(1, 0, 1, sum(), 1)];
    for rma in ALL_SETTINGS {
        // Rank 1 is outside MPI: nothing that came is handled.
        let chart = by_rank_0(opened(2, rma), write()).call(0, call(flush(1))).settle();
        let updated = |chart: &Chart| chart.story.iter().any(|line| line == "1 updates 8 B");
        assert!(chart.inside[0] && !updated(&chart), "{rma:?}");
        let chart = listens(chart, 1).settle();
        assert!(!chart.inside[0] && updated(&chart), "{rma:?}");
    }
    // The HCA of rank 1 needs nobody.
    let rdma = Settings { transport: Transport::Rdma, ..UNMERGED };
    let chart = opened(2, rdma);
    let chart = by_rank_0(chart, [lock_all_unchecked(), put(1, 0, 1), flush(1)]);
    assert!(!chart.inside[0], "{:?}", chart.story);
}

// claim: rma-sem-datatype-extra
#[test]
fn a_derived_type_travels_behind_the_header() {
    let header = |at: At| {
        let origin = buffer(1, at.bytes() / WORD);
        let put = operate(1, at, Operation::Put { origin }, None);
        let chart =
            by_rank_0(listens(opened(2, UNMERGED), 1), [lock(1, EXCLUSIVE), put, unlock(1)]);
        let lines = sent(&chart);
        let put = lines.iter().position(|line| line.starts_with("0 sends PUT"));
        chart.headers[put.expect("it was sent")]
    };
    let plain = header(at(0, 2));
    assert_eq!(header(at(0, 1)), plain, "whatever its count");
    // Kind, count, block length, stride and extent.
    assert_eq!(
        header(At { disp: 0, first: 0, block: WORD, count: 2, stride: 2 * WORD }),
        plain + 5 * 8
    );
}

/// Five words, two a packet, there and back: the last packet ends the epoch, and each piece has its
/// own answer.
#[test]
fn long_operations_travel_in_pieces() {
    let rma = Settings { segment: Some(2 * WORD), ..UNMERGED };
    let chart = || listens(opened_on(vec![0, 1], 5, rma), 1);
    let messages = |does: Operation| {
        let operation = operate(1, at(0, 5), does, None);
        let lines = [lock(1, EXCLUSIVE), operation, unlock(1)];
        sent(&by_rank_0(chart(), lines))
            .into_iter()
            .filter(|line| !line.contains("LOCK exclusive") && !line.contains("GRANTED"))
            .collect::<Vec<_>>()
    };
    let ends = |lines: &[String], words: &[&str]| {
        assert_eq!(lines.len(), words.len(), "{lines:?}");
        let mut both = lines.iter().zip(words);
        assert!(both.all(|(line, word)| line.contains(word)), "{lines:?}");
    };
    let put = messages(Operation::Put { origin: buffer(1, 5) });
    ends(&put, &["PUT 16 B", "PUT 16 B", "PUT 8 B + UNLOCK"]);
    let get = messages(Operation::Get { into: buffer(3, 5) });
    ends(&get, &["GET 16 B", "GET 16 B", "GET 8 B + UNLOCK", "DATA", "DATA", "DATA"]);
    let add = Operation::Update { update: sum(), origin: Some(buffer(1, 5)), result: None };
    ends(&messages(add), &["ACCUMULATE 16 B", "ACCUMULATE 16 B", "ACCUMULATE 8 B + UNLOCK"]);
}
