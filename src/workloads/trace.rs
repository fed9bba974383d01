//! A trace in a file, as workloads and commands see it whatever its format is.

use std::any::Any;
use std::fmt::Debug;
use std::io::BufRead;
use std::sync::Arc;

use form::codes::{self, Code};
use runtime::loggops::schedule::Schedule;

/// The actions of all ranks, as its format keeps them.
pub trait Trace: Any + Debug + Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Number of operations of all ranks.
    fn operations(&self) -> usize;

    /// The schedule that it is, which can be replayed without a machine.
    fn schedule(&self) -> Option<&Schedule> {
        None
    }

    /// Why no machine can replay it, where messages have at most so many bytes.
    fn unfit(&self, _longest_message: u64) -> Option<Unfit> {
        None
    }
}

impl dyn Trace {
    /// The trace as one of type `T`, where it is one.
    pub fn downcast_ref<T: Trace>(&self) -> Option<&T> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

/// An operation that no machine can do.
#[derive(Clone, Debug)]
pub struct Unfit {
    /// Its line, from 1.
    pub line: u32,
    /// Why.
    pub found: String,
    /// The operations that a machine can do.
    pub allowed: &'static str,
    /// The remedy.
    pub help: &'static str,
    /// The code of the report.
    pub code: Code,
}

/// A trace that was read.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The actions of its ranks.
    pub trace: Arc<dyn Trace>,
    /// Hash of its text: 32 hexadecimal digits.
    pub digest: String,
}

/// Where the text of a trace comes from.
pub trait Source {
    /// The text of the file.
    fn text(&mut self) -> &mut dyn BufRead;

    /// The text of another file that it names; `None` after a report.
    fn named(&mut self, name: &str) -> Option<Box<dyn BufRead>>;
}

/// The beginning of a file, and of the files that it may name.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The first bytes, without a byte-order mark.
    pub bytes: &'a [u8],
    /// The first bytes of a file that it names, where there is one.
    pub named: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// A mistake in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReadError {
    /// Which kind of mistake.
    pub fault: Fault,
    /// The file, where it is not the one that was given.
    pub file: Option<String>,
    /// Line, from 1; 0 for the text as a whole.
    pub line: u32,
    /// The bytes of the line that are meant, from 0.
    pub bytes: (usize, usize),
    /// The line.
    pub text: String,
    /// The text that was found.
    pub found: String,
    /// The allowed ones, in words.
    pub allowed: String,
    /// The words that are allowed there.
    pub words: &'static [&'static str],
}

/// Kinds of mistakes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// Another word was expected.
    Form,
    /// The format has such an action, and it is not read.
    Action,
    /// A number is out of range.
    Number,
    /// There is no such rank.
    Rank,
    /// The part of a rank is missing, or there twice.
    Block,
    /// A label is not known, or there twice.
    Label,
    /// A wildcard in a send.
    Wildcard,
    /// A request is not open.
    Request,
    /// Operations wait for each other in a circle.
    Circle,
    /// The text ends inside a block or a comment.
    Unclosed,
    /// The text is empty.
    Empty,
    /// There are more operations than can be kept.
    TooMany,
    /// The operating system refused to read.
    Io,
}

impl Fault {
    /// The code of its report, in a format whose own mistakes have the code `form`.
    pub fn code(self, form: Code) -> Code {
        match self {
            Self::Form => form,
            Self::Action => &codes::TRACE_ACTION,
            Self::Number => &codes::RANGE,
            Self::Rank => &codes::RANK,
            Self::Block => &codes::GOAL_BLOCK,
            Self::Label => &codes::GOAL_LABEL,
            Self::Wildcard => &codes::WILDCARD,
            Self::Request => &codes::REQUEST,
            Self::Circle => &codes::GOAL_CIRCLE,
            Self::Unclosed => &codes::UNCLOSED,
            Self::Empty => &codes::EMPTY,
            Self::TooMany => &codes::TOO_LARGE,
            Self::Io => &codes::IO,
        }
    }
}
