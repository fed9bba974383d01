//! One point: its fields as typed values, and what they say together.

use std::path::PathBuf;

use super::super::collectives::{self, Choices, Chosen};
use super::super::model_file::Models;
use super::super::program::{self, Step};
use super::super::schema::SCENARIO;
use super::addressing::{
    addressing, check_addressing, check_pieces, check_tags, note_adapter, ranks_word, threads,
};
use super::connections::Connected;
use super::cooperation;
use super::{
    Addressing, DEFAULT_EVENTS, DEFAULT_MEMORY, DEFAULT_SEED, DEFAULT_TIME, Limits, Lock,
    LongQueue, MpiOptions, Payload, Placement, PlacementOrder, Point, Replayed, Topology, Workload,
    applications, background, faults, goal, gpu, noise, one_sided, packing, place, progress, tiles,
};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::{Node, Value};
use form::machine::Machine;
use form::shape::Shape as FieldShape;
use form::shape::check::check;
use hardware::core::Pinning;
use hardware::topology::{self, Shape, TopologyError};
use protocols::collectives::Kind;
use protocols::rendezvous::{Cooperation, Protocol};
use protocols::rma;
use runtime::faults::FaultPlan;
use runtime::timed::Kernel;
use units::{Bytes, PS_PER_S, TimeDelta};
use workloads::backlog::Queue;
use workloads::team;

/// What earlier points have resolved already.
pub(super) struct Known<'a> {
    /// The machine models.
    pub(super) models: Models<'a>,
    /// Topologies that can be built, with their number of nodes.
    pub(super) topologies: Vec<(Topology, u32)>,
    /// Where the scenario lies: the files that it names are looked for there.
    pub(super) folder: PathBuf,
    /// Schedules that were read, by the name of their file.
    pub(super) schedules: Vec<(String, Option<Replayed>)>,
}

/// Reads the point whose values stand in `tree`; `None` with reports where it cannot be run.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    known: &mut Known<'_>,
    index: usize,
    params: Vec<(String, String)>,
) -> Option<Point> {
    let before = diagnostics.errors();
    check(diagnostics, tree, &FieldShape::Object(&SCENARIO), "");
    if diagnostics.errors() > before {
        return None;
    }
    let machine = known.models.machine(diagnostics, tree.get("machine")?);
    let (threads, separate) = threads(tree);
    let nodes = tree.small("nodes").unwrap_or(2);
    let choices = Choices::read(tree.get("mpi"));
    let threads_addressing = addressing(tree, threads);
    let each = match threads_addressing {
        Addressing::Endpoints(_) | Addressing::EndpointLibrary => threads,
        Addressing::Process | Addressing::Duplicated => 1,
    };
    let rma = one_sided::settings(tree);
    let shape = Agents { nodes, threads, separate, each, rma: &rma };
    let node = tree.get("workload")?;
    let mut workload = if node.word("kind") == Some("goal") {
        Workload::Goal(Box::new(goal::read(diagnostics, node, known)?))
    } else {
        workload(diagnostics, node, &choices, shape)?
    };
    // Tiles are endpoints of one thread: contexts are counted by them.
    let addressing = if let Workload::Tiles(tiles) = &workload {
        addressing(tree, tiles.most())
    } else {
        threads_addressing
    };
    let swept = params.iter().any(|(path, _)| path == "ranks.addressing");
    check_addressing(diagnostics, tree, (addressing, swept), &workload);
    let placement = placement(diagnostics, tree, &workload, (nodes, each));
    let topology = topology(diagnostics, tree, known, nodes);
    let machine = machine?;
    let noise = noise::read(diagnostics, tree, &machine);
    let placement = placement?;
    cores(diagnostics, tree, &machine, &placement);
    let progress_thread = progress::read(diagnostics, tree, (addressing, threads), &workload);
    let all_threads = progress::all_threads(threads, progress_thread);
    hardware_threads(diagnostics, tree, &machine, &placement, all_threads);
    one_sided::check_machine(diagnostics, tree, &machine);
    note_adapter(diagnostics, tree, addressing, &machine);
    threaded(diagnostics, tree, &workload, addressing, threads);
    over_units(diagnostics, tree, &workload, &placement, (nodes, each));
    products(diagnostics, tree, &machine, &workload, &placement, threads);
    let mut mpi = mpi(tree, &machine, &placement);
    let model = one_sided::model(tree, &machine);
    one_sided::check_mapped_locks(diagnostics, tree, &workload, &params);
    let mapped_locks = one_sided::mapped_locks(tree, &machine);
    mpi.rma = rma::Settings { mapped_locks, model, ..rma };
    (mpi.cooperation, mpi.kernel) =
        cooperation::read(diagnostics, tree, &machine, (&placement, all_threads));
    mpi.counter_lag = cooperation::counter_lag(diagnostics, tree, &mpi.cooperation);
    if matches!(&workload, Workload::OneSided(task) if task.needs_bytes()) {
        mpi.payload = Payload::Real;
    }
    if let Workload::Packing(packing) = &mut workload {
        packing::choose(packing, &machine);
        let real = mpi.payload == Payload::Real;
        packing::check_keys(diagnostics, tree, packing, &params);
        packing::check_machine(diagnostics, tree, &machine, (packing, real));
    }
    gpu::check_machine(diagnostics, tree, &machine, (&workload, nodes, mpi.payload));
    let mut point = Point {
        index,
        params,
        nodes,
        placement,
        threads,
        progress_thread,
        addressing,
        topology,
        mpi,
        workload,
        account: tree.flag("account").unwrap_or(false),
        noise,
        faults: FaultPlan::default(),
        limits: limits(tree),
        seed: tree.count("seed").unwrap_or(DEFAULT_SEED),
        machine,
    };
    point.faults = faults::read(diagnostics, tree, &point);
    Some(point)
}

