//! Skeletons of applications: their numbers, and what they say together.

use super::super::collectives::{Choices, Chosen};
use super::{Applied, DEFAULT_TIME};
use form::codes::{self, Code};
use form::diagnostic::{Diagnostic, Diagnostics};
use form::fields::MAX_MESSAGE;
use form::json::Node;
use units::{Bytes, PS_PER_S};
use workloads::application::{Application, Task};
use workloads::comd::{CUTOFF, CoMd};
use workloads::graph500::{BUFFER, MOST_PROCESSES, Search};
use workloads::grid::{AXES, Grid, Order, dims};
use workloads::minighost::MiniGhost;
use workloads::stencil::Stencil;

/// The kinds of workload that are read here.
pub(super) fn is_application(kind: &str) -> bool {
    matches!(kind, "stencil" | "graph500" | "comd" | "minighost")
}

/// The application of a checked workload, with the reductions that the library makes for it; reports
/// where its numbers contradict each other.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    node: &Node,
    choices: &Choices,
    nodes: u32,
) -> Applied {
    let processes = small(node, "processes");
    let per_node = small(node, "processes_per_node").min(processes);
    let task = match node.required_word("kind") {
        "graph500" => Task::Search(search(node, processes.div_ceil(per_node))),
        kind => {
            let grid = grid(diagnostics, node, processes);
            match kind {
                "stencil" => Task::Stencil(stencil(node, grid)),
                "comd" => Task::CoMd(comd(node, grid, processes.div_ceil(per_node))),
                "minighost" => Task::MiniGhost(minighost(node, grid)),
                other => unreachable!("{other} is no application"),
            }
        }
    };
    let application = Application { processes, per_node, task };
    check(diagnostics, node, &application, nodes);
    let choose = |call| choices.choose(diagnostics, node, "workload", call);
    let reductions: Vec<Chosen> = application.reductions().into_iter().map(choose).collect();
    Applied { application, reductions }
}

fn small(node: &Node, key: &str) -> u32 {
    node.small(key).expect("the key is required")
}

fn three(node: &Node, key: &str) -> Option<[u32; AXES]> {
    let list = node.get(key)?.elements().expect("the tree was checked against its shape");
    let count = |at: &Node| u32::try_from(at.as_count()).expect("the shape limits it");
    Some(std::array::from_fn(|axis| count(&list[axis])))
}

fn compute(node: &Node, key: &str) -> u64 {
    node.time(key).unwrap_or_default().as_ps()
}

/// The grid of the processes; a line of them with a report where they do not fit.
fn grid(diagnostics: &mut Diagnostics, node: &Node, processes: u32) -> Grid {
    let given = three(node, "grid").unwrap_or_default();
    let extents = dims(processes, given).unwrap_or_else(|| {
        let [x, y, z] = given;
        let found = format!("{processes} processes on {x} x {y} x {z}");
        let allowed = "the product must be the number of processes; 0 leaves an axis to be chosen";
        refuse(diagnostics, node, &codes::CONTRADICTION, ("grid", found, allowed.to_owned()));
        [processes, 1, 1]
    });
    let own = if node.required_word("kind") == "stencil" { "last_axis" } else { "first_axis" };
    let order = match node.word("rank_order").unwrap_or(own) {
        "first_axis" => Order::FirstAxis,
        _ => Order::LastAxis,
    };
    let periodic = match node.required_word("kind") {
        "comd" => true,
        _ => node.flag("periodic").unwrap_or(false),
    };
    Grid { extents, order, periodic }
}

fn stencil(node: &Node, grid: Grid) -> Stencil {
    Stencil {
        grid,
        halo: node.bytes("size").expect("the key is required").as_u64(),
        steps: small(node, "steps"),
        compute: compute(node, "compute"),
        watched: node.small("watch").unwrap_or(0),
    }
}

fn search(node: &Node, nodes: u32) -> Search {
    let times = if is_weak(node) { u64::from(nodes) } else { 1 };
    Search {
        scale: small(node, "scale"),
        edge_factor: node.small("edge_factor").unwrap_or(16),
        vertices: node.count("vertices").map(|vertices| vertices.saturating_mul(times)),
        buffer: node.bytes("buffer").map_or(BUFFER, Bytes::as_u64),
        compute: compute(node, "compute_per_edge"),
    }
}

fn is_weak(node: &Node) -> bool {
    node.word("scaling") == Some("weak")
}

fn comd(node: &Node, grid: Grid, nodes: u32) -> CoMd {
    let mut unit_cells = three(node, "unit_cells").expect("the key is required");
    if is_weak(node) {
        unit_cells[0] = unit_cells[0].saturating_mul(nodes);
    }
    CoMd {
        grid,
        unit_cells,
        cutoff: node.billionths("cutoff").unwrap_or(CUTOFF),
        embedded: node.word("potential") == Some("embedded_atom"),
        steps: small(node, "steps"),
        print_every: node.small("print_every").unwrap_or(10),
        compute: compute(node, "compute"),
    }
}

