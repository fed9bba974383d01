//! Every command and option, with its help text.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use experiment::check::Tolerance;
use experiment::what_if::WhatIf;
use form::shape::read::{Tolerance as Allowed, parse_tolerance};
use hardware::profile::Parameter;
use hardware::what_if::Group;

/// Simulate the node and the network that an MPI library runs on, and check what moved.
#[derive(Debug, Parser)]
#[command(name = "mpisim", version, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100, after_help = "Example: mpisim run examples/ping_pong_knc")]
pub(super) struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub(super) command: Command,
    /// How errors and warnings are written.
    #[arg(long, global = true, value_enum, default_value = "human", value_name = "FORM")]
    pub(super) error_format: ErrorFormat,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(super) color: Color,
}

/// The command.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a scenario, its sweep included, and keep the results
    #[command(
        after_help = "Example: mpisim run scenarios/a.json --set workload.window=16 --jobs 2"
    )]
    Run(RunArguments),
    /// Run an MPI program on a machine: each rank is a process, and its calls are simulated
    #[command(
        after_help = "Example: mpisim exec -n 4 --machine broadwell-edr --nodes 2 -- ./jacobi 64 32768 20"
    )]
    Exec(ExecArguments),
    /// Compile an MPI program in C for `exec`: the C compiler with mpisim's header and library
    #[command(after_help = "Example: mpisim cc -- -O2 jacobi.c -o jacobi")]
    Cc {
        /// Print the compiler's command, and run nothing
        #[arg(long)]
        show: bool,
        /// Print the folder with `include`, `lib`, `lib/pkgconfig` and `bin/mpicc`, and run nothing
        #[arg(long)]
        folder: bool,
        /// Options and files of the C compiler [which one: `MPISIM_CC`, else CC, else cc]
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<String>,
    },
    /// Write a scenario to begin with, each of its keys explained
    #[command(after_help = "Example: mpisim new first.json --workload message_rate")]
    New(NewArguments),
    /// Plan a sweep, run some of its points, gather them: for workers that share a file system
    #[command(after_help = "Example: mpisim sweep plan scenarios/a.json --out scratch/a")]
    Sweep {
        /// Which step
        #[command(subcommand)]
        step: SweepCommand,
    },
    /// Compare results with their baselines; exit 1 if anything moved
    #[command(after_help = "Example: mpisim check scenarios/endpoints --baseline main")]
    Check(CheckArguments),
    /// Check scenarios without running them
    #[command(after_help = "Example: mpisim validate scenarios/*.json")]
    Validate(ValidateArguments),
    /// Show the meaning of a scenario
    #[command(after_help = "Example: mpisim show examples/ping_pong_knc --resolved")]
    Show(ShowArguments),
    /// List the scenarios and machine models that ship with the program
    #[command(after_help = "Example: mpisim list --claims")]
    List {
        /// List the claims instead: verdict, role, and where each is checked
        #[arg(long)]
        claims: bool,
    },
    /// Print a JSON Schema
    #[command(after_help = "Example: mpisim schema scenario > scenario.schema.json")]
    Schema {
        /// Of which document
        #[arg(value_enum, default_value = "scenario", value_name = "DOCUMENT")]
        document: Document,
    },
    /// Explain an error code, or list all of them
    #[command(after_help = "Example: mpisim explain E0312")]
    Explain {
        /// Such as E0312 [default: list the codes]
        code: Option<String>,
    },
    /// Compare the simulator's MPI with vectors recorded from a real MPI library
    #[command(after_help = "Example: mpisim conform tests/vectors/matching.json")]
    Conform {
        /// Files of vectors
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Compare two runs, baselines or choices: where they part, and whose time moved; exit 1 if they do
    #[command(
        after_help = "Example: mpisim diff rma/fig05_mutex --set-b machine.link.base_latency='2 us'"
    )]
    Diff(DiffArguments),
    /// Vary each number that was not measured, and show which results it moves
    #[command(after_help = "Example: mpisim sensitivity endpoints/fig03_message_rate --jobs 2")]
    Sensitivity(SensitivityArguments),
    /// Make a machine model from measured tables of the OSU benchmarks, or from hwloc's topology
    #[command(
        after_help = "Example: mpisim fit --machine broadwell-edr --measured latency.txt bw.txt --out mine.json"
    )]
    Fit(FitArguments),
    /// Try every order of events of a protocol or a small scenario, or many
    #[command(after_help = "Example: mpisim explore matching/wildcard --ranks 3 --ops 2")]
    Explore(ExploreArguments),
    /// Replay a run that `explore` found
    #[command(after_help = "Example: mpisim replay x1:eager:2x1:...")]
    Replay(ReplayArguments),
    /// Convert schedules, traces and measured tables
    #[command(after_help = "Example: mpisim trace export examples/ping_pong_knc > ping_pong.goal")]
    Trace {
        /// In or out
        #[command(subcommand)]
        what: Trace,
    },
    /// Print completions for a shell
    #[command(after_help = "Example: mpisim completions bash > mpisim.bash")]
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all of them
    #[command(after_help = "Example: mpisim man sweep plan | man -l -")]
    Man {
        /// Of one command instead of the program
        command: Vec<String>,
        /// Write the pages of the program and of every command into this directory
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        out: Option<PathBuf>,
    },
}

