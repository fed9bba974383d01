//! Time that a program computes between its calls of MPI.
//!
//! ```text
//!   a call returns ─ the program computes ─▶ its next call
//! ```
//!
//! | mode | the simulated core is busy for | repeatable |
//! |---|---|---|
//! | none | no time | yes |
//! | measured | the CPU time that the process's thread has used here | no |
//! | recorded | the CPU time that an earlier, measured run has written down | yes, and the processes run in parallel |
//!
//! Only what lies between `MPI_Init` and `MPI_Finalize` counts.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::functions::Function;

/// Source of the simulated time of computation.
#[derive(Clone, Debug)]
pub enum Compute {
    /// No time.
    None,
    /// The CPU time of each process on this host, times a factor; it is written to a file, where one is named.
    Measured(Factor, Option<PathBuf>),
    /// The CPU time of such a run, times a factor.
    Recorded(Factor, Arc<Recording>),
}

/// Factor by which CPU time is multiplied, in billionths: the simulated core's time over the host's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Factor(pub u64);

impl Factor {
    /// The simulated time in picoseconds of so many nanoseconds here.
    fn time(self, ns: u64) -> u64 {
        // ps = ns x 1,000 x billionths / 10^9.
        let ps = u128::from(ns) * u128::from(self.0) / 1_000_000;
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// CPU time of all ranks of a run, between their calls.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// 1.
    schema: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Names of functions; the calls name them by their place.
    functions: Vec<String>,
    /// Of each rank its calls in order: the function, and the nanoseconds that the rank has computed after it.
    ranks: Vec<Vec<(u16, u64)>>,
    /// Where it was read.
    #[serde(skip)]
    file: PathBuf,
}

/// A call, and the nanoseconds of computation behind it.
type Call = (Function, u64);

const SCHEMA: u32 = 1;

impl Recording {
    /// A recording of the computation of these ranks.
    ///
    /// # Panics
    ///
    /// With 65,536 different functions: MPI has fewer.
    pub fn new(command: Vec<String>, ranks: Vec<Vec<Call>>) -> Self {
        let mut functions: Vec<String> = Vec::new();
        let mut number = |function: Function| {
            let name = function.name();
            let at = functions.iter().position(|known| known == name).unwrap_or_else(|| {
                functions.push(name.to_owned());
                functions.len() - 1
            });
            u16::try_from(at).expect("fewer functions than 65,536")
        };
        let rank = |calls: Vec<Call>| {
            calls.into_iter().map(|(function, ns)| (number(function), ns)).collect()
        };
        let ranks = ranks.into_iter().map(rank).collect();
        Self { schema: SCHEMA, command, functions, ranks, file: PathBuf::new() }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// In a sentence, when it is not there or no such file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| format!("the recording {shown} cannot be read: {error}"))?;
        let mut recording: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{shown} is no recording of computation: {error}"))?;
        if recording.schema != SCHEMA {
            return Err(format!("{shown} is a recording of schema {}", recording.schema));
        }
        recording
            .calls()
            .map_err(|why| format!("{shown} is no recording of computation: {why}"))?;
        path.clone_into(&mut recording.file);
        Ok(recording)
    }

    /// Refuses another number of ranks than it is of.
    ///
    /// # Errors
    ///
    /// In a sentence.
    pub fn fits(&self, ranks: u32) -> Result<(), String> {
        let (shown, of) = (self.file.display(), self.ranks.len());
        let fits = of == ranks as usize;
        fits.then_some(()).ok_or_else(|| format!("{shown} is of {of} ranks, not of {ranks}"))
    }

    /// Refuses another program than it is of, or other arguments: they compute something else.
    ///
    /// # Errors
    ///
    /// In a sentence.
    pub fn is_of(&self, command: &[String]) -> Result<(), String> {
        if self.command == command {
            return Ok(());
        }
        let (shown, of, other) = (self.file.display(), self.command.join(" "), command.join(" "));
        Err(format!("{shown} is the recording of `{of}`, not of `{other}`"))
    }

    /// Writes the file, unless there is one of another program.
    ///
    /// # Errors
    ///
    /// In a sentence, when it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let shown = path.display();
        if path.exists() {
            let there = Self::read(path)?;
            if (&there.command, there.ranks.len()) != (&self.command, self.ranks.len()) {
                return Err(format!(
                    "{shown} is the recording of {} on {} ranks, and is kept: name another file",
                    there.command.join(" "),
                    there.ranks.len()
                ));
            }
        }
        self.replace(path).map_err(|error| format!("{shown} cannot be written: {error}"))
    }

