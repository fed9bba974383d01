//! Messages with buffers in GPU memory: their numbers, and what they say together.

use std::sync::Arc;

use super::super::schema::datatypes;
use super::point::need_nodes;
use super::{Payload, Workload, place};
use form::codes::{self, Code};
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use hardware::gpu::{Block, Shape};
use mpi::datatype::{Datatype, Primitive};
use protocols::device::DeviceBuffer;
use protocols::packing::{Layout, Method};
use workloads::gpu::stencil::GpuStencil;
use workloads::gpu::{GpuPingPong, GpuWorkload};

/// Primitives of a message: a thread for each.
const MOST_PRIMITIVES: u64 = 1 << 32;
/// Chunks of a message.
const MOST_CHUNKS: u64 = 1 << 15;
/// Bytes of GPU memory of a process that may really exist.
const MOST_REAL: u64 = 1 << 30;

/// The kinds of workload that are read here.
pub(super) fn is_gpu(kind: &str) -> bool {
    matches!(kind, "gpu_ping_pong" | "gpu_stencil")
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

/// The workload of a checked tree; `None` with reports where it cannot be done.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, nodes: u32) -> Option<GpuWorkload> {
    let name = node.required_word("method");
    let method = Method::ALL.into_iter().find(|method| method.name() == name);
    let method = method.expect("the tree was checked against its shape");
    if node.required_word("kind") == "gpu_stencil" {
        stencil(diagnostics, node, method, nodes).map(GpuWorkload::Stencil)
    } else {
        ping_pong(diagnostics, node, method).map(GpuWorkload::PingPong)
    }
}

fn ping_pong(diagnostics: &mut Diagnostics, node: &Node, method: Method) -> Option<GpuPingPong> {
    let layout = layout(diagnostics, node)?;
    let buffer = |id| DeviceBuffer::new(id, layout.clone(), method);
    let (sent, received) = match (buffer(0), buffer(1)) {
        (Ok(sent), Ok(received)) => (sent, received),
        (Err(refusal), _) | (_, Err(refusal)) => {
            let said =
                ("method", refusal.to_string(), "another method can: `kernel` packs every type");
            refuse(diagnostics, node, &codes::CONTRADICTION, said);
            return None;
        }
    };
    let threads = node.small("threads_per_block").unwrap_or(256);
    let chunk = node.bytes("chunk").map(units::Bytes::as_u64);
    let with = |buffer: DeviceBuffer| {
        let buffer = buffer.with_blocks(threads);
        let buffer = node.count("ahead").into_iter().fold(buffer, DeviceBuffer::with_ahead);
        Arc::new(if let Some(chunk) = chunk { buffer.in_chunks(chunk) } else { buffer })
    };
    let (sent, received) = (with(sent), with(received));
    if sent.chunks() > MOST_CHUNKS {
        let found = format!("a message of {} B has {} chunks", sent.bytes(), sent.chunks());
        refuse(
            diagnostics,
            node,
            &codes::PRODUCT,
            ("chunk", found, "at most 32768 can be counted"),
        );
        return None;
    }
    if chunk.is_some() && !method.packs_parts() {
        let found = format!("`{}` packs a message whole", method.name());
        let allowed = "`kernel` and `hand_coded` pack chunks of it";
        refuse(diagnostics, node, &codes::CONTRADICTION, ("chunk", found, allowed));
        return None;
    }
    let small = |key| node.count(key).and_then(|count| u32::try_from(count).ok());
    let (rounds, warm_up) = (small("rounds").unwrap_or(1), small("warmup").unwrap_or(2));
    Some(GpuPingPong { sent, received, warm_up, rounds })
}

/// The vector of doubles, or the datatype, that is sent.
fn layout(diagnostics: &mut Diagnostics, node: &Node) -> Option<Layout> {
    let size = node.bytes("size").map(units::Bytes::as_u64);
    let datatype = match (node.get("datatype"), size) {
        (Some(tree), None) => datatypes::decode(diagnostics, tree, "workload.datatype")?,
        (None, Some(size)) => vector(diagnostics, node, size)?,
        (Some(_), Some(_)) | (None, None) => {
            let found = "what is sent is said twice, or not at all".to_owned();
            let said = ("size", found, "either `size` or `datatype` must be given");
            refuse(diagnostics, node, &codes::CONTRADICTION, said);
            return None;
        }
    };
    let count = node.count("count").unwrap_or(1);
    let key = if size.is_some() { "size" } else { "datatype" };
    let layout = match Layout::new(datatype, count) {
        Ok(layout) => layout,
        Err(error) => {
            let allowed = "sizes of 64 bits, and an encoding that fits a GPU, are needed";
            refuse(diagnostics, node, &codes::DATATYPE, (key, error.to_string(), allowed));
            return None;
        }
    };
    if let Err(error) = layout.datatype.receivable(count) {
        let allowed = "each byte may be received into once";
        refuse(diagnostics, node, &codes::DATATYPE, (key, error.to_string(), allowed));
        return None;
    }
    let primitives = layout.encoding.primitives();
    if primitives == 0 || primitives > MOST_PRIMITIVES {
        let found = format!("{primitives} primitives are packed");
        let allowed = format!("1 to {MOST_PRIMITIVES} can be, a thread for each");
        refuse(diagnostics, node, &codes::PRODUCT, (key, found, &allowed));
        return None;
    }
    Some(layout)
}

