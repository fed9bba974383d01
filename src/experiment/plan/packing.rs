//! Packing in GPU memory, or by a core: its numbers, and what they say together.

use super::super::schema::datatypes;
use super::place;
use form::codes::{self, Code};
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::path;
use hardware::gpu::{Block, Shape};
use protocols::packing::{DeviceCall, Layout, Method, Task};
use runtime::device;
use workloads::packing::{Beside, Contexts, Order, Other, Packing};

/// Primitives of a packing: one thread for each.
const MOST_PRIMITIVES: u64 = 1 << 32;
/// Bytes of data that may really be packed.
const MOST_REAL: u64 = 1 << 32;

/// The kinds of workload that are read here.
pub(super) fn is_packing(kind: &str) -> bool {
    matches!(kind, "pack" | "pack_beside")
}

fn refuse(
    diagnostics: &mut Diagnostics,
    node: &Node,
    code: Code,
    (key, found, allowed): (&str, String, &str),
) {
    let span = node.get(key).map_or(node.span, |field| field.span);
    diagnostics.push(Diagnostic::error(code, span, format!("workload.{key}"), found, allowed));
}

/// The packing of a checked workload; `None` with reports where it cannot be done.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node) -> Option<Packing> {
    let tree = node.get("datatype").expect("the key is required");
    let datatype = datatypes::decode(diagnostics, tree, "workload.datatype")?;
    let count = node.count("count").unwrap_or(1);
    let layout = match Layout::new(datatype, count) {
        Ok(layout) => layout,
        Err(error) => {
            let allowed = "sizes of 64 bits, and an encoding that fits a GPU, are needed";
            let said = ("datatype", error.to_string(), allowed);
            refuse(diagnostics, node, &codes::DATATYPE, said);
            return None;
        }
    };
    let task = if node.word("task") == Some("unpack") { Task::Unpack } else { Task::Pack };
    if let (Task::Unpack, Err(error)) = (task, layout.datatype.receivable(count)) {
        let allowed = "each byte may be unpacked into once";
        refuse(diagnostics, node, &codes::DATATYPE, ("datatype", error.to_string(), allowed));
        return None;
    }
    check_buffer(diagnostics, node, &layout)?;
    let threads_per_block = node.small("threads_per_block").unwrap_or(256);
    let beside = beside(diagnostics, node, layout.encoding.packed());
    let primitives = layout.encoding.primitives();
    if primitives > MOST_PRIMITIVES {
        let found = format!("{primitives} primitives are packed");
        let allowed = format!("at most {MOST_PRIMITIVES} can be, a thread for each");
        refuse(diagnostics, node, &codes::PRODUCT, ("count", found, &allowed));
        return None;
    }
    if layout.encoding.packed() == 0 {
        let found = "the datatype has no data".to_owned();
        refuse(diagnostics, node, &codes::CONTRADICTION, ("datatype", found, "some are needed"));
        return None;
    }
    let method = method(diagnostics, node, &layout, task)?;
    Some(Packing { layout, method, task, threads_per_block, beside })
}

/// The method that packs the layout: the one that is asked for, or its fallback.
fn method(
    diagnostics: &mut Diagnostics,
    node: &Node,
    layout: &Layout,
    task: Task,
) -> Option<Method> {
    let named = |name: &str| {
        let found = Method::ALL.into_iter().find(|method| method.name() == name);
        found.expect("the tree was checked against its shape")
    };
    let fallback = node.word("fallback").map(named);
    match named(node.required_word("method")).or(fallback, layout, task) {
        Ok(method) => Some(method),
        Err(refusal) => {
            let key = if fallback.is_some() { "fallback" } else { "method" };
            let allowed = "another method can: `kernel` packs every type";
            let said = (key, refusal.to_string(), allowed);
            refuse(diagnostics, node, &codes::CONTRADICTION, said);
            None
        }
    }
}

