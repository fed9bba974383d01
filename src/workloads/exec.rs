//! A real MPI program: each rank is a process of its own, and its calls are simulated.
//!
//! Marks 0 and 1 of each rank bracket what lies between `MPI_Init` and `MPI_Finalize`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::application::{PER_NODE, PER_NODE_PATH};
use super::job::AnyProgram;
use super::kind::{Kind, Processes, Reading, Workload};
use super::metric::{Measured, MetricSpec, TIME};
use super::ranks::Ranks;
use ::exec::choose::Choose;
use ::exec::compute::{Compute, Factor, Recording};
use ::exec::job::Job;
use ::exec::output::{Output, Reports, as_printed_f64};
use ::exec::program::RealProgram;
use ::exec::ranks::Image;
use ::exec::wire::CHANNEL;
use collectives::Collective;
use form::diagnostic::quote;
use form::fields::{POSITIVE, RATIO};
use form::json::Node;
use form::shape::Shape;
use form::typed::{Billionths, Object, Value, default, optional, required};
use form::workload_field;
use language::collectives::Choices;
use mpi::envelope::Rank;
use mpi::group::Group;
use regex_lite::Regex;
use runtime::loggops::schedule::Schedule;

form::object! {
    /// A program that links mpisim's MPI library: one process for each rank, started when a point runs.
    pub struct ExecForm {
        /// The program and its arguments, as a shell would find it.
        command: Vec<String> = required(&COMMAND, "[\"./jacobi\", \"64\", \"32768\", \"20\"]"),
        /// Ranks of `MPI_COMM_WORLD`.
        processes: u32 = required(&POSITIVE, "4"),
        processes_per_node: u32 = PER_NODE,
        /// Variables of its environment beside those of the simulator, as `NAME=value`; the MPI library's folder stands
        /// before those of `LD_LIBRARY_PATH`.
        environment: Vec<String> = default(&ENVIRONMENT, "[]"),
        /// What the program's clocks tell: `clock_gettime`, `gettimeofday`, `time`.
        clock: Clock = default(&Clock::SHAPE, "host"),
        /// Numbers in what the program prints, as metrics beside the time.
        prints: Vec<PrintedMetric> = default(&PRINTS, "[]"),
        /// Time that the program computes between its calls of MPI.
        compute: Computes = default(&Computes::SHAPE, "none"),
        /// What CPU time on this host is multiplied with: 2 for a simulated core of half its speed.
        compute_factor: Billionths = default(&RATIO, "1"),
        /// Where `measured` writes the CPU time between calls (nowhere, where it is left out), and `recorded` reads it.
        compute_file: Option<String> = optional(&Shape::Text(4_000)),
    }
}

form::object! {
    /// A number that the program prints: that in the last line that matches, by simulated time.
    pub struct PrintedMetric {
        /// The name of the metric.
        name: String = required(&Shape::Name, "\"latency\""),
        /// Its unit, for figures.
        unit: String = default(&Shape::Text(20), ""),
        /// A regular expression; its first group is the number.
        pattern: String = required(&Shape::Text(1_000), "\"latency ([0-9.]+)\""),
    }
}

impl Value for PrintedMetric {
    fn read(node: &Node) -> Self {
        <Self as Object>::read(node)
    }
}

static PRINTS: Shape = Shape::List { of: &Shape::Object(PrintedMetric::FIELDS), min: 0, max: 100 };

impl PrintedMetric {
    /// The metric; each name and unit is made once in a run of mpisim.
    fn spec(&self) -> &'static MetricSpec {
        static KNOWN: Mutex<Vec<&'static MetricSpec>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &&&MetricSpec| one.name == self.name && one.unit == self.unit;
        if let Some(spec) = known.iter().find(same) {
            return spec;
        }
        let text = |text: &String| -> &'static str { String::leak(text.clone()) };
        let spec = Box::leak(Box::new(MetricSpec::number(text(&self.name), text(&self.unit))));
        known.push(spec);
        spec
    }
}

form::words! {
    /// The time that a program's clocks give.
    pub enum Clock {
        /// the time of this computer
        Host = "host",
        /// simulated time, as `MPI_Wtime` does
        Simulated = "simulated",
    }
}

form::words! {
    /// Time that a program computes between its calls of MPI.
    pub enum Computes {
        /// computation takes no time
        None = "none",
        /// the CPU time that each process uses on this host; no two runs are the same
        Measured = "measured",
        /// the CPU time in the file that a measured run has written; two runs are the same
        Recorded = "recorded",
    }
}

/// A word as long as Linux takes it (`MAX_ARG_STRLEN`), in bytes with its end.
static WORD: Shape = Shape::Verbatim((1 << 17) - 1);

static COMMAND: Shape = Shape::List { of: &WORD, min: 1, max: 1_000_000 };

