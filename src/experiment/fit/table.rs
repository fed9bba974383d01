//! A measured table and the benchmark that it comes from.

use std::path::Path;

use super::super::codes;
use super::super::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use super::super::library;
use super::super::measured::{self, Measured};

/// The most rows of a table: each is a run.
const MOST_ROWS: usize = 256;
/// The most bytes of a table of operations.
const MOST_BYTES: u64 = 1 << 20;
/// Messages of a window, where the file does not say.
const USUAL_WINDOW: u32 = 64;
/// The most pairs and the longest window that are run.
const MOST_PAIRS: u32 = 1024;
const LONGEST_WINDOW: u32 = 4096;

/// What was run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Benchmark {
    /// `osu_latency`.
    Latency,
    /// `osu_bw`.
    Bandwidth,
    /// `osu_bibw`.
    BiBandwidth,
    /// `osu_mbw_mr`.
    MultiPair,
    /// Latency of 8 bytes against posted receives that do not match.
    Posted,
    /// Latency of 8 bytes against unexpected messages that do not match.
    Unexpected,
    /// One-sided operations of 8 bytes on the window of an idle process.
    OneSided,
    /// The same where both processes map the window's memory.
    OneSidedMapped,
    /// Two processes that hand a mutex to each other.
    Mutex,
    /// The same where both map the memory of the window.
    MutexMapped,
    /// A core that packs 1 MiB of a vector, by the length of its blocks.
    Pack,
}

/// Rows of one-sided operations: an epoch, and what is done in it. A put in a lock that is shared is
/// a replacement there: the simulator's puts hold a lock alone, or one of all.
const ONE_SIDED: &[(&str, &str)] = &[
    ("lock_put8_unlock", r#""epoch": "shared", "access": "write""#),
    ("excl_put8_unlock", r#""epoch": "exclusive", "access": "write""#),
    ("lockall_get8_flush", r#""epoch": "lock_all_puts", "access": "read""#),
    ("lockall_fop_flush", r#""epoch": "lock_all", "access": "fetch_add""#),
];
/// Rows of mutexes: which one.
const MUTEXES: &[(&str, &str)] = &[
    ("mpi2", r#""algorithm": "byte_vector""#),
    ("mcs", r#""algorithm": "mcs""#),
    ("mcs_cas_first", r#""algorithm": "mcs_cas_first""#),
];

impl Benchmark {
    /// Every benchmark.
    pub const ALL: [Self; 11] = [
        Self::Latency,
        Self::Bandwidth,
        Self::BiBandwidth,
        Self::MultiPair,
        Self::Posted,
        Self::Unexpected,
        Self::OneSided,
        Self::OneSidedMapped,
        Self::Mutex,
        Self::MutexMapped,
        Self::Pack,
    ];

    /// The name of its program, without `osu_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bw",
            Self::BiBandwidth => "bibw",
            Self::MultiPair => "mbw_mr",
            Self::Posted => "prq",
            Self::Unexpected => "umq",
            Self::OneSided => "rma",
            Self::OneSidedMapped => "rma_mapped",
            Self::Mutex => "mutex",
            Self::MutexMapped => "mutex_mapped",
            Self::Pack => "pack",
        }
    }

    /// The benchmark of this name.
    pub fn find(name: &str) -> Option<Self> {
        let name = name.strip_prefix("osu_").unwrap_or(name);
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The metric that its main column holds.
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Latency | Self::Posted | Self::Unexpected => "latency",
            Self::Bandwidth | Self::BiBandwidth | Self::MultiPair | Self::Pack => "bandwidth",
            Self::OneSided | Self::OneSidedMapped => "epoch_time",
            Self::Mutex | Self::MutexMapped => "handover",
        }
    }

    /// The unit of the metric.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Latency
            | Self::Posted
            | Self::Unexpected
            | Self::OneSided
            | Self::OneSidedMapped
            | Self::Mutex
            | Self::MutexMapped => "us",
            Self::Bandwidth | Self::BiBandwidth | Self::MultiPair | Self::Pack => "MB/s",
        }
    }

    /// Whether the first column counts entries of a queue, and not bytes.
    pub const fn is_by_entries(self) -> bool {
        matches!(self, Self::Posted | Self::Unexpected)
    }

    /// The rows of a table whose first column is a word, each with the workload's fields that it
    /// stands for; `None` where it is a number.
    pub const fn operations(self) -> Option<&'static [(&'static str, &'static str)]> {
        match self {
            Self::OneSided | Self::OneSidedMapped => Some(ONE_SIDED),
            Self::Mutex | Self::MutexMapped => Some(MUTEXES),
            Self::Latency
            | Self::Bandwidth
            | Self::BiBandwidth
            | Self::MultiPair
            | Self::Posted
            | Self::Unexpected
            | Self::Pack => None,
        }
    }

    /// What the first column holds.
    pub const fn first_column(self) -> &'static str {
        match (self.operations(), self.is_by_entries()) {
            (Some(_), _) => "operation",
            (None, true) => "entries",
            (None, false) if matches!(self, Self::Pack) => "block",
            (None, false) => "size",
        }
    }

    /// A key of its rows as the table spells it.
    pub fn label(self, key: u64) -> String {
        let operation = usize::try_from(key).ok().zip(self.operations());
        let word = operation.and_then(|(index, all)| all.get(index)).map(|(word, _)| *word);
        word.map_or_else(|| key.to_string(), str::to_owned)
    }

    /// The benchmark whose title stands in a comment.
    fn of_title(line: &str) -> Option<Self> {
        let line = line.to_ascii_lowercase();
        let has = |part: &str| line.contains(part);
        if has("multiple bandwidth") || has("message rate test") {
            Some(Self::MultiPair)
        } else if has("bi-directional bandwidth") {
            Some(Self::BiBandwidth)
        } else if has("bandwidth test") {
            Some(Self::Bandwidth)
        } else if has("latency test") {
            Some(Self::Latency)
        } else {
            None
        }
    }
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of its file.
    pub file: String,
    /// What was run.
    pub benchmark: Benchmark,
    /// Pairs of processes.
    pub pairs: u32,
    /// Messages of a window.
    pub window: u32,
    /// Bytes, entries or the operation's place, and the value in the benchmark's unit.
    pub rows: Vec<(u64, f64)>,
    /// Whether numbers are fitted on it.
    pub fitted: bool,
}

