//! Reading cases: what was recorded, checked and turned into calls.

use serde::Deserialize;

use super::{Case, Element, Taking};
use crate::error::{RANKS_MAX, VectorError};
use crate::family::{Head, Recorded, Recording};
use collectives::{Block, Blocks, Collective};
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use protocols::call::Comm;
use protocols::contract::{Region, Space};

/// A mistake in the file, in words.
type Problem = String;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCase {
    id: u64,
    ranks: u32,
    op: String,
    #[serde(rename = "type")]
    element: Element,
    count: u64,
    root: Option<u32>,
    reduce_op: Option<String>,
    input: Option<Vec<i64>>,
    inputs: Option<Vec<Vec<i64>>>,
    counts: Option<Vec<u64>>,
    displs: Option<Vec<u64>>,
    send_counts: Option<Vec<Vec<u64>>>,
    recv_elements: Option<u64>,
    recv_fill: Option<i64>,
    result: Vec<Option<Vec<i64>>>,
}

/// The recorded job, and the modulus of its own operator.
pub(crate) struct Job {
    ranks: u32,
    modulus: u32,
}

impl Head for Job {
    fn of(recording: Recording) -> Result<Self, VectorError> {
        let ranks = recording.ranks.filter(|ranks| (1..=RANKS_MAX).contains(ranks));
        let modulus = recording.affine_modulus.filter(|modulus| *modulus > 0);
        let (ranks, modulus) = ranks.zip(modulus).ok_or(VectorError::Ranks)?;
        Ok(Self { ranks, modulus })
    }
}

impl Recorded for RawCase {
    type Case = Case;
    type Head = Job;

    fn checked(self, &Job { ranks, modulus }: &Job) -> Result<Case, VectorError> {
        let id = self.id;
        let case = self.case(ranks, modulus);
        let case = case.map_err(|problem| VectorError::Case { case: id, problem })?;
        let tests = case.ranks.iter().any(|taking| taking.result.is_some());
        if tests { Ok(case) } else { Err(VectorError::nothing(id)) }
    }
}

impl RawCase {
    fn case(self, ranks: u32, modulus: u32) -> Result<Case, Problem> {
        if self.ranks != ranks {
            return Err(format!("`ranks` is {}, that of the file is {ranks}", self.ranks));
        }
        if self.result.len() != ranks as usize {
            return Err("`result` needs one entry for each rank".to_owned());
        }
        let inputs = self.gives()?;
        let shape = self.shape(modulus, &inputs)?;
        let takes = (0..ranks).map(|rank| self.taking(rank, &shape, &inputs[rank as usize]));
        let takes = takes.collect::<Result<_, _>>()?;
        Ok(Case { id: self.id, element: self.element, ranks: takes })
    }

    fn taking(&self, rank: u32, shape: &Shape, input: &[u8]) -> Result<Taking, Problem> {
        let room = self.room(rank, shape)?;
        let result = self.result[rank as usize].as_deref();
        let result = result.map(|numbers| self.bytes(numbers)).transpose()?;
        if result.as_ref().is_some_and(|result| result.len() != room.len()) {
            return Err(format!("`result[{rank}]` is not as long as the result buffer"));
        }
        let region = |space, bytes: &[u8]| Region::new(Space::User(space), bytes.len() as u64);
        let call = self.call(rank, shape, region(0, input), region(1, &room))?;
        if result.is_none() && self.defines(rank) {
            return Err(format!(
                "`result[{rank}]` is missing: rank {rank} of `{}` has one",
                self.op
            ));
        }
        // What a broadcast sends lies where the others receive.
        let gives = self.root == Some(rank) && self.op == "bcast";
        let output = if gives { input.to_vec() } else { room };
        Ok(Taking { call, input: input.to_vec(), output, result })
    }

    /// Whether MPI defines what a rank has after the call.
    fn defines(&self, rank: u32) -> bool {
        match self.op.as_str() {
            "gather" | "gatherv" | "reduce" => self.root == Some(rank),
            "exscan" => rank > 0,
            _ => true,
        }
    }

    fn need<T>(&self, field: &str, value: Option<T>) -> Result<T, Problem> {
        value.ok_or_else(|| format!("`{}` needs `{field}`", self.op))
    }