/// What the threads of a point are, as its workload needs to know.
#[derive(Clone, Copy)]
struct Agents<'a> {
    nodes: u32,
    /// Threads of a process.
    threads: u16,
    /// Processes that stand for one process of the scenario.
    separate: u16,
    /// Ranks of a process.
    each: u16,
    /// How windows work.
    rma: &'a rma::Settings,
}

/// The rounds of messages of `size`: one count, or one for small and one for large messages.
fn rounds(node: &Node, size: Bytes) -> u64 {
    let rounds = node.get("rounds").expect("the key is required");
    if let Value::Number(_) = rounds.value {
        return rounds.as_count();
    }
    let small = rounds.bytes("up_to").is_some_and(|up_to| size <= up_to);
    rounds.count(if small { "first" } else { "then" }).expect("the key is required")
}

fn workload(
    diagnostics: &mut Diagnostics,
    node: &Node,
    choices: &Choices,
    of: Agents<'_>,
) -> Option<Workload> {
    let Agents { nodes, threads, separate, each, .. } = of;
    let kind = node.required_word("kind");
    if kind == "program" {
        return Some(Workload::Program(program::read(diagnostics, choices, node)));
    }
    if kind == "tiles" {
        return Some(Workload::Tiles(Box::new(tiles::read(diagnostics, node))));
    }
    if packing::is_packing(kind) {
        return packing::read(diagnostics, node).map(|one| Workload::Packing(Box::new(one)));
    }
    if gpu::is_gpu(kind) {
        return gpu::read(diagnostics, node, nodes).map(|one| Workload::Gpu(Box::new(one)));
    }
    if applications::is_application(kind) {
        let applied = applications::read(diagnostics, node, choices, nodes);
        return Some(Workload::Application(Box::new(applied)));
    }
    if one_sided::is_one_sided(kind) {
        return Some(Workload::OneSided(Box::new(one_sided::read(node, of.rma))));
    }
    let size = node.bytes("size").unwrap_or_default();
    let rounds = rounds(node, size);
    let warmup = node.count("warmup").unwrap_or(0);
    if matches!(kind, "collective" | "nonblocking_collective") {
        let ranks_per_node = node.small("ranks_per_node").expect("the key is required");
        let ranks_per_node = ranks_per_node.saturating_mul(u32::from(separate));
        let ranks = ranks_per_node.saturating_mul(nodes).saturating_mul(u32::from(each));
        let chosen = Box::new(measured(diagnostics, node, choices, (size, ranks)));
        let beside = background::read(diagnostics, node, threads);
        return Some(Workload::Collective { chosen, ranks_per_node, size, rounds, warmup, beside });
    }
    let same_node = node.word("between") == Some("cores");
    let window = node.small("window").unwrap_or(1);
    let queue = node.get("queue").map(|queue| long_queue(queue, threads));
    Some(match kind {
        "ping_pong" => Workload::PingPong { size, rounds, warmup, same_node, queue },
        "message_rate" => Workload::MessageRate {
            senders_per_node: node
                .small("senders_per_node")
                .expect("the key is required")
                .saturating_mul(u32::from(separate)),
            size,
            window,
            rounds,
            warmup,
            both: node.word("direction") != Some("one"),
            queue,
        },
        _ => {
            let bidirectional = kind == "bidirectional_bandwidth";
            let pairs = pairs(diagnostics, node, same_node);
            let one_buffer = node.word("buffers") == Some("one");
            Workload::Bandwidth {
                size,
                window,
                rounds,
                warmup,
                same_node,
                pairs,
                one_buffer,
                bidirectional,
            }
        }
    })
}