/// The conversion.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Trace {
    /// Read a schedule, a trace or a table of the OSU benchmarks, and print it in our own form
    #[command(after_help = "Example: mpisim trace import a.goal --machine knc-qdr > a.json")]
    Import {
        /// A schedule or a trace becomes a scenario that replays it, any other file rows of CSV
        file: PathBuf,
        /// The machine of the scenario
        #[arg(long, value_name = "NAME")]
        machine: Option<String>,
    },
    /// Print the operations of the processes of a scenario, as a schedule in GOAL
    #[command(
        after_help = "Example: mpisim trace export examples/ping_pong_knc --set workload.rounds=2"
    )]
    Export {
        /// A file, or the name of a scenario that ships
        scenario: String,
        #[command(flatten)]
        changes: Changes,
    },
}

/// A scenario and how it is changed.
#[derive(Args, Clone, Debug)]
pub(super) struct Changes {
    /// Set a field of the scenario or of its machine, as often as needed
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    /// Look for machine models here, before those that ship
    #[arg(long, value_name = "DIR")]
    pub(super) models: Option<PathBuf>,
}

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub(super) struct RunArguments {
    /// A file, or the name of a scenario that ships; or a schedule or a trace
    pub(super) scenario: String,
    /// The program, where the command is `exec`.
    #[arg(skip)]
    pub(super) program: Option<ProgramGiven>,
    /// Replay the schedule under the LogGOPS model: L=2500,o=1500,g=1000,G=6,O=0,S=65535
    #[arg(long, value_name = "L=N,o=N,...", allow_hyphen_values = true)]
    pub(super) loggops: Option<String>,
    /// Replay the schedule on this machine, a rank a node unless `--set nodes=N` says otherwise
    #[arg(long, value_name = "NAME", conflicts_with = "loggops")]
    pub(super) machine: Option<String>,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Seed of all random streams, in place of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(super) seed: Option<u64>,
    /// Directory for the results [default: results/NAME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Points that run side by side [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(super) jobs: Option<usize>,
    /// Keep the points of an interrupted run and go on after them
    #[arg(long)]
    pub(super) resume: bool,
    /// Who runs the points
    #[arg(long, value_enum, default_value = "local")]
    pub(super) on: Where,
    /// Points of one task of an engine [default: a 64th of all]
    #[arg(long, value_name = "N", value_parser = chunk)]
    pub(super) chunk: Option<usize>,
    /// Print the points, or the engine's commands, and run nothing
    #[arg(long, conflicts_with_all = ["resume", "explain", "what_if", "trace", "sequence"])]
    pub(super) dry_run: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: Format,
    /// Columns of the printed table, as `latency,copy_time` [default: all]
    #[arg(long, value_name = "METRIC,...", value_delimiter = ',')]
    pub(super) metrics: Vec<String>,
    /// Tell where the measured time went, to the picosecond
    #[arg(long, conflicts_with = "resume")]
    pub(super) explain: bool,
    /// Resources whose cost is scaled, each for itself
    #[arg(long, value_name = "RESOURCE=FACTOR", value_parser = WhatIf::parse, help = what_if())]
    pub(super) what_if: Vec<WhatIf>,
    /// Write the timeline of a single point, for Perfetto (protobuf, whatever the file's name)
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Draw the messages of a single point of at most 8 ranks, as SVG
    #[arg(long, value_name = "FILE")]
    pub(super) sequence: Option<PathBuf>,
}

