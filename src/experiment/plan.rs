//! Plans: a scenario with all defaults filled in and every point of its sweep checked.
//!
//! [`load`] goes from a file and the options of a command line to a [`Plan`]: read, override,
//! check against the tables, expand the sweep, resolve the machine of each point and check what
//! its fields say together. It reports every mistake before anything runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::claim::Binder;
use super::claim::figures::Measures;
use super::library::{self, Library};
use super::model_file::Models;
use super::overrides::{self, Spelling};
use super::schema::{SCENARIO, SCHEMA, metrics, metrics_of};
use super::sweep::{self, Sweep};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::{Node, Value};
use form::shape::check::check;
use form::shape::{Shape, path};

pub use super::schema::noise::OsNoise;
pub use identity::{Simulated, runs};
pub use values::{Connected, Limits, Noise, Plan, Point};
pub use workloads::job::MpiOptions;
pub use workloads::kind::{OsuBenchmark, OsuTest, Workload};
pub use workloads::ranks::{Addressing, EndpointOptions, Placement, PlacementOrder, Ranks};

mod addressing;
pub mod assumed;
pub mod collectives;
pub mod connections;
mod cooperation;
mod identity;
mod noise;
mod one_sided;
mod point;
mod progress;
pub mod sources;
mod topology;
mod traces;
mod values;
mod vcis;

/// The scenario and the options of a command.
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
        let run: BTreeSet<PathBuf> =
            plan.points.iter().flat_map(|point| point.workload.files()).collect();
        Plan { file, files: files.into_iter().chain(run).collect(), ..plan }
    });
    (plan, diagnostics)
}

fn read(diagnostics: &mut Diagnostics, request: &Request) -> Option<Plan> {
    let loaded = match &request.text {
        Some(text) => library::given(diagnostics, &request.library, &request.scenario, text)?,
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
    let shipped = request.library.shipped;
    let files = traces::Files::new(folder.clone(), shipped);
    let sourced = sources::read(diagnostics, &tree, &sweep, &request.overrides);
    let points = points(diagnostics, &tree, &sweep, (models, files));
    let schedules = schedules(points.as_deref().unwrap_or_default());
    let workload = Measures::read(&tree, &sweep);
    let account = tree.flag("account").unwrap_or(false);
    let first = points.as_ref().and_then(|points| points.first());
    let metrics = first.map_or_else(
        || metrics(&workload.kind, account),
        |point| metrics_of(&*point.workload, account),
    );
    let mut binder = Binder { diagnostics, sweep: &sweep, metrics, workload, folder, shipped };
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
        shipped,
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
    // Errors of the reader of the text count, too: a part that it reported has no value.
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
    (models, files): (Models<'_>, traces::Files),
) -> Option<Vec<Point>> {
    let before = diagnostics.errors();
    let count = usize::try_from(sweep.points()).expect("the number of points was limited");
    let base = without_lists(tree);
    let mut known = point::Known { models, topologies: Vec::new(), files };
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

/// The tree without the lists that do not differ between points and may be long.
fn without_lists(tree: &Node) -> Node {
    let mut out = tree.clone();
    if let Value::Object(members) = &mut out.value {
        members.retain(|member| {
            !matches!(member.key.as_str(), "sweep" | "figures" | "claims" | "sources")
        });
    }
    out
}
