//! A measured table and the benchmark that it comes from.

use std::path::Path;

use super::candidates::Between;
use experiment::measured::{self, Key, Measured, Program, Row};
use experiment::shipped::Shipped;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::shape::nearest;

/// The most rows of a table: each is a run.
const MOST_ROWS: usize = 256;
/// Messages of a window, where the file does not say.
const USUAL_WINDOW: u32 = 64;
/// The most pairs and the longest window that are run.
const MOST_PAIRS: u32 = 1024;
const LONGEST_WINDOW: u32 = 4096;

/// The benchmark that was run.
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

    /// The quantity in the first column.
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

    /// The benchmark that a table says it is of; `None` where no fit knows it.
    fn of_program(program: &Program) -> Option<Self> {
        if program.name == measured::PING_PONG {
            return Some(Self::Latency);
        }
        Self::find(program.name)
    }

    /// The names of all.
    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of its file.
    pub file: String,
    /// The benchmark that was run.
    pub benchmark: Benchmark,
    /// Pairs of processes.
    pub pairs: u32,
    /// Messages of a window.
    pub window: u32,
    /// Bytes, entries or the operation's place, and the value in the benchmark's unit.
    pub rows: Vec<(u64, f64)>,
    /// Whether numbers are fitted on it.
    pub fitted: bool,
    /// Where its heads stand.
    pub heads: Span,
}

/// Reads the table of `[KIND=]FILE`; `None` after a report.
pub fn read(diagnostics: &mut Diagnostics, shipped: Shipped, asked: &str) -> Option<Table> {
    let (stated, file) = stated(diagnostics, asked)?;
    let path = Path::new(file);
    let measured = measured::read(diagnostics, shipped, path)?;
    let read = benchmark(stated, path, &measured).and_then(|benchmark| {
        let rows = rows(benchmark, &measured)?;
        let (pairs, window) = pairs_and_window(benchmark, &measured)?;
        let (file, heads) = (file.to_owned(), measured.heads);
        Ok(Table { file, benchmark, pairs, window, rows, fitted: true, heads })
    });
    let report = |Wrong { at, found, allowed }| {
        diagnostics.push(Diagnostic::error(&codes::MEASURED, at, "", found, allowed));
    };
    read.map_err(report).ok()
}

/// A mistake in a table, and its place.
struct Wrong {
    at: Span,
    found: String,
    allowed: String,
}

/// The kind, where one is stated, and the file; `None` after a report.
fn stated<'a>(
    diagnostics: &mut Diagnostics,
    asked: &'a str,
) -> Option<(Option<Benchmark>, &'a str)> {
    match asked.split_once('=') {
        Some((kind, file)) if Benchmark::find(kind).is_some() => {
            Some((Benchmark::find(kind), file))
        }
        Some((kind, file)) if !Path::new(asked).exists() && Path::new(file).exists() => {
            let source = diagnostics.add_source("<command line>", asked);
            let end = u32::try_from(kind.len()).unwrap_or(0);
            let span = Span { source, start: 0, end };
            let found = format!("`{}` is no kind of table", quote(kind));
            let allowed = format!("KIND=FILE has one of {}", Benchmark::names());
            let one = Diagnostic::error(&codes::USAGE, span, "", found, allowed);
            diagnostics.push(match nearest(kind, Benchmark::ALL.map(Benchmark::name)) {
                Some(near) => one.help(format!("did you mean `{near}={}`?", quote(file))),
                None => one,
            });
            None
        }
        Some(_) | None => Some((None, asked)),
    }
}