/// Pairs of a workload that measures bandwidth: between nodes there is one.
fn pairs(diagnostics: &mut Diagnostics, node: &Node, same_node: bool) -> u32 {
    let pairs = node.small("pairs").unwrap_or(1);
    if same_node || pairs == 1 {
        return pairs;
    }
    let span = node.get("pairs").map_or(node.span, |pairs| pairs.span);
    let (found, allowed) = (format!("{pairs} pairs between nodes"), "one pair, or `cores`");
    diagnostics.push(
        Diagnostic::error(&codes::CONTRADICTION, span, "workload.pairs", found, allowed)
            .help("the workload `message_rate` has many pairs between nodes"),
    );
    1
}

/// The call of the workload that measures a collective.
fn measured(
    diagnostics: &mut Diagnostics,
    node: &Node,
    choices: &Choices,
    (size, ranks): (Bytes, u32),
) -> Chosen {
    let name = node.required_word("operation");
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let kind = kind.expect("the tree was checked against its shape");
    let reduction = collectives::reduction(diagnostics, node, "workload");
    let width = reduction.datatype().width();
    if kind.reduces() && !size.as_u64().is_multiple_of(width) {
        let span = node.get("size").map_or(node.span, |size| size.span);
        diagnostics.push(Diagnostic::error(
            &codes::CONTRADICTION,
            span,
            "workload.size",
            format!("{size} are no whole number of elements"),
            format!("an element of `{}` has {width} B", reduction.datatype().name()),
        ));
    }
    let call = collectives::measured(kind, size.as_u64(), ranks, reduction);
    choices.choose(diagnostics, node, "workload", call)
}

/// What is to be in steps over processes or nodes must have such a version.
fn over_units(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &Workload,
    placement: &Placement,
    (nodes, each): (u32, u16),
) {
    let chosen: Vec<&Chosen> = match workload {
        Workload::Collective { chosen, .. } => vec![chosen],
        Workload::Application(applied) => applied.reductions.iter().collect(),
        Workload::Program(ranks) => {
            let steps = ranks.iter().flat_map(|rank| rank.iter());
            let collectives = steps.filter_map(|statement| match &statement.step {
                Step::Collective(chosen) | Step::Begun(chosen, _) => Some(chosen),
                Step::Call(_) | Step::Compute(_) | Step::Timer(_) => None,
            });
            collectives.collect()
        }
        Workload::PingPong { .. }
        | Workload::Bandwidth { .. }
        | Workload::MessageRate { .. }
        | Workload::OneSided(_)
        | Workload::Packing(_)
        | Workload::Gpu(_)
        | Workload::Goal(_)
        | Workload::Tiles(_) => return,
    };
    let node_of = |process| placement.node_of(process, nodes);
    let refused =
        chosen.iter().find_map(|one| one.placed(placement.processes, each, node_of).err());
    if let Some(why) = refused {
        let path = if tree.get("workload").is_some_and(|node| node.get("over").is_some()) {
            "workload.over"
        } else {
            "workload"
        };
        diagnostics.push(Diagnostic::error(
            &codes::CONTRADICTION,
            place(tree, path),
            path,
            "the operation cannot be done in steps",
            why,
        ));
    }
}

