use std::sync::Arc;

use super::*;
use engine::streams::Streams;
use protocols::call::Comm;

fn message(id: u64, source: u32, tag: i32) -> Message<u64> {
    Message { message: id, source: Rank(source), tag }
}

/// Process 1 of two processes with three endpoints each.
fn part() -> Part<u64> {
    Part::new(Comm(0), &Arc::new(RankMap::from_counts(&[3, 3])), 1)
}

fn probed(id: u64, source: u32, (tag, sender, receiver): (i32, u32, u32)) -> Probed<u64> {
    let tag = Fields { tag, sender, receiver }.encode().unwrap();
    Probed { message: id, source, tag }
}

/// Against a plain list: the first that is wanted, and each entry up to it is counted.
// claim: xep-nonovertake
#[test]
fn the_first_wanted_message_is_taken_and_the_walk_is_counted() {
    let mut stream = Streams::new(1).stream("messages", 0);
    let mut below = |n: u64| u32::try_from(stream.below(n)).unwrap();
    let (mut list, mut model) = (MessageList::default(), Vec::new());
    for id in 0..2000 {
        if below(2) == 0 {
            let message = message(id, below(3), i32::try_from(below(3)).unwrap());
            list.append(message);
            model.push(message);
            continue;
        }
        let source = Some(Rank(below(3))).filter(|_| below(3) > 0);
        let tag = Some(i32::try_from(below(3)).unwrap()).filter(|_| below(3) > 0);
        let wants = |message: &Message<u64>| {
            source.is_none_or(|s| s == message.source) && tag.is_none_or(|t| t == message.tag)
        };
        let at = model.iter().position(wants);
        let visited = at.map_or(model.len(), |index| index + 1);
        let peeked = list.peek(Wanted { source, tag }).matched.map(|found| *found.message);
        let length = u32::try_from(model.len()).unwrap();
        let found = list.take(Wanted { source, tag });
        assert_eq!(found.matched, at.map(|index| model.remove(index)));
        assert_eq!(peeked, found.matched.map(|message| message.message));
        assert_eq!((found.visited as usize, found.length), (visited, length));
        assert_eq!(list.len(), model.len());
    }
    assert!(!list.is_empty(), "the walk met lists of some length");
}

/// The program sees the sender's endpoint rank and the user's tag, though MPI's message has a
/// process and a packed tag.
// claim: xep-status-fields
#[test]
fn messages_and_status_tell_endpoint_ranks_and_user_tags() {
    let mut part = part();
    let probed = probed(70, 0, (9, 2, 1));
    assert_eq!(probed.tag, 9 << 16 | 2 << 8 | 1);
    assert_eq!(relocate(&mut part, probed), Ok(1));
    let found = part.handles[1].messages.take(Wanted::exactly(Rank(2), 9)).matched.unwrap();
    let Message { message, source, tag } = found;
    assert_eq!((message, source, tag), (70, Rank(2), 9));
    let status = Status { mpi: (probed.source, probed.tag), datatype: 8, source, tag };
    assert_ne!((status.mpi.0, status.mpi.1), (status.source.0, status.tag));
    assert_eq!((status.source, status.tag, status.datatype), (Rank(2), 9, 8));
}

// claim: xep-anysource
#[test]
fn wildcards_are_the_probe_s_and_a_receive_resolves_its_own_in_the_list() {
    assert_eq!(ANY, ProcessProbe { source: None, tag: None });
    let mut part = part();
    for (id, source, fields) in [(1, 0, (5, 0, 2)), (2, 1, (6, 1, 2)), (3, 0, (6, 0, 0))] {
        relocate(&mut part, probed(id, source, fields)).unwrap();
    }
    let mut take = |local: usize, wanted| {
        let found = part.handles[local].messages.take(wanted);
        (found.matched.map(|message: Message<u64>| message.message), found.visited)
    };
    assert_eq!(take(2, Wanted { source: None, tag: Some(6) }), (Some(2), 2));
    assert_eq!(take(2, Wanted { source: Some(Rank(0)), tag: None }), (Some(1), 1));
    assert_eq!(take(2, Wanted::ANYTHING), (None, 0), "the last message is for endpoint 0");
    assert_eq!(take(0, Wanted::ANYTHING), (Some(3), 1));
}

#[test]
fn a_message_that_no_endpoint_sent_is_refused_and_filed_nowhere() {
    let mut part = part();
    let mut refused = |probed| relocate(&mut part, probed).unwrap_err().to_string();
    let sender = "a message names endpoint (3, 0) as its sender, where nobody lives";
    assert_eq!(refused(probed(1, 0, (0, 3, 0))), sender);
    let receiver = "a message is for endpoint 3 of a process that has 3";
    assert_eq!(refused(probed(1, 0, (0, 0, 3))), receiver);
    let negative = "tag -5 is negative; no message has such a tag";
    assert_eq!(refused(Probed { message: 1, source: 0, tag: -5 }), negative);
    assert!(part.handles.iter().all(|handle| handle.messages.is_empty()));
}
