//! The faults of a scenario: their form, and the plan that a point reads from it.
//!
//! A kind of fault has its keys in [`KINDS`] and its effect in [`Reader::effect`].

use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, quote};
use form::fields::{LONG, time};
use form::json::{Node, Value};
use form::shape::{Field, Shape as Form, Variant, default, nearest, optional, required, variant};
use hardware::cluster::Cluster;
use hardware::core::Place;
use hardware::profile::{Profile, Ratio};
use hardware::topology::{Shape, Topology};
use protocols::contract::Process;
use runtime::faults::{Begin, Effect, Fault, FaultPlan, Hits, Transport, Wires};
use units::{Time, TimeDelta};

static TIME: Form = time(0, LONG);
static LENGTH: Form = time(1, LONG);
static NUMBER: Form = Form::Count { min: 0, max: u32::MAX as u64 };
static NTH: Form = Form::Count { min: 1, max: u32::MAX as u64 };
static PLACE: Form = Form::Text(200);
static PROBABILITY: Form = Form::Ratio { min: 0, max: 1_000_000_000 };
static FACTOR: Form = Form::Ratio { min: 1_000_000_000, max: 1_000_000_000_000 };
static PART: Form = Form::Ratio { min: 1_000, max: 1_000_000_000 };

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

/// Keys of a link that does something to packets.
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

pub(super) static FAULTS: Form =
    Form::List { of: &Form::Tagged { tag: "kind", variants: &KINDS }, min: 0, max: 1_000 };

pub(super) static TRANSPORT: Form = Form::Object(&[
    default(
        "timeout",
        &LENGTH,
        "67108864 ns",
        "Until a packet without answer is sent again: 4.096 us times a power of two.",
    ),
    default(
        "retries",
        &Form::Count { min: 0, max: 7 },
        "7",
        "Tries without progress after the first, before the queue pair gives up.",
    ),
]);

/// The cluster that the faults of a point hit.
pub(super) struct Target<'a> {
    /// Its machine.
    pub(super) profile: &'a Profile,
    /// Its wiring.
    pub(super) shape: Shape,
    /// Its nodes.
    pub(super) nodes: u32,
    /// The processes on it.
    pub(super) processes: u32,
    /// Whether the workload has a network.
    pub(super) has_network: bool,
}

/// Names that a fault may have.
struct Known {
    resources: Vec<String>,
    links: Vec<String>,
    processes: u32,
    nodes: u32,
}

impl Known {
    /// The names of a cluster; `None` where its nodes cannot be wired so.
    fn of(target: &Target<'_>) -> Option<Self> {
        let Target { profile, shape, nodes, processes, .. } = *target;
        let wires = Topology::new(shape, nodes).ok()?;
        let links = wires.all_links().map(|link| wires.link_name(link)).collect();
        let none: [Place; 0] = [];
        let cluster = Cluster::new(profile, wires, &none);
        let resources = cluster.fabric.resources().iter().map(|spec| spec.name.clone()).collect();
        Some(Self { resources, links, processes, nodes })
    }
}

/// The faults of a checked scenario; contradictions are reported.
pub(super) fn read(diagnostics: &mut Diagnostics, tree: &Node, target: &Target<'_>) -> FaultPlan {
    let faults = faults(diagnostics, tree, target).unwrap_or_default();
    FaultPlan { faults, transport: transport(tree) }
}

fn faults(diagnostics: &mut Diagnostics, tree: &Node, target: &Target<'_>) -> Option<Vec<Fault>> {
    let node = tree.get("faults")?;
    let list = node.elements().filter(|list| !list.is_empty())?;
    if !target.has_network {
        let (found, allowed) = ("a packing alone has no network", "a workload with processes");
        let code = &codes::CONTRADICTION;
        diagnostics.push(Diagnostic::error(code, node.span, "faults", found, allowed));
        return None;
    }
    let known = Known::of(target)?;
    let mut reader = Reader { diagnostics, known: &known };
    let all = list.iter().enumerate();
    let faults: Vec<Fault> =
        all.map(|(at, node)| reader.fault(&format!("faults[{at}]"), node)).collect();
    overlaps(diagnostics, list, &faults);
    Some(faults)
}

fn transport(tree: &Node) -> Transport {
    let usual = Transport::default();
    let Some(node) = tree.get("transport") else { return usual };
    let retries = node.count("retries").map(|count| u8::try_from(count).expect("at most 7"));
    Transport {
        timeout: node.time("timeout").unwrap_or(usual.timeout),
        retries: retries.unwrap_or(usual.retries),
    }
}