static ENVIRONMENT: Shape = Shape::List { of: &WORD, min: 0, max: 1_000_000 };

/// A real program.
pub static KIND: Kind = Kind {
    name: "exec",
    fields: ExecForm::FIELDS,
    about: ExecForm::ABOUT,
    metrics: &[TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = ExecForm::read(reading.node);
        let is_variable =
            |one: &&String| one.split_once('=').is_some_and(|(name, _)| !name.is_empty());
        if let Some(wrong) = form.environment.iter().find(|one| !is_variable(one)) {
            let found = quote(wrong);
            reading.refuse(workload_field!(ExecForm, environment), found, "NAME=value");
            return None;
        }
        let is_own = |one: &String| one.split_once('=').is_some_and(|(name, _)| name == CHANNEL);
        if form.environment.iter().any(is_own) {
            let found = format!("`{CHANNEL}` is set by the simulator");
            reading.refuse(workload_field!(ExecForm, environment), found, "other variables");
            return None;
        }
        let compute = compute(&form, reading)?;
        let reports = reports(&form, reading)?;
        Some(Arc::new(Exec { form, compute, reports, choices: reading.choices.clone() }))
    },
};

/// The folder that has the MPI library, where programs find it.
pub static LIBRARY: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
/// The variable that names libraries which a process loads first.
const PRELOAD: &str = "LD_PRELOAD";
/// The library in that folder in which the clocks of programs tell simulated time.
pub const CLOCK_FILE: &str = "libmpisim_clock.so";
/// Where the output of ranks goes whose processes start from now on.
pub static OUTPUT: Mutex<Output> = Mutex::new(Output::Nothing);

impl ExecForm {
    fn environment(&self, library: &Path) -> Vec<(OsString, OsString)> {
        let all = self.environment.iter().filter_map(|one| one.split_once('='));
        let mut all: Vec<(OsString, OsString)> =
            all.map(|(name, value)| (name.into(), value.into())).collect();
        if self.clock == Clock::Simulated {
            // The user's own libraries follow.
            let others = match all.iter().rposition(|(name, _)| name == PRELOAD) {
                Some(at) => Some(all.remove(at).1),
                None => std::env::var_os(PRELOAD),
            };
            let mut libraries = library.join(CLOCK_FILE).into_os_string();
            if let Some(others) = others {
                libraries.push(":");
                libraries.push(others);
            }
            all.push((PRELOAD.into(), libraries));
        }
        all
    }

    /// The program, what its arguments and variables name, the recording: where a file of such a name is there. What
    /// the program opens besides only the program knows.
    fn files(&self) -> Vec<PathBuf> {
        let named = |word: &String| {
            let value = word.split_once('=').map(|(_, value)| value);
            let parts = value.into_iter().flat_map(|value| value.split([':', ',', ' ']));
            let all: Vec<PathBuf> =
                [word.as_str()].into_iter().chain(value).chain(parts).map(PathBuf::from).collect();
            all
        };
        let words = self.command.iter().skip(1).chain(&self.environment);
        let named = words.flat_map(named).chain(self.program()).filter(|path| path.is_file());
        // The recording of a measured run is not there yet.
        named.chain(self.compute_file.iter().map(PathBuf::from)).collect()
    }

    /// The program's file.
    fn program(&self) -> Option<PathBuf> {
        let own = self.environment.iter().rev().find_map(|one| one.strip_prefix("PATH="));
        let places = places(self.command.first()?, own.map(OsString::from));
        places.into_iter().find(|path| path.is_file())
    }

    fn per_node(&self) -> u32 {
        self.processes_per_node.min(self.processes)
    }
}

/// Where the system looks for a program: the place that its name says, or the folders of `path`, else of `PATH`.
pub fn places(name: &str, path: Option<OsString>) -> Vec<PathBuf> {
    if name.contains('/') {
        return vec![PathBuf::from(name)];
    }
    let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).collect()
}

/// The program, and how its collectives choose their algorithms.
#[derive(Debug)]
struct Exec {
    form: ExecForm,
    compute: Compute,
    reports: Vec<Regex>,
    choices: Choices,
}

/// The description of a recording, for users who name another file.
const A_RECORDING: &str =
    "the file that a run of the same command with `measured` and as many ranks has written";