    /// The file is the old one or the new one, whatever happens meanwhile.
    fn replace(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder)?;
        }
        let draft = path.with_added_extension(format!("{}.draft", std::process::id()));
        let mut file = fs::File::create(&draft)?;
        serde_json::to_writer(std::io::BufWriter::new(&mut file), self)?;
        file.write_all(b"\n")?;
        fs::rename(draft, path)
    }

    /// The calls of each rank.
    fn calls(&self) -> Result<Vec<Vec<Call>>, String> {
        let find = |name: &String| {
            let mut all = Function::ALL.iter().copied();
            let found = all.find(|function| function.name() == name);
            found.ok_or_else(|| format!("MPI has no function {name}"))
        };
        let functions = self.functions.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let call = |(function, ns): (u16, u64)| {
            let function = functions.get(usize::from(function)).copied();
            function.map(|function| (function, ns)).ok_or_else(|| "a call has no name".to_owned())
        };
        self.ranks.iter().map(|calls| calls.iter().copied().map(call).collect()).collect()
    }
}

/// The computation of one rank.
#[derive(Debug)]
pub struct Computing {
    mode: Mode,
    /// Whether the rank is between `MPI_Init` and `MPI_Finalize`.
    counts: bool,
}

#[derive(Debug)]
enum Mode {
    None,
    Measured { factor: Factor, calls: Vec<Call> },
    Recorded { factor: Factor, recorded: Recorded },
}

/// Where a rank is in its recording.
#[derive(Debug)]
struct Recorded {
    calls: Arc<[Call]>,
    /// The next call.
    next: usize,
    file: Arc<Path>,
}

impl Compute {
    /// The computation of each rank of a job.
    ///
    /// # Errors
    ///
    /// In a sentence, when a recording cannot be used.
    pub fn of_ranks(&self, ranks: u32) -> Result<Vec<Computing>, String> {
        let all = |mode: &dyn Fn() -> Mode| {
            let one = |_| Computing { mode: mode(), counts: false };
            Ok((0..ranks).map(one).collect())
        };
        match self {
            Self::None => all(&|| Mode::None),
            Self::Measured(factor, _) => {
                all(&|| Mode::Measured { factor: *factor, calls: Vec::new() })
            }
            Self::Recorded(factor, recording) => {
                recording.fits(ranks)?;
                let file: Arc<Path> = Arc::from(recording.file.as_path());
                let calls = recording.calls()?;
                let one = |calls: Vec<Call>| {
                    let recorded =
                        Recorded { calls: calls.into(), next: 0, file: Arc::clone(&file) };
                    Computing { mode: Mode::Recorded { factor: *factor, recorded }, counts: false }
                };
                Ok(calls.into_iter().map(one).collect())
            }
        }
    }
}

impl Computing {
    /// Whether the process measures its CPU time.
    pub const fn is_measured(&self) -> bool {
        matches!(self.mode, Mode::Measured { .. })
    }

    /// The process calls again after `ns` nanoseconds of CPU time: the time in picoseconds that its core was busy.
    pub fn called(&mut self, ns: u64) -> Option<u64> {
        let Mode::Measured { factor, calls } = &mut self.mode else { return None };
        let last = calls.last_mut().filter(|_| self.counts)?;
        // Where MPI runs a function of the program's, it computes in pieces.
        last.1 += ns;
        Some(factor.time(ns)).filter(|time| *time > 0)
    }

    /// A call returns: the time in picoseconds that the core is busy now, where that is known.
    ///
    /// # Errors
    ///
    /// In a sentence, when the recording has another call here.
    pub fn returns(&mut self, function: Function) -> Result<Option<u64>, String> {
        let begins =
            matches!(function, Function::Init | Function::Init_thread | Function::Session_init);
        self.counts = (self.counts || begins) && function != Function::Finalize;
        if !self.counts {
            return Ok(None);
        }
        match &mut self.mode {
            Mode::None => Ok(None),
            Mode::Measured { calls, .. } => {
                calls.push((function, 0));
                Ok(None)
            }
            Mode::Recorded { factor, recorded } => {
                let time = factor.time(recorded.after(function)?);
                Ok(Some(time).filter(|time| *time > 0))
            }
        }
    }

