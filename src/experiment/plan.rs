//! What is meant: a scenario with all defaults filled in, every point checked.
//!
//! [`load`] goes from a file and the options of a command line to a [`Plan`]: read, override,
//! check against the tables, expand the sweep, resolve the machine of each point and check what
//! its fields say together. Everything that is wrong is reported; nothing has run by then.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::claim::figures::{Figure, Measures};
use super::claim::{Binder, Claim};
use super::library::{self, Library};
use super::model_file::Models;
use super::overrides::{self, Spelling};
use super::schema::{DEFAULT_EVENTS, DEFAULT_MEMORY, DEFAULT_SEED, SCENARIO, SCHEMA, metrics};
use super::sweep::{self, Sweep};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span};
use form::json::{Node, Value};
use form::machine::Machine;
use form::shape::check::check;
use form::shape::{Shape, path};
use protocols::rendezvous::{Cooperation, Protocol};
use protocols::rma;
use runtime::faults::FaultPlan;
use runtime::memory::Payload;
use runtime::timed::{Kernel, LockOrder};
use units::{Bytes, TimeDelta};
use workloads::kind::Schedules;
use workloads::replayed::Replayed;

pub use workloads::kind::{OsuBenchmark, OsuTest, Workload};
pub use workloads::ranks::{Addressing, EndpointOptions, Placement, PlacementOrder, Ranks};

mod addressing;
pub mod assumed;
pub mod connections;
mod cooperation;
mod faults;
mod goal;
mod noise;
mod one_sided;
mod point;
mod progress;
pub mod sources;

use connections::Connected;

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario's path under `scenarios/` without `.json`, or its file's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Document and figure that it reproduces.
    pub source: Option<String>,
    /// Its note.
    pub note: Option<String>,
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// Hash of the text (line ends as `\n`) and of the overrides: 32 hexadecimal digits.
    pub digest: String,
    /// `path=value` of each `--set`, in order.
    pub overrides: Vec<String>,
    /// The axes.
    pub sweep: Sweep,
    /// Every point, in sweep order.
    pub points: Vec<Point>,
    /// Numbers of the scenario that have a source.
    pub sourced: Vec<sources::Sourced>,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// What is expected.
    pub claims: Vec<Claim>,
    /// The scenario's file, where it is one.
    pub file: Option<PathBuf>,
    /// The files that it was read from, that one first.
    pub files: Vec<PathBuf>,
}

/// One point of a sweep: everything that a run needs.
#[derive(Clone, Debug)]
pub struct Point {
    /// Index in sweep order, from 0.
    pub index: usize,
    /// Swept path and value, in axis order.
    pub params: Vec<(String, String)>,
    /// The machine of every node; points that do not differ in it share it.
    pub machine: Arc<Machine>,
    /// Number of nodes.
    pub nodes: u32,
    /// Which process runs where.
    pub placement: Placement,
    /// Threads of each process.
    pub threads: u16,
    /// Whether each process has a progress thread besides.
    pub progress_thread: bool,
    /// How messages find their thread.
    pub addressing: Addressing,
    /// The network.
    pub topology: Topology,
    /// The choices of the MPI library.
    pub mpi: MpiOptions,
    /// What the processes do.
    pub workload: Arc<dyn Workload>,
    /// Whether the metrics tell where the time of a message went.
    pub account: bool,
    /// Random disturbances.
    pub noise: Noise,
    /// What goes wrong.
    pub faults: FaultPlan,
    /// Where the run stops.
    pub limits: Limits,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Point {
    /// Its ranks.
    pub const fn ranks(&self) -> Ranks {
        let Self { nodes, placement, threads, addressing, seed, .. } = *self;
        Ranks { nodes, placement, threads, addressing, seed }
    }

    /// The word of its kind of workload.
    pub fn kind(&self) -> &'static str {
        self.workload.kind().name
    }
}

/// The network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Topology {
    /// One switch.
    Crossbar,
    /// Switches in levels.
    FatTree {
        /// Nodes of a leaf switch, children of a switch further up.
        arity: u32,
        /// Levels of switches.
        levels: u32,
        /// Links downwards for each link upwards.
        oversubscription: u32,
    },
}

/// The choices of the MPI library.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MpiOptions {
    /// How a large message moves between nodes.
    pub rendezvous: Protocol,
    /// How large messages move inside a node.
    pub cooperation: Cooperation,
    /// How processes of a node copy from each other's memory.
    pub kernel: Kernel,
    /// How late the counter of a node's large RDMA operations is read.
    pub counter_lag: TimeDelta,
    /// Largest message sent eagerly between nodes.
    pub eager_threshold: Bytes,
    /// Largest message sent eagerly inside a node.
    pub eager_threshold_intra: Bytes,
    /// Whether the bytes of messages exist.
    pub payload: Payload,
    /// How processes are connected.
    pub connections: Connected,
    /// Who gets the library lock.
    pub lock: LockOrder,
    /// How windows work.
    pub rma: rma::Settings,
}