/// A program that a command has named, and the scenario that says the same.
#[derive(Clone, Debug)]
pub(super) struct ProgramGiven {
    /// The text of the scenario.
    pub(super) text: String,
    /// What becomes of the standard output of ranks.
    pub(super) printed: Printed,
    /// The command in words: what stands in front of the options that `run` has, too, and behind them.
    pub(super) words: [Vec<String>; 2],
    /// Words for those of `--compute` that repeat a measured run, where this is one; and the recording that they need.
    pub(super) repeats: Option<(Vec<String>, PathBuf)>,
}

/// Options of `exec`.
#[derive(Args, Clone, Debug)]
pub(super) struct ExecArguments {
    /// Ranks of the world communicator
    #[arg(short = 'n', long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) processes: u32,
    /// The machine model
    #[arg(long, value_name = "NAME")]
    pub(super) machine: String,
    /// Nodes; the ranks fill one after the other, as many on each
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) nodes: u32,
    /// Time of what the program computes: none, measured[=FACTOR] (CPU time here), or recorded=FILE (of a measured run)
    #[arg(long, value_name = "MODE", default_value = "none", value_parser = Computation::parse)]
    pub(super) compute: Computation,
    /// What `clock_gettime`, `gettimeofday` and `time` tell
    #[arg(long, value_enum, default_value = "host")]
    pub(super) clock: ClockOf,
    /// Standard output of the ranks: labelled ([3] line), plain, or a folder for one file of each rank
    #[arg(long, value_name = "labelled|plain|DIR", default_value = "labelled", value_parser = Printed::parse)]
    pub(super) output: Printed,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Seed of all random streams
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(super) seed: Option<u64>,
    /// Directory for the results [default: results/exec/PROGRAM]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: Format,
    /// Tell where the measured time went, to the picosecond
    #[arg(long)]
    pub(super) explain: bool,
    /// Resources whose cost is scaled, each for itself
    #[arg(long, value_name = "RESOURCE=FACTOR", value_parser = WhatIf::parse, help = what_if())]
    pub(super) what_if: Vec<WhatIf>,
    /// Write the timeline, for Perfetto (protobuf, whatever the file's name)
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Draw the messages of at most 8 ranks, as SVG
    #[arg(long, value_name = "FILE")]
    pub(super) sequence: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(super) command: Vec<OsString>,
}

/// Time of what a program computes between its calls of MPI.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Computation {
    /// None.
    None,
    /// The CPU time here, times a factor as a scenario has it.
    Measured(String),
    /// The CPU time of a measured run.
    Recorded(PathBuf),
}

impl Computation {
    fn parse(text: &str) -> Result<Self, String> {
        let (mode, rest) =
            text.split_once('=').map_or((text, None), |(mode, rest)| (mode, Some(rest)));
        match (mode, rest) {
            ("none", None) => Ok(Self::None),
            ("measured", factor) => Ok(Self::Measured(factor.unwrap_or("1").to_owned())),
            ("recorded", Some(file)) if !file.is_empty() => Ok(Self::Recorded(file.into())),
            ("recorded", _) => {
                Err("`recorded` needs the file of a measured run: recorded=FILE".to_owned())
            }
            _ => Err("none, measured, measured=FACTOR or recorded=FILE is needed".to_owned()),
        }
    }
}

/// The time that the clocks of a program give.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum ClockOf {
    /// The time of this computer
    Host,
    /// Simulated time, that of MPI
    Simulated,
}

/// The treatment of the standard output of ranks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Printed {
    /// Each line behind its rank.
    Labelled,
    /// Each line as it is.
    Plain,
    /// Into a folder.
    Folder(PathBuf),
}

impl Printed {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("labelled, plain or the name of a folder is needed".to_owned()),
            "labelled" => Ok(Self::Labelled),
            "plain" => Ok(Self::Plain),
            folder => Ok(Self::Folder(folder.into())),
        }
    }
}