    /// The calls of a measured run, and what was computed after them.
    pub fn take(&mut self) -> Vec<Call> {
        match &mut self.mode {
            Mode::Measured { calls, .. } => std::mem::take(calls),
            Mode::None | Mode::Recorded { .. } => Vec::new(),
        }
    }
}

impl Recorded {
    /// Nanoseconds of computation after this call.
    ///
    /// How often a program polls depends on time: where it polls less often than the recording those of the recording
    /// are passed over, and where it polls more often the last one of them is repeated.
    fn after(&mut self, function: Function) -> Result<u64, String> {
        let is_poll = |at: usize| self.calls.get(at).is_some_and(|(known, _)| polls(*known));
        if polls(function) {
            let at = if is_poll(self.next) {
                self.next += 1;
                self.next - 1
            } else {
                self.next.wrapping_sub(1)
            };
            return Ok(if is_poll(at) { self.calls[at].1 } else { 0 });
        }
        while is_poll(self.next) {
            self.next += 1;
        }
        let file = self.file.display();
        let number = self.next + 1;
        let Some((known, ns)) = self.calls.get(self.next) else {
            return Err(format!(
                "it is call {number} of this rank, and {file} has {} calls: it is of a program with other calls",
                self.next
            ));
        };
        if *known != function {
            return Err(format!(
                "call {number} of this rank is {} in {file}: that is of a program with other calls",
                known.name()
            ));
        }
        self.next += 1;
        Ok(*ns)
    }
}

/// Whether programs call it as often as it takes until something has happened.
pub(crate) const fn polls(function: Function) -> bool {
    use Function as F;
    matches!(
        function.base().0,
        F::Test
            | F::Testall
            | F::Testany
            | F::Testsome
            | F::Iprobe
            | F::Improbe
            | F::Request_get_status
            | F::Request_get_status_all
            | F::Request_get_status_any
            | F::Request_get_status_some
            | F::Parrived
            | F::Win_test
            | F::Wtime
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(calls: &[Call]) -> Recorded {
        Recorded { calls: calls.into(), next: 0, file: Arc::from(Path::new("r.json")) }
    }

    #[test]
    fn polls_need_not_be_as_many_as_in_the_recording() {
        use Function as F;
        let calls = [(F::Irecv, 10), (F::Test, 1), (F::Test, 2), (F::Send, 20), (F::Test, 3)];
        let mut fewer = recorded(&calls);
        assert_eq!(
            [F::Irecv, F::Test, F::Send].map(|function| fewer.after(function)),
            [Ok(10), Ok(1), Ok(20)]
        );
        let mut more = recorded(&calls);
        assert_eq!(
            [F::Irecv, F::Test, F::Test, F::Test, F::Send].map(|function| more.after(function)),
            [Ok(10), Ok(1), Ok(2), Ok(2), Ok(20)]
        );
        let mut none = recorded(&[(F::Send, 5)]);
        assert_eq!([F::Send, F::Test].map(|function| none.after(function)), [Ok(5), Ok(0)]);
    }

    #[test]
    fn a_recording_of_another_program_is_refused() {
        let calls = [(Function::Send, 5)];
        let wrong = recorded(&calls).after(Function::Recv).expect_err("it sends");
        assert!(wrong.contains("call 1 of this rank is MPI_Send"), "{wrong}");
        let mut short = recorded(&calls);
        short.after(Function::Send).expect("it is there");
        assert!(short.after(Function::Send).is_err());
    }

    #[test]
    fn a_recording_repeats_what_was_measured() {
        use Function as F;
        let factor = Factor(2_500_000_000);
        let mut measured =
            Computing { mode: Mode::Measured { factor, calls: Vec::new() }, counts: false };
        let program =
            [(F::Initialized, 7), (F::Init, 11), (F::Send, 0), (F::Wtime, 13), (F::Finalize, 17)];
        let times = program.map(|(function, ns)| {
            assert_eq!(measured.returns(function), Ok(None));
            measured.called(ns)
        });
        assert_eq!(times, [None, Some(27_500), None, Some(32_500), None]);
        let recording = Recording::new(vec!["a".to_owned()], vec![measured.take()]);
        let text = serde_json::to_string(&recording).expect("it has no maps");
        let recording: Recording = serde_json::from_str(&text).expect("it was written");
        let calls = recording.calls().expect("they are MPI's").remove(0);
        let mut again = Computing {
            mode: Mode::Recorded { factor, recorded: recorded(&calls) },
            counts: false,
        };
        assert_eq!(program.map(|(function, _)| again.returns(function)), times.map(Ok));
    }
}
