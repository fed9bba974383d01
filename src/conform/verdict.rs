//! What came of vectors: cases that passed, and what was wrong with the others.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

/// How many cases came out right, and what was wrong with the others.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verdict {
    /// Cases as recorded.
    pub passed: usize,
    /// One entry per failed case.
    pub mismatches: Vec<Mismatch>,
    /// Cases in which real libraries differ, which neither pass nor fail: the libraries that the
    /// simulator agrees with.
    pub followed: Vec<Followed>,
}

/// The libraries that the simulator agrees with where they differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Followed {
    /// The case's `id`.
    pub case: u64,
    /// The libraries that give what the simulator gives; none, where it agrees with each in part.
    pub libraries: Vec<String>,
}

/// A case that came out wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mismatch {
    /// The case's `id`.
    pub case: u64,
    /// The first schedule that showed it; `None` where nothing is scheduled.
    pub schedule: Option<u64>,
    /// The mismatch.
    pub wrong: Wrong,
}

/// A mismatch between an outcome and MPI.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wrong {
    /// The programs did not end, or a definition refused its input.
    Stopped(String),
    /// A call returned something else.
    Returned {
        /// The rank that made the call.
        rank: usize,
        /// The entry among what this rank's calls returned, from 0.
        entry: usize,
        /// The values that MPI allows there: one, or several where the case is racy.
        expected: Vec<Option<Value>>,
        /// The value of the simulator; `None` where its calls had returned nothing more.
        found: Option<Value>,
    },
    /// A definition gives something else.
    Differs {
        /// Which field of the case.
        field: String,
        /// The values that MPI allows there: one, or several where MPI leaves a choice.
        expected: Vec<Option<Value>>,
        /// The value of the simulator; `None` where it gives nothing.
        found: Option<Value>,
    },
}

impl Verdict {
    /// Adds the verdict on another file.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.mismatches.extend(other.mismatches);
        self.followed.extend(other.followed);
    }

    /// Whether a case was judged, and every one passed.
    pub fn is_pass(&self) -> bool {
        self.mismatches.is_empty() && self.judges()
    }

    /// Whether a case passed or failed.
    pub fn judges(&self) -> bool {
        self.passed + self.mismatches.len() > 0
    }

    /// How many cases passed and failed, and on how many libraries differ.
    pub fn counts(&self) -> String {
        let judged = format!("{} passed, {} failed", self.passed, self.mismatches.len());
        match self.followed.len() {
            0 => judged,
            open => format!("{judged}, {open} not judged (libraries differ)"),
        }
    }

    /// A line for each case that has one.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let mismatches = self.mismatches.iter().map(ToString::to_string);
        mismatches.chain(self.followed.iter().map(ToString::to_string))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().try_for_each(|line| writeln!(f, "{line}"))?;
        write!(f, "{}", self.counts())
    }
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = self.libraries.join(" and ");
        let whom = if whom.is_empty() { "no library in all" } else { &whom };
        write!(f, "case {}: libraries differ; the simulator follows {whom}", self.case)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "case {}", self.case)?;
        if let Some(schedule) = self.schedule {
            write!(f, ", schedule {schedule}")?;
        }
        write!(f, ": {}", self.wrong)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(why) => write!(f, "{why}"),
            Self::Returned { rank, entry, expected, found } => {
                write!(f, "rank {rank}, entry {entry}: ")?;
                write_difference(f, expected, found.as_ref())
            }
            Self::Differs { field, expected, found } => {
                write!(f, "`{field}`: ")?;
                write_difference(f, expected, found.as_ref())
            }
        }
    }
}

fn write_difference(
    f: &mut fmt::Formatter<'_>,
    expected: &[Option<Value>],
    found: Option<&Value>,
) -> fmt::Result {
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let expected: Vec<_> = expected.iter().map(|value| text(value.as_ref())).collect();
    write!(f, "{} instead of {}", text(found), expected.join(" or "))
}

/// The verdict on cases, each with what was wrong with it.
impl FromIterator<Option<Mismatch>> for Verdict {
    fn from_iter<T: IntoIterator<Item = Option<Mismatch>>>(cases: T) -> Self {
        let mut verdict = Self::default();
        for mismatch in cases {
            match mismatch {
                Some(mismatch) => verdict.mismatches.push(mismatch),
                None => verdict.passed += 1,
            }
        }
        verdict
    }
}

/// The different values among these, in order.
pub(super) fn distinct(values: impl Iterator<Item = Option<Value>>) -> Vec<Option<Value>> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// The first field in which `found` leaves all the outcomes that agreed with it until then.
pub(super) fn difference(
    outcomes: &[Map<String, Value>],
    found: &Map<String, Value>,
) -> Option<Wrong> {
    let outcomes: Vec<_> = outcomes.iter().map(leaves).collect();
    let found = leaves(found);
    let fields: BTreeSet<_> = outcomes.iter().chain([&found]).flat_map(|it| it.keys()).collect();
    let mut left: Vec<_> = outcomes.iter().collect();
    for field in fields {
        let found = found.get(field);
        let agreeing: Vec<_> =
            left.iter().filter(|outcome| outcome.get(field) == found).copied().collect();
        if agreeing.is_empty() {
            let expected = distinct(left.iter().map(|outcome| outcome.get(field).cloned()));
            return Some(Wrong::Differs { field: field.clone(), expected, found: found.cloned() });
        }
        left = agreeing;
    }
    None
}

/// The fields that hold no further ones, by their path; a list of plain values is one field.
fn leaves(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut leaves = Map::new();
    for (name, value) in fields {
        add_leaves(&mut leaves, name.clone(), value);
    }
    leaves
}

fn add_leaves(leaves: &mut Map<String, Value>, path: String, value: &Value) {
    let further: Vec<(String, &Value)> = match (value.as_object(), value.as_array()) {
        (Some(fields), _) => {
            fields.iter().map(|(name, value)| (format!("{path}.{name}"), value)).collect()
        }
        (_, Some(entries)) if entries.iter().any(|it| it.is_array() || it.is_object()) => {
            let entries = entries.iter().enumerate();
            entries.map(|(index, value)| (format!("{path}[{index}]"), value)).collect()
        }
        _ => Vec::new(),
    };
    if further.is_empty() {
        leaves.insert(path, value.clone());
    }
    for (path, value) in further {
        add_leaves(leaves, path, value);
    }
}
