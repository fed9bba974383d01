//! One point: its fields as typed values, and what they say together.

use super::super::faults;
use super::super::model_file::Models;
use super::super::schema::limits::{DEFAULT_MEMORY, LimitsForm};
use super::super::schema::{DEFAULT_SEED, SCENARIO};
use super::addressing::{addressing, check_described, note_adapter, ranks_word, threads};
use super::traces::Files;
use super::values::{Limits, Point};
use super::{connections, cooperation, noise, one_sided, progress, topology, vcis};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::Shape as FieldShape;
use form::shape::check::check;
use form::shape::path::place;
use form::typed::Object as _;
use hardware::core::Pinning;
use hardware::topology::Shape;
use language::collectives::Choices;
use protocols::rma;
use runtime::faults::FaultPlan;
use runtime::memory::Payload;
use units::{Bytes, PS_PER_S};
use workloads::kind::{LONGEST_RUN, Processes, Reading, Workload};
use workloads::mpi_form::MpiForm;
use workloads::ranks::{Addressing, Placement, PlacementOrder};

/// Models, topologies and traces that earlier points have resolved.
pub(super) struct Known<'a> {
    /// The machine models.
    pub(super) models: Models<'a>,
    /// Topologies that can be built, with their number of nodes.
    pub(super) topologies: Vec<(Shape, u32)>,
    /// Traces beside the scenario.
    pub(super) files: Files,
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
    let rma = one_sided::settings(tree);
    let own = addressing(tree, threads);
    let form = MpiForm::of(tree.get("mpi"));
    let choices = Choices::read(diagnostics, form.collectives.as_ref());
    let mut reading = Reading {
        diagnostics,
        traces: &mut known.files,
        tree,
        node: tree.get("workload")?,
        nodes,
        threads,
        separate,
        each: if is_rank_of_a_thread(own) { threads } else { 1 },
        addressing: own,
        swept: &params,
        rma: &rma,
        choices: &choices,
        machine: machine.as_deref(),
    };
    let kind = workloads::kind_named(reading.node.required_word("kind"));
    let workload = (kind.expect("the tree was checked against its shape").read)(&mut reading)?;
    // Contexts are counted by endpoints.
    if let Some(endpoints) = workload.endpoints() {
        reading.addressing = addressing(tree, endpoints);
    }
    let addressing = reading.addressing;
    let swept = reading.is_swept("ranks.addressing");
    check_described(reading.diagnostics, tree, (addressing, swept));
    workload.check_addressing(&mut reading);
    let processes = workload.processes(&mut reading);
    let each = reading.each;
    let topology = topology::read(reading.diagnostics, tree, &mut known.topologies, nodes);
    let machine = machine.clone()?;
    let noise = noise::read(reading.diagnostics, tree, &machine);
    let placement = placement(tree, processes?);
    let path = workload.kind().processes;
    cores(reading.diagnostics, tree, &machine, (&placement, path));
    let progress_thread =
        progress::read(reading.diagnostics, tree, (addressing, threads), &*workload);
    let all_threads = progress::all_threads(threads, progress_thread);
    hardware_threads(reading.diagnostics, tree, &machine, (&placement, path), all_threads);
    one_sided::check_machine(reading.diagnostics, tree, &machine);
    note_adapter(reading.diagnostics, tree, addressing, &machine);
    workload.check_threads(&mut reading);
    over_units(reading.diagnostics, tree, &*workload, &placement, (nodes, each));
    products(reading.diagnostics, tree, &machine, &*workload, &placement, threads);
    let mut mpi = form.options();
    let model = &machine.profile.mpi;
    mpi.eager_inter = mpi.eager_inter.or(Some(model.eager_threshold_inter));
    mpi.eager_intra = mpi.eager_intra.or(Some(model.eager_threshold_intra));
    let (how, connected) = connections::read(form.connections, &machine, &placement);
    mpi.connections = how;
    let model = one_sided::model(tree, &machine);
    one_sided::check_mapped_locks(reading.diagnostics, tree, &*workload, &params);
    let mapped_locks = one_sided::mapped_locks(tree, &machine);
    let threads_of_all = (&placement, all_threads);
    cooperation::put(reading.diagnostics, tree, (&form, &mut mpi), &machine, threads_of_all);
    if workload.needs_bytes() {
        mpi.payload = Payload::Real;
    }
    workload.check_machine(&mut reading, &machine, mpi.payload == Payload::Real);
    mpi.rma = rma::Settings { mapped_locks, model, ..rma };
    mpi.vcis = vcis::read(diagnostics, tree, (&form, addressing, swept), &mpi);
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
        connected,
        workload,
        account: tree.flag("account").unwrap_or(false),
        noise,
        faults: FaultPlan::default(),
        limits: limits(tree),
        seed: tree.count("seed").unwrap_or(DEFAULT_SEED),
        machine,
    };
    let target = faults::Target {
        profile: &point.machine.profile,
        shape: point.topology,
        nodes: point.used_nodes(),
        processes: point.placement.processes,
        has_network: point.workload.packing().is_none(),
    };
    point.faults = faults::read(diagnostics, tree, &target);
    Some(point)
}

