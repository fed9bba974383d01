//! What the ranks of a job print to their standard output.
//!
//! A rank writes into a file without a name, and the simulator takes lines out of it at each of the rank's calls: so
//! lines of different ranks come in the order of simulated time. The MPI library makes the output of C programs
//! line-buffered. A scenario may look for numbers in the lines, which are metrics of its points.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::memfd::{MFdFlags, memfd_create};
use regex_lite::Regex;

/// Where the ranks' output goes.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub enum Output {
    /// To standard output or standard error, each line as it is, or behind its rank: `[3] line`.
    Lines {
        /// Whether to standard error.
        to_error: bool,
        /// Whether each line says its rank.
        is_labelled: bool,
    },
    /// Into a folder, one file for each rank: `rank-3.txt`.
    Folder(PathBuf),
    /// Nowhere.
    #[default]
    Nothing,
}

/// Numbers that are looked for in what the ranks print; clones are the same.
#[derive(Clone, Debug)]
pub struct Reports(Arc<[Report]>);

#[derive(Debug)]
struct Report {
    /// Its first group is the number.
    pattern: Regex,
    /// The last number that was found, as it was printed.
    number: Mutex<Option<String>>,
}

impl Reports {
    /// The numbers that the first groups of these patterns match.
    pub fn new(patterns: impl IntoIterator<Item = Regex>) -> Self {
        let one = |pattern| Report { pattern, number: Mutex::new(None) };
        Self(patterns.into_iter().map(one).collect())
    }

    /// What was found for each pattern, as it was printed: the number in the last line that matches it.
    pub fn numbers(&self) -> impl Iterator<Item = Option<String>> {
        self.0.iter().map(|report| report.found().clone())
    }

    /// The first pattern that no line has matched.
    pub fn missing(&self) -> Option<&str> {
        let missing = self.0.iter().find(|report| report.found().is_none());
        missing.map(|report| report.pattern.as_str())
    }

    fn look(&self, lines: &[u8]) {
        if self.0.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(lines);
        for (line, report) in
            text.lines().flat_map(|line| self.0.iter().map(move |one| (line, one)))
        {
            let group = report.pattern.captures(line).and_then(|found| found.get(1));
            let number = group.map(|group| group.as_str().to_owned());
            if let Some(number) = number.filter(|number| as_printed_f64(number).is_some()) {
                *report.found() = Some(number);
            }
        }
    }
}

impl Report {
    fn found(&self) -> MutexGuard<'_, Option<String>> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number that a program has printed so.
pub fn as_printed_f64(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

impl Output {
    /// The standard output of a rank's process, and what is taken out of it.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn of_rank(&self, rank: u32, reports: &Reports) -> io::Result<(Stdio, Option<Lines>)> {
        let to = match self {
            Self::Nothing => To::Nothing,
            Self::Folder(folder) => {
                fs::create_dir_all(folder)?;
                To::File(File::create(folder.join(format!("rank-{rank}.txt")))?)
            }
            Self::Lines { to_error, is_labelled } => {
                let label = if *is_labelled { format!("[{rank}] ") } else { String::new() };
                if *to_error { To::Error(label) } else { To::Output(label) }
            }
        };
        let to = match to {
            To::Nothing if reports.0.is_empty() => return Ok((Stdio::null(), None)),
            To::File(file) if reports.0.is_empty() => return Ok((file.into(), None)),
            to @ (To::Nothing | To::File(_) | To::Error(_) | To::Output(_)) => to,
        };
        let file = File::from(memfd_create("mpisim-output", MFdFlags::MFD_CLOEXEC)?);
        let its = file.try_clone()?;
        let lines = Lines { file, taken: 0, rest: Vec::new(), to, reports: reports.clone() };
        Ok((its.into(), Some(lines)))
    }
}

/// Where lines go.
#[derive(Debug)]
enum To {
    /// Standard output, each behind a label.
    Output(String),
    /// Standard error, each behind a label.
    Error(String),
    File(File),
    Nothing,
}

/// The output of one rank.
#[derive(Debug)]
pub struct Lines {
    file: File,
    /// Bytes that were taken out of the file.
    taken: u64,
    /// The beginning of a line.
    rest: Vec<u8>,
    to: To,
    reports: Reports,
}

impl Lines {
    /// Prints the lines that have come since the last time.
    ///
    /// # Errors
    ///
    /// When they cannot be read or written.
    pub fn print(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            let got = self.file.read_at(&mut buffer, self.taken)?;
            if got == 0 {
                return Ok(());
            }
            self.taken += got as u64;
            self.rest.extend_from_slice(&buffer[..got]);
            let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let lines: Vec<u8> = self.rest.drain(..=end).collect();
            self.write(&lines)?;
        }
    }

    /// Prints what is left, a line without end among it.
    ///
    /// # Errors
    ///
    /// As [`Self::print`].
    pub fn end(&mut self) -> io::Result<()> {
        self.print()?;
        if self.rest.is_empty() {
            return Ok(());
        }
        if !matches!(self.to, To::File(_)) {
            self.rest.push(b'\n');
        }
        let lines = std::mem::take(&mut self.rest);
        self.write(&lines)
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.reports.look(lines);
        let written = match &mut self.to {
            To::Output(label) => {
                let mut to = io::stdout().lock();
                // Lines of one call stay together.
                to.write_all(&labelled(label, lines)).and_then(|()| to.flush())
            }
            To::Error(label) => io::stderr().lock().write_all(&labelled(label, lines)),
            To::File(file) => file.write_all(lines),
            To::Nothing => Ok(()),
        };
        // A reader that has gone wants no more of them.
        written.or_else(
            |error| {
                if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
            },
        )
    }
}

fn labelled(label: &str, lines: &[u8]) -> Vec<u8> {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| [label.as_bytes(), line].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_that_a_rank_prints_is_reported() {
        let patterns = ["^latency +([0-9.e-]+) us", "size ([0-9]+)"];
        let reports = Reports::new(patterns.map(|pattern| Regex::new(pattern).expect("it is one")));
        reports.look(b"latency 1.5 us\nlatency  2.5e-1 us\nno latency 9 us\n");
        reports.look(b"latency . us\n");
        assert_eq!(reports.numbers().collect::<Vec<_>>(), [Some("2.5e-1".to_owned()), None]);
        assert_eq!(as_printed_f64("2.5e-1"), Some(0.25));
        assert_eq!(reports.missing(), Some("size ([0-9]+)"));
        assert_eq!(labelled("[1] ", b"a\nb"), b"[1] a\n[1] b");
    }
}
