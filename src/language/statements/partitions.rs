//! Partitioned operations: how they are prepared, and what is said about their partitions.

use std::sync::Arc;

use super::handles::Open;
use super::reader::Item;
use super::statement::Work;
use crate::program::computed::{Computed, Part, Range};
use form::codes;
use form::expression::{Type, text_of};
use form::json::Node;
use protocols::call::{Call, OfPartitions, Partitioned, Peer};
use protocols::contract::Handle;
use protocols::partitioned::Side;

/// The greatest number of a partition, and of a thread.
const MOST: i64 = u16::MAX as i64;

/// A partition alone is the first and the last one of its call.
const PARTITION: Part = Part::Both(["first", "last"]);

/// `psend_init` and `precv_init`.
pub(super) fn partitioned(item: &mut Item<'_, '_, '_>, side: Side) -> Call {
    let receives = side == Side::Receives;
    let named = item.named();
    let peer = item.peer((if receives { "src" } else { "to" }, "peer"), named, receives);
    let tag = item.tag(("tag", "tag"), false).unwrap_or(0);
    let bytes = item.sized("size", Part::Field("buffer"));
    let buffer = item.own_buffer("buf", bytes);
    let partitions = item.node.small("partitions").and_then(|number| u16::try_from(number).ok());
    let partitions = partitions.unwrap_or(1);
    let (request, comm) = (item.open("req"), named.comm);
    let operation = Partitioned { request, side, peer, tag, comm, buffer, partitions };
    if peer == Peer::Any {
        let (found, allowed) =
            ("a partitioned receive from `any`", "it names one rank and one tag");
        let one = item.wrong(&codes::WILDCARD, "src", found, allowed);
        item.report(one.help("name the sender's rank, or \"proc_null\""));
    }
    item.prepare(Call::Partitioned(Arc::new(operation)))
}

/// `pready`, `pready_range` and `parrived`.
pub(super) fn of_partitions(item: &mut Item<'_, '_, '_>, does: OfPartitions) -> Call {
    let request = item.close(Open::Perhaps);
    let [first, last] = if does == OfPartitions::ReadyRange {
        ["first", "last"].map(|key| number(item, key, Part::Field(key)))
    } else {
        [number(item, "partition", PARTITION); 2]
    };
    let thread = thread(item);
    Call::OfPartitions { does, request, first, last, thread }
}

/// One call of `pready_list`.
pub(super) fn listed(
    item: &mut Item<'_, '_, '_>,
    request: Handle,
    value: &Node,
    path: &str,
) -> Work {
    let thread = thread(item);
    let computed = text_of(value).is_some();
    let number = if computed { 0 } else { value.as_count() };
    let number = u16::try_from(number).expect("the shape limits partitions");
    if computed && let Some(value) = item.reader.typed(value, path, Type::Integer) {
        let (key, part, range) = ("partition", PARTITION, Range::up_to(MOST));
        item.reader.scope.extras.computed.push(Computed { key, part, value, range });
    }
    let does = OfPartitions::Ready;
    Work::call(Call::OfPartitions { does, request, first: number, last: number, thread })
}

/// The thread whose request it is, where the statement names one.
fn thread(item: &mut Item<'_, '_, '_>) -> Option<u16> {
    item.node.get("thread").map(|_| number(item, "thread", Part::Field("thread")))
}

fn number(item: &mut Item<'_, '_, '_>, key: &'static str, part: Part) -> u16 {
    let Item { reader, node, path } = item;
    if reader.computes(node, (key, part), Range::up_to(MOST), path) {
        return 0;
    }
    node.small(key).and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
}
