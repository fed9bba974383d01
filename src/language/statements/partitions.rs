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

impl Item<'_, '_, '_> {
    /// `psend_init` and `precv_init`.
    pub(super) fn partitioned(&mut self, side: Side) -> Call {
        let receives = side == Side::Receives;
        let named = self.named();
        let peer = self.peer((if receives { "src" } else { "to" }, "peer"), named, receives);
        let tag = self.tag(("tag", "tag"), false).unwrap_or(0);
        let bytes = self.sized("size", Part::Field("buffer"));
        let buffer = self.own_buffer("buf", bytes);
        let partitions =
            self.node.small("partitions").and_then(|number| u16::try_from(number).ok());
        let partitions = partitions.unwrap_or(1);
        let (request, comm) = (self.open("req"), named.comm);
        let operation = Partitioned { request, side, peer, tag, comm, buffer, partitions };
        if peer == Peer::Any {
            let (found, allowed) =
                ("a partitioned receive from `any`", "it names one rank and one tag");
            let one = self.wrong(&codes::WILDCARD, "src", found, allowed);
            self.report(one.help("name the sender's rank, or \"proc_null\""));
        }
        self.prepare(Call::Partitioned(Arc::new(operation)))
    }

    /// `pready`, `pready_range` and `parrived`.
    pub(super) fn of_partitions(&mut self, does: OfPartitions) -> Call {
        let request = self.close(Open::Perhaps);
        let [first, last] = if does == OfPartitions::ReadyRange {
            ["first", "last"].map(|key| self.number(key, Part::Field(key)))
        } else {
            [self.number("partition", PARTITION); 2]
        };
        let thread = self.thread();
        Call::OfPartitions { does, request, first, last, thread }
    }

    /// One call of `pready_list`.
    pub(super) fn listed(&mut self, request: Handle, value: &Node, path: &str) -> Work {
        let thread = self.thread();
        let computed = text_of(value).is_some();
        let number = if computed { 0 } else { value.as_count() };
        let number = u16::try_from(number).expect("the shape limits partitions");
        if computed && let Some(value) = self.reader.typed(value, path, Type::Integer) {
            let (key, part, range) = ("partition", PARTITION, Range::up_to(MOST));
            self.reader.scope.extras.computed.push(Computed { key, part, value, range });
        }
        let does = OfPartitions::Ready;
        Work::call(Call::OfPartitions { does, request, first: number, last: number, thread })
    }

    /// The thread whose request it is, where the statement names one.
    fn thread(&mut self) -> Option<u16> {
        self.node.get("thread").map(|_| self.number("thread", Part::Field("thread")))
    }

    fn number(&mut self, key: &'static str, part: Part) -> u16 {
        let Self { reader, node, path } = self;
        if reader.computes(node, (key, part), Range::up_to(MOST), path) {
            return 0;
        }
        node.small(key).and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
    }
}