fn what_if() -> String {
    let names = Group::names();
    format!(
        "Run again with a resource's cost scaled, as pcie=0.5, and print the gain; one of {names}"
    )
}

/// Options of `new`.
#[derive(Args, Clone, Debug)]
pub(super) struct NewArguments {
    /// Where to write it
    pub(super) file: String,
    /// What its processes do
    #[arg(long, value_name = "KIND", default_value = "ping_pong")]
    pub(super) workload: String,
    /// A machine that ships [default: one that has what the workload needs]
    #[arg(long, value_name = "NAME")]
    pub(super) machine: Option<String>,
}

/// A step of a sweep that several processes share.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum SweepCommand {
    /// Write what every worker needs to know
    #[command(
        after_help = "Example: mpisim sweep plan scenarios/a.json --out scratch/a --chunk 10"
    )]
    Plan(PlanArguments),
    /// Run points that are not there yet
    #[command(after_help = "Example: mpisim sweep point scratch/a --task 0")]
    Point(PointArguments),
    /// Make the results of all points, to the bytes of a run in one process
    #[command(after_help = "Example: mpisim sweep gather scratch/a")]
    Gather(GatherArguments),
}

/// Options of `sweep plan`.
#[derive(Args, Clone, Debug)]
pub(super) struct PlanArguments {
    /// A file, or the name of a scenario that ships
    pub(super) scenario: String,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Seed of all random streams, in place of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(super) seed: Option<u64>,
    /// Directory for the plan and the points
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Points of one task [default: a 64th of all]
    #[arg(long, value_name = "N", value_parser = chunk)]
    pub(super) chunk: Option<usize>,
}

/// Options of `sweep point`.
#[derive(Args, Clone, Debug)]
pub(super) struct PointArguments {
    /// The directory of the plan
    pub(super) plan: PathBuf,
    /// Numbers of points
    #[arg(value_name = "POINT")]
    pub(super) points: Vec<usize>,
    /// All points of a task instead
    #[arg(long, value_name = "N", conflicts_with = "points")]
    pub(super) task: Option<usize>,
    /// Points that run side by side [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(super) jobs: Option<usize>,
    /// Run the programs that stand in the plan (workload `exec`)
    #[arg(long)]
    pub(super) allow_exec: bool,
}

/// Options of `sweep gather`.
#[derive(Args, Clone, Debug)]
pub(super) struct GatherArguments {
    /// The directory of the plan
    pub(super) plan: PathBuf,
    /// Directory for the results [default: results/NAME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: Format,
    /// Run a program of the plan again, for a figure of its messages (workload `exec`)
    #[arg(long)]
    pub(super) allow_exec: bool,
}

/// The runner of the points.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Where {
    /// This process
    Local,
    #[value(help = "HyperQueue: its server and workers must be running")]
    Hq,
    /// Slurm: an array of tasks, and a job that gathers
    Slurm,
}

/// Options of `check`.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct CheckArguments {
    /// Files and directories [default: scenarios/, else those that ship]
    #[arg(value_name = "SCENARIO|DIR")]
    pub(super) scenarios: Vec<String>,
    /// The baseline to compare with [default: main]
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "save_baseline")]
    pub(super) baseline: Option<String>,
    /// Write the results as this baseline instead of comparing
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(super) save_baseline: Option<String>,
    /// Let metrics and claims decide: other events alone are reported, and are no change
    #[arg(long, conflicts_with = "save_baseline")]
    pub(super) metrics: bool,
    /// Tolerate such a difference of a metric, or of all: bandwidth=2%, 0.5%
    #[arg(long, value_name = "[NAME=]PERCENT", value_parser = tolerance, requires = "metrics")]
    pub(super) tolerance: Vec<Tolerance>,
    /// Save points that failed, too; the old files are kept as copies
    #[arg(long, requires = "save_baseline")]
    pub(super) force: bool,
    /// Compare with a baseline of another version of the program, too
    #[arg(long, conflicts_with = "save_baseline")]
    pub(super) any_version: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: CheckOutput,
    /// Write a page with every difference and the figures of both sides
    #[arg(long, value_name = "FILE", conflicts_with = "save_baseline")]
    pub(super) report: Option<PathBuf>,
    /// Points that run side by side [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(super) jobs: Option<usize>,
    /// Say on standard error what processor time each scenario has taken, the dearest first
    #[arg(long)]
    pub(super) timings: bool,
    /// Look for machine models here, before those that ship
    #[arg(long, value_name = "DIR")]
    pub(super) models: Option<PathBuf>,
    /// Let scenarios of a folder or of a list run the programs that stand in them (workload `exec`)
    #[arg(long)]
    pub(super) allow_exec: bool,
}

