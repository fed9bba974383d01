//! Reading cases: what was recorded, checked and turned into operations.

use serde::Deserialize;
use serde_json::{Number, Value};

use super::case::{Case, Does, Kind, Op, Round, Sync};
use crate::error::VectorError;
use crate::family::Recorded;
use mpi::operator::{Datatype, Operator};
use mpi::rma::synchronisation::LockKind;
use mpi::rma::update::{Effect, Update};
use protocols::rma::call::{At, Flavor};

/// A mistake in the file, in words.
type Problem = String;

/// The most ranks of a case.
const RANKS_MAX: u32 = 64;
/// The most elements that one list names.
const ELEMENTS_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCase {
    id: u64,
    ranks: u32,
    window: RawWindow,
    steps: Vec<RawStep>,
    /// By step and operation; a step of increments fetches nothing that was recorded.
    fetched: Vec<Option<Vec<Option<Vec<Number>>>>>,
    #[serde(rename = "final")]
    finals: Vec<Vec<Number>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWindow {
    flavour: RawFlavour,
    #[serde(rename = "type")]
    element: Element,
    elements: Vec<u64>,
    disp_unit: u64,
    init: Vec<Vec<Number>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawFlavour {
    Create,
    Allocate,
    Dynamic,
    Shared,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Element {
    Int32,
    Int64,
    Double,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    sync: RawSync,
    ops: Option<Vec<RawOp>>,
    target: Option<u32>,
    disp: Option<u64>,
    add: Option<Vec<Number>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum RawSync {
    Fence,
    Pscw,
    LockShared,
    LockExclusive,
    LockMany,
    LockAll,
    ExclusiveRmw,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOp {
    origin: u32,
    op: String,
    target: Option<Value>,
    disp: Option<u64>,
    count: Option<u64>,
    target_vector: Option<RawVector>,
    reduce_op: Option<String>,
    data: Option<Vec<Number>>,
    compare: Option<Number>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVector {
    count: u32,
    blocklength: u64,
    stride: u64,
}

/// An element in the words of the vectors.
pub(super) fn number(datatype: Datatype, bytes: &[u8]) -> Value {
    let wide = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).expect("8 bytes");
    match datatype {
        Datatype::Int32 => {
            Value::from(i32::from_le_bytes(<[u8; 4]>::try_from(bytes).expect("4 bytes")))
        }
        Datatype::Int64 => Value::from(i64::from_le_bytes(wide(bytes))),
        Datatype::Double => Value::from(format!("bits {:016x}", u64::from_le_bytes(wide(bytes)))),
        Datatype::Int32Pair
        | Datatype::Int64Pair
        | Datatype::Program
        | Datatype::Int8
        | Datatype::Int16
        | Datatype::Uint8
        | Datatype::Uint16
        | Datatype::Uint32
        | Datatype::Uint64
        | Datatype::Float => unreachable!("vectors have no elements of {}", datatype.name()),
    }
}

impl Element {
    const fn datatype(self) -> Datatype {
        match self {
            Self::Int32 => Datatype::Int32,
            Self::Int64 => Datatype::Int64,
            Self::Double => Datatype::Double,
        }
    }

    fn bytes(self, numbers: &[Number]) -> Result<Vec<u8>, Problem> {
        let element = |number: &Number| match self {
            Self::Int32 => {
                let narrow = number.as_i64().and_then(|number| i32::try_from(number).ok());
                narrow.map(|number| number.to_le_bytes().to_vec())
            }
            Self::Int64 => number.as_i64().map(|number| number.to_le_bytes().to_vec()),
            Self::Double => number.as_f64().map(|number| number.to_bits().to_le_bytes().to_vec()),
        };
        let all: Option<Vec<Vec<u8>>> = numbers.iter().map(element).collect();
        Ok(all.ok_or("a number does not fit its type")?.concat())
    }
}

impl Recorded for RawCase {
    type Case = Case;
    type Head = ();

    fn checked(self, (): &()) -> Result<Case, VectorError> {
        let id = self.id;
        let case = self.case().map_err(|problem| VectorError::Case { case: id, problem })?;
        // Epochs without operations are a case, too: they must end, and leave the window as it was.
        if case.steps.is_empty() { Err(VectorError::nothing(id)) } else { Ok(case) }
    }
}

impl RawCase {
    fn case(self) -> Result<Case, Problem> {
        let window = &self.window;
        let (ranks, element) = (self.ranks, window.element);
        if ranks == 0 || ranks > RANKS_MAX {
            return Err(format!("`ranks` is {ranks}; up to {RANKS_MAX} are read"));
        }
        let width = element.datatype().width();
        if window.disp_unit == 0 || width % window.disp_unit != 0 {
            return Err("`disp_unit` must divide an element".to_owned());
        }
        let each = |name: &str, lists: &[Vec<Number>]| -> Result<Vec<Vec<u8>>, Problem> {
            let fits = lists.len() == ranks as usize
                && lists.len() == window.elements.len()
                && lists.iter().zip(&window.elements).all(|(list, len)| list.len() as u64 == *len);
            if !fits {
                return Err(format!("`{name}` needs `elements` numbers for each rank"));
            }
            lists.iter().map(|list| element.bytes(list)).collect()
        };
        let (init, finals) = (each("init", &window.init)?, each("final", &self.finals)?);
        let mut number = 0;
        let steps = self.steps.iter().map(|step| step.checked(&self, &mut number));
        let steps = steps.collect::<Result<Vec<Round>, Problem>>()?;
        let fetched = self.fetched(&steps)?;
        let flavor = match window.flavour {
            RawFlavour::Create => Flavor::Create,
            RawFlavour::Allocate | RawFlavour::Shared => Flavor::Allocate,
            RawFlavour::Dynamic => Flavor::Dynamic,
        };
        let (id, datatype, unit) = (self.id, element.datatype(), window.disp_unit);
        Ok(Case { id, flavor, datatype, unit, init, steps, fetched, finals })
    }

    /// The values that the operations of each step fetched: each operation that fetches has its
    /// own.
    fn fetched(&self, steps: &[Round]) -> Result<Vec<Vec<Option<Vec<u8>>>>, Problem> {
        if self.fetched.len() != steps.len() {
            return Err("`fetched` needs one entry for each step".to_owned());
        }
        let each = steps.iter().zip(&self.fetched).enumerate();
        let each = each.map(|(at, (step, lists))| self.fetched_in(at, step, lists.as_deref()));
        each.collect()
    }

    fn fetched_in(
        &self,
        at: usize,
        step: &Round,
        lists: Option<&[Option<Vec<Number>>]>,
    ) -> Result<Vec<Option<Vec<u8>>>, Problem> {
        let ops = match (step, lists) {
            (Round::Increments { .. }, None) => return Ok(Vec::new()),
            (Round::Increments { .. }, Some(_)) => {
                return Err(format!("`fetched[{at}]` is null for `exclusive_rmw`"));
            }
            (Round::Epochs { ops, .. }, _) => ops,
        };
        let lists = lists.filter(|lists| lists.len() == ops.len());
        let lists = lists.ok_or_else(|| {
            format!("`fetched[{at}]` needs one entry for each operation: null, or what it fetched")
        })?;
        let pairs = ops.iter().zip(lists).enumerate();
        let pairs = pairs.map(|(place, (op, list))| {
            let name = format!("`fetched[{at}][{place}]`");
            let bytes = list.as_deref().map(|list| self.window.element.bytes(list)).transpose()?;
            match (op.result(), &bytes) {
                (None, Some(_)) => Err(format!("{name} is of an operation that fetches nothing")),
                (Some(_), None) if op.target().is_some() => {
                    Err(format!("{name} is missing: nothing tells what the operation must fetch"))
                }
                (Some(result), Some(bytes)) if bytes.len() as u64 != result.len => {
                    Err(format!("{name} has not as many elements as the operation fetches"))
                }
                (None | Some(_), _) => Ok(bytes),
            }
        });
        pairs.collect()
    }

    fn rank(&self, rank: u32) -> Result<u32, Problem> {
        let fits = rank < self.ranks;
        if fits { Ok(rank) } else { Err(format!("there is no rank {rank}")) }
    }
}

impl RawStep {
    fn checked(&self, case: &RawCase, number: &mut u32) -> Result<Round, Problem> {
        let sync = match self.sync {
            RawSync::Fence => Sync::Fence,
            RawSync::Pscw => Sync::Pscw,
            RawSync::LockShared => Sync::Lock(LockKind::Shared),
            RawSync::LockExclusive => Sync::Lock(LockKind::Exclusive),
            RawSync::LockMany => Sync::LockMany,
            RawSync::LockAll => Sync::LockAll,
            RawSync::ExclusiveRmw => return self.increments(case),
        };
        let ops = self.ops.as_ref().ok_or("a step needs `ops`")?;
        let ops = ops.iter().map(|op| {
            *number += 1;
            op.checked(case, *number)
        });
        let ops = ops.collect::<Result<Vec<Op>, Problem>>()?;
        flushes_are_done(sync, &ops)?;
        Ok(Round::Epochs { sync, ops })
    }

    fn increments(&self, case: &RawCase) -> Result<Round, Problem> {
        let target = case.rank(self.target.ok_or("`exclusive_rmw` needs `target`")?)?;
        let disp = self.disp.ok_or("`exclusive_rmw` needs `disp`")?;
        let add = self.add.as_ref().ok_or("`exclusive_rmw` needs `add`")?;
        if add.len() != case.ranks as usize {
            return Err("`add` needs a number for each rank".to_owned());
        }
        let element = case.window.element;
        let add = add.iter().map(|one| element.bytes(std::slice::from_ref(one)));
        Ok(Round::Increments { target, disp, add: add.collect::<Result<_, _>>()? })
    }
}

/// Refuses flushes that no epoch of their step takes in.
fn flushes_are_done(sync: Sync, ops: &[Op]) -> Result<(), Problem> {
    let flushes = |op: &Op| !matches!(op.does, Does::Operate { .. });
    let names_one = |rank| ops.iter().any(|op| op.origin == rank && op.target().is_some());
    match sync {
        Sync::Fence | Sync::Pscw if ops.iter().any(flushes) => {
            Err("a flush stands in a step of locks, not of `fence` or `pscw`".to_owned())
        }
        Sync::Lock(_) => match ops.iter().find(|op| op.flushes_all() && !names_one(op.origin)) {
            Some(op) => Err(format!(
                "`flush_all` of rank {}, which locks no target in this step: it names none",
                op.origin
            )),
            None => Ok(()),
        },
        Sync::Fence | Sync::Pscw | Sync::LockMany | Sync::LockAll => Ok(()),
    }
}

impl RawOp {
    fn checked(&self, case: &RawCase, number: u32) -> Result<Op, Problem> {
        let origin = case.rank(self.origin)?;
        let does = match self.op.as_str() {
            "flush" => Does::Flush(self.target(case)?.ok_or("a flush needs a rank")?),
            "flush_all" => Does::FlushAll,
            _ => self.operation(case)?,
        };
        Ok(Op { number, origin, does })
    }

    /// The target; `None` for `MPI_PROC_NULL`.
    fn target(&self, case: &RawCase) -> Result<Option<u32>, Problem> {
        match self.target.as_ref() {
            Some(Value::String(word)) if word == "proc_null" => Ok(None),
            Some(target) => {
                let rank = target.as_u64().and_then(|rank| u32::try_from(rank).ok());
                Ok(Some(case.rank(rank.ok_or("`target` is no rank")?)?))
            }
            None => Err(format!("`{}` needs `target`", self.op)),
        }
    }

    fn operation(&self, case: &RawCase) -> Result<Does, Problem> {
        let element = case.window.element;
        let width = element.datatype().width();
        let need = |field: &str| format!("`{}` needs `{field}`", self.op);
        let target = self.target(case)?;
        let count = self.count.filter(|count| *count <= ELEMENTS_MAX);
        let count = count.ok_or_else(|| need("count"))?;
        let disp = self.disp.filter(|disp| *disp <= ELEMENTS_MAX).ok_or_else(|| need("disp"))?;
        let at = self.at(disp * width, count, width)?;
        let mut data = element.bytes(self.data.as_deref().unwrap_or_default())?;
        if let Some(compare) = &self.compare {
            // The operand of a compare-and-swap is what must be there, then what shall be.
            data = [element.bytes(std::slice::from_ref(compare))?, data].concat();
        }
        let kind = self.kind(element.datatype())?;
        let needed = match kind {
            Kind::Put => at.bytes(),
            Kind::Get => 0,
            Kind::Update { update, .. } => update.operand(at.bytes()),
        };
        // A no_op has data in the vectors that are not compared.
        data.truncate(usize::try_from(needed).expect("a case is small"));
        if data.len() as u64 != needed {
            return Err(need("data"));
        }
        let request = self.op.starts_with('r');
        Ok(Does::Operate { target, at, kind, data, request })
    }

    fn at(&self, disp: u64, count: u64, width: u64) -> Result<At, Problem> {
        let Some(vector) = self.target_vector else {
            return Ok(At::contiguous(disp, count * width));
        };
        let RawVector { count: blocks, blocklength, stride } = vector;
        if u64::from(blocks).checked_mul(blocklength) != Some(count) || stride > ELEMENTS_MAX {
            return Err("`target_vector` has not `count` elements".to_owned());
        }
        Ok(At { first: 0, block: blocklength * width, count: blocks, stride: stride * width, disp })
    }

    fn kind(&self, datatype: Datatype) -> Result<Kind, Problem> {
        let update = || self.update(datatype);
        Ok(match self.op.as_str() {
            "put" | "rput" => Kind::Put,
            "get" | "rget" => Kind::Get,
            "accumulate" | "raccumulate" => Kind::Update { update: update()?, fetches: false },
            "get_accumulate" | "rget_accumulate" | "fetch_and_op" => {
                Kind::Update { update: update()?, fetches: true }
            }
            "compare_and_swap" => {
                Kind::Update { update: Effect::CompareAndSwap(datatype), fetches: true }
            }
            other => return Err(format!("operation `{other}` is not known")),
        })
    }

    fn update(&self, datatype: Datatype) -> Result<Effect, Problem> {
        let name = self.reduce_op.as_deref().unwrap_or_default();
        match name {
            "replace" => return Ok(Effect::Replace(datatype)),
            "no_op" => return Ok(Effect::NoOp(datatype)),
            _ => {}
        }
        let operator = Operator::ALL.into_iter().find(|operator| operator.name() == name);
        let operator = operator.ok_or_else(|| format!("operator `{name}` is not known"))?;
        match Update::reduce(operator, datatype).map_err(|error| error.to_string())? {
            Update::Reduce(reduction) => Ok(Effect::Reduce(reduction)),
            Update::Replace | Update::NoOp => unreachable!("an operator reduces"),
        }
    }
}
