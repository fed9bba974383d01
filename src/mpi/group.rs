//! Groups: ordered sets of processes, with both directions of the translation in constant time.
//!
//! Processes are numbered over the whole job, as in [`super::observation`].

mod algebra;
mod members;
mod split;

pub use algebra::{Comparison, Range, SelectionError, Translation};
pub use members::{Group, RepeatedProcess};
pub use split::{Choice, Part, SplitError};