/// Reads the table of `[KIND=]FILE`; `None` after a report.
pub fn read(diagnostics: &mut Diagnostics, asked: &str) -> Option<Table> {
    let (stated, file) = match asked.split_once('=') {
        Some((kind, file)) if Benchmark::find(kind).is_some() => (Benchmark::find(kind), file),
        _ => (None, asked),
    };
    let path = Path::new(file);
    let by_name = || Benchmark::find(path.file_stem()?.to_str()?);
    if let Some(benchmark) = stated.or_else(by_name).filter(|one| one.operations().is_some()) {
        let rows = operations(diagnostics, path, benchmark)?;
        let (pairs, window, file) = (1, USUAL_WINDOW, file.to_owned());
        return Some(Table { file, benchmark, pairs, window, rows, fitted: true });
    }
    let measured = measured::read(diagnostics, path)?;
    let mut wrong = |found: String, allowed: String| {
        let source = diagnostics.add_source(path.display().to_string(), "");
        let span = Span { source, start: 0, end: 0 };
        diagnostics.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed));
        None
    };
    let Some(benchmark) = stated.or_else(|| guess(path, &measured)) else {
        let names = Benchmark::ALL.map(Benchmark::name).join(", ");
        let found = "neither title nor name says which benchmark this is".to_owned();
        return wrong(found, format!("KIND=FILE is needed, where KIND is one of {names}"));
    };
    if measured.rows.len() > MOST_ROWS {
        let found = format!("{} rows", measured.rows.len());
        return wrong(found, format!("at most {MOST_ROWS} rows are needed: each is a run"));
    }
    let rows = match rows(benchmark, &measured) {
        Ok(rows) => rows,
        Err((found, allowed)) => return wrong(found, allowed),
    };
    let pairs =
        if benchmark == Benchmark::MultiPair { stated_in(&measured, "pairs") } else { None };
    let window = stated_in(&measured, "window size").or_else(|| stated_in(&measured, "window"));
    let (pairs, window) = (pairs.unwrap_or(1), window.unwrap_or(USUAL_WINDOW));
    if pairs == 0 || pairs > MOST_PAIRS || window == 0 || window > LONGEST_WINDOW {
        let found = format!("{pairs} pairs and a window of {window}");
        let allowed = format!("1 to {MOST_PAIRS} pairs and windows of 1 to {LONGEST_WINDOW}");
        return wrong(found, format!("{allowed} are run"));
    }
    Some(Table { file: file.to_owned(), benchmark, pairs, window, rows, fitted: true })
}