/// Options of `diff`.
#[derive(Args, Clone, Debug)]
pub(super) struct DiffArguments {
    /// A scenario, a schedule, a results directory, a baseline, or the name of a set of baselines
    #[arg(value_name = "A")]
    pub(super) a: String,
    /// The same; may be left out with `--set-a`, `--set-b`, `--models-a` or `--models-b`
    #[arg(value_name = "B")]
    pub(super) b: Option<String>,
    /// Set a field of A only, as often as needed
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set_a: Vec<String>,
    /// Set a field of B only
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set_b: Vec<String>,
    /// Look for machine models of A here first
    #[arg(long, value_name = "DIR")]
    pub(super) models_a: Option<PathBuf>,
    /// The same for B
    #[arg(long, value_name = "DIR")]
    pub(super) models_b: Option<PathBuf>,
    /// Replay a schedule or a trace on this machine
    #[arg(long, value_name = "NAME")]
    pub(super) machine: Option<String>,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// The point of A to look at event by event [default: the one that differs most]
    #[arg(long, value_name = "N")]
    pub(super) point: Option<usize>,
    /// Events that are shown before and after the first that differs
    #[arg(long, value_name = "N", default_value = "5",
          value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(super) context: u64,
    /// Write figures with both sides, and a page, into this directory
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: CheckFormat,
    /// Points that run side by side [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(super) jobs: Option<usize>,
    /// Run the programs of kept results again, to compare events (workload `exec`)
    #[arg(long)]
    pub(super) allow_exec: bool,
}

impl DiffArguments {
    /// Whether an option is for one side only.
    pub(super) fn has_own(&self) -> bool {
        let sets = [&self.set_a, &self.set_b];
        let models = [&self.models_a, &self.models_b];
        sets.iter().any(|set| !set.is_empty()) || models.iter().any(|folder| folder.is_some())
    }
}

/// Options of `sensitivity`.
#[derive(Args, Clone, Debug)]
pub(super) struct SensitivityArguments {
    /// A file, or the name of a scenario that ships
    pub(super) scenario: String,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Result to watch [default: that of the first figure]
    #[arg(long, value_name = "NAME")]
    pub(super) metric: Option<String>,
    /// Vary every number that has a range, not only those assumed
    #[arg(long)]
    pub(super) all: bool,
    /// Keep in `traces/sensitivity` which claims hang on assumed numbers; searches where verdicts change
    #[arg(long, conflicts_with_all = ["all", "set"])]
    pub(super) save: bool,
    /// Where the figure is written [default: results/NAME-sensitivity.svg]
    #[arg(long, value_name = "FILE")]
    pub(super) figure: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: CheckFormat,
    /// Points that run side by side [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(super) jobs: Option<usize>,
}

/// Options of `fit`.
#[derive(Args, Clone, Debug)]
pub(super) struct FitArguments {
    /// The machine to begin with: a name, or a model file
    #[arg(long, value_name = "NAME|FILE", default_value = "broadwell-edr")]
    pub(super) machine: String,
    #[arg(help = "Tables to fit on; KIND is latency, bw, bibw, mbw_mr, prq, umq, rma, rma_mapped, mutex or mutex_mapped", long, value_name = "[KIND=]FILE", num_args = 1..)]
    pub(super) measured: Vec<String>,
    /// Tables that are only compared with the fitted machine
    #[arg(long, value_name = "[KIND=]FILE", num_args = 1..)]
    pub(super) predict: Vec<String>,
    /// Where the two processes of a pair ran
    #[arg(long, value_enum, default_value = "nodes")]
    pub(super) between: Pairs,
    /// Numbers of the machine that are not searched
    #[arg(long, value_name = "PATH", num_args = 1.., value_parser = parameter)]
    pub(super) keep: Vec<&'static str>,
    /// Keep every N-th row of a table from the fit, to tell its error; 0: none
    #[arg(long, value_name = "N", default_value = "4", value_parser = hold_out)]
    pub(super) hold_out: usize,
    /// Topology of the machine, as `lstopo --of xml` writes it
    #[arg(long, value_name = "FILE")]
    pub(super) hwloc: Option<PathBuf>,
    /// Write the machine model here
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Title of the model
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,
    /// Where the tables come from, as the model says it [default: their names]
    #[arg(long, value_name = "TEXT")]
    pub(super) source: Option<String>,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Form of the output
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: CheckFormat,
    /// Rows that run side by side [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(super) jobs: Option<usize>,
}

