//! The numbers that a fit may change, the ones that a measurement tells first at the front.

use super::table::{Benchmark, Table};

/// Where the two processes of a pair are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Between {
    /// On two nodes.
    Nodes,
    /// On two cores of a node.
    Cores,
}

impl Between {
    /// As scenarios spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Cores => "cores",
        }
    }

    /// The size up to which messages are eager here.
    pub const fn threshold(self) -> &'static str {
        match self {
            Self::Nodes => "mpi.eager_threshold_inter",
            Self::Cores => "mpi.eager_threshold_intra",
        }
    }

    /// The sizes up to which a message goes along with its descriptor, header included.
    pub const fn limits(self) -> &'static [&'static str] {
        match self {
            Self::Nodes => &["hca.blueflame_inline", "hca.inline_limit"],
            Self::Cores => &[],
        }
    }

    /// The candidates, in the order in which they are tried: where two cannot be distinguished, the
    /// first one is fitted.
    pub const fn candidates(self) -> &'static [Candidate] {
        match self {
            Self::Nodes => NODES,
            Self::Cores => CORES,
        }
    }
}

/// Numbers that one factor changes together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Candidate {
    /// How a report calls it: its parameter, or what they have in common.
    pub name: &'static str,
    /// Its parameters.
    pub paths: &'static [&'static str],
    /// Which measurement tells it.
    pub told_by: &'static str,
    /// A benchmark without which nothing tells it.
    pub needs: Option<Benchmark>,
    /// Whether it is tried before the others, which are tried where the rows are not reproduced by then.
    pub first: bool,
}

impl Candidate {
    /// Which measurement tells it, of these tables: steps of the library tell themselves by rates, or by latencies.
    pub fn witness(&self, tables: &[Table]) -> &'static str {
        let is_rate = |table: &Table| {
            table.fitted
                && matches!(
                    table.benchmark,
                    Benchmark::Bandwidth | Benchmark::BiBandwidth | Benchmark::MultiPair
                )
        };
        if self.told_by == RATE && !tables.iter().any(is_rate) { LATENCY } else { self.told_by }
    }
}

/// The measurement that shows the steps of a library.
const RATE: &str = "rate of small messages";
const LATENCY: &str = "latency of small messages";

const fn one(paths: &'static [&'static str; 1], told_by: &'static str) -> Candidate {
    Candidate { name: paths[0], paths, told_by, needs: None, first: false }
}

const fn first(paths: &'static [&'static str; 1], told_by: &'static str) -> Candidate {
    Candidate { first: true, ..one(paths, told_by) }
}

/// The steps of the library: one path through its code, so one factor.
const STEPS: Candidate = Candidate {
    name: "mpi.step_*",
    paths: &[
        "mpi.step_send",
        "mpi.step_receive",
        "mpi.step_arrival",
        "mpi.step_completion",
        "mpi.step_query",
        "mpi.step_control",
        "mpi.step_handshake",
    ],
    told_by: RATE,
    needs: None,
    first: true,
};
/// The same but for those of rendezvous.
const MESSAGE_STEPS: Candidate = Candidate {
    name: "mpi.step_*",
    paths: &[
        "mpi.step_send",
        "mpi.step_receive",
        "mpi.step_arrival",
        "mpi.step_completion",
        "mpi.step_query",
        "mpi.step_control",
    ],
    ..STEPS
};
/// The rate of an adapter in all: a pair alone does not reach it.
const TOTAL_RATE: Candidate = Candidate {
    needs: Some(Benchmark::MultiPair),
    ..one(&["hca.msg_rate_total"], "rate of small messages of many pairs, where the adapter limits")
};
/// How the steps are shared between sender and receiver.
const SEND_STEP: Candidate = Candidate {
    name: "mpi.step_send",
    paths: &["mpi.step_send"],
    told_by: "rate of small messages both ways, beside that of one way",
    needs: Some(Benchmark::BiBandwidth),
    first: false,
};
/// Inside a node a message that reaches into a second line tells what a line costs, and the latency of
/// the others what is left for the steps of both sides; the rate has those of one.
const SEND_STEP_OF_CORES: Candidate = Candidate {
    told_by: "latency of small messages, beside their rate and the step to a second line",
    needs: None,
    ..SEND_STEP
};
const COPY: Candidate = first(&["mem.core_copy_bw"], "bandwidth of messages that the caches hold");
const COPY_DRAM: Candidate =
    one(&["mem.core_copy_bw_dram"], "bandwidth of messages that no cache holds");

static CORES: &[Candidate] = &[
    MESSAGE_STEPS,
    first(&["coh.line_same_socket"], "latency of small messages"),
    COPY,
    first(&["mem.core_copy_bw_llc"], "bandwidth of messages larger than the second level"),
    first(&["coh.cell_per_byte"], "growth of the latency up to the eager threshold"),
    first(&["mpi.step_handshake"], "latency just above the eager threshold"),
    first(&["cma.call_overhead"], "bandwidth just above the eager threshold"),
    SEND_STEP_OF_CORES,
    COPY_DRAM,
    one(&["cma.page_cost"], "growth of the latency of large messages, beside a copy's"),
];

static NODES: &[Candidate] = &[
    STEPS,
    first(&["link.base_latency"], "latency of small messages"),
    first(&["link.data_bw"], "bandwidth of large messages, where the wire limits"),
    one(&["pcie.raw_bw"], "bandwidth of large messages, where the bus limits"),
    COPY,
    one(&["hca.wqe_fetch"], "step of the latency where a message no longer fits its descriptor"),
    one(&["hca.msg_rate_per_qp"], "rate of small messages of one pair, where the adapter limits"),
    TOTAL_RATE,
    SEND_STEP,
    one(&["pcie.dma_read_round_trip"], "latency of messages that the adapter fetches"),
    one(&["pcie.mmio_write"], "latency of small messages, beside that of the wire"),
    COPY_DRAM,
    one(&["pcie.p2p_read_bw"], "bandwidth where the adapter reads memory slower than the bus"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use hardware::profile::{Kind, Parameter};

    #[test]
    fn candidates_are_parameters_that_can_be_scaled() {
        for between in [Between::Nodes, Between::Cores] {
            let threshold = Parameter::find(between.threshold()).unwrap();
            assert_eq!(threshold.kind, Kind::Bytes);
            for candidate in between.candidates() {
                for path in candidate.paths {
                    let parameter = Parameter::find(path).unwrap();
                    let whole = matches!(parameter.kind, Kind::Count | Kind::Flag | Kind::Bytes);
                    assert!(!whole && parameter.is_simulated(), "{path}");
                }
            }
        }
    }
}