    fn root(&self) -> Result<u32, Problem> {
        let root = self.need("root", self.root)?;
        let fits = root < self.ranks;
        if fits { Ok(root) } else { Err(format!("`root` is {root} of {} ranks", self.ranks)) }
    }

    fn bytes(&self, numbers: &[i64]) -> Result<Vec<u8>, Problem> {
        self.element.bytes(numbers).ok_or_else(|| "a number does not fit its type".to_owned())
    }

    /// The input of every rank.
    fn gives(&self) -> Result<Vec<Vec<u8>>, Problem> {
        if let Some(inputs) = &self.inputs {
            if inputs.len() != self.ranks as usize {
                return Err("`inputs` needs one list for each rank".to_owned());
            }
            return inputs.iter().map(|numbers| self.bytes(numbers)).collect();
        }
        let input = self.bytes(self.need("input", self.input.as_ref())?)?;
        let root = self.root()?;
        Ok((0..self.ranks).map(|rank| if rank == root { input.clone() } else { vec![] }).collect())
    }

    fn reduction(&self, modulus: u32) -> Result<Option<Reduction>, Problem> {
        let Some(name) = &self.reduce_op else { return Ok(None) };
        let operator = Operator::ALL.into_iter().find(|operator| operator.name() == name);
        let operator = operator.ok_or_else(|| format!("operator `{name}` is not known"))?;
        let affine = matches!(operator, Operator::Affine { .. });
        let operator = if affine { Operator::Affine { modulus } } else { operator };
        let datatype = match (operator, self.element) {
            (Operator::MaxLoc | Operator::MinLoc, Element::Int32) => Datatype::Int32Pair,
            (Operator::Affine { .. }, Element::Int64) => Datatype::Int64Pair,
            (_, Element::Int32) => Datatype::Int32,
            (_, Element::Int64) => Datatype::Int64,
        };
        let reduction = Reduction::new(operator, datatype);
        Ok(Some(reduction.ok_or_else(|| format!("`{name}` is not defined on these elements"))?))
    }

    /// The values on which all ranks agree.
    fn shape(&self, modulus: u32, inputs: &[Vec<u8>]) -> Result<Shape, Problem> {
        let reduction = self.reduction(modulus)?;
        let plain = self.element.width() as u64;
        let width = reduction.map_or(plain, |reduction| reduction.datatype().width());
        let blocks = match (&self.counts, &self.displs) {
            (None, _) => Blocks::Equal(times(self.count, width)?),
            (Some(counts), displs) => {
                let lens = counts.iter().map(|count| times(*count, width));
                let lens: Vec<u64> = lens.collect::<Result<_, _>>()?;
                let packed = Blocks::packed(&lens);
                match displs {
                    None => packed,
                    Some(displs) if displs.len() == lens.len() => {
                        let blocks = displs.iter().zip(&lens).map(|(displ, len)| {
                            Ok(Block { offset: times(*displ, width)?, len: *len })
                        });
                        Blocks::List(blocks.collect::<Result<_, Problem>>()?)
                    }
                    Some(_) => return Err("`displs` and `counts` differ in length".to_owned()),
                }
            }
        };
        if self.counts.as_ref().is_some_and(|counts| counts.len() != self.ranks as usize) {
            return Err("`counts` needs one entry for each rank".to_owned());
        }
        let shape = Shape { reduction, blocks };
        self.check_inputs(&shape, inputs)?;
        Ok(shape)
    }

    /// Every input has what its rank gives.
    fn check_inputs(&self, shape: &Shape, inputs: &[Vec<u8>]) -> Result<(), Problem> {
        let extent = shape.blocks.extent(self.ranks);
        for (rank, input) in (0..).zip(inputs) {
            let len = input.len() as u64;
            let fits = match self.op.as_str() {
                "scatter" | "scatterv" => self.root != Some(rank) || len >= extent,
                "gatherv" | "allgatherv" => len == shape.blocks.at(rank).len,
                "reduce_scatter" | "reduce_scatter_block" | "alltoall" => len == extent,
                "alltoallv" => len == self.lists(rank, true)?.extent(self.ranks),
                "bcast" => true,
                _ => len == shape.blocks.at(0).len,
            };
            if !fits {
                return Err(format!("the input of rank {rank} has not as many elements as needed"));
            }
        }
        Ok(())
    }

