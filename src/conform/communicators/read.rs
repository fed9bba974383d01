//! Reading cases: inputs become values of our own, all other fields stay as they were recorded.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::case::{Case, How, Meeting, Operation};
use crate::error::{VectorError, WORLD_MAX};
use crate::family::{Head, Recorded, Recording};
use mpi::cartesian::Dimension;
use mpi::envelope::Rank;
use mpi::group::{Choice, Group, Range};

/// A case as it stands in the file: inputs and outcome side by side.
#[derive(Deserialize)]
pub(crate) struct RawCase {
    id: u64,
    op: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

#[derive(Deserialize)]
struct RawSplit {
    size: u32,
    colors: Vec<Option<i32>>,
    keys: Vec<i32>,
}

#[derive(Deserialize)]
struct RawSets {
    a: Vec<u32>,
    b: Vec<u32>,
    translate_in: Option<Vec<RawRank>>,
    incl: Option<Vec<u32>>,
    excl: Option<Vec<u32>>,
    ranges: Option<Vec<(u32, u32, i32)>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum RawRank {
    Rank(u32),
    Name(RawName),
}

#[derive(Clone, Copy, Deserialize)]
enum RawName {
    #[serde(rename = "proc_null")]
    ProcNull,
}

#[derive(Deserialize)]
struct RawCompare {
    how: How,
    world: u32,
    members: Vec<u32>,
}

#[derive(Deserialize)]
struct RawIntercommunicator {
    group_a: Vec<u32>,
    group_b: Vec<u32>,
    leader_a: u32,
    leader_b: u32,
    peer: Vec<u32>,
    high_a: bool,
    high_b: bool,
}

#[derive(Deserialize)]
struct RawGrid {
    size: u32,
    dims: Vec<u32>,
    periods: Vec<bool>,
    shifts: Vec<(usize, i32)>,
    remain: Vec<bool>,
}

/// A mistake in the file, in words.
type Problem = String;

/// Processes of the recorded job.
pub(crate) struct World(u32);

impl Head for World {
    fn of(recording: Recording) -> Result<Self, VectorError> {
        let world = recording.world.filter(|world| *world <= WORLD_MAX);
        world.map(Self).ok_or(VectorError::World { found: recording.world })
    }
}

impl Recorded for RawCase {
    type Case = Case;
    type Head = World;

    fn checked(mut self, World(world): &World) -> Result<Case, VectorError> {
        let id = self.id;
        let operation = self.operation(*world);
        let operation = operation.map_err(|problem| VectorError::Case { case: id, problem })?;
        if self.fields.is_empty() {
            return Err(VectorError::nothing(id));
        }
        let other = match &operation {
            Operation::Intercommunicator { sides, .. } => other_merge(sides, &self.fields),
            Operation::Grid { remain, .. } => other_sub(remain, &self.fields),
            Operation::Split(_) | Operation::Sets { .. } | Operation::Compare { .. } => None,
        };
        let outcomes = [self.fields].into_iter().chain(other).collect();
        Ok(Case { id, operation, outcomes })
    }
}

impl RawCase {
    fn operation(&mut self, world: u32) -> Result<Operation, Problem> {
        match self.op.as_str() {
            "comm_split" => self.split(world),
            "group" => self.sets(world),
            "comm_compare" => self.compare(world),
            "intercomm" => self.intercommunicator(world),
            "cart" => self.grid(world),
            other => Err(format!("operation `{other}` is not known")),
        }
    }

    /// Takes the inputs with these names out of the fields.
    fn inputs<T: DeserializeOwned>(&mut self, names: &[&str]) -> Result<T, Problem> {
        let taken = names.iter().filter_map(|name| self.fields.remove_entry(*name)).collect();
        serde_json::from_value(Value::Object(taken)).map_err(|error| error.to_string())
    }

    fn split(&mut self, world: u32) -> Result<Operation, Problem> {
        let raw: RawSplit = self.inputs(&["size", "colors", "keys"])?;
        at_most(world, raw.size)?;
        let size = raw.size as usize;
        if raw.colors.len() != size || raw.keys.len() != size {
            return Err("`colors` and `keys` need one entry for each of `size` ranks".to_owned());
        }
        let choices = raw.colors.into_iter().zip(raw.keys);
        Ok(Operation::Split(choices.map(|(color, key)| Choice { color, key }).collect()))
    }

