//! Reading cases: what was recorded, checked and turned into programs.

use serde::Deserialize;
use serde_json::Value;

use crate::error::VectorError;
use crate::family::Recorded;
use mpi::envelope::Rank;
use protocols::call::{Comm, Peer, SendMode};
use workloads::program::{Op, OpKind, Programs};

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
struct RawOp {
    op: String,
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
        let ops = self.ops()?;
        if ops.iter().all(Vec::is_empty) {
            return Err(VectorError::nothing(self.id));
        }
        let programs = Programs::new(&ops).map_err(|errors| VectorError::Program {
            case: self.id,
            first: errors.into_iter().next().expect("a refused program has an error"),
        })?;
        let sent = self.sent(&programs);
        let (id, class) = (self.id, self.class);
        let outcomes = self.outcomes()?;
        Ok(Case { id, class, programs, sent, outcomes })
    }
}

impl RawCase {
    fn wrong(&self, problem: &str) -> VectorError {
        VectorError::Case { case: self.id, problem: problem.to_owned() }
    }

    fn ops(&self) -> Result<Vec<Vec<Op>>, VectorError> {
        if self.program.len() != self.ranks {
            return Err(self.wrong("`program` needs one list for each of `ranks`"));
        }
        let rank_ops = |(rank, raw): (usize, &Vec<RawOp>)| {
            let numbered = raw.iter().enumerate().zip(1..);
            numbered
                .map(|((op, raw), line)| match raw.kind() {
                    Ok(kind) => Ok(Op { line, kind }),
                    Err(problem) => Err(VectorError::Op { case: self.id, rank, op, problem }),
                })
                .collect()
        };
        self.program.iter().enumerate().map(rank_ops).collect()
    }

    fn sent(&self, programs: &Programs) -> Vec<Sent> {
        let mut sent = Vec::new();
        for (rank, ops) in self.program.iter().enumerate() {
            for (op, raw) in ops.iter().enumerate() {
                if let (Some(msg), Some(buffer)) = (raw.msg, programs.buffer(rank, op)) {
                    sent.push(Sent { msg, rank, buffer: buffer.id, bytes: buffer.bytes });
                }
            }
        }
        sent
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

/// A mistake in the file, in words.
type Problem = String;

impl RawOp {
    fn kind(&self) -> Result<OpKind, Problem> {
        let (src, tag, comm) =
            (|| self.peer("src", self.src.as_ref()), || self.any_tag(), || self.comm());
        Ok(match self.op.as_str() {
            "isend" => self.isend(SendMode::Standard)?,
            "issend" => self.isend(SendMode::Synchronous)?,
            "irecv" => {
                let (req, bytes) = (self.req()?, self.need("max", self.max)?);
                OpKind::Irecv { req, src: src()?, tag: tag()?, comm: comm()?, bytes }
            }
            "recv" => {
                let bytes = self.need("max", self.max)?;
                OpKind::Recv { src: src()?, tag: tag()?, comm: comm()?, bytes }
            }
            "probe" => OpKind::Probe { src: src()?, tag: tag()?, comm: comm()? },
            "iprobe" => OpKind::Iprobe { src: src()?, tag: tag()?, comm: comm()? },
            "mprobe" => {
                OpKind::Mprobe { handle: self.handle()?, src: src()?, tag: tag()?, comm: comm()? }
            }
            "improbe" => {
                OpKind::Improbe { handle: self.handle()?, src: src()?, tag: tag()?, comm: comm()? }
            }
            "mrecv" => OpKind::Mrecv { handle: self.handle()?, bytes: self.need("max", self.max)? },
            "imrecv" => {
                let (handle, req) = (self.handle()?, self.req()?);
                OpKind::Imrecv { handle, req, bytes: self.need("max", self.max)? }
            }
            "wait" => OpKind::Wait { req: self.req()? },
            "test" => OpKind::Test { req: self.req()? },
            "cancel" => OpKind::Cancel { req: self.req()? },
            "waitall" => OpKind::WaitAll { reqs: self.reqs()? },
            "waitany" => OpKind::WaitAny { reqs: self.reqs()? },
            "testall" => OpKind::TestAll { reqs: self.reqs()? },
            "barrier" => OpKind::Barrier { comm: Comm(0) },
            other => return Err(format!("operation `{other}` is not known")),
        })
    }

    fn isend(&self, mode: SendMode) -> Result<OpKind, Problem> {
        self.need("msg", self.msg)?;
        let tag = self.any_tag()?.ok_or("a send needs a `tag`, not `any`")?;
        let (req, to, bytes) =
            (self.req()?, self.peer("dst", self.dst.as_ref())?, self.need("bytes", self.bytes)?);
        Ok(OpKind::Isend { req, to, tag, comm: self.comm()?, bytes, mode })
    }

    fn need<T>(&self, field: &str, value: Option<T>) -> Result<T, Problem> {
        value.ok_or_else(|| format!("`{}` needs `{field}`", self.op))
    }

    fn req(&self) -> Result<String, Problem> {
        self.need("req", self.req.clone())
    }

    fn reqs(&self) -> Result<Vec<String>, Problem> {
        self.need("reqs", self.reqs.clone())
    }

    fn handle(&self) -> Result<String, Problem> {
        self.need("handle", self.handle.clone())
    }

    fn comm(&self) -> Result<Comm, Problem> {
        self.need("comm", self.comm).map(Comm)
    }

    fn peer(&self, field: &str, value: Option<&Value>) -> Result<Peer, Problem> {
        let value = self.need(field, value)?;
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match (value.as_str(), number) {
            (Some("any"), _) => Ok(Peer::Any),
            (Some("proc_null"), _) => Ok(Peer::Null),
            (_, Some(rank)) => Ok(Peer::Rank(Rank(rank))),
            _ => Err(format!("`{field}` is {value}; a rank, `any` or `proc_null` is needed")),
        }
    }

    fn any_tag(&self) -> Result<Option<i32>, Problem> {
        let value = self.need("tag", self.tag.as_ref())?;
        let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
        match (value.as_str(), number) {
            (Some("any"), _) => Ok(None),
            (_, Some(tag)) => Ok(Some(tag)),
            _ => Err(format!("`tag` is {value}; a number or `any` is needed")),
        }
    }
}