    /// The blocks that a rank sends in `alltoallv`, or receives.
    fn lists(&self, rank: u32, sends: bool) -> Result<Blocks, Problem> {
        let counts = self.need("send_counts", self.send_counts.as_ref())?;
        let square = counts.len() == self.ranks as usize
            && counts.iter().all(|row| row.len() == self.ranks as usize);
        if !square {
            return Err("`send_counts` needs a number for each pair of ranks".to_owned());
        }
        let (rank, width) = (rank as usize, self.element.width() as u64);
        let own: Vec<u64> =
            if sends { counts[rank].clone() } else { counts.iter().map(|row| row[rank]).collect() };
        let lens: Vec<u64> =
            own.into_iter().map(|count| times(count, width)).collect::<Result<_, _>>()?;
        Ok(Blocks::packed(&lens))
    }

    /// The result buffer of a rank before the call.
    fn room(&self, rank: u32, shape: &Shape) -> Result<Vec<u8>, Problem> {
        let received = self.received(rank, shape)?;
        let Some(elements) = self.recv_elements else {
            let len = usize::try_from(received).ok().filter(|len| *len <= 1 << 24);
            return Ok(vec![0; len.ok_or("the result is too large")?]);
        };
        let elements = usize::try_from(elements).ok().filter(|elements| *elements <= 1 << 20);
        let elements = elements.ok_or("`recv_elements` is too large")?;
        let room = self.bytes(&vec![self.need("recv_fill", self.recv_fill)?; elements])?;
        let fits = received <= room.len() as u64;
        if fits {
            Ok(room)
        } else {
            Err(format!("`recv_elements` is less than rank {rank} receives"))
        }
    }

    /// Bytes from the beginning of its result buffer that a rank receives something in.
    fn received(&self, rank: u32, shape: &Shape) -> Result<u64, Problem> {
        let extent = shape.blocks.extent(self.ranks);
        Ok(match self.op.as_str() {
            "gather" | "gatherv" if self.root()? != rank => 0,
            "gather" | "gatherv" | "allgather" | "allgatherv" | "alltoall" => extent,
            "alltoallv" => self.lists(rank, false)?.extent(self.ranks),
            _ => shape.blocks.at(rank).len,
        })
    }

    fn call(
        &self,
        rank: u32,
        shape: &Shape,
        input: Region,
        output: Region,
    ) -> Result<Collective, Problem> {
        let comm = Comm(0);
        let Shape { reduction, blocks } = shape;
        let root = || self.root().map(Rank);
        let operator = || self.need("reduce_op", *reduction);
        let blocks = || blocks.clone();
        Ok(match self.op.as_str() {
            "bcast" => Collective::bcast(comm, root()?, output),
            "scatter" | "scatterv" => Collective::scatter(comm, root()?, input, blocks(), output),
            "gather" | "gatherv" => Collective::gather(comm, root()?, input, output, blocks()),
            "allgather" | "allgatherv" => Collective::allgather(comm, input, output, blocks()),
            "reduce" => Collective::reduce(comm, root()?, input, output, operator()?),
            "allreduce" => Collective::allreduce(comm, input, output, operator()?),
            "reduce_scatter" | "reduce_scatter_block" => {
                Collective::reduce_scatter(comm, input, output, blocks(), operator()?)
            }
            "alltoall" => Collective::alltoall(comm, (input, blocks()), (output, blocks())),
            "alltoallv" => {
                let (sends, receives) = (self.lists(rank, true)?, self.lists(rank, false)?);
                Collective::alltoall(comm, (input, sends), (output, receives))
            }
            "scan" => Collective::scan(comm, input, output, operator()?),
            "exscan" => Collective::exscan(comm, input, output, operator()?),
            other => return Err(format!("operation `{other}` is not known")),
        })
    }
}

/// The values of a case on which all ranks agree.
struct Shape {
    reduction: Option<Reduction>,
    blocks: Blocks,
}

fn times(count: u64, width: u64) -> Result<u64, Problem> {
    let bytes = count.checked_mul(width).filter(|bytes| *bytes <= 1 << 24);
    bytes.ok_or_else(|| format!("{count} elements are more than a vector holds"))
}