/// The queue of one process; its shape limits length and threads.
fn long_queue(node: &Node, threads: u16) -> LongQueue {
    let queue = match node.required_word("kind") {
        "unexpected" => Queue::Unexpected,
        _ => Queue::Expected,
    };
    let each = node.small("length").expect("the key is required");
    let per_thread = node.word("length_per") == Some("thread");
    LongQueue { queue, length: if per_thread { each * u32::from(threads) } else { each } }
}

/// How many processes there are and how many of them a node holds; `None` with a report.
fn placement(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &Workload,
    (nodes, each): (u32, u16),
) -> Option<Placement> {
    let ranks = tree.get("ranks");
    let order = match ranks_word(tree, "placement") {
        Some("round_robin") => PlacementOrder::RoundRobin,
        _ => PlacementOrder::Block,
    };
    let pinning = match ranks_word(tree, "pinning") {
        Some("compact") => Pinning::Compact,
        Some("sockets") => Pinning::Sockets,
        Some("tiles") => Pinning::Tiles,
        _ => Pinning::Scatter,
    };
    let oversubscribe = ranks.and_then(|ranks| ranks.flag("oversubscribe")).unwrap_or(false);
    let (processes, per_node) = match workload {
        Workload::PingPong { same_node, .. } | Workload::Bandwidth { same_node, .. } => {
            if *same_node {
                // All on the first node, however processes are dealt out.
                let order = PlacementOrder::Block;
                let pairs =
                    if let Workload::Bandwidth { pairs, .. } = workload { *pairs } else { 1 };
                let (processes, per_node) = (2 * pairs, 2 * pairs);
                return Some(Placement { processes, per_node, order, oversubscribe, pinning });
            }
            need_nodes(diagnostics, tree, nodes, nodes >= 2, "at least 2")?;
            (2, 1)
        }
        Workload::MessageRate { senders_per_node, both, .. } => {
            let even = nodes >= 2 && nodes.is_multiple_of(2);
            need_nodes(diagnostics, tree, nodes, even, "an even number")?;
            let per_node = if *both { senders_per_node * 2 } else { *senders_per_node };
            let path = "workload.senders_per_node";
            (countable(diagnostics, tree, (per_node, path), nodes)?, per_node)
        }
        Workload::Collective { ranks_per_node, .. } => {
            let path = "workload.ranks_per_node";
            let per_node = *ranks_per_node;
            // Each process may have so many ranks.
            let ranks = per_node.saturating_mul(u32::from(each));
            countable(diagnostics, tree, (ranks, path), nodes)?;
            (countable(diagnostics, tree, (per_node, path), nodes)?, per_node)
        }
        Workload::Application(applied) => {
            (applied.application.processes, applied.application.per_node)
        }
        Workload::OneSided(workload) => {
            one_sided::check(diagnostics, tree, workload, nodes)?;
            (workload.processes, workload.per_node)
        }
        Workload::Packing(_) => (1, 1),
        Workload::Gpu(sends) => (sends.processes(), 1),
        Workload::Tiles(tiles) => {
            let processes = u32::try_from(tiles.before.len()).expect("the shape limits the list");
            (processes, processes.div_ceil(nodes))
        }
        Workload::Goal(replayed) => {
            let processes = replayed.schedule.ranks();
            (processes, processes.div_ceil(nodes))
        }
        Workload::Program(ranks) => {
            let ranks = u32::try_from(ranks.len()).expect("the shape limits the ranks");
            let processes = ranks.div_ceil(u32::from(each.max(1)));
            (processes, processes.div_ceil(nodes))
        }
    };
    Some(Placement { processes, per_node, order, oversubscribe, pinning })
}

pub(super) fn need_nodes(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    nodes: u32,
    fits: bool,
    needed: &str,
) -> Option<()> {
    if fits {
        return Some(());
    }
    let kind = tree.get("workload").and_then(|workload| workload.get("kind"));
    let span = tree.get("nodes").map_or(tree.span, |node| node.span);
    let one = Diagnostic::error(
        &codes::ONE_NODE,
        span,
        "nodes",
        format!("the number of nodes is {nodes}"),
        format!("the workload pairs processes of different nodes: {needed} is needed"),
    );
    diagnostics.push(match kind {
        Some(kind) => one.related(kind.span, "the workload is here"),
        None => one,
    });
    None
}