/// Whether a table can be what it is asked for; `false` after a report.
pub fn check_role(diagnostics: &mut Diagnostics, table: &Table) -> bool {
    let is_fitted_packing = table.fitted && table.benchmark == Benchmark::Pack;
    if is_fitted_packing {
        let source = diagnostics.add_source(&*table.file, "");
        let span = Span { source, start: 0, end: 0 };
        let found = "a table of packing, on which no number is fitted";
        let allowed = "it is compared by `--predict`";
        diagnostics.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed));
    }
    !is_fitted_packing
}

/// The rows of a table of operations: a word and microseconds on each line.
fn operations(
    diagnostics: &mut Diagnostics,
    path: &Path,
    benchmark: Benchmark,
) -> Option<Vec<(u64, f64)>> {
    let bytes = library::read(diagnostics, path, MOST_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let known = benchmark.operations().unwrap_or_default();
    let read = |line: &str| {
        let (word, value) = line.split_once(char::is_whitespace)?;
        let place = known.iter().position(|(known, _)| *known == word)?;
        let value: f64 = value.split_whitespace().next()?.parse().ok()?;
        (value > 0.0 && value.is_finite()).then_some((u64::try_from(place).ok()?, value))
    };
    let (mut rows, mut start) = (Vec::<(u64, f64)>::new(), 0);
    let mut wrong = None;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim();
        if !line.is_empty() && !line.starts_with('#') {
            match read(line) {
                Some(row) if rows.iter().all(|(place, _)| *place != row.0) => rows.push(row),
                _ => wrong = wrong.or(Some((line, start..start + whole.trim_end().len()))),
            }
        }
        start += whole.len();
    }
    if wrong.is_none() && !rows.is_empty() {
        return Some(rows);
    }
    let (found, at) = match wrong {
        Some((line, at)) => (format!("`{}`", quote(line)), at),
        None => ("no line of numbers".to_owned(), 0..0),
    };
    let words = known.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let source = diagnostics.add_source(path.display().to_string(), &*text);
    let [start, end] = [at.start, at.end].map(|byte| u32::try_from(byte).unwrap_or(u32::MAX));
    let span = Span { source, start, end };
    let allowed = format!("one of {words}, once each, and microseconds are needed");
    diagnostics.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed));
    None
}

/// Title first, then the name of the file.
fn guess(path: &Path, measured: &Measured) -> Option<Benchmark> {
    let by_title = measured.comments.iter().find_map(|line| Benchmark::of_title(line));
    by_title.or_else(|| Benchmark::find(path.file_stem()?.to_str()?))
}

/// The rows in the benchmark's unit; else what was found and what is needed.
fn rows(benchmark: Benchmark, measured: &Measured) -> Result<Vec<(u64, f64)>, (String, String)> {
    let (metric, unit) = (benchmark.metric(), benchmark.unit());
    let Some(column) = measured.column_of(metric) else {
        let names: Vec<String> = measured
            .columns
            .iter()
            .map(|column| format!("{} ({})", column.name, column.unit))
            .collect();
        let found = format!("no column of {metric}, but {}", quote(&names.join(", ")));
        return Err((found, format!("{} has one in {unit}", benchmark.name())));
    };
    let factor = match (measured.columns[column].unit.as_str(), unit) {
        (found, wanted) if found == wanted => 1.0,
        ("ns", "us") => 1e-3,
        ("ms", "us") => 1e3,
        ("s", "us") => 1e6,
        (found, _) => {
            return Err((format!("{metric} in `{}`", quote(found)), format!("{unit} is needed")));
        }
    };
    let mut rows = Vec::new();
    for (key, values) in &measured.rows {
        let value = values[column] * factor;
        if value <= 0.0 || !value.is_finite() {
            return Err((
                format!("{metric} {value} at {key}"),
                "a positive value is needed".into(),
            ));
        }
        if rows.last().is_some_and(|(last, _)| key <= last) {
            let found = format!("{key} behind {}", rows.last().map_or(0, |(last, _)| *last));
            return Err((found, "the first column must rise: one table a file".into()));
        }
        // A message of no bytes has no bandwidth; its latency is that of the smallest.
        if *key > 0 || benchmark.is_by_entries() {
            rows.push((*key, value));
        }
    }
    if rows.is_empty() {
        return Err(("no message with a byte".into(), "a table of sizes is needed".into()));
    }
    Ok(rows)
}