/// Reads faults, and reports mistakes in them.
struct Reader<'a> {
    diagnostics: &'a mut Diagnostics,
    known: &'a Known,
}

impl Reader<'_> {
    fn fault(&mut self, path: &str, node: &Node) -> Fault {
        let effect = self.effect(path, node);
        Fault { effect, begin: self.begin(path, node), length: node.time("for") }
    }

    fn effect(&mut self, path: &str, node: &Node) -> Effect {
        let time = |key| node.time(key).expect("the key is required");
        match node.required_word("kind") {
            "delay_spike" => {
                Effect::Delay { resource: self.resource(path, node), extra: time("extra") }
            }
            "rate_cut" => {
                Effect::RateCut { resource: self.resource(path, node), left: ratio(node, "left") }
            }
            "hca_stall" => Effect::HcaStall { node: self.node(path, node) },
            "straggler" => Effect::Straggler {
                process: self.some_process(path, node),
                factor: ratio(node, "factor"),
            },
            "os_noise" => self.noise(path, node),
            "link_down" => Effect::LinkDown { wires: self.wires(path, node) },
            "packet_loss" => {
                Effect::Loss { wires: self.wires(path, node), hits: self.hits(path, node) }
            }
            "packet_duplication" => {
                Effect::Duplication { wires: self.wires(path, node), hits: self.hits(path, node) }
            }
            "packet_reordering" => Effect::Reordering {
                wires: self.wires(path, node),
                hits: self.hits(path, node),
                late: time("late"),
            },
            "credit_loss" => Effect::CreditLoss {
                from: self.process(path, node, "from"),
                to: self.process(path, node, "to"),
                credits: node.small("credits").expect("the key is required"),
            },
            _ => Effect::Crash { process: self.process(path, node, "process") },
        }
    }

    /// When it begins: one key says so.
    fn begin(&mut self, path: &str, node: &Node) -> Begin {
        self.at_most_one(path, node, &["at", "at_packet", "at_call"]);
        if let Some(packet) = node.count("at_packet") {
            Begin::Packet(packet)
        } else if let Some(call) = node.count("at_call") {
            Begin::Call(call)
        } else {
            Begin::At(Time::ZERO + node.time("at").unwrap_or_default())
        }
    }

    /// Which packets it hits: one key says so.
    fn hits(&mut self, path: &str, node: &Node) -> Hits {
        self.at_most_one(path, node, &["probability", "nth"]);
        match (node.get("probability"), node.count("nth")) {
            (Some(chance), _) => Hits::Chance(billionths(chance)),
            (None, Some(nth)) => Hits::Nth(nth),
            (None, None) => {
                let found = "neither a probability nor a packet is given";
                let allowed = "`probability` or `nth` says which packets it hits";
                self.refuse(node, path, found.to_owned(), allowed.to_owned());
                Hits::Chance(0)
            }
        }
    }

    fn at_most_one(&mut self, path: &str, node: &Node, keys: &[&str]) {
        let mut given = keys.iter().filter_map(|key| Some((key, node.get(key)?)));
        if let (Some((first, other)), Some((second, extra))) = (given.next(), given.next()) {
            self.diagnostics.push(
                Diagnostic::error(
                    &codes::CONTRADICTION,
                    extra.span,
                    format!("{path}.{second}"),
                    format!("`{first}` and `{second}` are given"),
                    "one of them says it",
                )
                .related(other.span, "the other is given here"),
            );
        }
    }

    fn refuse(&mut self, node: &Node, path: &str, found: String, allowed: String) {
        let diagnostic =
            Diagnostic::error(&codes::CONTRADICTION, node.span, path.to_owned(), found, allowed);
        self.diagnostics.push(diagnostic);
    }

    fn noise(&mut self, path: &str, node: &Node) -> Effect {
        let time = |key| node.time(key).expect("the key is required");
        let (period, length): (TimeDelta, TimeDelta) = (time("period"), time("length"));
        if length >= period {
            let at = node.get("length").expect("the key is required");
            let found =
                format!("an interruption of {length} every {period} leaves no time to work");
            self.refuse(at, &format!("{path}.length"), found, "less than the period".to_owned());
        }
        let process = self.some_process(path, node);
        Effect::OsNoise { process, period, length, phase: node.time("phase") }
    }

    fn resource(&mut self, path: &str, node: &Node) -> String {
        let place = node.get("where").expect("the key is required");
        let name = place.text().unwrap_or_default();
        if !self.known.resources.iter().any(|known| known == name) {
            self.unknown(path, place, "a resource", &self.known.resources);
        }
        name.to_owned()
    }

    fn wires(&mut self, path: &str, node: &Node) -> Wires {
        let Some(place) = node.get("where") else { return Wires::All };
        let name = place.text().unwrap_or_default();
        if name == ALL_LINKS {
            return Wires::All;
        }
        if self.known.links.iter().any(|known| known == name) {
            return Wires::Link(name.to_owned());
        }
        if self.known.resources.iter().any(|known| known == name) {
            self.diagnostics.push(
                Diagnostic::error(
                    &codes::LOSSLESS,
                    place.span,
                    format!("{path}.where"),
                    format!("`{}` loses no packets: only links between nodes may", quote(name)),
                    format!("`{ALL_LINKS}`, or a link such as {}", self.known.links[0]),
                )
                .help("buses, memory and HCAs can be slowed: rate_cut, delay_spike, hca_stall"),
            );
        } else {
            self.unknown(path, place, "a link", &self.known.links);
        }
        Wires::All
    }

    fn unknown(&mut self, path: &str, place: &Node, kind: &str, known: &[String]) {
        let name = place.text().unwrap_or_default();
        let near = nearest(name, known.iter().map(String::as_str));
        let shown = known.iter().take(5).map(|one| format!("\"{one}\"")).collect::<Vec<_>>();
        let more = known.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let mut diagnostic = Diagnostic::error(
            &codes::UNKNOWN_PLACE,
            place.span,
            format!("{path}.where"),
            format!("`{}` is not {kind} of this machine", quote(name)),
            format!("allowed are {}{more}", shown.join(", ")),
        );
        if let Some(near) = near {
            diagnostic = diagnostic.help(format!("the nearest name is `{near}`"));
        }
        self.diagnostics.push(diagnostic);
    }

    fn node(&mut self, path: &str, node: &Node) -> u32 {
        let number = node.small("node").expect("the key is required");
        self.in_range((path, "node"), node, number, self.known.nodes);
        number
    }

    fn some_process(&mut self, path: &str, node: &Node) -> Option<Process> {
        node.get("process")?;
        Some(self.process(path, node, "process"))
    }

    fn process(&mut self, path: &str, node: &Node, key: &str) -> Process {
        let number = node.small(key).expect("the key is required");
        self.in_range((path, key), node, number, self.known.processes);
        Process(number)
    }

    fn in_range(&mut self, (path, key): (&str, &str), node: &Node, number: u32, all: u32) {
        if number < all {
            return;
        }
        let what = if key == "node" { "node" } else { "process" };
        let span = node.get(key).map_or(node.span, |value| value.span);
        self.diagnostics.push(Diagnostic::error(
            &codes::UNKNOWN_PLACE,
            span,
            format!("{path}.{key}"),
            format!("there is no {what} {number}"),
            format!("0 to {}", all.saturating_sub(1)),
        ));
    }
}