/// The benchmark of a table: as its title says, as is stated, or as its file is called.
fn benchmark(
    stated: Option<Benchmark>,
    path: &Path,
    measured: &Measured,
) -> Result<Benchmark, Wrong> {
    let wrong = |found: String, allowed: String| Wrong { at: measured.heads, found, allowed };
    let kinds = || format!("the benchmarks that a fit knows are {}", Benchmark::names());
    let titled = measured.program.map(|program| {
        let found = || format!("this is a table of {}", program.name);
        Benchmark::of_program(program).ok_or_else(|| wrong(found(), kinds()))
    });
    match (titled.transpose()?, stated) {
        (Some(titled), Some(stated)) if titled != stated => {
            let found = format!("the title says that this is a table of {}", titled.name());
            Err(wrong(found, format!("{} is asked for", stated.name())))
        }
        (Some(titled), _) => Ok(titled),
        (None, Some(stated)) => Ok(stated),
        (None, None) => {
            let name = path.file_stem().and_then(|stem| stem.to_str());
            name.and_then(Benchmark::find).ok_or_else(|| {
                let found = "neither title nor name says which benchmark this is".to_owned();
                let names = Benchmark::names();
                wrong(found, format!("KIND=FILE is needed, where KIND is one of {names}"))
            })
        }
    }
}

/// Pairs of processes and messages of a window, as comments state them.
fn pairs_and_window(benchmark: Benchmark, measured: &Measured) -> Result<(u32, u32), Wrong> {
    let pairs = stated_in(measured, "pairs").filter(|_| benchmark == Benchmark::MultiPair);
    let window = stated_in(measured, "window size").or_else(|| stated_in(measured, "window"));
    let (pairs, window) = (pairs.unwrap_or(1), window.unwrap_or(USUAL_WINDOW));
    let are_run = (1..=MOST_PAIRS).contains(&pairs) && (1..=LONGEST_WINDOW).contains(&window);
    if are_run {
        return Ok((pairs, window));
    }
    let found = format!("{pairs} pairs and a window of {window}");
    let allowed = format!("1 to {MOST_PAIRS} pairs and windows of 1 to {LONGEST_WINDOW} are run");
    Err(Wrong { at: measured.heads, found, allowed })
}

/// Whether a table can have the role that was requested; `false` after a report.
pub fn check_role(diagnostics: &mut Diagnostics, table: &Table) -> bool {
    let is_fitted_packing = table.fitted && table.benchmark == Benchmark::Pack;
    if is_fitted_packing {
        let span = table.heads;
        let found = "a table of packing, on which no number is fitted";
        let allowed = "it is compared by `--predict`";
        diagnostics.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed));
    }
    !is_fitted_packing
}

/// Whether tables have rows enough for a fit of one number at least; `false` after a report.
pub fn check_rows(diagnostics: &mut Diagnostics, tables: &[Table], between: Between) -> bool {
    let fitted = || tables.iter().filter(|table| table.fitted);
    let rows: usize = fitted().map(|table| table.rows.len()).sum();
    let Some(first) = fitted().next().filter(|_| rows < 2) else { return true };
    let found = format!("{rows} row to fit on");
    let (least, most) = ("2 for one", between.candidates().len());
    let allowed = format!(
        "a fit needs more rows than it finds numbers: {least}, {} for the {most} that are searched \
         between {}",
        most + 1,
        between.word()
    );
    diagnostics.push(Diagnostic::error(&codes::MEASURED, first.heads, "", found, allowed));
    false
}

