//! Our own strict JSON reader: a tree in which every value and every key knows its place.
//!
//! Numbers stay as they were written, so that nothing is rounded; keys are unique; the order of
//! members is that of the file. The reader reports as many mistakes at once as it can separate to a
//! `Diagnostics`: a reported value stands in the tree as [`Value::Invalid`], and later readers pass
//! over it in silence.

mod decode;
mod node;
mod number;
mod parser;
mod string;

pub use decode::decode;
pub use decode::recognise;
pub use node::{Member, Node, Value};
pub use number::{Number, NumberError, is_number};
pub use parser::{MAX_DEPTH, MAX_VALUES, parse};