/// A buffer that is given holds all that the layout reaches.
fn check_buffer(diagnostics: &mut Diagnostics, node: &Node, layout: &Layout) -> Option<()> {
    let Some(buffer) = node.bytes("buffer") else { return Some(()) };
    let (low, high) = layout.encoding.span();
    let needed = high.abs_diff(low);
    if needed <= buffer.as_u64() {
        return Some(());
    }
    let found = format!("a buffer of {} B", buffer.as_u64());
    let allowed = format!("the elements of the datatype lie in {needed} B, from {low} to {high}");
    refuse(diagnostics, node, &codes::CONTRADICTION, ("buffer", found, &allowed));
    None
}

/// The method that [`Method::Automatic`] stands for on this machine; without a GPU there is none.
pub(super) fn choose(packing: &mut Packing, machine: &Machine) {
    if let Some(prices) = device::prices(&machine.profile) {
        packing.method = packing.method.chosen(&packing.layout, packing.task, &prices);
    }
}

/// Sections of a scenario that are about processes and their messages.
const OF_PROCESSES: [&str; 3] = ["ranks", "topology", "noise"];

/// Nothing that is written may be without effect: one core and one GPU of one node pack, no message
/// is sent, and nothing is left to chance.
pub(super) fn check_keys(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    packing: &Packing,
    swept: &[(String, String)],
) {
    let mut unused = |path: &str, allowed: &str| unused(diagnostics, tree, path, allowed);
    for section in OF_PROCESSES {
        unused(section, "one core of one node packs, undisturbed: leave it out");
    }
    if tree.small("nodes").is_some_and(|nodes| nodes != 1) {
        unused("nodes", "1, or nothing: one core of one node packs");
    }
    if tree.flag("account") == Some(true) {
        unused("account", "false, or nothing: no message has an account");
    }
    let mpi = tree.get("mpi").and_then(Node::members).unwrap_or_default();
    for member in mpi.iter().filter(|member| !matches!(&*member.key, "payload" | "note")) {
        unused(&format!("mpi.{}", member.key), "only `mpi.payload`: no message is sent");
    }
    let is_swept = |path: &str| swept.iter().any(|(axis, _)| axis == path);
    // Where it is swept, some points need the key and others do not.
    if !is_swept("workload.what") {
        check_beside(diagnostics, tree, packing);
    }
    let threads = "workload.threads_per_block";
    if !is_swept("workload.method") && path::at(tree, threads).is_some() && !launches(packing) {
        self::unused(diagnostics, tree, threads, "it is of a kernel: the method launches none");
    }
}

/// Whether a kernel is among what the driver is asked for.
fn launches(packing: &Packing) -> bool {
    let calls = packing.method.calls(&packing.layout, packing.task).unwrap_or_default();
    calls.iter().any(|call| matches!(call, DeviceCall::Kernel { .. }))
}

/// The numbers of the other user that it has no use for.
fn check_beside(diagnostics: &mut Diagnostics, tree: &Node, packing: &Packing) {
    let Some(Beside { what, .. }) = packing.beside else { return };
    let (time, size, contexts) = match what {
        Other::Kernel(_) => (true, false, false),
        Other::Writing(..) => (true, true, false),
        Other::ToDevice(_) | Other::ToHost(_) | Other::Exchange(_) => (false, true, false),
        Other::Packing(_) => (false, false, true),
    };
    for (used, key, allowed) in [
        (time, "workload.time", "it is of a kernel: `workload.what` may be `kernel`"),
        (size, "workload.size", "it is of a copy or of stores: `workload.what` may be one"),
        (contexts, "workload.contexts", "it is of two processes: `workload.what` may be `packing`"),
    ] {
        if !used {
            unused(diagnostics, tree, key, allowed);
        }
    }
}

/// Refuses a key that is there and has no effect.
fn unused(diagnostics: &mut Diagnostics, tree: &Node, path: &str, allowed: &str) {
    if let Some(node) = path::at(tree, path) {
        let found = "a packing does not use it";
        let at = node.span;
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed));
    }
}