/// Random disturbances; none by default.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Noise {
    /// Each process starts after a uniform time up to this.
    pub start_skew: TimeDelta,
    /// Interruptions of each core.
    pub os_noise: Option<OsNoise>,
}

/// Interruptions of a core.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OsNoise {
    /// Mean time between two.
    pub period: TimeDelta,
    /// How long one takes.
    pub length: TimeDelta,
}

/// Where a run stops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Events.
    pub events: u64,
    /// Simulated time.
    pub time: TimeDelta,
    /// What it may hold, as [`runtime::memory_use`] counts it.
    pub memory: Bytes,
    /// Whether the scenario says so: otherwise it may hold no more than this host has.
    pub memory_given: bool,
}

/// What a command asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The scenario: a path, or the name of one that ships.
    pub scenario: String,
    /// `path=value` of each `--set`, in order: `workload.size=64 KiB`. Of a swept path one value is
    /// left.
    pub overrides: Vec<String>,
    /// Where models are, and how large a file may be.
    pub library: Library,
    /// The text of the scenario, where it is no file.
    pub text: Option<String>,
    /// Which options gave the overrides, for messages.
    pub spelling: Spelling,
}

/// Reads and checks the scenario of `request`: a plan, and all there is to say about it.
///
/// There is a plan exactly if there are no errors; there may be warnings with it. What is wrong has
/// its code, file, line and remedy: [`Diagnostics::human`] writes it as the program would.
pub fn load(request: &Request) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let plan = read(&mut diagnostics, request).filter(|_| !diagnostics.has_errors());
    let plan = plan.map(|plan| {
        let files = diagnostics.files().to_vec();
        let file = files.first().filter(|first| *first == Path::new(&request.scenario)).cloned();
        Plan { file, files, ..plan }
    });
    (plan, diagnostics)
}

fn read(diagnostics: &mut Diagnostics, request: &Request) -> Option<Plan> {
    let loaded = match &request.text {
        Some(text) => library::given(diagnostics, &request.scenario, text)?,
        None => library::scenario(diagnostics, &request.library, &request.scenario)?,
    };
    let mut tree = loaded.tree;
    check_version(diagnostics, &tree)?;
    let narrowed = overrides::apply(diagnostics, &mut tree, &request.overrides, request.spelling);
    let sweep = check_tree(diagnostics, &tree)?;
    let folder = Path::new(&request.scenario).parent().map(Path::to_path_buf);
    let models =
        Models::new(&request.library, folder.clone().filter(|folder| is_folder(folder.as_path())));
    let folder = folder.unwrap_or_default();
    let models = (models, folder.clone());
    let sourced = sources::read(diagnostics, &tree, &sweep, &request.overrides);
    let points = points(diagnostics, &tree, &sweep, models);
    let schedules = schedules(points.as_deref().unwrap_or_default());
    let workload = Measures::read(&tree, &sweep);
    let account = tree.flag("account").unwrap_or(false);
    let metrics = metrics(&workload.kind, account);
    let mut binder = Binder { diagnostics, sweep: &sweep, metrics, workload, folder };
    let narrowed = !narrowed.is_empty();
    let figures = binder.figures(&tree, narrowed);
    let claims = binder.claims(&tree, narrowed);
    let text = |key: &str| tree.word(key).map(str::to_owned);
    Some(Plan {
        name: loaded.name,
        title: text("title")?,
        source: text("source"),
        note: tree.note(),
        digest: digest(&loaded.bytes, &request.overrides, &schedules),
        bytes: loaded.bytes,
        overrides: request.overrides.clone(),
        points: points?,
        sourced,
        sweep,
        figures,
        claims,
        file: None,
        files: Vec::new(),
    })
}

fn is_folder(path: &Path) -> bool {
    // The folder of a bare file name is the current one.
    path.as_os_str().is_empty() || path.is_dir()
}

/// The digests of all schedules that points replay, once each, in order.
fn schedules(points: &[Point]) -> Vec<String> {
    let mut all = Vec::new();
    for point in points {
        if let Some(digest) = point.workload.file_digest()
            && !all.iter().any(|one| one == digest)
        {
            all.push(digest.to_owned());
        }
    }
    all
}