/// `per_node` x `nodes`, if processes can be numbered so far.
fn countable(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    (per_node, path): (u32, &'static str),
    nodes: u32,
) -> Option<u32> {
    let product = u128::from(per_node) * u128::from(nodes);
    let limit = 16_777_216;
    if product <= limit {
        return u32::try_from(product).ok();
    }
    diagnostics.push(
        Diagnostic::error(
            &codes::PRODUCT,
            place(tree, path),
            path,
            format!("{nodes} nodes of {per_node} processes are {product} processes"),
            format!("at most {limit} are allowed"),
        )
        .related(place(tree, "nodes"), "the nodes are given here"),
    );
    None
}

fn cores(diagnostics: &mut Diagnostics, tree: &Node, machine: &Machine, placement: &Placement) {
    let cpu = &machine.profile.cpu;
    let cores = u64::from(cpu.sockets) * u64::from(cpu.cores_per_socket);
    let processes = u64::from(placement.per_node);
    if placement.oversubscribe || processes <= cores {
        return;
    }
    let path = processes_path(tree);
    diagnostics.push(
        Diagnostic::error(
            &codes::TOO_FEW_CORES,
            place(tree, path),
            path,
            format!("a node has {processes} processes and {cores} cores"),
            "at most one process per core is allowed",
        )
        .related(place(tree, "machine"), format!("the machine is `{}`", machine.name))
        .help("use fewer processes, or write `\"ranks\": { \"oversubscribe\": true }`"),
    );
}

/// The field that says how many processes a node has.
fn processes_path(tree: &Node) -> &'static str {
    match tree.get("workload").and_then(|workload| workload.word("kind")) {
        Some("message_rate") => "workload.senders_per_node",
        Some("collective" | "nonblocking_collective") => "workload.ranks_per_node",
        Some("program") => "workload.ranks",
        Some("tiles") => "workload.tiles",
        Some(kind) if one_sided::is_one_sided(kind) || applications::is_application(kind) => {
            "workload.processes_per_node"
        }
        _ => "workload",
    }
}

/// Every thread has a hardware thread of its own; nothing is said of too many processes again.
fn hardware_threads(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    placement: &Placement,
    threads: u16,
) {
    let cpu = &machine.profile.cpu;
    let available = u64::from(cpu.sockets) * u64::from(cpu.cores_per_socket) * u64::from(cpu.smt);
    let processes = u64::from(placement.per_node);
    let needed = processes * u64::from(threads);
    let too_many_processes = processes > available / u64::from(cpu.smt) && !placement.oversubscribe;
    if needed <= available || too_many_processes {
        return;
    }
    let path = if threads > 1 { progress::threads_path(tree) } else { processes_path(tree) };
    diagnostics.push(
        Diagnostic::error(
            &codes::TOO_FEW_CORES,
            place(tree, path),
            path,
            format!("{processes} processes of {threads} threads on a node are {needed} threads"),
            format!("a node has {available} hardware threads, one for each thread"),
        )
        .related(place(tree, "machine"), format!("the machine is `{}`", machine.name))
        .help("use fewer processes or threads"),
    );
}

/// A program has a list for each endpoint, process by process.
fn whole_processes(diagnostics: &mut Diagnostics, tree: &Node, lists: usize, threads: u16) {
    if lists.is_multiple_of(usize::from(threads)) {
        return;
    }
    let path = "workload.ranks";
    let found = format!("{lists} lists of statements");
    let allowed = format!("one for each of the {threads} endpoints of every process");
    diagnostics.push(
        Diagnostic::error(&codes::CONTRADICTION, place(tree, path), path, found, allowed)
            .related(place(tree, "ranks.threads_per_process"), "the endpoints are given here"),
    );
}

