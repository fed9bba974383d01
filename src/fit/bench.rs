//! One run of the simulator for each measured row, on a machine with other numbers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value as Json, json};

use super::candidates::Between;
use super::request::{Request, Role};
use super::table::{Benchmark, Table};
use experiment::plan::{self, Plan, Point};
use experiment::run::{RunError, RunOptions, run_points};
use form::diagnostic::Diagnostics;
use form::machine::{KnownNumber, Machine};
use hardware::profile::{Profile, ProfileBuilder, Value};
use units::Bytes;

/// Measured rounds of a run, and windows: the first ones after the warm-up are not yet those of a long run.
const ROUNDS: u32 = 20;
const WINDOWS: u32 = 4;
/// Times that a mutex is taken.
const CYCLES: u32 = 50;
/// Bytes of a message beside a long queue.
const QUEUED: &str = "8 B";

/// The layout of a table of packing: bytes of all blocks, of which each lies so many of its lengths
/// from the next, and their primitives.
const PACKED: &str = "1 MiB";
const APART: u32 = 8;
const PRIMITIVE: &str = "byte";

/// Numbers of a machine in place of those of the model, by path.
pub type Values = BTreeMap<&'static str, Value>;

/// Why rows cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The program of a row did not finish.
    #[error("{file}, {key}: {why}")]
    Failed {
        /// The table.
        file: String,
        /// Its row.
        key: u64,
        /// The processes that wait, and for which others.
        why: String,
    },
    /// As many numbers as rows.
    #[error(
        "{rows} rows tell {numbers} numbers ({names}) exactly, so that no row shows an error of theirs"
    )]
    TooFew {
        /// Rows that are fitted on.
        rows: usize,
        /// Numbers that were found.
        numbers: usize,
        /// Their names.
        names: String,
    },
    /// A run has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Stopped from outside.
    #[error("stopped")]
    Stopped,
}

/// A measured row and the point that stands for it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of its table.
    pub table: usize,
    /// Size in bytes, or entries of the queue.
    pub key: u64,
    /// As measured.
    pub measured: f64,
    /// The use of the row: fitted, held out or compared.
    pub role: Role,
    metric: &'static str,
    point: Point,
}

/// All rows, and the machine that the fit begins with.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The machine.
    pub start: Arc<Machine>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Their rows, table by table.
    pub rows: Vec<Row>,
    /// Numbers that are not searched; so is a threshold that the scenario itself states.
    pub keep: Vec<&'static str>,
}

impl Bench {
    /// A bench for tables; `None` with reports where they cannot be run on the machine.
    pub fn new(
        diagnostics: &mut Diagnostics,
        request: &Request,
        tables: Vec<Table>,
    ) -> Option<Self> {
        let mut rows = Vec::new();
        let mut start = None;
        for (index, table) in tables.iter().enumerate() {
            let (points, found) = points_of(&concerning(request, table, &tables), table);
            let whole = points.is_some();
            diagnostics.have_read(found.files());
            if !found.is_empty() && (start.is_none() || !whole) {
                diagnostics.replaced_by(found);
            }
            let points = points?;
            start.get_or_insert_with(|| Arc::clone(&points[0].machine));
            rows.extend(rows_of(index, table, points, request.hold_out));
        }
        let says = |change: &String| change.trim_start().starts_with("mpi.eager_threshold");
        let mut keep = request.keep.clone();
        if request.overrides.iter().any(says) {
            keep.push(request.between.threshold());
        }
        Some(Self { start: start?, tables, rows, keep })
    }

