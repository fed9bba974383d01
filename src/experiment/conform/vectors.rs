//! Reading vector files: the head, and then the cases of its family.

use std::path::Path;

use serde::Deserialize;

use crate::library;
use form::diagnostic::Diagnostics;
use form::json;

use super::{collectives, communicators, datatypes, loggops, matching, misuse, one_sided};
use workloads::program::ProgramError;

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
    /// Datatypes on which libraries differ.
    Disputed(Vec<datatypes::Disputed>),
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// It is not JSON, or not of this form; the position is in the text.
    #[error("{0}")]
    Form(#[from] serde_json::Error),
    /// It holds another family of vectors.
    #[error(
        "family `{0}` is not known; `matching`, `communicators`, `collectives`, `rma`, \
         `rma_misuse`, `rma_misuse_two`, `datatypes` and `datatypes_variance` are"
    )]
    Family(String),
    /// It has another schema.
    #[error("schema {0} is not known; 1 is")]
    Schema(u64),
    /// It has no case.
    #[error("the file holds no case")]
    Empty,
    /// The size of the recorded job is missing or too large.
    #[error(
        "`world` is {}; a number of processes up to {} is needed",
        found.map_or_else(|| "missing".to_owned(), |found| found.to_string()),
        communicators::WORLD_MAX
    )]
    World {
        /// What is there.
        found: Option<u32>,
    },
    /// The number of ranks, or the modulus of the user's operator, is missing or too large.
    #[error(
        "`ranks` and `affine_modulus` are needed: numbers from 1, the ranks up to {}",
        collectives::RANKS_MAX
    )]
    Ranks,
    /// An operation is not as it should be.
    #[error("case {case}, rank {rank}, operation {op}: {problem}")]
    Op {
        /// The case's `id`.
        case: u64,
        /// The rank.
        rank: usize,
        /// Number of the operation in its rank's list, from 0.
        op: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The program of a case is wrong.
    #[error("case {case}, {first}")]
    Program {
        /// The case's `id`.
        case: u64,
        /// The first error.
        first: ProgramError,
    },
    /// A case does not fit together.
    #[error("case {case}: {problem}")]
    Case {
        /// The case's `id`.
        case: u64,
        /// What is wrong with it.
        problem: String,
    },
}

/// What tells a file of schedules from all others.
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
    /// Another library that was asked.
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

impl VectorError {
    /// A case that says nothing that could be wrong.
    pub(super) fn nothing(case: u64) -> Self {
        let problem = "nothing is tested: it has no call, or no outcome".to_owned();
        Self::Case { case, problem }
    }
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
            Self::Disputed(cases) => cases.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Vectors {
    /// Reads the file at `path`; `None` after a report of the first thing that is wrong with it.
    pub fn load(diagnostics: &mut Diagnostics, path: &Path) -> Option<Self> {
        let bytes = library::read(diagnostics, path, library::MAX_BYTES)?;
        let source = json::decode(diagnostics, &path.display().to_string(), &bytes)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let read = Self::read_beside(diagnostics.text(source), folder);
        let filled =
            read.and_then(
                |read| {
                    if read.cases.is_empty() { Err(VectorError::Empty) } else { Ok(read) }
                },
            );
        filled.map_err(|why| why.report(diagnostics, source)).ok()
    }

    /// Reads a text.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn read(text: &str) -> Result<Self, VectorError> {
        Self::read_beside(text, Path::new("."))
    }

