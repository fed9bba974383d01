//! Engines that run tasks elsewhere: the commands that hand a sweep to them.
//!
//! An engine needs the directory of the plan on a file system that all its nodes share, and the same
//! program. A task that is killed is run again by its engine or by hand: points that are there stay.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::crash::quoted;
use crate::terminal::{Failure, Problem};
use form::codes;

/// An engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Engine {
    /// `HyperQueue`, whose server and workers the user started.
    Hq,
    /// Slurm.
    Slurm,
}

/// A sweep as an engine sees it.
pub(super) struct Job {
    program: PathBuf,
    plan: PathBuf,
    out: PathBuf,
    tasks: usize,
    /// Further options of a task, and of the gathering.
    options: [String; 2],
}

impl Job {
    /// The job of a plan, with absolute paths: tasks begin in other directories.
    pub(super) fn new(
        plan: &Path,
        out: &Path,
        tasks: usize,
        options: [String; 2],
    ) -> Result<Self, Failure> {
        let failed = |why: std::io::Error| {
            Failure::from(Problem::new(&codes::IO, format!("cannot find this program: {why}")))
        };
        let program = std::env::current_exe().map_err(failed)?;
        let absolute = |path: &Path| std::path::absolute(path).map_err(failed);
        Ok(Self { program, plan: absolute(plan)?, out: absolute(out)?, tasks, options })
    }

    /// The command of a task whose number is in the shell's variable `number`.
    fn task(&self, number: &str) -> String {
        let (program, plan) = (shell(&self.program), shell(&self.plan));
        let options = &self.options[0];
        format!("{program} sweep point {plan} --task ${number}{options}")
    }

    fn last(&self) -> usize {
        self.tasks.saturating_sub(1)
    }

    /// Hands all tasks to the engine; the command of `HyperQueue` waits for them.
    pub(super) fn submit(&self, engine: Engine) -> Vec<String> {
        match engine {
            Engine::Hq => vec![
                "hq".to_owned(),
                "submit".to_owned(),
                "--wait".to_owned(),
                format!("--array=0-{}", self.last()),
                format!("--stdout={}", self.plan.join("task-%{TASK_ID}.log").display()),
                format!("--stderr={}", self.plan.join("task-%{TASK_ID}.err").display()),
                "--".to_owned(),
                "sh".to_owned(),
                "-c".to_owned(),
                self.task("HQ_TASK_ID"),
            ],
            Engine::Slurm => vec![
                "sbatch".to_owned(),
                "--parsable".to_owned(),
                "--job-name=mpisim".to_owned(),
                format!("--array=0-{}", self.last()),
                format!("--output={}", self.plan.join("task-%a.log").display()),
                format!("--wrap={}", self.task("SLURM_ARRAY_TASK_ID")),
            ],
        }
    }

    /// Hands the gathering to Slurm, after all tasks of job `id` succeeded.
    pub(super) fn gather(&self, id: &str) -> Vec<String> {
        vec![
            "sbatch".to_owned(),
            "--parsable".to_owned(),
            "--job-name=mpisim-gather".to_owned(),
            format!("--dependency=afterok:{id}"),
            format!("--output={}", self.plan.join("gather.log").display()),
            format!("--wrap={}", self.gathering()),
        ]
    }

    /// The command that gathers.
    fn gathering(&self) -> String {
        let (program, plan, out) = (shell(&self.program), shell(&self.plan), shell(&self.out));
        format!("{program} sweep gather {plan} --out {out}{}", self.options[1])
    }

    /// The commands, a line each.
    pub(super) fn commands(&self, engine: Engine) -> String {
        let line = |words: Vec<String>| {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("{}\n", words.join(" "))
        };
        let submit = line(self.submit(engine));
        match engine {
            Engine::Slurm => submit + &line(self.gather("JOB")),
            Engine::Hq => format!("{submit}{}\n", self.gathering()),
        }
    }
}

/// A path as a shell reads it.
fn shell(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// Runs a command of an engine and returns its standard output.
pub(super) fn run(words: &[String]) -> Result<String, Failure> {
    let (program, rest) = words.split_first().expect("a command has a program");
    let output = Command::new(program).args(rest).output().map_err(|why| {
        let what = format!("cannot start `{program}`: {why}");
        let help = "is the engine's command on the path? `--dry-run` shows what would be run";
        Failure::from(Problem::new(&codes::ENGINE, what).help(help))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let what = format!("`{program}` ended with {}: {said}", output.status);
    let help = "points that finished are kept: run the same command again, or \
                `mpisim sweep gather` to see which are missing";
    Err(Problem::new(&codes::ENGINE, what).help(help).into())
}

/// The number of a job that `sbatch --parsable` printed: `ID` or `ID;CLUSTER`.
pub(super) fn slurm_id(printed: &str) -> Result<String, Failure> {
    let id = printed.trim().split(';').next().unwrap_or_default();
    if !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()) {
        return Ok(id.to_owned());
    }
    let what = format!("`sbatch` did not print the number of a job: {}", printed.trim());
    Err(Problem::new(&codes::ENGINE, what).into())
}
