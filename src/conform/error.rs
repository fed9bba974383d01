//! What can be wrong with a file of vectors.

/// The largest recorded job of groups and communicators that is read.
pub(super) const WORLD_MAX: u32 = 4096;
/// The largest recorded job of collective operations that is read.
pub(super) const RANKS_MAX: u32 = 256;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// It is not JSON, or not of this form; the position is in the text.
    #[error("{0}")]
    Form(#[from] serde_json::Error),
    /// It holds another family of vectors.
    #[error(
        "family `{0}` is not known; `matching`, `communicators`, `collectives`, `rma`, \
         `rma_misuse`, `rma_misuse_two`, `datatypes`, `datatypes_variance`, \
         `programs` and `programs_variance` are"
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
        WORLD_MAX
    )]
    World {
        /// The number of processes in the file.
        found: Option<u32>,
    },
    /// The number of ranks, or the modulus of the user's operator, is missing or too large.
    #[error(
        "`ranks` and `affine_modulus` are needed: numbers from 1, the ranks up to {}",
        RANKS_MAX
    )]
    Ranks,
    /// An operation is not as it should be.
    #[error("case {case}, rank {rank}, operation {op}{key}: {problem}")]
    Op {
        /// The case's `id`.
        case: u64,
        /// The rank.
        rank: usize,
        /// Number of the operation in its rank's list, from 0.
        op: usize,
        /// The key that is wrong, as it stands in the text; empty where none alone is.
        key: String,
        /// The mistake, in words.
        problem: String,
    },
    /// A case does not fit together.
    #[error("case {case}: {problem}")]
    Case {
        /// The case's `id`.
        case: u64,
        /// The mistake, in words.
        problem: String,
    },
}

impl VectorError {
    /// A case that says nothing that could be wrong.
    pub(super) fn nothing(case: u64) -> Self {
        let problem = "nothing is tested: it has no call, or no outcome".to_owned();
        Self::Case { case, problem }
    }
}
