//! What the simulator's definitions give for a case, in the words of the vectors.

use std::error::Error;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::case::{How, Meeting, Operation};
use mpi::cartesian::{Cartesian, CartesianError, Dimension};
use mpi::communicator::{Communicators, Comparison};
use mpi::envelope::Rank;
use mpi::group::{self, Choice, Group, Range, Translation};
use mpi::intercommunicator::{Caller, Intercommunicator, Intercommunicators, Side};

/// Fields, or why the simulator refuses.
type Answer = Result<Map<String, Value>, Box<dyn Error>>;

impl Operation {
    /// All fields that are not inputs.
    pub(super) fn answer(&self) -> Answer {
        match self {
            Self::Split(choices) => split(choices),
            Self::Sets { a, b, translate, incl, excl, ranges } => {
                let mut fields = sets(a, b);
                if let Some(ranks) = translate {
                    let there = a.translate(ranks, b)?;
                    fields.insert("translate".to_owned(), there.into_iter().map(place).collect());
                }
                selections(&mut fields, a, incl.as_deref(), excl.as_deref(), ranges.as_deref())?;
                Ok(fields)
            }
            Self::Compare { world, how, members } => compare(*world, *how, members),
            Self::Intercommunicator { sides, peer } => intercommunicator(sides, peer),
            Self::Grid { size, dimensions, shifts, remain } => {
                grid(*size, dimensions, shifts, remain)
            }
        }
    }
}

fn split(choices: &[Choice]) -> Answer {
    let size = u32::try_from(choices.len())?;
    let mut table = Communicators::world(size);
    let numbers = table.split(Communicators::WORLD, choices)?;
    let known = |number| table.get(number).expect("a communicator of this table");
    let base = known(Communicators::WORLD);
    let told = |(process, number): (u32, &Option<u16>)| {
        let Some(made) = number.map(known) else { return Value::Null };
        json!({
            "new_rank": made.rank(process).map(|rank| rank.0),
            "size": made.size(),
            "members": made.group.members(),
            "compare_with_base": comparison(made.compare(base)),
        })
    };
    let result: Value = (0..).zip(&numbers).map(told).collect();
    Ok(fields([("result", result)]))
}

fn sets(a: &Group, b: &Group) -> Map<String, Value> {
    let compared = match a.compare(b) {
        group::Comparison::Ident => "ident",
        group::Comparison::Similar => "similar",
        group::Comparison::Unequal => "unequal",
    };
    fields([
        ("union", members(&a.union(b))),
        ("intersection", members(&a.intersection(b))),
        ("difference", members(&a.difference(b))),
        ("compare", json!(compared)),
    ])
}

fn selections(
    fields: &mut Map<String, Value>,
    a: &Group,
    incl: Option<&[Rank]>,
    excl: Option<&[Rank]>,
    ranges: Option<&[Range]>,
) -> Result<(), Box<dyn Error>> {
    if let Some(ranks) = incl {
        fields.insert("incl_result".to_owned(), members(&a.incl(ranks)?));
    }
    if let Some(ranks) = excl {
        fields.insert("excl_result".to_owned(), members(&a.excl(ranks)?));
    }
    if let Some(ranges) = ranges {
        fields.insert("range_incl_result".to_owned(), members(&a.range_incl(ranges)?));
        fields.insert("range_excl_result".to_owned(), members(&a.range_excl(ranges)?));
    }
    Ok(())
}

fn compare(world: u32, how: How, members: &Group) -> Answer {
    let mut table = Communicators::world(world);
    let made = match how {
        How::Same => Communicators::WORLD,
        How::Dup => table.duplicate(Communicators::WORLD)?,
        How::CreateSame | How::Subset | How::Reorder => {
            let made = table.create(Communicators::WORLD, Arc::new(members.clone()))?;
            made.ok_or("the empty group has no communicator to compare")?
        }
    };
    let known = |number| table.get(number).expect("a communicator of this table");
    let result = known(Communicators::WORLD).compare(known(made));
    Ok(fields([("result", json!(comparison(result)))]))
}

