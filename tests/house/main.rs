//! Rules of the house that no compiler knows.

#[path = "../common/malformed.rs"]
mod malformed;

mod architecture;
mod claims;
mod constants;
mod counts;
mod expectations;
mod families;
mod guide;
mod links;
mod notebooks;
mod prose;
mod published;
mod rows;
mod sources;
mod verdicts;
mod words;
