//! One run of the simulator for each measured row, on a machine with other numbers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value as Json, json};

use super::super::diagnostic::Diagnostics;
use super::super::model_file::{KnownNumber, Machine};
use super::super::plan::{self, Plan, Point};
use super::super::run::{RunError, RunOptions, run_points};
use super::candidates::Between;
use super::table::{Benchmark, Table};
use super::{Request, Role};
use crate::hardware::profile::{Profile, ProfileBuilder, Value};
use crate::units::Bytes;

/// Measured rounds of a run, and windows: the first ones after the warm-up are not yet those of a long run.
const ROUNDS: u32 = 20;
const WINDOWS: u32 = 4;
/// Bytes of a message beside a long queue.
const QUEUED: &str = "8 B";

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
        /// Who waits for whom.
        why: String,
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
    /// What it is used for.
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
    /// Whether the scenario itself says up to which size messages are eager.
    pub fixed_threshold: bool,
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
            let (plan, found) = plan_of(request, table);
            let whole = plan.is_some();
            if !found.is_empty() && (start.is_none() || !whole) {
                *diagnostics = found;
            }
            let plan = plan?;
            start.get_or_insert_with(|| Arc::clone(&plan.points[0].machine));
            rows.extend(rows_of(index, table, plan, request.hold_out));
        }
        let says = |change: &String| change.trim_start().starts_with("mpi.eager_threshold");
        let fixed_threshold = request.overrides.iter().any(says);
        Some(Self { start: start?, tables, rows, fixed_threshold })
    }

    /// Runs rows on machines; `tell` is told after each batch how many have run.
    pub fn runner<'a>(
        &'a self,
        stop: &'a AtomicBool,
        jobs: usize,
        tell: &'a mut dyn FnMut(usize),
    ) -> Runner<'a> {
        Runner { bench: self, stop, jobs, tell, runs: 0 }
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

/// Runs rows and counts them.
pub struct Runner<'a> {
    /// What is run.
    pub bench: &'a Bench,
    stop: &'a AtomicBool,
    jobs: usize,
    tell: &'a mut dyn FnMut(usize),
    runs: usize,
}

impl Runner<'_> {
    /// Rows that have been run.
    pub const fn runs(&self) -> usize {
        self.runs
    }

    /// What a machine with these numbers gives for some rows, in the tables' units; infinite where
    /// the numbers contradict each other.
    ///
    /// # Errors
    ///
    /// [`BenchError`].
    pub fn run(&mut self, values: &Values, rows: &[usize]) -> Result<Vec<f64>, BenchError> {
        let Some(profile) = self.bench.profile(values) else {
            return Ok(vec![f64::INFINITY; rows.len()]);
        };
        let start = &*self.bench.start;
        let machine = Arc::new(Machine { profile, ..start.clone() });
        let points: Vec<Point> =
            rows.iter().map(|&row| self.bench.rows[row].on(&machine, values)).collect();
        let points: Vec<&Point> = points.iter().collect();
        let options = RunOptions { jobs: self.jobs, explain: false, stop: self.stop };
        let results = run_points(&points, options, &mut |_| Ok(()))?;
        if results.len() < rows.len() {
            return Err(BenchError::Stopped);
        }
        self.runs += rows.len();
        (self.tell)(self.runs);
        let value = |(&row, result): (&usize, &super::super::results::PointResult)| {
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
        let put = |place: &mut Bytes, bytes: Option<Bytes>| *place = bytes.unwrap_or(*place);
        put(&mut point.mpi.eager_threshold, threshold(Between::Nodes));
        put(&mut point.mpi.eager_threshold_intra, threshold(Between::Cores));
        point
    }
}

/// The rows of a table with their points.
fn rows_of(index: usize, table: &Table, plan: Plan, hold_out: usize) -> Vec<Row> {
    let metric = table.benchmark.metric();
    let role = |place: usize| match (table.fitted, hold_out) {
        (false, _) => Role::Predicted,
        (true, 0) => Role::Fitted,
        // Other sizes in each table: what one does not show of a knee, the next one does.
        (true, every) if (place + index) % every == every / 2 => Role::HeldOut,
        (true, _) => Role::Fitted,
    };
    let rows = table.rows.iter().zip(plan.points).enumerate();
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

/// The plan whose points are the rows of a table.
fn plan_of(request: &Request, table: &Table) -> (Option<Plan>, Diagnostics) {
    let text = scenario(request, table).to_string();
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
        Between::Nodes => 2,
        Between::Cores => 1,
    };
    let keys: Vec<Json> =
        table
            .rows
            .iter()
            .map(|(key, _)| {
                if table.benchmark.is_by_entries() { json!(key) } else { json!(format!("{key} B")) }
            })
            .collect();
    let axis =
        if table.benchmark.is_by_entries() { "workload.queue.length" } else { "workload.size" };
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
        Benchmark::Posted => queued("expected"),
        Benchmark::Unexpected => queued("unexpected"),
    }
}