/// Where the processes of a pair ran.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Pairs {
    /// On two nodes
    Nodes,
    /// On two cores of a node
    Cores,
}

/// Options of `validate`.
#[derive(Args, Clone, Debug)]
pub(super) struct ValidateArguments {
    /// Scenarios (files, or names of those that ship), machine models, vectors, schedules in GOAL
    #[arg(required = true, value_name = "FILE")]
    pub(super) scenarios: Vec<String>,
    #[command(flatten)]
    pub(super) changes: Changes,
}

/// Options of `show`.
#[derive(Args, Clone, Debug)]
pub(super) struct ShowArguments {
    /// A file, or the name of a scenario that ships
    pub(super) scenario: String,
    /// With all defaults filled in, and the source of every number of the machine, as JSON
    #[arg(long)]
    pub(super) resolved: bool,
    /// The network instead, as a graph for Graphviz
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "resolved")]
    pub(super) topology: Option<Graph>,
    #[command(flatten)]
    pub(super) changes: Changes,
}

/// Options of `explore`.
#[derive(Args, Clone, Debug)]
pub(super) struct ExploreArguments {
    /// A protocol, a file, or a scenario that ships [default: list the protocols]
    #[arg(value_name = "PROTOCOL|SCENARIO")]
    pub(super) subject: Option<String>,
    /// Ranks of a protocol's job [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) ranks: Option<u32>,
    /// Operations of each rank [default: 1]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(super) ops: Option<u32>,
    /// Which orders of events are tried
    #[arg(long, value_enum, default_value = "exhaustive")]
    pub(super) strategy: OrderStrategy,
    /// The most states, schedules, or steps of a schedule; such as states=2000000
    #[arg(long, value_name = "WHAT=N")]
    pub(super) budget: Vec<String>,
    /// The most memory of an exhaustive search [default: 4 GiB]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<String>,
    /// Seed of random choices
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(super) seed: Option<u64>,
    /// Ordered steps that a failure may need, for pct [default: 3]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) depth: Option<u32>,
    /// Let one process die, at any moment
    #[arg(long)]
    pub(super) crash: bool,
    /// Let links lose, duplicate or reorder so many packets; such as loss=2 [default: the scenario's]
    #[arg(long, value_name = "WHAT=N", conflicts_with = "crash")]
    pub(super) faults: Vec<String>,
    /// Leave out orders that another one stands for
    #[arg(long)]
    pub(super) reduce: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: CheckFormat,
    /// Draw the way to the first failure, for Graphviz
    #[arg(long, value_name = "FILE")]
    pub(super) dot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) changes: Changes,
}

/// Options of `replay`.
#[derive(Args, Clone, Debug)]
pub(super) struct ReplayArguments {
    /// What `explore` printed
    pub(super) token: String,
    /// The scenario, where it is not where the token says
    pub(super) scenario: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: CheckFormat,
    #[command(flatten)]
    pub(super) changes: Changes,
}

/// Which orders of events are tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum OrderStrategy {
    /// All
    Exhaustive,
    /// Each next event at random
    Walk,
    /// By random priorities
    Pct,
}

/// How errors are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum ErrorFormat {
    /// For people
    Human,
    /// One JSON object per line
    Json,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The formats of `run`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Format {
    /// Tables, claims and digest for people
    Table,
    /// One row per point and metric
    Csv,
    /// One JSON document; see `mpisim schema results`
    Json,
    /// The columns of the OSU micro-benchmarks
    Osu,
}

