use super::*;
use mpi::envelope::{Context, Envelope, Rank};

/// A short script of facts, in words.
#[derive(Clone, Copy)]
enum Fact {
    /// Sender, tag.
    Send(u32, i32),
    /// Source, tag; `None` is the wildcard.
    Post(Option<u32>, Option<i32>),
    /// Sender, which of its messages.
    Arrive(u32, u32),
    /// Sender, which of its messages, which receive.
    Match(u32, u32, u32),
    /// Sender, message, receive, bytes, truncated.
    Receive(u32, u32, u32, u64, bool),
    Cancel(u32),
}
use Fact::{Arrive, Cancel, Match, Post, Receive, Send};

const TO: u32 = 3;
const SENT: u64 = 100;
const ROOM: u64 = 80;

fn run(script: &[Fact], context: Context) -> (Matching, Vec<Violation>) {
    let (mut monitor, mut found) = (Matching::new(4), Vec::new());
    let (mut sends, mut posts) = ([0; 4], 0);
    for fact in script {
        let (process, fact) = match *fact {
            Send(from, tag) => {
                let message = MessageId { process: from, serial: sends[from as usize] };
                sends[from as usize] += 1;
                let envelope =
                    Envelope { context: Context(7), dest: Rank(0), source: Rank(from), tag };
                (from, Observation::Sent { message, envelope, to: TO, bytes: SENT, ready: false })
            }
            Post(source, tag) => {
                let receive = ReceiveId { process: TO, serial: posts };
                posts += 1;
                let selection = Selection { context, dest: Rank(0), source: source.map(Rank), tag };
                (TO, Observation::Posted { receive, selection, bytes: ROOM })
            }
            Arrive(process, serial) => (
                TO,
                Observation::Arrived { message: MessageId { process, serial }, taken_by: None },
            ),
            Match(process, serial, receive) => {
                let receive = ReceiveId { process: TO, serial: receive };
                (TO, Observation::Matched { message: MessageId { process, serial }, receive })
            }
            Receive(process, serial, receive, bytes, truncated) => {
                let message = MessageId { process, serial };
                let receive = ReceiveId { process: TO, serial: receive };
                (TO, Observation::Received { receive, message, bytes, truncated })
            }
            Cancel(serial) => {
                (TO, Observation::Cancelled { receive: ReceiveId { process: TO, serial } })
            }
        };
        monitor.observe(Process(process), &fact, &mut found);
    }
    (monitor, found)
}

#[track_caller]
fn check(script: &[Fact], ids: &[&str]) -> Sometimes {
    let (mut monitor, mut found) = run(script, Context(7));
    monitor.end(0, &mut found);
    let got: Vec<&str> = found.iter().map(|violation| violation.id).collect();
    assert_eq!(got, ids, "{found:?}");
    monitor.sometimes
}

const EXACT: Fact = Post(Some(0), Some(1));
const ANY: Fact = Post(None, None);

#[test]
fn messages_matched_in_order_are_clean_whether_expected_or_not() {
    let seen = check(
        &[
            EXACT,
            Send(0, 1),
            Send(0, 1),
            Arrive(0, 0),
            Match(0, 0, 0),
            Arrive(0, 1),
            ANY,
            Match(0, 1, 1),
            Receive(0, 1, 1, ROOM, true),
            Receive(0, 0, 0, ROOM, true),
        ],
        &[],
    );
    assert_eq!((seen.truncated, seen.posted_skipped), (2, 0));
}

#[test]
fn a_tag_may_pass_a_message_that_the_receive_does_not_select() {
    let script = [Send(0, 2), Send(0, 1), EXACT, Arrive(0, 0), Arrive(0, 1), Match(0, 1, 0)];
    check(&script, &[]);
}

#[test]
fn overtaking_is_found_also_under_a_wildcard() {
    let overtaken =
        |post| [post, Send(0, 1), Send(0, 1), Arrive(0, 0), Arrive(0, 1), Match(0, 1, 0)];
    check(&overtaken(EXACT), &["M1"]);
    check(&overtaken(ANY), &["M3"]);
    // The overtaken message need not have arrived, as with two rails.
    check(&[EXACT, Send(0, 1), Send(0, 1), Arrive(0, 1), Match(0, 1, 0)], &["M1", "M4"]);
}