/// The rows in the benchmark's unit.
fn rows(benchmark: Benchmark, measured: &Measured) -> Result<Vec<(u64, f64)>, Wrong> {
    let wrong = |found: String, allowed: String| Wrong { at: measured.heads, found, allowed };
    if measured.rows.len() > MOST_ROWS {
        let found = format!("{} rows", measured.rows.len());
        return Err(wrong(found, format!("at most {MOST_ROWS} rows are needed: each is a run")));
    }
    let (metric, unit) = (benchmark.metric(), benchmark.unit());
    let Some(column) = measured.column_of(metric) else {
        let names: Vec<&str> = measured.columns.iter().map(|column| &*column.name).collect();
        let found = format!("no column of {metric}, but {}", quote(&names.join(", ")));
        return Err(wrong(found, format!("{} has one in {unit}", benchmark.name())));
    };
    let factor = match (measured.columns[column].unit.as_str(), unit) {
        (found, wanted) if found == wanted => 1.0,
        ("ns", "us") => 1e-3,
        ("ms", "us") => 1e3,
        ("s", "us") => 1e6,
        (found, _) => {
            let found = format!("{metric} in `{}`", quote(found));
            return Err(wrong(found, format!("{unit} is needed")));
        }
    };
    let mut rows = Vec::new();
    for row in &measured.rows {
        let key = key_of(benchmark, row)?;
        let value = row.values[column] * factor;
        // A message of no bytes has no bandwidth; its latency is that of the smallest.
        if key > 0 || benchmark.is_by_entries() || benchmark.operations().is_some() {
            rows.push((key, value));
        }
    }
    if rows.is_empty() {
        let found = "no message with a byte".to_owned();
        return Err(wrong(found, "a table of sizes is needed".to_owned()));
    }
    Ok(rows)
}

/// The key of a row: its number, or the place of its operation.
fn key_of(benchmark: Benchmark, row: &Row) -> Result<u64, Wrong> {
    let wrong = |found: String, allowed: String| Wrong { at: row.span, found, allowed };
    match (&row.key, benchmark.operations()) {
        (Key::Number(key), None) => Ok(*key),
        (Key::Word(word), Some(known)) => {
            let mut places = (0..).zip(known);
            let place = places.find(|(_, (known, _))| known == word).map(|(place, _)| place);
            place.ok_or_else(|| {
                let words = known.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
                wrong(format!("`{}`", quote(word)), format!("one of {words} is needed"))
            })
        }
        (Key::Number(key), Some(_)) => {
            let heads = "heads of such a table begin with `# Operation` or `# Algorithm`";
            Err(wrong(format!("`{key}` is no operation"), heads.to_owned()))
        }
        (Key::Word(word), None) => {
            let allowed = format!("rows of {} begin with a number", benchmark.name());
            Err(wrong(format!("`{}`", quote(word)), allowed))
        }
    }
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
        let read = read(&mut diagnostics, Shipped::default(), path.to_str().unwrap());
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
            ("excl_put8_unlock 1\nexcl_put8_unlock 2\n", ":3:1"),
            ("excl_put8_unlock 1\nexcl_put8_unlock 2\n", "`excl_put8_unlock` a second time"),
            ("mcs 2\nticket 1\n", "mutex.txt:3:1: `ticket`; one of mpi2, mcs, mcs_cas_first"),
            ("mcs -1\n", "`-1`"),
            ("# nothing\n", "no line of numbers"),
        ] {
            let name = if text.contains("put8") { "rma.txt" } else { "mutex.txt" };
            let why = table(name, &format!("# Operation  us\n{text}")).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        let sizes = table("mutex.txt", "# Size  Latency (us)\n8 1\n").unwrap_err();
        assert!(sizes.contains("mutex.txt:2:1: `8` is no operation"), "{sizes}");
        let words = table("latency.txt", "# Operation  Latency (us)\nmcs 1\n").unwrap_err();
        assert!(words.contains("latency.txt:2:1: `mcs`; rows of latency begin"), "{words}");
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
        let title = |test: &str| format!("# OSU {test} v7.1\n# Size  Avg Latency(us)\n4 3.33\n");
        let allreduce = title("MPI Allreduce Latency Test");
        wrong("latency.w", &allreduce, "this is a table of osu_allreduce; the benchmarks that a");
        wrong("latency.y", &title("MPI_Put Latency Test"), "a table of osu_put_latency");
        wrong("latency.z", &title("MPI Multi Latency Test"), "a table of osu_multi_lat");
        wrong("bw.w", "# Size  MB/s  (window 99999)\n1 1\n", "a window of 99999");
    }
}