/// The formats of `check`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum CheckOutput {
    /// For people, the greatest differences first
    Human,
    /// One JSON document; see `mpisim schema check`
    Json,
    /// One XML document for CI systems
    Junit,
}

/// The formats of `explore`, `replay` and `diff`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum CheckFormat {
    /// For people
    Human,
    /// One JSON document
    Json,
}

/// A document that has a schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Document {
    /// A scenario file
    Scenario,
    /// A machine model
    Model,
    /// What `run --format json` prints
    Results,
    /// What `check --format json` prints
    Check,
    /// What `diff --format json` prints
    Diff,
}

/// How a network is drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Graph {
    /// The language of Graphviz
    Dot,
}

/// The most points that may run side by side.
const MOST_JOBS: usize = 1024;

fn jobs(text: &str) -> Result<usize, String> {
    let jobs = text.parse().ok().filter(|jobs| (1..=MOST_JOBS).contains(jobs));
    jobs.ok_or_else(|| format!("a whole number from 1 to {MOST_JOBS} is needed"))
}

fn tolerance(text: &str) -> Result<Tolerance, String> {
    let (metric, percent) =
        text.rsplit_once('=').map_or((None, text), |(name, percent)| (Some(name), percent));
    let metric = metric.map(|name| name.trim().to_owned());
    match parse_tolerance(percent) {
        Some(Allowed::Relative(millionths)) if metric.as_deref() != Some("") => {
            Ok(Tolerance { metric, part: f64::from(millionths) / 1e6 })
        }
        _ => {
            Err("a percentage from 0 % to 100 % is needed, for instance `bandwidth=2%`".to_owned())
        }
    }
}

/// Every row or every other one would leave too little to fit on.
fn hold_out(text: &str) -> Result<usize, String> {
    let every = text.parse().ok().filter(|every| !(1..=2).contains(every));
    every.ok_or_else(|| "0 or a whole number from 3 up is needed".to_owned())
}

fn parameter(text: &str) -> Result<&'static str, String> {
    let found = Parameter::find(text).map(|parameter| parameter.path);
    found.ok_or_else(|| "no number of a machine is called so; see `mpisim show`".to_owned())
}

fn chunk(text: &str) -> Result<usize, String> {
    let points = text.parse().ok().filter(|points| *points > 0);
    points.ok_or_else(|| "a whole number from 1 up is needed".to_owned())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {} is needed", u64::MAX))
}

/// The name of a baseline is that of a directory.
fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = (1..=100).contains(&text.len()) && text.chars().all(plain);
    if good && !text.starts_with('.') {
        return Ok(text.to_owned());
    }
    Err("letters, digits and `- _ .` are needed, not beginning with a point".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn check_examples(command: &clap::Command, name: &str) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            let name = format!("{name} {}", one.get_name());
            let example = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(example.contains(&name), "{name}");
            check_examples(one, &name);
        }
    }

    #[test]
    fn the_commands_are_consistent_and_each_has_an_example() {
        let mut command = Arguments::command();
        command.build();
        command.clone().debug_assert();
        check_examples(&command, "mpisim");
    }

    #[test]
    fn every_help_fits_on_one_screen() {
        let mut command = Arguments::command();
        command.build();
        for one in command.get_subcommands_mut() {
            let text = one.render_help().to_string();
            assert!(text.lines().count() <= 40, "{}: {}", one.get_name(), text.lines().count());
        }
    }

    #[test]
    fn a_tolerance_is_a_percentage_with_or_without_a_name() {
        let read = |text| tolerance(text).map(|one| (one.metric.unwrap_or_default(), one.part));
        assert_eq!(read("bandwidth=2%"), Ok(("bandwidth".to_owned(), 0.02)));
        assert_eq!(read(" 0.5 % "), Ok((String::new(), 0.005)));
        for wrong in ["", "2", "=2%", "latency=", "latency=101%", "-1%", "nan%", "a=2 %x", "x2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_baselines_stay_below_their_directory() {
        assert!(name("main").is_ok() && name("v1.2-a_b").is_ok());
        for wrong in ["", "..", ".hidden", "a/b", "a b"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
