//! The calls of each family of functions, with their arguments: made of the table of functions.

#![allow(non_camel_case_types, reason = "as MPI names them")]
#![allow(dead_code, reason = "calls have arguments that the simulator does not need")]

#[allow(clippy::wildcard_imports, reason = "the functions with arguments are hundreds")]
use super::args::*;

/// The calls of a family: a variant for each function, with its arguments.
macro_rules! calls {
    ($family:ident $file:literal $($name:ident $(($kind:ty))?),*) => {
        #[doc = concat!("A call that `calls/", $file, ".rs` answers.")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum $family {
            $($name $(($kind))?,)*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));
