//! The file is read as the wire format says, without the messages that wrote it.

use super::*;
use experiment::results::Slice;

/// A field: its number, and its value.
#[derive(Debug)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

/// The fields of a message, in their order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => Value::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                Value::Bytes(take(&mut bytes, length))
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn numbers(message: &[u8], wanted: u64) -> Vec<u64> {
    let of = |(field, value)| match value {
        Value::Number(number) if field == wanted => Some(number),
        Value::Number(_) | Value::Bytes(_) => None,
    };
    fields(message).into_iter().filter_map(of).collect()
}

fn messages(message: &[u8], wanted: u64) -> Vec<&[u8]> {
    let of = |(field, value)| match value {
        Value::Bytes(bytes) if field == wanted => Some(bytes),
        Value::Number(_) | Value::Bytes(_) => None,
    };
    fields(message).into_iter().filter_map(of).collect()
}

fn text(message: &[u8], wanted: u64) -> String {
    String::from_utf8(messages(message, wanted)[0].to_vec()).unwrap()
}

/// Type, track, time in nanoseconds, name, arguments, flows that begin and end.
type Event = (bool, u64, u64, String, Vec<(String, u64)>, [Vec<u64>; 2]);

#[test]
fn tracks_slices_flows_and_picoseconds_are_read_back() {
    let slice = |track, name, from_ps, to_ps| Slice { track, name, from_ps, to_ps };
    let timeline = Timeline {
        tracks: vec!["rank 0".to_owned(), "node 0 PCIe to HCA".to_owned()],
        slices: vec![
            slice(0, "posting", 1_500, 4_200),
            slice(0, "copy", 4_200, 4_300),
            slice(1, "transfer", 4_200, 9_999),
        ],
        flows: vec![(0, 2)],
    };
    let file = perfetto(&timeline, "a run");
    let packets = messages(&file, 1);
    assert_eq!(packets.len(), 1 + 2 + 2 * 3);
    assert!(packets.iter().all(|packet| numbers(packet, 10) == [1]), "one sequence");
    assert_eq!(numbers(packets[0], 13), [1], "nothing before it is needed");
    let tracks: Vec<(u64, String)> = packets[..3]
        .iter()
        .map(|packet| messages(packet, 60)[0])
        .map(|track| (numbers(track, 1)[0], text(track, 2)))
        .collect();
    assert_eq!(tracks[0].1, "a run");
    assert_eq!((tracks[1].1.as_str(), tracks[2].1.as_str()), ("rank 0", "node 0 PCIe to HCA"));
    assert_eq!(numbers(messages(packets[2], 60)[0], 5), [tracks[0].0], "below the run");

    let events = packets[3..].iter().map(|packet| {
        let event = messages(packet, 11)[0];
        let arguments: Vec<(String, u64)> = messages(event, 4)
            .into_iter()
            .map(|argument| (text(argument, 10), numbers(argument, 3)[0]))
            .collect();
        let begins = numbers(event, 9) == [1];
        let name = if begins { text(event, 23) } else { String::new() };
        let flows = [numbers(event, 47), numbers(event, 48)];
        (begins, numbers(event, 11)[0], numbers(packet, 8)[0], name, arguments, flows)
    });
    let events: Vec<Event> = events.collect();
    let told = |event: &Event| (event.0, event.1, event.2, event.3.clone());
    let (core, bus) = (tracks[1].0, tracks[2].0);
    let wanted = [
        (true, core, 1, "posting".to_owned()),
        (false, core, 4, String::new()),
        (true, core, 4, "copy".to_owned()),
        (false, core, 4, String::new()),
        (true, bus, 4, "transfer".to_owned()),
        (false, bus, 9, String::new()),
    ];
    assert_eq!(events.iter().map(told).collect::<Vec<_>>(), wanted);
    assert_eq!(events[4].4, [("from_ps".to_owned(), 4_200), ("to_ps".to_owned(), 9_999)]);
    assert_eq!((&events[0].5, &events[4].5), (&[vec![1], vec![]], &[vec![], vec![1]]));
}