/// The word for every link.
const ALL_LINKS: &str = "all links";

/// A plain number with six decimals.
fn ratio(node: &Node, key: &str) -> Ratio {
    Ratio::from_ppm(billionths(node.get(key).expect("the key is required")) / 1_000)
}

fn billionths(node: &Node) -> u64 {
    let Value::Number(number) = &node.value else { unreachable!("the shape was checked") };
    number.scaled(9).expect("the shape was checked")
}

/// A link that is down twice at a time: which of the two brings it up again?
fn overlaps(diagnostics: &mut Diagnostics, list: &[Node], faults: &[Fault]) {
    let downs: Vec<(usize, &Wires, Time, Option<Time>)> = faults
        .iter()
        .enumerate()
        .filter_map(|(at, fault)| match (&fault.effect, fault.begin) {
            (Effect::LinkDown { wires }, Begin::At(from)) => {
                Some((at, wires, from, fault.length.map(|length| from + length)))
            }
            _ => None,
        })
        .collect();
    for (place, &(second, wires, from, until)) in downs.iter().enumerate() {
        let meets = |&&(_, other, begun, ended): &&(usize, &Wires, Time, Option<Time>)| {
            let same = other == wires || *other == Wires::All || *wires == Wires::All;
            same && ended.is_none_or(|ended| from < ended)
                && until.is_none_or(|until| begun < until)
        };
        let Some(&(first, ..)) = downs[..place].iter().find(meets) else { continue };
        diagnostics.push(
            Diagnostic::error(
                &codes::CONTRADICTION,
                list[second].span,
                format!("faults[{second}]"),
                format!("the link is down already by faults[{first}]"),
                "intervals of one link that do not overlap",
            )
            .related(list[first].span, "the other interval is given here"),
        );
    }
}