/// Whether each thread of a process is a rank.
const fn is_rank_of_a_thread(addressing: Addressing) -> bool {
    matches!(addressing, Addressing::Endpoints(_) | Addressing::EndpointLibrary)
}

/// A collective in steps over processes or nodes must have such a version.
fn over_units(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &dyn Workload,
    placement: &Placement,
    (nodes, each): (u32, u16),
) {
    let node_of = |process| placement.node_of(process, nodes);
    let collectives = workload.collectives();
    let refused =
        collectives.iter().find_map(|one| one.placed(placement.processes, each, node_of).err());
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

/// Which process runs where.
fn placement(tree: &Node, processes: Processes) -> Placement {
    let order = match ranks_word(tree, "placement") {
        Some("round_robin") if !processes.together => PlacementOrder::RoundRobin,
        _ => PlacementOrder::Block,
    };
    let pinning = match ranks_word(tree, "pinning") {
        Some("compact") => Pinning::Compact,
        Some("sockets") => Pinning::Sockets,
        Some("tiles") => Pinning::Tiles,
        _ => Pinning::Scatter,
    };
    let ranks = tree.get("ranks");
    let oversubscribe = ranks.and_then(|ranks| ranks.flag("oversubscribe")).unwrap_or(false);
    let Processes { count, per_node, .. } = processes;
    Placement { processes: count, per_node, order, oversubscribe, pinning }
}

fn cores(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    (placement, path): (&Placement, &'static str),
) {
    let cpu = &machine.profile.cpu;
    let cores = u64::from(cpu.sockets) * u64::from(cpu.cores_per_socket);
    let processes = u64::from(placement.per_node);
    if placement.oversubscribe || processes <= cores {
        return;
    }
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

/// Every thread has a hardware thread of its own; nothing is said of too many processes again.
fn hardware_threads(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    (placement, path): (&Placement, &'static str),
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
    let path = if threads > 1 { progress::threads_path(tree) } else { path };
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

/// Bytes and time that a workload moves, in 128 bits: both must fit 64.
fn products(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    workload: &dyn Workload,
    placement: &Placement,
    threads: u16,
) {
    let Some((size, messages)) = workload.traffic(placement.processes, threads) else { return };
    let bytes = u128::from(size.as_u64()) * messages;
    let bits_per_s = u128::from(machine.profile.link.data_bw.as_bit_per_s());
    let ps = (bytes * 8).saturating_mul(u128::from(PS_PER_S)) / bits_per_s.max(1);
    let all = bytes.saturating_mul(u128::from(placement.processes));
    let limit = u128::from(LONGEST_RUN.as_ps());
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

fn limits(tree: &Node) -> Limits {
    let LimitsForm { events, time, memory, .. } = LimitsForm::of(tree.get("limits"));
    let memory_given = memory.is_some();
    Limits { events, time, memory: memory.unwrap_or(Bytes::new(DEFAULT_MEMORY)), memory_given }
}
