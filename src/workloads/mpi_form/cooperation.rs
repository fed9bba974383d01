//! How large messages move inside a node.

use form::fields::{LONG, POSITIVE, SIZE, time};
use form::shape::{Shape, default, optional, required};
use protocols::rendezvous::Scheme;

static SCHEME: Shape = Shape::Word(Scheme::WORDS);

static RULES: Shape = Shape::List {
    of: &Shape::Object(&[
        default("from", &SIZE, "0 B", "Messages of at least so many bytes."),
        optional("blocking", &Shape::Flag, "Only those whose send blocks, or does not."),
        required("scheme", &SCHEME, "\"rget\"", "How they move."),
    ]),
    min: 1,
    max: 16,
};

pub(super) static INTRA: Shape = Shape::Either(&[SCHEME, RULES]);

static SHARE: Shape = Shape::Either(&[
    Shape::Word(&[("tuned", "as its rate is to that of both together")]),
    Shape::Ratio { min: 0, max: 1_000_000_000 },
]);

/// Settings of the schemes.
pub(super) static SETTINGS: Shape = Shape::Object(&[
    optional("chunk", &SIZE, "Most bytes that a core copies before it polls."),
    default("chunks", &POSITIVE, "1", "Parts of a message between which a copying core polls."),
    default(
        "hca_share",
        &SHARE,
        "tuned",
        "The HCA's part of a message that it shares with a core.",
    ),
    default(
        "offload_threshold",
        &Shape::Count { min: 0, max: 1_000_000 },
        "1",
        "Large RDMA operations of a node under way, up to which its HCA is given one more.",
    ),
    default(
        "counter_lag",
        &time(0, LONG),
        "0 s",
        "How old the counter of these operations is when it is read: 0 where software counts, more \
         where a counter of the HCA is polled.",
    ),
    default(
        "load_counts",
        &Shape::Word(&[
            ("outstanding", "the copies that a process has still to do"),
            ("cumulative", "all copies that it was ever given"),
        ]),
        "outstanding",
        "What the counters of coop_load hold.",
    ),
    default(
        "load_unit",
        &Shape::Word(&[
            ("copy", "a copy, of a whole message or of a half"),
            ("half", "half a message, so that a copy of a whole one is two"),
        ]),
        "copy",
        "What is one in the counters of coop_load.",
    ),
    default(
        "load_raised",
        &Shape::Word(&[
            ("with_choice", "by the receiver for both sides, when it has matched the RTS"),
            (
                "by_each_side",
                "by the receiver with its choice, and by the sender when the CTS has come",
            ),
        ]),
        "with_choice",
        "When and by whom the counters of coop_load are raised.",
    ),
    default("large", &SIZE, "0 B", "Messages from this size on may be chunked or offloaded."),
    default(
        "ready",
        &Shape::Word(&[
            ("rput", "after the receiver has answered"),
            ("rtr", "into the buffer that the receiver has offered"),
        ]),
        "rput",
        "How coop_coll and coop_hybrid move a ready send into a non-blocking receive.",
    ),
]);
