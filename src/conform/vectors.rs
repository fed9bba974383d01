//! Reading vector files: the head, and then the cases of its family.

use std::path::Path;

use serde::Deserialize;

use experiment::library;
use experiment::shipped::Shipped;
use form::diagnostic::Diagnostics;
use form::json;

use super::error::VectorError;
use super::family::{Head as _, Recorded, Recording};
use super::{
    collectives, communicators, datatypes, loggops, matching, misuse, one_sided, programs,
};

/// The cases of one file.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// The library that was recorded, with its version.
    pub library: String,
    /// The cases in the order of the file.
    pub cases: Cases,
}

/// Cases by family.
#[derive(Clone, Debug)]
pub enum Cases {
    /// Programs and what their calls returned.
    Matching(Vec<matching::Case>),
    /// Groups, communicators and grids made from others.
    Communicators(Vec<communicators::Case>),
    /// Collective operations and what each rank has after them.
    Collectives(Vec<collectives::Case>),
    /// One-sided operations, what they fetched and what their windows hold.
    OneSided(Vec<one_sided::Case>),
    /// One-sided calls in and out of order, and what they returned.
    Misuse(Vec<misuse::Case>),
    /// Datatypes and what they select.
    Datatypes(Vec<datatypes::Case>),
    /// Schedules and when their ranks end.
    LogGops(Vec<loggops::Case>),
    /// Programs of scenarios that expect what a library returned.
    Programs(Vec<programs::Case>),
    /// Datatypes on which libraries differ.
    Disputed(Vec<datatypes::Disputed>),
    /// Programs on which libraries differ.
    DisputedPrograms(Vec<programs::Disputed>),
}

/// The mark by which a file of schedules is recognised.
#[derive(Deserialize)]
struct Tool {
    tool: Option<String>,
}

/// The head of every other vector file.
#[derive(Deserialize)]
struct Head {
    family: String,
    schema: u64,
}

/// A file of one family; all fields of some family are named, so that others are refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are there to be allowed only")]
struct File<C> {
    family: String,
    schema: u64,
    mpi: String,
    /// Another library that was recorded.
    second_opinion: Option<String>,
    seed: u64,
    /// Processes of the recorded job, where the family has one for all cases.
    world: Option<u32>,
    /// The same by another name.
    ranks: Option<u32>,
    /// The modulus of the user-defined operator.
    affine_modulus: Option<u32>,
    /// How the sequences of calls were drawn.
    mode: Option<String>,
    /// The window that they were made on.
    window: Option<String>,
    cases: Vec<C>,
}

impl Cases {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Matching(cases) => cases.len(),
            Self::Communicators(cases) => cases.len(),
            Self::Collectives(cases) => cases.len(),
            Self::OneSided(cases) => cases.len(),
            Self::Misuse(cases) => cases.len(),
            Self::Datatypes(cases) => cases.len(),
            Self::LogGops(cases) => cases.len(),
            Self::Programs(cases) => cases.len(),
            Self::Disputed(cases) => cases.len(),
            Self::DisputedPrograms(cases) => cases.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Vectors {
    /// Reads the file at `path`; `None` after a report of the first thing that is wrong with it.
    pub fn load(diagnostics: &mut Diagnostics, shipped: Shipped, path: &Path) -> Option<Self> {
        let bytes = library::read(diagnostics, shipped, path, library::MAX_BYTES)?;
        let source = json::decode(diagnostics, &path.display().to_string(), &bytes)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let read = Self::read_beside(diagnostics.text(source), folder, shipped);
        let filled =
            read.and_then(
                |read| {
                    if read.cases.is_empty() { Err(VectorError::Empty) } else { Ok(read) }
                },
            );
        filled.map_err(|why| why.report(diagnostics, source)).ok()
    }

    /// Reads a text; the machine of a recorded program is one that ships.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn read(text: &str, shipped: Shipped) -> Result<Self, VectorError> {
        Self::read_beside(text, Path::new("."), shipped)
    }

    /// The same where the file lies in `folder`: schedules are files of their own, beside it.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_beside(text: &str, folder: &Path, shipped: Shipped) -> Result<Self, VectorError> {
        let tool: Tool = serde_json::from_str(text)?;
        if tool.tool.is_some() {
            let (library, cases) = loggops::read(text, folder)?;
            return Ok(Self { library, cases: Cases::LogGops(cases) });
        }
        let head: Head = serde_json::from_str(text)?;
        let read: fn((&str, Shipped)) -> Result<Self, VectorError> = match head.family.as_str() {
            "matching" => |given| of_family::<matching::RawCase>(given, Cases::Matching),
            "communicators" => {
                |given| of_family::<communicators::RawCase>(given, Cases::Communicators)
            }
            "collectives" => |given| of_family::<collectives::RawCase>(given, Cases::Collectives),
            "rma" => |given| of_family::<one_sided::RawCase>(given, Cases::OneSided),
            "rma_misuse" => |given| of_family::<misuse::RawOne>(given, Cases::Misuse),
            "rma_misuse_two" => |given| of_family::<misuse::RawTwo>(given, Cases::Misuse),
            "datatypes" => |given| of_family::<datatypes::RawCase>(given, Cases::Datatypes),
            "datatypes_variance" => {
                |given| of_family::<datatypes::RawDisputed>(given, Cases::Disputed)
            }
            "programs" => |given| of_family::<programs::RawCase>(given, Cases::Programs),
            "programs_variance" => {
                |given| of_family::<programs::RawDisputed>(given, Cases::DisputedPrograms)
            }
            _ => return Err(VectorError::Family(head.family)),
        };
        if head.schema != 1 {
            return Err(VectorError::Schema(head.schema));
        }
        read((text, shipped))
    }
}

fn of_family<R: Recorded>(
    (text, shipped): (&str, Shipped),
    cases: fn(Vec<R::Case>) -> Cases,
) -> Result<Vectors, VectorError> {
    let File { mpi: library, world, ranks, affine_modulus, cases: raw, .. } =
        serde_json::from_str::<File<R>>(text)?;
    let head = R::Head::of(Recording { world, ranks, affine_modulus, shipped })?;
    let checked = raw.into_iter().map(|case| case.checked(&head));
    Ok(Vectors { library, cases: cases(checked.collect::<Result<_, _>>()?) })
}
