//! What the ranks of a job print to their standard output.
//!
//! A rank writes into a pipe, and the simulator prints the whole lines among it at each of the rank's calls: so lines of
//! different ranks come in the order of simulated time. It takes them out of the pipe as long as it waits for the rank,
//! and so a rank that prints much waits until it is the rank's turn. The MPI library makes the output of C programs
//! line-buffered. A scenario may look for numbers in the lines, which are metrics of its points.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
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

/// The name of a rank's file in a folder.
pub fn file_of(rank: u32) -> String {
    format!("rank-{rank}.txt")
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

    /// The number found for each pattern, as printed: that of the last line that matches it.
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
    /// The standard output of a rank's process, where it has one, and the lines that come out of it.
    ///
    /// # Errors
    ///
    /// Error of the operating system.
    pub fn of_rank(
        &self,
        rank: u32,
        reports: &Reports,
    ) -> io::Result<(Option<PipeWriter>, Option<Lines>)> {
        let to = match self {
            Self::Nothing if reports.0.is_empty() => return Ok((None, None)),
            Self::Nothing => To::Nothing,
            Self::Folder(folder) => {
                fs::create_dir_all(folder)?;
                To::File(File::create(folder.join(file_of(rank)))?)
            }
            Self::Lines { to_error, is_labelled } => {
                let label = if *is_labelled { format!("[{rank}] ") } else { String::new() };
                if *to_error { To::Error(label) } else { To::Output(label) }
            }
        };
        let (from, its) = io::pipe()?;
        let flags = OFlag::from_bits_retain(fcntl(&from, FcntlArg::F_GETFL)?);
        // The other end waits where the pipe is full: it has a description of its own.
        fcntl(&from, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        let capacity = usize::try_from(fcntl(&from, FcntlArg::F_GETPIPE_SZ)?).unwrap_or(0);
        let from = Some(from);
        let lines =
            Lines { from, capacity, rest: Vec::new(), whole: 0, to, reports: reports.clone() };
        Ok((Some(its), Some(lines)))
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
    /// `None` once nothing has the other end any more.
    from: Option<PipeReader>,
    /// Bytes that the pipe holds at most.
    capacity: usize,
    /// Bytes taken out of the pipe and not printed: whole lines, and the beginning of one.
    rest: Vec<u8>,
    /// Bytes of the whole lines.
    whole: usize,
    to: To,
    reports: Reports,
}

/// Bytes that are held until the rank's next call; where there are more, whole lines are printed before it.
const HELD: usize = 1 << 16;
/// A line of more bytes is printed in pieces of so many, each a line of its own.
const LONGEST: usize = 1 << 24;

impl Lines {
    /// The end of the pipe, as long as something can come.
    pub fn pipe(&self) -> Option<&PipeReader> {
        self.from.as_ref()
    }

    /// Takes what the rank has written so far, so that the pipe has room again.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or lines cannot be written.
    pub fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 14];
        let mut taken = 0;
        // What was written before this call is no more than what the pipe holds: a process may go on writing for ever.
        while taken < self.capacity
            && let Some(from) = &mut self.from
        {
            match from.read(&mut buffer) {
                Ok(0) => self.from = None,
                Ok(got) => {
                    taken += got;
                    self.add(&buffer[..got])?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.rest.len() > HELD { self.print() } else { Ok(()) }
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.whole = self.rest.len() + end + 1;
        }
        self.rest.extend_from_slice(bytes);
        while self.rest.len() - self.whole > LONGEST {
            self.print()?;
            let after = self.rest.split_off(LONGEST);
            let piece = std::mem::replace(&mut self.rest, after);
            self.write_unended(piece)?;
        }
        Ok(())
    }

    /// Prints the lines that were taken.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn print(&mut self) -> io::Result<()> {
        if self.whole == 0 {
            return Ok(());
        }
        let after = self.rest.split_off(std::mem::take(&mut self.whole));
        let lines = std::mem::replace(&mut self.rest, after);
        self.write(&lines)
    }

    /// Prints what is left, a line without end among it.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    pub fn end(&mut self) -> io::Result<()> {
        self.take()?;
        self.print()?;
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { Ok(()) } else { self.write_unended(rest) }
    }

    /// Prints the beginning of a line; in a file it goes on.
    fn write_unended(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        if !matches!(self.to, To::File(_)) {
            line.push(b'\n');
        }
        self.write(&line)
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

fn labelled<'a>(label: &str, lines: &'a [u8]) -> Cow<'a, [u8]> {
    if label.is_empty() {
        return Cow::Borrowed(lines);
    }
    let mut labelled = Vec::with_capacity(2 * lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        labelled.extend_from_slice(label.as_bytes());
        labelled.extend_from_slice(line);
    }
    Cow::Owned(labelled)
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
        assert_eq!(*labelled("[1] ", b"a\nb"), *b"[1] a\n[1] b");
    }
}
