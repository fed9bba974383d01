//! How large messages move: between nodes, and inside one.

use form::fields::{LONG, POSITIVE, SIZE, time};
use form::shape::{Field, Shape, default, optional, required};

/// Protocols, by the names of `Protocol::find`.
const PROTOCOLS: &[(&str, &str)] = &[
    ("rput", "the sender writes after the receiver has answered"),
    ("rget", "the receiver reads"),
    ("rtr", "the receiver offers its buffer before, and the sender writes; else as rput"),
    ("rput_immediate", "as rput; the last byte brings the FIN, as immediate data"),
];

pub(super) const BETWEEN_NODES: Field = default(
    "rendezvous",
    &Shape::Word(PROTOCOLS),
    "rput",
    "How a message above the eager threshold moves between nodes.",
);

/// Protocols and schemes, by the names of `Scheme::find`.
const SCHEMES: &[(&str, &str)] = &[
    ("shared_memory", "both sides copy, through cells of a shared segment"),
    ("rput", "the sender copies, after the receiver has answered"),
    ("rget", "the receiver copies"),
    ("rtr", "the sender copies into a buffer that the receiver has offered before; else as rput"),
    ("coop_p2p", "both copy one half each"),
    ("coop_hca", "the HCA's loopback and the receiver copy one part each"),
    ("coop_coll", "by whether the calls of both sides block"),
    ("coop_load", "who has fewer copies before it copies"),
    ("adaptive_offload", "coop_hca while the HCA has little to do, else rget"),
    ("coop_hybrid", "coop_coll, coop_load or coop_hca, each where it belongs"),
];
static SCHEME: Shape = Shape::Word(SCHEMES);

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

/// What the schemes need to know.
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

pub(super) const LIBRARY: Field = default(
    "library",
    &Shape::Word(&[
        ("plain", "large messages inside a node go through cells of a shared segment"),
        ("mvapich2-2.3", "RPUT between nodes and inside a node, there by kernel copies"),
        ("openmpi-3.1", "RGET inside a node by kernel copies, RPUT between nodes (assumed)"),
    ]),
    "plain",
    "Whose choices hold for `rendezvous` and `rendezvous_intra` where those are left out.",
);

pub(super) static KERNEL: Shape = Shape::Word(&[
    ("cma", "process_vm_readv and process_vm_writev: the copying side pins the other's pages"),
    ("knem", "the owner declares its buffer, which pins it"),
    ("xpmem", "the other's memory is mapped, with a fault at the first touch of each page"),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::rendezvous::{Protocol, Scheme};

    fn names(words: &[(&'static str, &str)]) -> Vec<&'static str> {
        words.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn every_protocol_between_nodes_has_its_word() {
        let crossing = Protocol::ALL.iter().filter(|protocol| protocol.crosses_nodes());
        let crossing: Vec<&str> = crossing.map(|protocol| protocol.name()).collect();
        assert_eq!(names(PROTOCOLS), crossing);
    }

    /// Inside a node no adapter writes, so that `rput_immediate` is `rput` there.
    #[test]
    fn every_protocol_and_scheme_inside_a_node_has_its_word() {
        let fixed = Protocol::ALL.iter().copied().filter(|one| *one != Protocol::RPutImmediate);
        let all = fixed.map(Scheme::Fixed).chain(Scheme::DECIDERS);
        let mut wanted: Vec<&str> = all.map(Scheme::name).collect();
        let mut words = names(SCHEMES);
        wanted.sort_unstable();
        words.sort_unstable();
        assert_eq!(words, wanted);
    }
}