    /// Runs rows on machines; `tell` gets after each row the number that have run.
    pub fn runner<'a>(
        &'a self,
        stop: &'a AtomicBool,
        jobs: usize,
        tell: &'a mut (dyn FnMut(usize) + Send),
    ) -> Runner<'a> {
        Runner { bench: self, stop, jobs, tell, runs: 0, known: BTreeMap::new() }
    }

    /// The number of the model at `path`, where the model names one.
    pub fn number(&self, path: &str) -> Option<&KnownNumber> {
        let given = |number: &&KnownNumber| number.path == path && number.is_given();
        self.start.numbers.iter().find(given).filter(|number| number.value.is_some())
    }

    /// The machine with other numbers; `None` where they contradict each other.
    fn profile(&self, values: &Values) -> Option<Profile> {
        let mut builder = ProfileBuilder::new();
        for number in self.start.numbers.iter().filter(|number| number.is_given()) {
            if let Some(value) = number.value {
                builder.set(number.path, value).ok()?;
            }
        }
        for (path, value) in values {
            builder.set(path, *value).ok()?;
        }
        builder.build().ok()
    }
}

/// The numbers of a machine that are not those of the model, by path, in their smallest steps.
type Key = Vec<(&'static str, u64)>;

/// Runs rows, counts them and remembers what they gave.
pub struct Runner<'a> {
    /// The benchmark.
    pub bench: &'a Bench,
    stop: &'a AtomicBool,
    jobs: usize,
    tell: &'a mut (dyn FnMut(usize) + Send),
    runs: usize,
    /// Results by numbers that are not the model's, and row.
    known: BTreeMap<(Key, usize), f64>,
}

impl Runner<'_> {
    /// Rows that have been run.
    pub const fn runs(&self) -> usize {
        self.runs
    }

    /// The result of one machine: see [`Self::run`].
    ///
    /// # Errors
    ///
    /// [`BenchError`].
    pub fn run_one(&mut self, values: &Values, rows: &[usize]) -> Result<Vec<f64>, BenchError> {
        Ok(self.run(std::slice::from_ref(values), rows)?.remove(0))
    }

    /// The results of machines with these numbers for some rows, in the tables' units; infinite
    /// where the numbers contradict each other. Known results are not run again, and all new ones
    /// run side by side.
    ///
    /// # Errors
    ///
    /// [`BenchError`].
    ///
    /// # Panics
    ///
    /// Never: what was run is known.
    pub fn run(
        &mut self,
        machines: &[Values],
        rows: &[usize],
    ) -> Result<Vec<Vec<f64>>, BenchError> {
        let keys: Vec<Key> = machines.iter().map(|values| self.key(values)).collect();
        let mut new = Vec::new();
        let mut points = Vec::new();
        for (values, key) in machines.iter().zip(&keys) {
            let open = |&&row: &&usize| !self.known.contains_key(&(key.clone(), row));
            let open: Vec<usize> = rows.iter().filter(open).copied().collect();
            let Some(profile) = self.bench.profile(values) else {
                self.known.extend(open.iter().map(|&row| ((key.clone(), row), f64::INFINITY)));
                continue;
            };
            let machine = Arc::new(Machine { profile, ..(*self.bench.start).clone() });
            for row in open {
                if !new.contains(&(key, row)) {
                    new.push((key, row));
                    points.push(self.bench.rows[row].on(&machine, values));
                }
            }
        }
        let found =
            self.measure(&points, &new.iter().map(|(_, row)| *row).collect::<Vec<usize>>())?;
        self.known.extend(new.into_iter().map(|(key, row)| (key.clone(), row)).zip(found));
        let of = |key: &Key| rows.iter().map(|&row| self.known[&(key.clone(), row)]).collect();
        Ok(keys.iter().map(of).collect())
    }

    fn key(&self, values: &Values) -> Key {
        let other = |(path, value): &(&&'static str, &Value)| {
            self.bench.number(path).and_then(|number| number.value) != Some(**value)
        };
        values.iter().filter(other).map(|(path, value)| (*path, value.steps())).collect()
    }

    /// Runs points, one for each of `rows`.
    fn measure(&mut self, points: &[Point], rows: &[usize]) -> Result<Vec<f64>, BenchError> {
        let points: Vec<Vec<&Point>> = points.iter().map(|point| vec![point]).collect();
        let options = RunOptions { jobs: self.jobs, explain: false, stop: self.stop };
        let (tell, mut runs) = (&mut *self.tell, self.runs);
        let results = run_points(&points, options, &mut |_| {
            runs += 1;
            tell(runs);
            Ok(())
        })?;
        if results.len() < rows.len() {
            return Err(BenchError::Stopped);
        }
        self.runs += rows.len();
        let value = |(&row, result): (&usize, &experiment::results::PointResult)| {
            let row = &self.bench.rows[row];
            let metric = result.metric(row.metric).map(|metric| metric.value);
            metric.ok_or_else(|| BenchError::Failed {
                file: self.bench.tables[row.table].file.clone(),
                key: row.key,
                why: result.failure.clone().unwrap_or_else(|| "nothing was measured".to_owned()),
            })
        };
        rows.iter().zip(&results).map(value).collect()
    }
}

