//! Reading cases: what was recorded, checked and turned into programs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::calls::{Calls, Problem};
use crate::error::VectorError;
use crate::family::Recorded;
use language::program::{Does, Programs, Step};
use mpi::envelope::Rank;
use protocols::call::{Buffer, Comm, Peer};

/// One recorded program.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// How firm its outcome is.
    pub class: Class,
    /// The operations of the ranks. The line of an operation is its number in its rank's list, from
    /// 1.
    pub programs: Programs,
    /// Every message that is sent.
    pub sent: Vec<Sent>,
    /// The returns that MPI allows, `[outcome][rank][entry]`.
    pub outcomes: Vec<Vec<Vec<Value>>>,
}

/// Whether MPI leaves a choice.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// One outcome under every schedule.
    Strict,
    /// Several outcomes are allowed.
    Racy,
}

/// A message of a case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sent {
    /// Its name in the vectors.
    pub msg: u64,
    /// The sending rank of `MPI_COMM_WORLD`.
    pub rank: usize,
    /// The send buffer.
    pub buffer: u32,
    /// Its length.
    pub bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "all fields of the file are named, so that others are refused")]
pub(crate) struct RawCase {
    id: u64,
    class: Class,
    phases: Vec<String>,
    ranks: usize,
    program: Vec<Vec<RawOp>>,
    observed: Option<Vec<Vec<Value>>>,
    allowed: Option<Vec<Vec<Vec<Value>>>>,
    observed_distinct: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOp {
    pub(super) op: String,
    req: Option<String>,
    reqs: Option<Vec<String>>,
    handle: Option<String>,
    src: Option<Value>,
    dst: Option<Value>,
    tag: Option<Value>,
    comm: Option<u16>,
    msg: Option<u64>,
    bytes: Option<u64>,
    max: Option<u64>,
}

impl Recorded for RawCase {
    type Case = Case;
    type Head = ();

    fn checked(self, (): &()) -> Result<Case, VectorError> {
        if self.program.len() != self.ranks {
            return Err(self.wrong("`program` needs one list for each of `ranks`"));
        }
        let mut sent = Vec::new();
        let ranks = (0..self.ranks).map(|rank| self.steps(rank, &mut sent));
        let ranks = ranks.collect::<Result<Vec<Arc<[Step]>>, _>>()?;
        if ranks.iter().all(|steps| steps.is_empty()) {
            return Err(VectorError::nothing(self.id));
        }
        let programs = Programs::checked(ranks);
        let (id, class) = (self.id, self.class);
        let outcomes = self.outcomes()?;
        Ok(Case { id, class, programs, sent, outcomes })
    }
}

impl RawCase {
    fn wrong(&self, problem: &str) -> VectorError {
        VectorError::Case { case: self.id, problem: problem.to_owned() }
    }

    /// The steps of one rank; the messages that it sends join `sent`.
    fn steps(&self, rank: usize, sent: &mut Vec<Sent>) -> Result<Arc<[Step]>, VectorError> {
        let mut calls = Calls::new(u32::try_from(self.ranks).unwrap_or(u32::MAX));
        let mut steps = Vec::with_capacity(self.program[rank].len());
        for ((op, raw), line) in self.program[rank].iter().enumerate().zip(1..) {
            let call = calls.next(raw).map_err(|(key, problem)| {
                let key = key.map_or(String::new(), |key| format!(", `{key}`"));
                VectorError::Op { case: self.id, rank, op, key, problem }
            })?;
            if let (Some(msg), Some(Buffer { id, bytes })) = (raw.msg, call.buffer()) {
                sent.push(Sent { msg, rank, buffer: id, bytes });
            }
            steps.push(Step::new(line, Does::Call(call)));
        }
        Ok(steps.into())
    }

    fn outcomes(self) -> Result<Vec<Vec<Vec<Value>>>, VectorError> {
        let (case, ranks) = (self.id, self.ranks);
        let wrong = |problem: &str| VectorError::Case { case, problem: problem.to_owned() };
        let outcomes = match (self.class, self.observed, self.allowed) {
            (Class::Strict, Some(observed), None) => vec![observed],
            (Class::Racy, None, Some(allowed)) => allowed,
            _ => return Err(wrong("a strict case has `observed`, a racy one `allowed`")),
        };
        if outcomes.is_empty() || outcomes.iter().any(|outcome| outcome.len() != ranks) {
            return Err(wrong("an outcome needs one list for each of `ranks`"));
        }
        Ok(outcomes)
    }
}

/// The arguments of an operation.
impl RawOp {
    fn need<T>(&self, key: &str, value: Option<T>) -> Result<T, Problem> {
        value.ok_or_else(|| (None, format!("`{}` needs `{key}`", self.op)))
    }

    pub(super) fn req(&self) -> Result<&str, Problem> {
        self.need("req", self.req.as_deref())
    }

    pub(super) fn reqs(&self) -> Result<&[String], Problem> {
        self.need("reqs", self.reqs.as_deref())
    }

    pub(super) fn handle(&self) -> Result<&str, Problem> {
        self.need("handle", self.handle.as_deref())
    }

    pub(super) fn comm(&self) -> Result<Comm, Problem> {
        self.need("comm", self.comm).map(Comm)
    }

    /// Bytes of a message, which has a number.
    pub(super) fn sent(&self) -> Result<u64, Problem> {
        self.need("msg", self.msg)?;
        self.need("bytes", self.bytes)
    }

    /// Room of a receive.
    pub(super) fn max(&self) -> Result<u64, Problem> {
        self.need("max", self.max)
    }

    pub(super) fn src(&self) -> Result<Peer, Problem> {
        self.peer("src", self.src.as_ref())
    }

    pub(super) fn dst(&self) -> Result<Peer, Problem> {
        self.peer("dst", self.dst.as_ref())
    }

    fn peer(&self, key: &str, value: Option<&Value>) -> Result<Peer, Problem> {
        let value = self.need(key, value)?;
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match (value.as_str(), number) {
            (Some("any"), _) => Ok(Peer::Any),
            (Some("proc_null"), _) => Ok(Peer::Null),
            (_, Some(rank)) => Ok(Peer::Rank(Rank(rank))),
            _ => Err((None, format!("`{key}` is {value}; a rank, `any` or `proc_null` is needed"))),
        }
    }

    /// The tag; `None` is `MPI_ANY_TAG`.
    pub(super) fn any_tag(&self) -> Result<Option<i32>, Problem> {
        let value = self.need("tag", self.tag.as_ref())?;
        let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
        match (value.as_str(), number) {
            (Some("any"), _) => Ok(None),
            (_, Some(tag)) => Ok(Some(tag)),
            _ => Err((None, format!("`tag` is {value}; a number or `any` is needed"))),
        }
    }
}
