//! Timelines for Perfetto: native track events, one track for each serial resource.
//!
//! The messages are the few fields of Perfetto's `trace_packet.proto`, `track_descriptor.proto`,
//! `track_event.proto` and `debug_annotation.proto` that are needed, with their numbers. Stamps are
//! whole nanoseconds there: picoseconds are arguments of each slice, `from_ps` and `to_ps`.

use prost::Message;

use experiment::results::Timeline;

/// A file.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

/// A track, or one end of a slice.
#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    /// 1 begins a slice, 2 ends it.
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

/// One writer wrote everything.
const SEQUENCE: u32 = 1;
/// The first packet says that nothing before it is needed.
const CLEARED: u32 = 1;
const BEGIN: i32 = 1;
const END: i32 = 2;
/// The track that all others hang from.
const ROOT: u64 = 1;

fn uuid(track: usize) -> u64 {
    ROOT + 1 + track as u64
}

fn packet() -> TracePacket {
    TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..TracePacket::default() }
}

fn descriptor(uuid: u64, name: &str, parent_uuid: Option<u64>) -> TracePacket {
    let name = Some(name.to_owned());
    let track_descriptor = Some(TrackDescriptor { uuid: Some(uuid), name, parent_uuid });
    TracePacket { track_descriptor, ..packet() }
}

fn argument(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { uint_value: Some(value), name: Some(name.to_owned()) }
}

/// The timeline as a Perfetto trace; `title` names the group of its tracks.
///
/// # Panics
///
/// When a slice names a track that does not exist.
pub fn perfetto(timeline: &Timeline, title: &str) -> Vec<u8> {
    let mut packets = vec![descriptor(ROOT, title, None)];
    packets[0].sequence_flags = Some(CLEARED);
    for (track, name) in timeline.tracks.iter().enumerate() {
        packets.push(descriptor(uuid(track), name, Some(ROOT)));
    }
    let mut causes = vec![Vec::new(); timeline.slices.len()];
    let mut effects = vec![Vec::new(); timeline.slices.len()];
    for (flow, &(cause, effect)) in (1..).zip(&timeline.flows) {
        causes[cause].push(flow);
        effects[effect].push(flow);
    }
    for ((slice, flow_ids), terminating_flow_ids) in timeline.slices.iter().zip(causes).zip(effects)
    {
        assert!(slice.track < timeline.tracks.len(), "a slice lies on a track");
        let track_uuid = Some(uuid(slice.track));
        let begin = TrackEvent {
            debug_annotations: vec![
                argument("from_ps", slice.from_ps),
                argument("to_ps", slice.to_ps),
            ],
            kind: Some(BEGIN),
            track_uuid,
            name: Some(slice.name.to_owned()),
            flow_ids,
            terminating_flow_ids,
        };
        let end = TrackEvent { kind: Some(END), track_uuid, ..TrackEvent::default() };
        for (ps, event) in [(slice.from_ps, begin), (slice.to_ps, end)] {
            let timestamp = Some(ps / 1000);
            packets.push(TracePacket { timestamp, track_event: Some(event), ..packet() });
        }
    }
    Trace { packet: packets }.encode_to_vec()
}

#[cfg(test)]
mod tests;