#[test]
fn any_sender_may_win_a_wildcard_and_that_race_is_counted() {
    let seen = check(
        &[
            Send(0, 1),
            Send(1, 1),
            Arrive(0, 0),
            Arrive(1, 0),
            ANY,
            Match(1, 0, 0),
            ANY,
            Match(0, 0, 1),
        ],
        &[],
    );
    assert_eq!(seen.wildcard_races, 1);
}

#[test]
fn the_earliest_receive_that_fits_must_win() {
    let script =
        |receive| [Post(Some(0), None), EXACT, Send(0, 1), Arrive(0, 0), Match(0, 0, receive)];
    check(&script(0), &[]);
    check(&script(1), &["M2"]);
    let passed = [Post(Some(0), Some(9)), EXACT, Send(0, 1), Arrive(0, 0), Match(0, 0, 1)];
    assert_eq!(check(&passed, &[]).posted_skipped, 1);
    let cancelled = [EXACT, EXACT, Cancel(0), Send(0, 1), Arrive(0, 0), Match(0, 0, 1)];
    check(&cancelled, &[]);
}

/// The second receive posted is the first to match; also when it is over by then.
#[test]
fn receives_may_match_in_another_order_than_they_were_posted() {
    let posts = [EXACT, Post(Some(0), Some(2)), Send(0, 2), Send(0, 1)];
    let (first, second) = (Receive(0, 0, 1, ROOM, true), Receive(0, 1, 0, ROOM, true));
    let late = [Arrive(0, 0), Match(0, 0, 1), Arrive(0, 1), Match(0, 1, 0), first, second];
    let early = [Arrive(0, 0), Match(0, 0, 1), first, Arrive(0, 1), Match(0, 1, 0), second];
    for order in [late, early] {
        check(&[posts.as_slice(), &order].concat(), &[]);
    }
}

#[test]
fn a_receive_gets_only_what_it_selects() {
    check(&[Post(Some(0), Some(2)), Send(0, 1), Arrive(0, 0), Match(0, 0, 0)], &["M2"]);
    let (_, found) = run(&[EXACT, Send(0, 1), Arrive(0, 0), Match(0, 0, 0)], Context(8));
    assert_eq!(found[0].id, "M5");
}

#[test]
fn losses_and_duplicates_are_found() {
    let start = [EXACT, EXACT, Send(0, 1), Arrive(0, 0), Match(0, 0, 0)];
    let after = |fact| [&start[..], &[fact]].concat();
    check(&after(Match(0, 0, 1)), &["M4"]);
    check(&after(Arrive(0, 0)), &["M4"]);
    check(&after(Match(0, 5, 1)), &["M4"]);
    check(&after(Receive(0, 0, 1, ROOM, true)), &["M4"]);
    check(&after(Cancel(0)), &["M4"]);
    check(&[EXACT, Send(0, 1), Match(0, 0, 0)], &["M4", "M4"]);
    check(&[Send(0, 1)], &["M4"]);
    // Its packet is still there: it was not polled.
    let (mut monitor, mut found) = run(&[Send(0, 1)], Context(7));
    monitor.end(1, &mut found);
    assert_eq!(found.iter().map(|violation| violation.id).collect::<Vec<_>>(), ["S4"]);
    check(&[Send(0, 1), Arrive(0, 0)], &[]);
}

#[test]
fn truncation_is_reported_where_it_happened_and_nowhere_else() {
    let start = [EXACT, Send(0, 1), Arrive(0, 0), Match(0, 0, 0)];
    let after = |bytes, truncated| [&start[..], &[Receive(0, 0, 0, bytes, truncated)]].concat();
    check(&after(ROOM, true), &[]);
    check(&after(ROOM, false), &["M8"]);
    check(&after(SENT, true), &["M8"]);
    check(&after(SENT, false), &["M8"]);
}