    /// The same where the file lies in `folder`: schedules are files of their own, beside it.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_beside(text: &str, folder: &Path) -> Result<Self, VectorError> {
        let tool: Tool = serde_json::from_str(text)?;
        if tool.tool.is_some() {
            let (library, cases) = loggops::read(text, folder)?;
            return Ok(Self { library, cases: Cases::LogGops(cases) });
        }
        let head: Head = serde_json::from_str(text)?;
        let read = match head.family.as_str() {
            "matching" => matching_cases,
            "communicators" => communicator_cases,
            "collectives" => collective_cases,
            "rma" => one_sided_cases,
            "rma_misuse" => misuse_cases_of_one,
            "rma_misuse_two" => misuse_cases_of_two,
            "datatypes" => datatype_cases,
            "datatypes_variance" => disputed_cases,
            _ => return Err(VectorError::Family(head.family)),
        };
        if head.schema != 1 {
            return Err(VectorError::Schema(head.schema));
        }
        read(text)
    }
}

fn matching_cases(text: &str) -> Result<Vectors, VectorError> {
    let file: File<matching::RawCase> = serde_json::from_str(text)?;
    let cases = file.cases.into_iter().map(matching::RawCase::checked);
    Ok(Vectors { library: file.mpi, cases: Cases::Matching(cases.collect::<Result<_, _>>()?) })
}

fn communicator_cases(text: &str) -> Result<Vectors, VectorError> {
    let file: File<communicators::RawCase> = serde_json::from_str(text)?;
    let world = file.world.filter(|world| *world <= communicators::WORLD_MAX);
    let world = world.ok_or(VectorError::World { found: file.world })?;
    let cases = file.cases.into_iter().map(|case| case.checked(world));
    Ok(Vectors { library: file.mpi, cases: Cases::Communicators(cases.collect::<Result<_, _>>()?) })
}

fn collective_cases(text: &str) -> Result<Vectors, VectorError> {
    let file: File<collectives::RawCase> = serde_json::from_str(text)?;
    let ranks = file.ranks.filter(|ranks| (1..=collectives::RANKS_MAX).contains(ranks));
    let modulus = file.affine_modulus.filter(|modulus| *modulus > 0);
    let (ranks, modulus) = ranks.zip(modulus).ok_or(VectorError::Ranks)?;
    let cases = file.cases.into_iter().map(|case| case.checked(ranks, modulus));
    Ok(Vectors { library: file.mpi, cases: Cases::Collectives(cases.collect::<Result<_, _>>()?) })
}

fn one_sided_cases(text: &str) -> Result<Vectors, VectorError> {
    let file: File<one_sided::RawCase> = serde_json::from_str(text)?;
    let cases = file.cases.into_iter().map(one_sided::RawCase::checked);
    Ok(Vectors { library: file.mpi, cases: Cases::OneSided(cases.collect::<Result<_, _>>()?) })
}

fn misuse_cases_of_one(text: &str) -> Result<Vectors, VectorError> {
    let file: File<misuse::RawOne> = serde_json::from_str(text)?;
    let cases = file.cases.into_iter().map(misuse::RawOne::checked);
    Ok(Vectors { library: file.mpi, cases: Cases::Misuse(cases.collect::<Result<_, _>>()?) })
}

fn misuse_cases_of_two(text: &str) -> Result<Vectors, VectorError> {
    let file: File<misuse::RawTwo> = serde_json::from_str(text)?;
    let cases = file.cases.into_iter().map(misuse::RawTwo::checked);
    Ok(Vectors { library: file.mpi, cases: Cases::Misuse(cases.collect::<Result<_, _>>()?) })
}

fn datatype_cases(text: &str) -> Result<Vectors, VectorError> {
    let file: File<datatypes::RawCase> = serde_json::from_str(text)?;
    let cases = file.cases.into_iter().map(datatypes::RawCase::checked);
    Ok(Vectors { library: file.mpi, cases: Cases::Datatypes(cases.collect::<Result<_, _>>()?) })
}

fn disputed_cases(text: &str) -> Result<Vectors, VectorError> {
    let file: File<datatypes::RawDisputed> = serde_json::from_str(text)?;
    let cases = file.cases.into_iter().map(datatypes::RawDisputed::checked);
    Ok(Vectors { library: file.mpi, cases: Cases::Disputed(cases.collect::<Result<_, _>>()?) })
}
