//! Explorations: a job under every order of events, or many. The commands `explore` and `replay` use them.
//!
//! ```text
//!   registry | scenario ─▶ Subject ─ strategy ─▶ Explored ─ shrink ─▶ Failed: words, Token
//!   Token ─▶ Subject ─▶ Replayed: the same words
//! ```
//!
//! A [`Subject`] is a job of any library and any programs before its first step. The [`registry`] builds one
//! from a name and a [`Size`], [`scenario`] from a point of a plan.

pub mod drawing;
mod options;
mod planted;
pub mod registry;
pub mod report;
pub mod scenario;
mod script;
mod strategy;
pub mod subject;
pub mod token;

pub use options::{MOST_OPS, MayFail, Options, Size, Strategy};
pub use planted::Planted;
pub use report::{Explored, Failed, Replayed, Stopped, StoryStep};
pub use strategy::smallest;
pub use subject::{Start, Subject};
pub use token::{Token, TokenError};