    fn sets(&mut self, world: u32) -> Result<Operation, Problem> {
        let raw: RawSets = self.inputs(&["a", "b", "translate_in", "incl", "excl", "ranges"])?;
        let ranks = |ranks: Vec<u32>| ranks.into_iter().map(Rank).collect();
        let peer = |rank| match rank {
            RawRank::Rank(rank) => Some(Rank(rank)),
            RawRank::Name(RawName::ProcNull) => None,
        };
        let range = |(first, last, stride)| Range { first: Rank(first), last: Rank(last), stride };
        Ok(Operation::Sets {
            a: group("a", raw.a, world)?,
            b: group("b", raw.b, world)?,
            translate: raw.translate_in.map(|ranks| ranks.into_iter().map(peer).collect()),
            incl: raw.incl.map(ranks),
            excl: raw.excl.map(ranks),
            ranges: raw.ranges.map(|ranges| ranges.into_iter().map(range).collect()),
        })
    }

    fn compare(&mut self, world: u32) -> Result<Operation, Problem> {
        let raw: RawCompare = self.inputs(&["how", "world", "members"])?;
        at_most(world, raw.world)?;
        let members = group("members", raw.members, raw.world)?;
        Ok(Operation::Compare { world: raw.world, how: raw.how, members })
    }

    fn intercommunicator(&mut self, world: u32) -> Result<Operation, Problem> {
        let raw: RawIntercommunicator = self
            .inputs(&["group_a", "group_b", "leader_a", "leader_b", "peer", "high_a", "high_b"])?;
        let meeting = |name, members, leader, high| {
            Ok::<_, Problem>(Meeting {
                group: group(name, members, world)?,
                leader: Rank(leader),
                high,
            })
        };
        let a = meeting("group_a", raw.group_a, raw.leader_a, raw.high_a)?;
        let b = meeting("group_b", raw.group_b, raw.leader_b, raw.high_b)?;
        let peer = group("peer", raw.peer, world)?;
        Ok(Operation::Intercommunicator { sides: [a, b], peer })
    }

    fn grid(&mut self, world: u32) -> Result<Operation, Problem> {
        let raw: RawGrid = self.inputs(&["size", "dims", "periods", "shifts", "remain"])?;
        at_most(world, raw.size)?;
        if raw.dims.len() != raw.periods.len() {
            return Err("`dims` and `periods` need equally many entries".to_owned());
        }
        let dimensions = raw.dims.into_iter().zip(raw.periods);
        let dimensions = dimensions.map(|(extent, periodic)| Dimension { extent, periodic });
        let (size, dimensions) = (raw.size, dimensions.collect());
        Ok(Operation::Grid { size, dimensions, shifts: raw.shifts, remain: raw.remain })
    }
}

fn at_most(world: u32, size: u32) -> Result<(), Problem> {
    let fits = size <= world;
    if fits { Ok(()) } else { Err(format!("{size} processes of a job of {world}")) }
}

fn group(name: &str, members: Vec<u32>, world: u32) -> Result<Group, Problem> {
    if let Some(process) = members.iter().find(|process| **process >= world) {
        return Err(format!("`{name}` has process {process} of a job of {world}"));
    }
    Group::new(members).map_err(|error| format!("`{name}`: {error}"))
}

/// The recorded outcome with the sides of the merge the other way round, where MPI leaves their
/// order open.
fn other_merge(sides: &[Meeting; 2], recorded: &Map<String, Value>) -> Option<Map<String, Value>> {
    let [a, b] = [sides[0].group.members(), sides[1].group.members()];
    let (a_first, b_first) = (json!([a, b].concat()), json!([b, a].concat()));
    if sides[0].high != sides[1].high {
        return None;
    }
    let merged = recorded.get("merged")?;
    let (merged, before) = if *merged == a_first {
        (b_first, [b.len(), 0])
    } else if *merged == b_first {
        (a_first, [0, a.len()])
    } else {
        return None;
    };
    let mut other = recorded.clone();
    other.insert("merged".to_owned(), merged);
    for (name, before) in ["per_rank_a", "per_rank_b"].into_iter().zip(before) {
        for (rank, told) in other.get_mut(name)?.as_array_mut()?.iter_mut().enumerate() {
            told.as_object_mut()?.insert("merged_rank".to_owned(), json!(before + rank));
        }
    }
    Some(other)
}

/// The recorded outcome with a sub-grid of its own for every rank, where no dimension remains: what
/// MPI says, while the recorded library gives a communicator to rank 0 only.
fn other_sub(remain: &[bool], recorded: &Map<String, Value>) -> Option<Map<String, Value>> {
    if remain.contains(&true) {
        return None;
    }
    let mut other = recorded.clone();
    for (rank, told) in other.get_mut("per_rank")?.as_array_mut()?.iter_mut().enumerate() {
        let sub = told.get_mut("sub")?;
        if sub.is_null() {
            *sub = json!([rank]);
        }
    }
    Some(other)
}