impl Row {
    /// Its point on another machine.
    fn on(&self, machine: &Arc<Machine>, values: &Values) -> Point {
        let mut point = self.point.clone();
        point.machine = Arc::clone(machine);
        let threshold = |between: Between| match values.get(between.threshold()) {
            Some(Value::Bytes(bytes)) => Some(*bytes),
            _ => None,
        };
        let put = |place: &mut Option<Bytes>, bytes: Option<Bytes>| *place = bytes.or(*place);
        put(&mut point.mpi.eager_inter, threshold(Between::Nodes));
        put(&mut point.mpi.eager_intra, threshold(Between::Cores));
        point
    }
}

/// The rows of a table with their points.
fn rows_of(index: usize, table: &Table, points: Vec<Point>, hold_out: usize) -> Vec<Row> {
    let metric = table.benchmark.metric();
    let role = |place: usize| match (table.fitted, hold_out) {
        (false, _) => Role::Predicted,
        (true, 0) => Role::Fitted,
        // Other sizes in each table: what one does not show of a knee, the next one does.
        (true, every) if (place + index) % every == every / 2 => Role::HeldOut,
        (true, _) => Role::Fitted,
    };
    let rows = table.rows.iter().zip(points).enumerate();
    rows.map(|(place, (&(key, measured), point))| Row {
        table: index,
        key,
        measured,
        role: role(place),
        metric,
        point,
    })
    .collect()
}

/// The part of a request that concerns a table: a packing sends no message and takes no choice of
/// protocols. It is one of the tables beside it; without any, it is left to be refused.
fn concerning(request: &Request, table: &Table, tables: &[Table]) -> Request {
    let sends = |table: &Table| table.benchmark != Benchmark::Pack;
    let mut request = request.clone();
    if !sends(table) && tables.iter().any(sends) {
        request.overrides.retain(|change| !change.trim_start().starts_with("mpi."));
    }
    request
}

/// The points of the rows of a table.
fn points_of(request: &Request, table: &Table) -> (Option<Vec<Point>>, Diagnostics) {
    let Some(all) = table.benchmark.operations() else {
        let (plan, found) = plan_of(request, table, &scenario(request, table));
        return (plan.map(|plan| plan.points), found);
    };
    let mut points = Vec::new();
    let mut reports = Diagnostics::new();
    for (key, _) in &table.rows {
        let fields = usize::try_from(*key).ok().and_then(|place| all.get(place));
        let fields = fields.map_or("", |(_, fields)| fields);
        let (plan, found) = plan_of(request, table, &operation(request, table, fields));
        reports.have_read(found.files());
        if !found.is_empty() && (reports.is_empty() || plan.is_none()) {
            reports.replaced_by(found);
        }
        let Some(mut plan) = plan else { return (None, reports) };
        points.push(plan.points.remove(0));
    }
    (Some(points), reports)
}