/// Blocks of doubles at equal distances.
fn vector(diagnostics: &mut Diagnostics, node: &Node, size: u64) -> Option<Datatype> {
    let of = |key, usual| node.bytes(key).map_or(usual, units::Bytes::as_u64);
    let (block, stride) = (of("block", 8), of("stride", 512));
    let whole = |key, bytes: u64, of: u64| {
        (!bytes.is_multiple_of(of)).then(|| (key, format!("{bytes} B are no multiple of {of} B")))
    };
    let wrong = whole("block", block, 8)
        .or_else(|| whole("stride", stride, 8))
        .or_else(|| whole("size", size, block))
        .or_else(|| (stride < block).then(|| ("stride", format!("blocks of {block} B overlap"))));
    if let Some((key, found)) = wrong {
        let allowed = "blocks are whole doubles, lie apart, and make up the size";
        refuse(diagnostics, node, &codes::CONTRADICTION, (key, found, allowed));
        return None;
    }
    let signed = |number: u64| i64::try_from(number).expect("the shape limits it");
    let [count, blocklength, stride] = [size / block, block / 8, stride / 8].map(signed);
    let double = Datatype::named(Primitive::Double);
    match Datatype::vector(count, blocklength, stride, &double) {
        Ok(vector) => Some(vector),
        Err(error) => {
            let said = ("size", error.to_string(), "sizes of 64 bits are needed");
            refuse(diagnostics, node, &codes::DATATYPE, said);
            None
        }
    }
}

fn stencil(
    diagnostics: &mut Diagnostics,
    node: &Node,
    method: Method,
    nodes: u32,
) -> Option<GpuStencil> {
    let small = |key, usual| node.small(key).unwrap_or(usual);
    let rows = small("grid_rows", 2);
    if !nodes.is_multiple_of(rows) {
        let found = format!("{nodes} nodes are no grid of {rows} rows");
        let said = ("grid_rows", found, "the number of nodes is a multiple of the rows");
        refuse(diagnostics, node, &codes::CONTRADICTION, said);
        return None;
    }
    let side = node.count("side").expect("the key is required");
    let tile = (small("tile_rows", 16), small("tile_columns", 16));
    let fits = |part: u32| side.is_multiple_of(u64::from(part));
    if !fits(tile.0) || !fits(tile.1) {
        let found =
            format!("{side} points are no whole number of tiles of {} x {}", tile.0, tile.1);
        refuse(diagnostics, node, &codes::CONTRADICTION, ("side", found, "tiles fill the side"));
        return None;
    }
    let single = node.word("precision") == Some("single");
    let point = Datatype::named(if single { Primitive::Float } else { Primitive::Double });
    let mut stencil = match GpuStencil::new((rows, nodes / rows), side, &point, method) {
        Ok(stencil) => stencil,
        Err(refusal) => {
            let said = ("method", refusal.to_string(), "`kernel` and `memcpy2d` pack columns");
            refuse(diagnostics, node, &codes::CONTRADICTION, said);
            return None;
        }
    };
    let host = node.time("host_time").map_or(0, units::TimeDelta::as_ps);
    let rounds = node.count("rounds").and_then(|rounds| u32::try_from(rounds).ok());
    (stencil.tile, stencil.host) = (tile, host);
    stencil.point = node.time("point_time").map(units::TimeDelta::as_ps);
    stencil.instructions = small("instructions", 60);
    stencil.halo_instructions = small("halo_instructions", 6);
    (stencil.steps, stencil.warm_up) = (rounds.unwrap_or(1), small("warmup", 2));
    Some(stencil)
}

/// Whether the machine can do it.
pub(super) fn check_machine(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    (workload, nodes, payload): (&Workload, u32, Payload),
) {
    let Workload::Gpu(workload) = workload else { return };
    if workload.processes() > nodes {
        need_nodes(diagnostics, tree, nodes, false, "at least 2");
    }
    let node = tree.get("workload").unwrap_or(tree);
    let Some(shape) = Shape::of(&machine.profile) else {
        let found = format!("the machine `{}` has no GPU", machine.name);
        let at = place(tree, "machine");
        let allowed = "its model must have a section `gpu`, such as `arc-c2050-qdr` has";
        diagnostics.push(
            Diagnostic::error(&codes::MODEL_INCOMPLETE, at, "machine", found, allowed)
                .related(node.span, "the workload sends data in GPU memory"),
        );
        return;
    };
    let (key, buffer) = match &**workload {
        GpuWorkload::PingPong(ping_pong) => ("threads_per_block", &ping_pong.sent),
        GpuWorkload::Stencil(stencil) => ("tile_rows", stencil.column()),
    };
    let shared = buffer.layout.encoding.fixed_bytes();
    let registers = shape.instructions.registers;
    let packs = Block { threads: buffer.threads_per_block, registers, shared };
    let tiles = match &**workload {
        GpuWorkload::Stencil(stencil) => Block::of(stencil.tile.0 * stencil.tile.1),
        GpuWorkload::PingPong(_) => packs,
    };
    if [packs, tiles].into_iter().any(|block| shape.resident(block) == 0) {
        let found = "a block does not fit an SM".to_owned();
        let (threads, memory) = (shape.threads_per_sm, shape.shared_per_sm);
        let allowed = format!("one of `{}` holds {threads} threads and {memory} B", machine.name);
        refuse(diagnostics, node, &codes::CONTRADICTION, (key, found, &allowed));
    }
    let (key, bytes) = match &**workload {
        GpuWorkload::PingPong(ping_pong) => ("size", 2 * ping_pong.sent.data().len),
        GpuWorkload::Stencil(stencil) => ("side", stencil.length()),
    };
    if payload == Payload::Real && bytes > MOST_REAL {
        let found = format!("{bytes} bytes of GPU memory exist");
        let allowed = "at most 1 GiB of a process can be held; `mpi.payload` may be `phantom`";
        refuse(diagnostics, node, &codes::PRODUCT, (key, found, allowed));
    }
}