#[test]
fn a_long_run_keeps_a_window_and_allocates_nothing() {
    let (mut monitor, mut found) = (Matching::new(2), Vec::with_capacity(1));
    let mut exchange = |serial: u32| {
        let (message, receive) =
            (MessageId { process: 0, serial }, ReceiveId { process: 1, serial });
        let envelope = Envelope { context: Context(0), dest: Rank(0), source: Rank(0), tag: 0 };
        let selection = Selection { context: Context(0), dest: Rank(0), source: None, tag: None };
        for (process, fact) in [
            (1, Observation::Posted { receive, selection, bytes: 8 }),
            (0, Observation::Sent { message, envelope, to: 1, bytes: 8, ready: false }),
            (1, Observation::Arrived { message, taken_by: None }),
            (1, Observation::Matched { message, receive }),
            (1, Observation::Received { receive, message, bytes: 8, truncated: false }),
            (0, Observation::SendComplete { message }),
        ] {
            monitor.observe(Process(process), &fact, &mut found);
        }
    };
    (0..10).for_each(&mut exchange);
    let steady = allocation_counter::measure(|| (10..1000).for_each(&mut exchange));
    assert_eq!((steady.count_total, found.len()), (0, 0));
}

#[test]
fn a_later_receive_may_be_matched_before_an_earlier_one() {
    let posts = [Post(Some(0), Some(1)), Post(Some(0), Some(2))];
    let second = [Send(0, 2), Arrive(0, 0), Match(0, 0, 1)];
    let first = [Send(0, 1), Arrive(0, 1), Match(0, 1, 0)];
    let ends = [Receive(0, 1, 0, ROOM, true), Receive(0, 0, 1, ROOM, true)];
    check(&[&posts[..], &second, &first, &ends].concat(), &[]);
}

#[test]
fn a_message_for_another_rank_of_the_process_is_told_apart_from_a_wrong_order() {
    let (mut monitor, mut found) = (Matching::new(2), Vec::new());
    let (message, receive) = (MessageId::default(), ReceiveId { process: 1, serial: 0 });
    let context = Context(0);
    let envelope = Envelope { context, dest: Rank(2), source: Rank(0), tag: 0 };
    let selection = Selection { context, dest: Rank(1), source: None, tag: None };
    for (process, fact) in [
        (1, Observation::Posted { receive, selection, bytes: 8 }),
        (0, Observation::Sent { message, envelope, to: 1, bytes: 8, ready: false }),
        (1, Observation::Arrived { message, taken_by: None }),
        (1, Observation::Matched { message, receive }),
    ] {
        monitor.observe(Process(process), &fact, &mut found);
    }
    assert_eq!(found.iter().map(|broken| broken.id).collect::<Vec<_>>(), ["M6"]);
}

#[test]
fn an_arrival_that_names_its_receive_is_judged_as_a_match() {
    let (mut monitor, mut found) = (Matching::new(2), Vec::new());
    let context = Context(0);
    let envelope = Envelope { context, dest: Rank(1), source: Rank(0), tag: 0 };
    let selection = Selection { context, dest: Rank(1), source: None, tag: None };
    let receive = |serial| ReceiveId { process: 1, serial };
    let message = |serial| MessageId { process: 0, serial };
    for serial in 0..3 {
        let posted = Observation::Posted { receive: receive(serial), selection, bytes: 8 };
        monitor.observe(Process(1), &posted, &mut found);
        let sent =
            Observation::Sent { message: message(serial), envelope, to: 1, bytes: 8, ready: false };
        monitor.observe(Process(0), &sent, &mut found);
    }
    let mut broken_by = |serial, taken_by| {
        let arrived = Observation::Arrived { message: message(serial), taken_by };
        monitor.observe(Process(1), &arrived, &mut found);
        found.drain(..).map(|broken| broken.id).collect::<Vec<_>>()
    };
    assert!(broken_by(0, Some(receive(0))).is_empty());
    assert_eq!(broken_by(1, Some(receive(2))), ["M2"], "an earlier receive waits for it");
    assert_eq!(broken_by(2, Some(receive(0))), ["M4"], "that receive has a message");
    assert_eq!(broken_by(2, None), ["M4"], "it has arrived before");
}