fn beside(diagnostics: &mut Diagnostics, node: &Node, packed: u64) -> Option<Beside> {
    let bytes = node.bytes("size").map_or(packed, units::Bytes::as_u64);
    let what = match node.word("what")? {
        "to_device" => Other::ToDevice(bytes),
        "to_host" => Other::ToHost(bytes),
        "exchange" => Other::Exchange(bytes),
        "packing" if node.word("contexts") == Some("shared") => Other::Packing(Contexts::Shared),
        "packing" => Other::Packing(Contexts::Own),
        kind => {
            let Some(time) = node.time("time") else {
                let found = "a kernel without its time".to_owned();
                let said = ("what", found, "`workload.time` says how long it takes alone");
                refuse(diagnostics, node, &codes::CONTRADICTION, said);
                return None;
            };
            if kind == "kernel" { Other::Kernel(time) } else { Other::Writing(time, bytes) }
        }
    };
    let order = match node.required_word("order") {
        "serial" => Order::Serial,
        "other_first" => Order::OtherFirst,
        _ => Order::PackFirst,
    };
    Some(Beside { what, order })
}

/// Whether the machine can do it.
pub(super) fn check_machine(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    (packing, real): (&Packing, bool),
) {
    let node = tree.get("workload").unwrap_or(tree);
    check_bytes(diagnostics, node, packing, real);
    if !asks_a_gpu(packing) {
        return;
    }
    let Some(shape) = Shape::of(&machine.profile) else {
        let found = format!("the machine `{}` has no GPU", machine.name);
        let at = place(tree, "machine");
        let allowed = "its model must have a section `gpu`, such as `arc-c2050-qdr` has; a core packs \
                       without one where `workload.method` is `cpu`";
        diagnostics.push(
            Diagnostic::error(&codes::MODEL_INCOMPLETE, at, "machine", found, allowed)
                .related(node.span, "the workload packs in GPU memory"),
        );
        return;
    };
    let threads = packing.threads_per_block;
    let shared = packing.layout.encoding.fixed_bytes();
    let registers = shape.instructions.registers;
    let block = |threads, shared| Block { threads, registers, shared };
    if shape.resident(block(threads, 0)) == 0 {
        let most = shape.threads_per_sm;
        let found = format!("a block of {threads} threads");
        let allowed = format!("an SM of `{}` holds at most {most} of them", machine.name);
        let said = ("threads_per_block", found, &*allowed);
        refuse(diagnostics, node, &codes::CONTRADICTION, said);
    } else if shape.resident(block(threads, shared)) == 0 {
        let most = shape.shared_per_sm;
        let found = format!("the encoding of the datatype has {shared} B");
        let allowed = format!("an SM of `{}` has {most} B of shared memory", machine.name);
        refuse(diagnostics, node, &codes::CONTRADICTION, ("datatype", found, &*allowed));
    }
}

/// Whether a GPU has part in it: a core packs what lies in host memory by itself.
fn asks_a_gpu(packing: &Packing) -> bool {
    let calls = packing.method.calls(&packing.layout, packing.task).unwrap_or_default();
    let by_core = |call: &DeviceCall| matches!(call, DeviceCall::Host { .. });
    let is_unchosen = packing.method == Method::Automatic;
    packing.beside.is_some() || is_unchosen || !calls.iter().all(by_core)
}

/// Bytes that really move are held.
fn check_bytes(diagnostics: &mut Diagnostics, node: &Node, packing: &Packing, real: bool) {
    let (low, high) = packing.layout.encoding.span();
    if real && high.abs_diff(low) > MOST_REAL {
        let found = format!("{} bytes really move", high.abs_diff(low));
        let allowed = "at most 4 GiB of data can be held; `mpi.payload` may be `phantom`";
        refuse(diagnostics, node, &codes::PRODUCT, ("datatype", found, allowed));
    }
}
