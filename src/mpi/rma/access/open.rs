//! The accesses to one process's memory that are not complete, and whom a new one conflicts with.
//!
//! Open accesses are kept by how they touch memory, within that by the power of two of their length
//! and by their bytes, and within that by who does it. So a new access visits those groups only that
//! it could conflict with, and in each its neighbourhood: of about one length, few pieces of memory
//! lie there, however many origins access each.

use std::collections::BTreeMap;

use super::{Access, AccumulateOps, Clash, Conflict, MemoryModel, Together, Touch, together};
use crate::mpi::envelope::Rank;

/// A piece of memory in its group: class of its length, start, end.
type Piece = (u32, u64, u64);
/// Who accesses a piece, in which epoch.
type Who = (Rank, u32);

/// The open accesses to one process's memory.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Accesses {
    model: MemoryModel,
    ops: AccumulateOps,
    /// Whether accumulates of one origin keep their order.
    ordered: bool,
    groups: BTreeMap<Touch, Group>,
    /// The same, by who does it.
    of: BTreeMap<Rank, Vec<(Touch, Piece, u32)>>,
}

/// Accesses of one kind, each with its place in the program.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Group {
    open: BTreeMap<Piece, BTreeMap<Who, u32>>,
    /// How many pieces there are in each class of length.
    classes: BTreeMap<u32, usize>,
}

impl Accesses {
    /// No access to a window of this model, with these hints: `ordered` is whether accumulates of one
    /// origin to one element are applied in their order, as they are unless it is turned off.
    pub const fn new(model: MemoryModel, ops: AccumulateOps, ordered: bool) -> Self {
        Self { model, ops, ordered, groups: BTreeMap::new(), of: BTreeMap::new() }
    }

    /// Begins an access. It is open from now on, even where it conflicts; one without bytes does
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Conflict`] with one of the open accesses, always the same one.
    pub fn begin(&mut self, access: &Access) -> Result<(), Box<Conflict>> {
        if access.bytes.is_empty() {
            return Ok(());
        }
        let conflict = self.conflict(access);
        let (piece, who) = (piece(access), (access.by, access.epoch));
        if self.groups.entry(access.touch).or_default().add(piece, who, access.place) {
            self.of.entry(access.by).or_default().push((access.touch, piece, access.epoch));
        }
        conflict.map_or(Ok(()), |conflict| Err(Box::new(conflict)))
    }

    /// The operations of an origin are complete here: by a flush, an unlock, a fence, or the end of
    /// its access epoch.
    pub fn complete(&mut self, by: Rank) {
        self.close(by, |touch, _| !touch.is_local());
    }

    /// The same for those of one epoch only.
    pub fn end_epoch(&mut self, by: Rank, epoch: u32) {
        self.close(by, |touch, of| !touch.is_local() && of == epoch);
    }

    /// The loads and stores of the owner are ordered before what follows: it has called a
    /// synchronisation of the window.
    pub fn synchronise(&mut self, owner: Rank) {
        self.close(owner, |touch, _| touch.is_local());
    }

    /// How many accesses are open; equal ones of one epoch count once.
    pub fn len(&self) -> usize {
        let all = self.groups.values().flat_map(|group| group.open.values());
        all.map(BTreeMap::len).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    fn close(&mut self, by: Rank, is_closed: impl Fn(Touch, u32) -> bool) {
        let Some(open) = self.of.get_mut(&by) else { return };
        let groups = &mut self.groups;
        open.retain(|(touch, piece, epoch)| {
            let stays = !is_closed(*touch, *epoch);
            if !stays
                && groups.get_mut(touch).is_some_and(|group| group.remove(piece, (by, *epoch)))
            {
                groups.remove(touch);
            }
            stays
        });
        if open.is_empty() {
            self.of.remove(&by);
        }
    }

    fn conflict(&self, access: &Access) -> Option<Conflict> {
        self.groups.iter().find_map(|(touch, group)| {
            let why = self.clash(*touch, access.touch)?;
            // An origin's own accumulates of one type follow each other.
            let ordered = self.ordered && why == Clash::Operators;
            let other = |who: &Who| !(ordered && who.0 == access.by);
            let first = |(piece, open): (&Piece, &BTreeMap<Who, u32>)| {
                let (who, place) = open.iter().find(|(who, _)| other(who))?;
                Some(opened(*touch, *piece, *who, *place))
            };
            let first = match why {
                Clash::Forbidden => group.open.iter().find_map(first)?,
                Clash::Overlapping | Clash::Operators | Clash::Datatypes => {
                    group.overlapping(access).find_map(first)?
                }
            };
            Some(Conflict { first, second: access.clone(), why })
        })
    }

    /// What is wrong when accesses of these kinds overlap, or, where it is forbidden, run at all.
    fn clash(&self, a: Touch, b: Touch) -> Option<Clash> {
        match together(self.model, a.kind(), b.kind()) {
            Together::Disjoint => Some(Clash::Overlapping),
            Together::Never => Some(Clash::Forbidden),
            Together::ByteByByte => None,
            Together::Any => {
                let (Touch::Acc(change, datatype), Touch::Acc(other, of)) = (a, b) else {
                    return None;
                };
                let meet = self.ops.may_meet(change, other);
                let clash = if datatype == of { Clash::Operators } else { Clash::Datatypes };
                (datatype != of || !meet).then_some(clash)
            }
        }
    }
}

impl Group {
    /// Adds an access; answers whether it is another one than there were.
    fn add(&mut self, piece: Piece, who: Who, place: u32) -> bool {
        let open = self.open.entry(piece).or_insert_with(|| {
            *self.classes.entry(piece.0).or_default() += 1;
            BTreeMap::new()
        });
        open.insert(who, place).is_none()
    }

    /// Removes an access that is there; answers whether it was the last.
    fn remove(&mut self, piece: &Piece, who: Who) -> bool {
        let last = self.open.get_mut(piece).is_some_and(|open| {
            open.remove(&who);
            open.is_empty()
        });
        if last {
            self.open.remove(piece);
            if let Some(count) = self.classes.get_mut(&piece.0) {
                *count -= 1;
            }
            self.classes.retain(|_, count| *count > 0);
        }
        self.open.is_empty()
    }

    /// The pieces with open accesses that share bytes with this one.
    fn overlapping(&self, access: &Access) -> impl Iterator<Item = (&Piece, &BTreeMap<Who, u32>)> {
        let (start, end) = (access.bytes.start, access.bytes.end);
        self.classes.keys().flat_map(move |&class| {
            // None of this class is longer than that.
            let longest = u64::MAX >> (u64::BITS - 1 - class);
            let from = (class, start.saturating_sub(longest), 0);
            let until = (class, end, 0);
            self.open.range(from..until).filter(move |(piece, _)| piece.2 > start)
        })
    }
}

/// The piece that an access with at least one byte touches.
fn piece(access: &Access) -> Piece {
    let (start, end) = (access.bytes.start, access.bytes.end);
    ((end - start).ilog2(), start, end)
}

fn opened(touch: Touch, (_, start, end): Piece, (by, epoch): Who, place: u32) -> Access {
    Access { by, touch, bytes: start..end, epoch, place }
}