fn minighost(node: &Node, grid: Grid) -> MiniGhost {
    MiniGhost {
        grid,
        points: three(node, "points").unwrap_or([100; AXES]),
        global: node.word("scaling") == Some("strong"),
        variables: node.small("variables").unwrap_or(5),
        sums: node.small("sums").unwrap_or(0),
        steps: small(node, "steps"),
        compute: compute(node, "compute"),
    }
}

fn refuse(
    diagnostics: &mut Diagnostics,
    node: &Node,
    code: Code,
    (key, found, allowed): (&str, String, String),
) {
    let span = node.get(key).map_or(node.span, |field| field.span);
    let path = format!("workload.{key}");
    diagnostics.push(Diagnostic::error(code, span, path, found, allowed));
}

/// What the numbers say together.
fn check(diagnostics: &mut Diagnostics, node: &Node, application: &Application, nodes: u32) {
    let mut report = |code, said| refuse(diagnostics, node, code, said);
    if application.nodes() > nodes {
        let found =
            format!("{} processes need {} nodes", application.processes, application.nodes());
        let allowed = format!("there are {nodes}, with {} processes each", application.per_node);
        report(&codes::CONTRADICTION, ("processes", found, allowed));
    }
    match &application.task {
        Task::CoMd(task) if !task.fits() => {
            let [x, y, z] = task.link_cells();
            let found = format!("a process has {x} x {y} x {z} link cells");
            let allowed = "at least 2 on each axis are needed".to_owned();
            report(&codes::CONTRADICTION, ("unit_cells", found, allowed));
        }
        Task::MiniGhost(task) => {
            let lacks = |axis: &usize| task.points[*axis] < task.grid.extents[*axis];
            if let Some(axis) = (0..AXES).find(lacks).filter(|_| task.global) {
                let (points, extent) = (task.points[axis], task.grid.extents[axis]);
                let found = format!("{points} points on an axis of {extent} processes");
                let allowed = "at least one for each process is needed".to_owned();
                report(&codes::CONTRADICTION, ("points", found, allowed));
            }
            if task.sums > task.variables {
                let found = format!("{} variables are summed", task.sums);
                let allowed = format!("there are {}", task.variables);
                report(&codes::CONTRADICTION, ("sums", found, allowed));
            }
        }
        Task::Search(task) => {
            if task.vertices.is_none() && is_weak(node) {
                let found = "weak scaling of a graph that is made".to_owned();
                let allowed = "`workload.vertices` says how many vertices each node has".to_owned();
                report(&codes::CONTRADICTION, ("scaling", found, allowed));
            }
            if task.vertices.is_none() && application.processes > MOST_PROCESSES {
                let found = format!("a search by {} processes is counted", application.processes);
                let allowed = format!(
                    "at most {MOST_PROCESSES} can be; with `workload.vertices` it is scaled"
                );
                report(&codes::PRODUCT, ("processes", found, allowed));
            }
        }
        Task::Stencil(_) | Task::CoMd(_) => {}
    }
    products(diagnostics, node, application);
}

/// Bytes and time of all steps must fit 64 bits, and a message the greatest one.
fn products(diagnostics: &mut Diagnostics, node: &Node, application: &Application) {
    let (size, time, also) = match application.task {
        Task::Stencil(_) => ("size", "compute", "steps"),
        Task::CoMd(_) => ("unit_cells", "compute", "steps"),
        Task::MiniGhost(_) => ("variables", "compute", "steps"),
        Task::Search(_) => ("vertices", "compute_per_edge", "edge_factor"),
    };
    let mut report = |key: &str, found: String, allowed: String| {
        let span = |key: &str| node.get(key).map_or(node.span, |field| field.span);
        let path = format!("workload.{key}");
        let one = Diagnostic::error(&codes::PRODUCT, span(key), path, found, allowed);
        diagnostics.push(one.related(span(also), format!("it goes with `workload.{also}`")));
    };
    let (greatest, bytes) = (application.greatest(), application.bytes());
    if greatest > MAX_MESSAGE {
        let found = format!("a message has {greatest} bytes");
        report(size, found, format!("at most {MAX_MESSAGE} are allowed"));
    } else if bytes > u128::from(u64::MAX) {
        let found = format!("all messages together have {bytes} bytes");
        report(size, found, "at most 2^64 bytes can be counted".to_owned());
    }
    let compute = application.compute();
    if compute > u128::from(DEFAULT_TIME.as_ps()) {
        let days = compute / (24 * 3600 * u128::from(PS_PER_S));
        let found = format!("a process computes for {days} days");
        report(time, found, "at most 200 days can be counted".to_owned());
    }
}