/// Several threads, and what only they have, belong to workloads that know them.
fn threaded(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &Workload,
    addressing: Addressing,
    threads: u16,
) {
    if let Workload::Collective { chosen, .. } = workload {
        funnelled(diagnostics, tree, chosen.call.kind, addressing, threads);
        return;
    }
    if let (Workload::Program(ranks), Addressing::EndpointLibrary) = (workload, addressing) {
        whole_processes(diagnostics, tree, ranks.len(), threads);
        check_pieces(diagnostics, tree, ranks);
        check_tags(diagnostics, tree);
        return;
    }
    let Workload::MessageRate { window, queue, .. } = workload else {
        if threads > 1 {
            let path = "ranks.threads_per_process";
            let found = format!("processes of {threads} threads");
            let allowed =
                format!("the workload {} has one thread in each process", workload.kind());
            diagnostics.push(
                Diagnostic::error(&codes::CONTRADICTION, place(tree, path), path, found, allowed)
                    .related(place(tree, "workload.kind"), "the workload is given here")
                    .help("several threads are known to the workloads message_rate and collective, and to a program over `xios_ep`"),
            );
        }
        return;
    };
    let each = 2 * u128::from(*window) + 1;
    let queued = queue.map_or(0, |queue| queue.length);
    let requests = each * u128::from(threads) + u128::from(queued) + 1;
    let limit = 1 << 31;
    if requests <= limit {
        return;
    }
    diagnostics.push(
        Diagnostic::error(
            &codes::PRODUCT,
            place(tree, "workload.window"),
            "workload.window",
            format!("{threads} threads need {requests} requests in a process"),
            format!("at most {limit} can be told apart"),
        )
        .related(place(tree, "ranks.threads_per_process"), "the threads are given here"),
    );
}

/// Threads without a rank of their own combine inside their process, where the operation can.
fn funnelled(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    kind: Kind,
    addressing: Addressing,
    threads: u16,
) {
    let (path, found, allowed) = match addressing {
        Addressing::Duplicated if threads > 1 => (
            "ranks.addressing",
            "threads with a communicator each cannot meet in one operation".to_owned(),
            "`endpoints`, `multiplexed`, `process` or `separate` is needed",
        ),
        Addressing::Process if threads > 1 && !team::has_funnelled(kind) => (
            "ranks.addressing",
            format!("threads that share a rank are to combine in `{}`", kind.name()),
            "`barrier`, `bcast`, `reduce` and `allreduce` can; others need endpoints",
        ),
        Addressing::Process
        | Addressing::Duplicated
        | Addressing::Endpoints(_)
        | Addressing::EndpointLibrary => return,
    };
    diagnostics.push(
        Diagnostic::error(&codes::CONTRADICTION, place(tree, path), path, found, allowed)
            .related(place(tree, "ranks.threads_per_process"), "the threads are given here"),
    );
}

/// Bytes and time that a workload moves, in 128 bits: both must fit 64.
fn products(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    workload: &Workload,
    placement: &Placement,
    threads: u16,
) {
    let (size, messages) = match workload {
        Workload::PingPong { size, rounds, warmup, .. } => {
            (*size, 2 * (u128::from(*rounds) + u128::from(*warmup)))
        }
        Workload::Bandwidth { size, window, rounds, warmup, .. }
        | Workload::MessageRate { size, window, rounds, warmup, .. } => {
            let each = u128::from(*window) * (u128::from(*rounds) + u128::from(*warmup));
            (*size, each * u128::from(threads))
        }
        Workload::Collective { size, rounds, warmup, .. } => {
            // What the slowest algorithm moves through one rank.
            let calls = u128::from(*rounds) + u128::from(*warmup);
            (*size, calls * 2 * u128::from(placement.processes) * u128::from(threads))
        }
        // Their own readers have checked tiles and applications.
        Workload::Application(_)
        | Workload::OneSided(_)
        | Workload::Packing(_)
        | Workload::Gpu(_)
        | Workload::Tiles(_)
        | Workload::Goal(_)
        | Workload::Program(_) => return,
    };
    let bytes = u128::from(size.as_u64()) * messages;
    let bits_per_s = u128::from(machine.profile.link.data_bw.as_bit_per_s());
    let ps = (bytes * 8).saturating_mul(u128::from(PS_PER_S)) / bits_per_s.max(1);
    let all = bytes.saturating_mul(u128::from(placement.processes));
    let limit = u128::from(DEFAULT_TIME.as_ps());
    let all_messages = messages.saturating_mul(u128::from(placement.processes));
    if ps <= limit && all <= u128::from(u64::MAX) && all_messages <= u128::from(u64::MAX) {
        return;
    }
    let days = ps / (24 * 3600 * u128::from(PS_PER_S));
    let (found, allowed) = if ps > limit {
        (format!("{messages} messages of {size} take {days} days on the link"), "200 days")
    } else {
        (format!("{all_messages} messages of {size} are {all} bytes"), "2^64 bytes")
    };
    diagnostics.push(
        Diagnostic::error(
            &codes::PRODUCT,
            place(tree, "workload.size"),
            "workload.size",
            found,
            format!("at most {allowed} can be counted"),
        )
        .related(place(tree, "workload.rounds"), "the rounds are given here"),
    );
}