/// The number behind `word` in a comment, as in `[ window size: 64 ]` or `(window 64)`.
fn stated_in(measured: &Measured, word: &str) -> Option<u32> {
    measured.comments.iter().find_map(|line| {
        let (_, behind) = line.split_once(word)?;
        let digits = behind.trim_start_matches([':', ' ']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn table(name: &str, text: &str) -> Result<Table, String> {
        let folder = std::env::temp_dir().join(format!("mpisim-fit-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        let mut diagnostics = Diagnostics::new();
        let read = read(&mut diagnostics, path.to_str().unwrap());
        read.ok_or_else(|| diagnostics.human())
    }

    #[test]
    fn the_title_says_which_benchmark_it_is_and_how_many_pairs() {
        let text = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.1\n\
                    # [ pairs: 4 ] [ window size: 32 ]\n# Size  MB/s  Messages/s\n1 8 8000000\n";
        let table = table("a.txt", text).unwrap();
        assert_eq!(table.benchmark, Benchmark::MultiPair);
        assert_eq!((table.pairs, table.window), (4, 32));
        assert_eq!(table.rows, [(1, 8.0)]);
    }

    #[test]
    fn the_name_says_it_where_there_is_no_title_and_units_are_converted() {
        let text = "# Size  Latency (ns)\n0 900\n1 1000\n2 1500\n";
        let table = table("osu_latency.txt", text).unwrap();
        assert_eq!(table.benchmark, Benchmark::Latency);
        assert_eq!(table.rows, [(1, 1.0), (2, 1.5)]);
    }

    #[test]
    fn operations_are_words_and_their_order_is_free() {
        let rma = table("rma.txt", "# Operation  us\nexcl_put8_unlock 2.8\nlock_put8_unlock 2.9\n");
        let rma = rma.unwrap();
        assert_eq!(
            (rma.benchmark, &rma.rows[..]),
            (Benchmark::OneSided, &[(1, 2.8), (0, 2.9)][..])
        );
        assert_eq!(rma.benchmark.label(1), "excl_put8_unlock");
        for (text, says) in [
            ("excl_put8_unlock 1\nexcl_put8_unlock 2\n", ":2:1"),
            ("excl_put8_unlock 1\nexcl_put8_unlock 2\n", "`excl_put8_unlock 2`"),
            ("ticket 1\n", "one of mpi2, mcs, mcs_cas_first"),
            ("mcs -1\n", "`mcs -1`"),
            ("# nothing\n", "no line of numbers"),
        ] {
            let name = if text.contains("put8") { "rma.txt" } else { "mutex.txt" };
            let why = table(name, text).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn rates_of_packing_are_by_block() {
        let pack = table("pack.txt", "# Block B  GB/s\n4  0.475\n16384  29.181\n").unwrap();
        assert_eq!((pack.benchmark, pack.rows.len()), (Benchmark::Pack, 2));
        assert_eq!(pack.rows[0], (4, 475.0));
        assert_eq!(pack.benchmark.first_column(), "block");
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let wrong = |name: &str, text: &str, says: &str| {
            let why = table(name, text).unwrap_err();
            assert!(why.contains(says), "{why}");
        };
        wrong("b.txt", "# Size  Latency (us)\n1 1\n", "KIND=FILE is needed");
        wrong("bw.txt", "# Size  Latency (us)\n1 1\n", "no column of bandwidth");
        wrong("latency.dat", "# Size  Latency (cycles)\n1 1\n", "us is needed");
        wrong("latency.t", "# Size  Latency (us)\n1 1\n1 2\n", "the first column must rise");
        wrong("latency.u", "# Size  Latency (us)\n1 -1\n", "a positive value is needed");
        let many: Vec<String> = (1..=300).map(|size| format!("{size} 1")).collect();
        let many = format!("# Size  Latency (us)\n{}\n", many.join("\n"));
        wrong("latency.v", &many, "at most 256 rows");
        wrong("bw.w", "# Size  MB/s  (window 99999)\n1 1\n", "a window of 99999");
    }
}
