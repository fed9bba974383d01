//! The fault plan: what may go wrong, and how a scenario says it.

use form::fields::{LONG, time};
use form::shape::{Field, Shape, Variant, default, optional, required, variant};

static TIME: Shape = time(0, LONG);
static LENGTH: Shape = time(1, LONG);
static NUMBER: Shape = Shape::Count { min: 0, max: u32::MAX as u64 };
static NTH: Shape = Shape::Count { min: 1, max: u32::MAX as u64 };
static PLACE: Shape = Shape::Text(200);
static PROBABILITY: Shape = Shape::Ratio { min: 0, max: 1_000_000_000 };
static FACTOR: Shape = Shape::Ratio { min: 1_000_000_000, max: 1_000_000_000_000 };
static PART: Shape = Shape::Ratio { min: 1_000, max: 1_000_000_000 };

const AT: Field = default("at", &TIME, "0 s", "When it begins.");
const AT_PACKET: Field = optional(
    "at_packet",
    &NTH,
    "The packet, of all that leave cores, with which it begins, instead of `at`.",
);
const FOR: Field = optional("for", &LENGTH, "How long it lasts; without it, to the end.");
const RESOURCE: Field = required(
    "where",
    &PLACE,
    "\"node 0 PCIe to HCA\"",
    "A resource, by the name that results give it.",
);
const LINK: Field = default(
    "where",
    &PLACE,
    "all links",
    "A link, by the name that results give it, or `all links`.",
);
const PROCESS: Field =
    optional("process", &NUMBER, "Whose cores; without it, those of all processes.");
const CHANCE: Field = optional("probability", &PROBABILITY, "Of each packet, and of each answer.");
const THE_NTH: Field =
    optional("nth", &NTH, "This packet since it began, instead of a probability.");

/// What a link does to packets.
const PACKETS: [Field; 6] = [LINK, CHANCE, THE_NTH, AT, AT_PACKET, FOR];

static KINDS: [Variant; 11] = [
    variant(
        "delay_spike",
        &[
            RESOURCE,
            required("extra", &TIME, "\"10 us\"", "What everything over it takes longer."),
            AT,
            AT_PACKET,
            FOR,
        ],
        "A link or an HCA that takes longer.",
    ),
    variant(
        "rate_cut",
        &[
            RESOURCE,
            required("left", &PART, "0.25", "The part of its rate that is left."),
            AT,
            AT_PACKET,
            FOR,
        ],
        "A link, bus or memory that is slower.",
    ),
    variant(
        "hca_stall",
        &[
            required("node", &NUMBER, "0", "Whose HCA."),
            AT,
            AT_PACKET,
            required("for", &LENGTH, "\"100 us\"", "How long it begins nothing."),
        ],
        "An HCA that begins nothing for a while.",
    ),
    variant(
        "straggler",
        &[
            PROCESS,
            required("factor", &FACTOR, "2", "How much longer the work of its cores takes."),
            AT,
            FOR,
        ],
        "Cores that are slower.",
    ),
    variant(
        "os_noise",
        &[
            PROCESS,
            required("period", &LENGTH, "\"1 ms\"", "From one interruption to the next."),
            required("length", &LENGTH, "\"25 us\"", "How long one takes."),
            optional("phase", &TIME, "When the first begins; without it, drawn for each core."),
        ],
        "Cores that the operating system takes at times, instead of `noise.os_noise`.",
    ),
    variant("link_down", &[LINK, AT, AT_PACKET, FOR], "A link that loses everything."),
    variant("packet_loss", &PACKETS, "A link that loses packets."),
    variant("packet_duplication", &PACKETS, "A link that delivers packets twice."),
    variant(
        "packet_reordering",
        &[
            LINK,
            CHANCE,
            THE_NTH,
            required("late", &LENGTH, "\"5 us\"", "How late, behind those that follow."),
            AT,
            AT_PACKET,
            FOR,
        ],
        "A link that delivers packets late.",
    ),
    variant(
        "credit_loss",
        &[
            required("from", &NUMBER, "0", "The process that sends."),
            required("to", &NUMBER, "1", "The process that has posted the receive buffers."),
            required("credits", &NTH, "8", "Receive buffers that are gone."),
            AT,
            AT_PACKET,
        ],
        "Receive buffers of a queue pair that are gone.",
    ),
    variant(
        "crash",
        &[
            required("process", &NUMBER, "1", "Who dies."),
            AT,
            AT_PACKET,
            optional("at_call", &NTH, "The call of the process at which it dies, instead of `at`."),
        ],
        "A process that dies, its HCA with it.",
    ),
];

pub(super) static FAULTS: Shape =
    Shape::List { of: &Shape::Tagged { tag: "kind", variants: &KINDS }, min: 0, max: 1_000 };

pub(super) static TRANSPORT: Shape = Shape::Object(&[
    default(
        "timeout",
        &LENGTH,
        "67108864 ns",
        "Until a packet without answer is sent again: 4.096 us times a power of two.",
    ),
    default(
        "retries",
        &Shape::Count { min: 0, max: 7 },
        "7",
        "Tries without progress after the first, before the queue pair gives up.",
    ),
]);