fn intercommunicator(sides: &[Meeting; 2], peer: &Group) -> Answer {
    let [a, b] = [sides[0].caller(&sides[1], peer)?, sides[1].caller(&sides[0], peer)?];
    let mut table = Intercommunicators::default();
    let number = table.create(&a, &b, peer)?;
    let copy = table.duplicate(number)?;
    let known = |number| table.get(number).expect("an intercommunicator of this table");
    let (inter, copy) = (known(number), known(copy));
    let high = [&sides[0], &sides[1]].map(|side| vec![side.high; side.group.members().len()]);
    let merged = inter.merge([&high[0], &high[1]])?;
    Ok(fields([
        ("order_forced_by_standard", json!(sides[0].high != sides[1].high)),
        ("merged", members(&merged)),
        ("per_rank_a", side(inter, copy, Side::A, &merged)),
        ("per_rank_b", side(inter, copy, Side::B, &merged)),
    ]))
}

impl Meeting {
    /// The arguments of this side, when both leaders are known by their ranks in the peer
    /// communicator.
    fn caller(&self, other: &Self, peer: &Group) -> Result<Caller, Box<dyn Error>> {
        let leader = other.group.process(other.leader).ok_or("a leader is out of range")?;
        let remote_leader = peer.rank(leader).ok_or("a leader is not in the peer communicator")?;
        Ok(Caller { group: Arc::new(self.group.clone()), leader: self.leader, remote_leader })
    }
}

/// The answers that each rank of a side gets.
fn side(inter: &Intercommunicator, copy: &Intercommunicator, side: Side, merged: &Group) -> Value {
    let told = |process: &u32| {
        let local = inter.local(*process).expect("a process of this side");
        let remote = inter.remote(*process).expect("a process of this side");
        let sum: u64 = remote.members().iter().map(|process| u64::from(*process) * 10 + 1).sum();
        json!({
            "rank": local.rank(*process).map(|rank| rank.0),
            "size": local.size(),
            "remote_size": remote.size(),
            "is_inter": true, // by its type
            "local": members(local),
            "remote": members(remote),
            "dup_compare": comparison(inter.compare(copy)),
            "merged_rank": merged.rank(*process).map(|rank| rank.0),
            "inter_allreduce_of_world_rank_times_10_plus_1": sum,
        })
    };
    inter.group(side).members().iter().map(told).collect()
}

fn grid(size: u32, dimensions: &[Dimension], shifts: &[(usize, i32)], remain: &[bool]) -> Answer {
    let grid = Cartesian::new(size, dimensions.to_vec())?;
    let mut table = Communicators::world(size);
    let numbers = table.split(Communicators::WORLD, &grid.sub(remain)?.choices)?;
    let told = |(rank, number): (u32, &Option<u16>)| {
        let ends = |&(dimension, displacement): &(usize, i32)| {
            let shift = grid.shift(Rank(rank), dimension, displacement)?;
            Ok(json!([neighbour(shift.source), neighbour(shift.destination)]))
        };
        let sub = number.and_then(|number| table.get(number));
        Ok(json!({
            "coords": grid.coordinates(Rank(rank))?,
            "shifts": shifts.iter().map(ends).collect::<Result<Value, CartesianError>>()?,
            "sub": sub.map(|sub| members(&sub.group)),
        }))
    };
    let per_rank = (0..).zip(&numbers).map(told).collect::<Result<Value, CartesianError>>()?;
    Ok(fields([("per_rank", per_rank)]))
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn members(group: &Group) -> Value {
    json!(group.members())
}

fn comparison(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Ident => "ident",
        Comparison::Congruent => "congruent",
        Comparison::Similar => "similar",
        Comparison::Unequal => "unequal",
        Comparison::Aliased => "aliased",
    }
}

fn place(translation: Translation) -> Value {
    match translation {
        Translation::Rank(rank) => json!(rank.0),
        Translation::ProcNull => json!("proc_null"),
        Translation::Undefined => Value::Null,
    }
}

fn neighbour(rank: Option<Rank>) -> Value {
    rank.map_or_else(|| json!("proc_null"), |rank| json!(rank.0))
}