fn topology(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    known: &mut Known<'_>,
    nodes: u32,
) -> Topology {
    let Some(node) = tree.get("topology") else { return Topology::Crossbar };
    if node.required_word("kind") == "crossbar" {
        return Topology::Crossbar;
    }
    let arity = node.small("arity").expect("the key is required");
    let levels = node.small("levels").unwrap_or(2);
    let oversubscription = node.small("oversubscription").unwrap_or(1);
    let topology = Topology::FatTree { arity, levels, oversubscription };
    if known.topologies.contains(&(topology, nodes)) {
        return topology;
    }
    if oversubscription > arity {
        diagnostics.push(
            Diagnostic::error(
                &codes::CONTRADICTION,
                place(tree, "topology.oversubscription"),
                "topology.oversubscription",
                format!("{oversubscription} links downwards for each link upwards"),
                format!("a switch has {arity} links downwards"),
            )
            .related(place(tree, "topology.arity"), "the arity is given here"),
        );
        return topology;
    }
    let uplinks = (arity / oversubscription).max(1);
    match topology::Topology::new(Shape::FatTree { arity, uplinks, levels }, nodes) {
        Ok(_) => known.topologies.push((topology, nodes)),
        Err(error) => diagnostics.push(no_topology(tree, &error, nodes)),
    }
    topology
}

fn no_topology(tree: &Node, error: &TopologyError, nodes: u32) -> Diagnostic {
    let allowed = match error {
        TopologyError::TooManyHosts { .. } => format!("{nodes} nodes need as many ports"),
        TopologyError::TooLarge { .. } => "a smaller arity or fewer levels are needed".to_owned(),
        TopologyError::Zero { .. } => "at least 1 is needed".to_owned(),
    };
    let (place_of, path) = (place(tree, "topology.arity"), "topology.arity");
    Diagnostic::error(&codes::TOPOLOGY, place_of, path, error.to_string(), allowed)
        .related(place(tree, "nodes"), "the nodes are given here")
}

fn mpi(tree: &Node, machine: &Machine, placement: &Placement) -> MpiOptions {
    let node = tree.get("mpi");
    let word = |key: &str| node.and_then(|node| node.word(key));
    let bytes = |key: &str| node.and_then(|node| node.bytes(key));
    let model = &machine.profile.mpi;
    MpiOptions {
        rendezvous: word("rendezvous").and_then(Protocol::find).unwrap_or(Protocol::RPut),
        cooperation: Cooperation::default(),
        kernel: Kernel::default(),
        counter_lag: TimeDelta::ZERO,
        eager_threshold: bytes("eager_threshold").unwrap_or(model.eager_threshold_inter),
        eager_threshold_intra: bytes("eager_threshold_intra")
            .unwrap_or(model.eager_threshold_intra),
        payload: if word("payload") == Some("real") { Payload::Real } else { Payload::Phantom },
        connections: Connected::of(tree, machine, placement),
        lock: if word("lock") == Some("unfair") { Lock::Unfair } else { Lock::Fair },
        rma: rma::Settings::default(),
    }
}

fn limits(tree: &Node) -> Limits {
    let node = tree.get("limits");
    let memory = node.and_then(|node| node.bytes("memory"));
    Limits {
        events: node.and_then(|node| node.count("events")).unwrap_or(DEFAULT_EVENTS),
        time: node.and_then(|node| node.time("time")).unwrap_or(DEFAULT_TIME),
        memory: memory.unwrap_or(Bytes::new(DEFAULT_MEMORY)),
        memory_given: memory.is_some(),
    }
}