/// The scenario of one row of a table of operations.
fn operation(request: &Request, table: &Table, fields: &str) -> Json {
    let per_node = if request.between == Between::Nodes { 1 } else { 2 };
    let text = format!(r#"{{ "processes": 2, "processes_per_node": {per_node}, {fields} }}"#);
    let mut workload: Json = serde_json::from_str(&text).expect("the fields are JSON");
    let is_mutex = matches!(table.benchmark, Benchmark::Mutex | Benchmark::MutexMapped);
    workload["kind"] = json!(if is_mutex { "mutex" } else { "rma_epochs" });
    if is_mutex {
        workload["cycles"] = json!(CYCLES);
    } else {
        workload["rounds"] = json!(ROUNDS);
    }
    if matches!(table.benchmark, Benchmark::OneSidedMapped | Benchmark::MutexMapped) {
        workload["window"] = json!("shared");
    }
    json!({
        "schema": 1, "title": format!("Fit: {}", table.benchmark.name()),
        "machine": request.machine, "nodes": 2 / per_node, "mpi": { "payload": "real" },
        "workload": workload,
    })
}

/// The plan of a scenario.
fn plan_of(request: &Request, table: &Table, scenario: &Json) -> (Option<Plan>, Diagnostics) {
    let text = scenario.to_string();
    let name = format!("fit {}", table.benchmark.name());
    plan::load(&plan::Request {
        scenario: name,
        overrides: request.overrides.clone(),
        library: request.library.clone(),
        text: Some(text),
        ..plan::Request::default()
    })
}

fn scenario(request: &Request, table: &Table) -> Json {
    let nodes = match request.between {
        Between::Nodes if table.benchmark != Benchmark::Pack => 2,
        Between::Nodes | Between::Cores => 1,
    };
    let keys: Vec<Json> =
        table
            .rows
            .iter()
            .map(|(key, _)| {
                if table.benchmark.is_by_entries() { json!(key) } else { json!(format!("{key} B")) }
            })
            .collect();
    let axis = match table.benchmark.first_column() {
        "entries" => "workload.queue.length",
        "block" => "workload.datatype.block",
        _ => "workload.size",
    };
    json!({
        "schema": 1,
        "title": format!("Fit: {}", table.benchmark.name()),
        "machine": request.machine,
        "nodes": nodes,
        "workload": workload(request.between, table),
        "sweep": { axis: keys },
    })
}

fn workload(between: Between, table: &Table) -> Json {
    let between_word = between.word();
    let size = table.rows[0].0;
    let windowed = |kind: &str| {
        json!({
            "kind": kind, "size": format!("{size} B"), "window": table.window, "rounds": WINDOWS,
            "warmup": 1, "between": between_word, "pairs": table.pairs, "buffers": "one",
        })
    };
    let queued = |kind: &str| {
        json!({
            "kind": "ping_pong", "size": QUEUED, "rounds": ROUNDS, "warmup": 2,
            "between": between_word, "queue": { "kind": kind, "length": 1 },
        })
    };
    match table.benchmark {
        Benchmark::Latency => json!({
            "kind": "ping_pong", "size": format!("{size} B"), "rounds": ROUNDS, "warmup": 2,
            "between": between_word,
        }),
        Benchmark::BiBandwidth => windowed("bidirectional_bandwidth"),
        Benchmark::MultiPair if between == Between::Nodes => json!({
            "kind": "message_rate", "senders_per_node": table.pairs, "direction": "one",
            "size": format!("{size} B"), "window": table.window, "rounds": WINDOWS, "warmup": 1,
        }),
        Benchmark::Bandwidth | Benchmark::MultiPair => windowed("bandwidth"),
        Benchmark::Pack => json!({
            "kind": "pack", "method": "cpu", "datatype": {
                "kind": "blocks", "size": PACKED, "block": format!("{size} B"), "apart": APART,
                "child": { "kind": "named", "name": PRIMITIVE },
            },
        }),
        Benchmark::Posted => queued("expected"),
        Benchmark::Unexpected => queued("unexpected"),
        Benchmark::OneSided
        | Benchmark::OneSidedMapped
        | Benchmark::Mutex
        | Benchmark::MutexMapped => {
            unreachable!("a table of operations has a scenario for each row")
        }
    }
}