/// The cost of the program's computation.
fn compute(form: &ExecForm, reading: &mut Reading<'_>) -> Option<Compute> {
    let (factor, file) = (Factor(form.compute_factor.0), form.compute_file.as_ref());
    let (field, found, allowed) = match (form.compute, file.map(PathBuf::from)) {
        (Computes::None, _) => return Some(Compute::None),
        (Computes::Measured, file) if file.is_none() || reading.swept.is_empty() => {
            return Some(Compute::Measured(factor, file));
        }
        (Computes::Measured, _) => (
            workload_field!(ExecForm, compute_file),
            "each point would write it anew".to_owned(),
            "a recording is of one run: measure without a sweep",
        ),
        (Computes::Recorded, None) => (
            workload_field!(ExecForm, compute),
            "there is no `compute_file`".to_owned(),
            A_RECORDING,
        ),
        (Computes::Recorded, Some(file)) => {
            let recording = Recording::read(&file).and_then(|recording| {
                recording.fits(form.processes)?;
                recording.is_of(&form.command)?;
                Ok(recording)
            });
            match recording {
                Ok(recording) => return Some(Compute::Recorded(factor, Arc::new(recording))),
                Err(found) => (workload_field!(ExecForm, compute_file), found, A_RECORDING),
            }
        }
    };
    reading.refuse(field, found, allowed);
    None
}

/// The patterns of the metrics that the program prints.
fn reports(form: &ExecForm, reading: &mut Reading<'_>) -> Option<Vec<Regex>> {
    let mut all = Vec::new();
    for (at, metric) in form.prints.iter().enumerate() {
        let path = |key: &str| format!("{}[{at}].{key}", workload_field!(ExecForm, prints));
        let is_taken = metric.name == TIME.name
            || form.prints[..at].iter().any(|other| other.name == metric.name);
        if is_taken {
            let found = format!("there is another metric `{}`", metric.name);
            reading.refuse(path("name"), found, "a name of its own");
            return None;
        }
        match Regex::new(&metric.pattern) {
            Ok(pattern) if pattern.captures_len() > 1 => all.push(pattern),
            Ok(_) => {
                let found = "a pattern without a group";
                reading.refuse(path("pattern"), found, "the number in round brackets");
                return None;
            }
            Err(error) => {
                reading.refuse(path("pattern"), error.to_string(), "a regular expression");
                return None;
            }
        }
    }
    Some(all)
}

impl Workload for Exec {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let (processes, per_node) = (self.form.processes, self.form.per_node());
        let nodes = processes.div_ceil(per_node);
        if nodes > reading.nodes {
            let found = format!("{processes} processes need {nodes} nodes");
            let allowed = format!("there are {}, with {per_node} processes each", reading.nodes);
            reading.refuse(workload_field!(ExecForm, processes), found, allowed);
            return None;
        }
        Some(Processes::new(processes, per_node))
    }

    fn has_progress_threads(&self) -> bool {
        false
    }

    fn command(&self) -> Option<&[String]> {
        Some(&self.form.command)
    }

    fn variables(&self) -> &[String] {
        &self.form.environment
    }

    fn files(&self) -> Vec<PathBuf> {
        self.form.files()
    }

    fn is_measured_here(&self) -> bool {
        matches!(self.compute, Compute::Measured(..))
    }

    fn schedule(&self) -> Result<Option<Schedule>, String> {
        Err("its calls are those of real processes".to_owned())
    }

    fn needs_bytes(&self) -> bool {
        true
    }

    fn nodes(&self) -> Option<u32> {
        Some(self.form.processes.div_ceil(self.form.per_node()))
    }

    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let library = LIBRARY.get().cloned().unwrap_or_default();
        let image = Image {
            command: self.form.command.iter().map(OsString::from).collect(),
            environment: self.form.environment(&library),
            library,
            output: OUTPUT.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            reports: Reports::new(self.reports.iter().cloned()),
        };
        let (choices, placement, nodes) = (self.choices.clone(), ranks.placement, ranks.nodes);
        let choose = move |call: Collective, group: &Group| {
            let node_of = |rank: u32| {
                let process = group.process(Rank(rank)).expect("as many ranks as the group has");
                placement.node_of(process, nodes)
            };
            // What has no version in steps goes as it is.
            let placed = choices.chosen(call.clone()).placed(group.size(), 1, node_of);
            placed.unwrap_or(call)
        };
        let node_of = |process| placement.node_of(process, nodes);
        let choose = Choose::new(choose);
        let job = Job::start(self.form.processes, &image, node_of, &choose, &self.compute);
        RealProgram::of(&job).into_iter().map(AnyProgram::Real).collect()
    }

    fn metrics(&self) -> Vec<&'static MetricSpec> {
        self.form.prints.iter().map(PrintedMetric::spec).chain(KIND.metrics).collect()
    }

    fn measure(&self, measured: &mut Measured<'_>) {
        let programs = measured.programs;
        let Some(AnyProgram::Real(program)) = programs.first() else { return };
        for (metric, number) in self.form.prints.iter().zip(program.job().reports().numbers()) {
            // A number that is missing has failed the run.
            if let Some(value) = number.as_deref().and_then(as_printed_f64) {
                measured.add(*metric.spec(), value);
            }
        }
    }
}