/// Hash of the text, whatever its line ends, of the overrides and of other files that it names.
fn digest(bytes: &[u8], overrides: &[String], files: &[String]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    for one in overrides.iter().chain(files) {
        hasher.update(b"\0");
        hasher.update(one.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Refuses a document that is no object, and another version of the form, before anything else.
fn check_version(diagnostics: &mut Diagnostics, tree: &Node) -> Option<()> {
    if tree.members().is_none() {
        check(diagnostics, tree, &Shape::Object(&SCENARIO), "");
        return None;
    }
    let Some(node) = tree.get("schema") else { return Some(()) };
    let Value::Number(number) = &node.value else { return Some(()) };
    let Ok(found) = number.whole() else { return Some(()) };
    if found == SCHEMA {
        return Some(());
    }
    let help = if found > SCHEMA {
        "the file was written for a newer program: upgrade mpisim"
    } else {
        "there is no older form than 1: write `\"schema\": 1` and follow `mpisim schema`"
    };
    diagnostics.push(
        Diagnostic::error(
            &codes::SCHEMA_VERSION,
            node.span,
            "schema",
            format!("the file has form {found}"),
            format!("mpisim {} reads form {SCHEMA}", env!("CARGO_PKG_VERSION")),
        )
        .help(help),
    );
    None
}

/// Checks the whole tree, its swept fields in their own places and with their first values; the axes if
/// all is well.
fn check_tree(diagnostics: &mut Diagnostics, tree: &Node) -> Option<Sweep> {
    let before = diagnostics.errors();
    let swept = SCENARIO.iter().find(|field| field.key == "sweep").expect("it is in the table");
    if let Some(node) = tree.get("sweep") {
        check(diagnostics, node, swept.shape, "sweep");
    }
    let sweep = if diagnostics.errors() == before { sweep::read(diagnostics, tree) } else { None };
    let mut first = tree.clone();
    match &sweep {
        Some(sweep) => {
            sweep::check_own_places(diagnostics, tree, sweep);
            sweep.apply(&mut first, 0);
        }
        None => forgive_swept(&mut first),
    }
    check(diagnostics, &first, &Shape::Object(&SCENARIO), "");
    // Not only what was found here: what the reader of the text reported is no value either.
    sweep.filter(|_| !diagnostics.has_errors())
}

/// A swept field whose axis is wrong is not missing: it is marked as reported.
fn forgive_swept(tree: &mut Node) {
    let members = tree.get("sweep").and_then(Node::members).unwrap_or(&[]).to_vec();
    let is_field = |path: &str| SCENARIO.iter().any(|field| path.starts_with(field.key));
    for member in members.into_iter().filter(|member| is_field(&member.key)) {
        if path::find(&SCENARIO, tree, &member.key).is_ok() && path::at(tree, &member.key).is_none()
        {
            path::set(tree, &member.key, Node { value: Value::Invalid, span: member.node.span });
        }
    }
}

/// Behind so many points that are refused for the reason of an earlier one, the others are not looked at.
const MOST_REPEATED: usize = 3;

/// Every point, checked; `None` where one is wrong.
fn points(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    sweep: &Sweep,
    (models, folder): (Models<'_>, PathBuf),
) -> Option<Vec<Point>> {
    let before = diagnostics.errors();
    let count = usize::try_from(sweep.points()).expect("the number of points was limited");
    let base = without_lists(tree);
    let mut known =
        point::Known { models, topologies: Vec::new(), files: goal::Files::new(folder) };
    check_swept_machine(diagnostics, tree, sweep, &mut known.models);
    let (mut points, mut repeated) = (Vec::with_capacity(count), 0);
    for index in 0..count {
        let mut tree = base.clone();
        sweep.apply(&mut tree, index);
        let mark = diagnostics.mark();
        let params = sweep.params(index);
        let point = point::read(diagnostics, &tree, &mut known, index, params.clone());
        if diagnostics.mark() > mark && !params.is_empty() {
            let shown: Vec<String> =
                params.iter().map(|(path, value)| format!("{path} = {value}")).collect();
            let text = format!("found at point {index} of {count} ({})", shown.join(", "));
            diagnostics.explain(mark, &text);
        }
        // One that says what another has said: looking for it again may take long.
        repeated += usize::from(point.is_none() && diagnostics.mark() == mark);
        points.extend(point);
        let many = diagnostics.errors() >= before + form::diagnostic::SHOWN;
        if many || repeated > MOST_REPEATED {
            break;
        }
    }
    if points.len() == count {
        let mut first = base;
        sweep.apply(&mut first, 0);
        one_sided::check_mapped_locks_of_all(diagnostics, &first, &points);
    }
    (diagnostics.errors() == before && points.len() == count).then_some(points)
}

/// A machine that is named beside an axis of machines must be one, too.
fn check_swept_machine(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    sweep: &Sweep,
    models: &mut Models<'_>,
) {
    if sweep.axes.iter().any(|axis| axis.path == "machine")
        && let Some(node) = tree.get("machine")
    {
        let mark = diagnostics.mark();
        models.machine(diagnostics, node);
        diagnostics.explain(mark, sweep::IS_SWEPT);
    }
}

/// The tree without what does not differ between points and may be long.
fn without_lists(tree: &Node) -> Node {
    let mut out = tree.clone();
    if let Value::Object(members) = &mut out.value {
        members.retain(|member| {
            !matches!(member.key.as_str(), "sweep" | "figures" | "claims" | "sources")
        });
    }
    out
}

/// The place of the field at `path`, or of what holds it.
fn place(tree: &Node, path: &str) -> Span {
    path::at(tree, path).map_or_else(|| tree.span, |node| node.span)
}
