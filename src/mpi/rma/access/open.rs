//! The incomplete accesses to the memory of one process, and the conflicts of a new one with them.
//!
//! Open accesses are grouped by kind, then by the power of two of their length and by their bytes,
//! then by origin. A new access visits only the groups that it could conflict with, and in each group
//! its neighbourhood: few accesses of similar length lie there, however many origins access each
//! piece. Accesses under exclusive locks are grouped by origin: many origins may have called, and
//! none of them conflicts with another one.

use std::collections::BTreeMap;
use std::iter::once;
use std::ops::Range;

use super::{
    Access, AccumulateOps, Change, Clash, Conflict, MemoryModel, Together, Touch, Under, together,
};
use crate::envelope::Rank;

/// A piece of memory in its group: class of its length, start, end.
type Piece = (u32, u64, u64);
/// The rank that accesses a piece, and the synchronisation under which it does.
type Who = (Rank, Under);
/// Where it does so in its program.
type Where = Option<u32>;

/// The open accesses to one process's memory.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Accesses {
    model: MemoryModel,
    ops: AccumulateOps,
    /// Whether accumulates of one origin keep their order.
    ordered: bool,
    /// Those that others may run beside.
    common: Open,
    /// Those under exclusive locks.
    alone: BTreeMap<Rank, Open>,
}

/// Accesses, indexed by bytes and by origin.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Open {
    groups: BTreeMap<Touch, Group>,
    of: BTreeMap<Rank, Vec<(Touch, Piece, Under)>>,
}

/// Accesses of one kind, each with its place in the program.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Group {
    open: BTreeMap<Piece, BTreeMap<Who, Where>>,
    /// How many pieces there are in each class of length.
    classes: BTreeMap<u32, usize>,
}

impl Accesses {
    /// No access to a window of this model, with these hints: `ordered` is whether accumulates of one
    /// origin to one element are applied in their order, as they are unless it is turned off.
    pub const fn new(model: MemoryModel, ops: AccumulateOps, ordered: bool) -> Self {
        let common = Open { groups: BTreeMap::new(), of: BTreeMap::new() };
        Self { model, ops, ordered, common, alone: BTreeMap::new() }
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
        let open = if access.under.is_alone() {
            self.alone.entry(access.by).or_default()
        } else {
            &mut self.common
        };
        open.add(access);
        conflict.map_or(Ok(()), |conflict| Err(Box::new(conflict)))
    }

    /// An open operation that an access conflicts with, without beginning it.
    pub fn meets_operation(&self, access: &Access) -> Option<Conflict> {
        self.conflict_among(access, |touch| !touch.is_local())
    }

    /// The operations of an origin under locks are complete here: by a flush or an unlock.
    pub fn complete(&mut self, by: Rank) {
        let locked =
            |under| matches!(under, Under::Lock(_) | Under::Unchecked | Under::Applied { .. });
        if self.model == MemoryModel::Separate {
            self.unseen(by, locked);
        }
        self.close(by, |_, under| locked(under));
    }

    /// An accumulate of an origin under a lock has changed these bytes: in unified memory the owner
    /// comes after it from now on.
    pub fn applied(&mut self, by: Rank, bytes: &Range<u64>) {
        if self.model == MemoryModel::Separate {
            return;
        }
        let Some(open) = self.common.of.get(&by) else { return };
        let is_meant = |(touch, piece, _): &&(Touch, Piece, Under)| {
            matches!(touch, Touch::Acc(..)) && (piece.1..piece.2) == *bytes
        };
        let meant: Vec<(Touch, Piece, Under)> = open.iter().filter(is_meant).copied().collect();
        for (touch, piece, under) in meant {
            let applied = match under {
                Under::Lock(_) => Under::Applied { checked: true },
                Under::Unchecked => Under::Applied { checked: false },
                Under::Local { .. }
                | Under::Fence(_)
                | Under::Exposure { .. }
                | Under::Applied { .. }
                | Under::Unseen => continue,
            };
            self.common.rename(touch, piece, (by, under), applied);
        }
    }

    /// Updates of an origin under locks wait in the public copy for their owner.
    fn unseen(&mut self, by: Rank, locked: impl Fn(Under) -> bool) {
        let opens = once(&self.common).chain(self.alone.get(&by));
        let all = opens.filter_map(|open| open.of.get(&by)).flatten();
        let updates = |touch: Touch| match touch {
            Touch::Put => true,
            Touch::Acc(change, _) => change != Change::NoOp,
            Touch::Load | Touch::Store | Touch::Get => false,
        };
        let meant: Vec<_> =
            all.filter(|(touch, _, under)| updates(*touch) && locked(*under)).copied().collect();
        for (touch, piece, under) in meant {
            let from = if under.is_alone() { self.alone.get(&by) } else { Some(&self.common) };
            let place = from.and_then(|open| open.place(touch, piece, (by, under)));
            let bytes = piece.1..piece.2;
            self.common.add(&Access { by, touch, bytes, under: Under::Unseen, place });
        }
    }

    /// The owner has synchronised: its private copy has what is complete in the public one.
    pub fn sees_all(&mut self) {
        let origins: Vec<Rank> = self.common.of.keys().copied().collect();
        for origin in origins {
            self.common.close(origin, |_, under| under == Under::Unseen);
        }
    }

    /// Ends the gets of an origin: their data has arrived, by a flush or a wait that guarantees no more.
    pub fn arrived(&mut self, by: Rank) {
        self.close(by, |touch, _| touch == Touch::Get);
    }

    /// The epochs of fences before this one, or the exposure epochs before that one, are over.
    pub fn end_epochs(&mut self, fences: u32, exposures: u32) {
        let over = |_, under| match under {
            Under::Fence(number) => number < fences,
            Under::Exposure { number, .. } => number < exposures,
            Under::Local { .. }
            | Under::Lock(_)
            | Under::Unchecked
            | Under::Applied { .. }
            | Under::Unseen => false,
        };
        let origins: Vec<Rank> = self.common.of.keys().copied().collect();
        for origin in origins {
            self.common.close(origin, over);
        }
    }

    /// The loads and stores of the owner are ordered before what follows: it has called a
    /// synchronisation of the window.
    pub fn synchronise(&mut self, owner: Rank) {
        self.common.close(owner, |touch, _| touch.is_local());
    }

    /// How many accesses are open; equal ones of one epoch count once.
    pub fn len(&self) -> usize {
        once(&self.common).chain(self.alone.values()).map(Open::len).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.common.groups.is_empty() && self.alone.is_empty()
    }

    /// Whether another process has an open access.
    pub fn is_shared_with(&self, by: Rank) -> bool {
        let mut others = self.common.of.keys().chain(self.alone.keys());
        others.any(|other| *other != by)
    }

    fn close(&mut self, by: Rank, is_closed: impl Fn(Touch, Under) -> bool) {
        if let Some(open) = self.alone.get_mut(&by) {
            open.close(by, &is_closed);
            if open.of.is_empty() {
                self.alone.remove(&by);
            }
        }
        self.common.close(by, is_closed);
    }

    fn conflict(&self, access: &Access) -> Option<Conflict> {
        self.conflict_among(access, |_| true)
    }

    /// The same among accesses of some kinds only.
    fn conflict_among(&self, access: &Access, counts: impl Fn(Touch) -> bool) -> Option<Conflict> {
        // The holder of a lock meets no other process with an exclusive one.
        let meets_all =
            !matches!(access.under, Under::Lock(_) | Under::Local { lock: Some(_), .. });
        let own = (!meets_all).then(|| self.alone.get(&access.by)).flatten();
        let all = meets_all.then(|| self.alone.values()).into_iter().flatten();
        let opens = once(&self.common).chain(own).chain(all);
        let groups = opens.flat_map(|open| &open.groups);
        groups.filter(|(touch, _)| counts(**touch)).find_map(|(touch, group)| {
            let why = self.clash(*touch, access.touch)?;
            let other = |who: &Who| self.may_meet(who, access, why);
            let first = |(piece, open): (&Piece, &BTreeMap<Who, Where>)| {
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

    /// Whether nothing keeps an open access apart from this one.
    fn may_meet(&self, (by, under): &Who, access: &Access, why: Clash) -> bool {
        let same = *by == access.by;
        // An origin's own accumulates of one type follow each other.
        let ordered = same && self.ordered && why == Clash::Operators;
        let excluded = !same && under.excludes(access.under);
        !(ordered || excluded || under.follows(access.under))
    }

    /// The conflict of accesses of these kinds that overlap, or that are forbidden beside each other.
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

impl Open {
    fn add(&mut self, access: &Access) {
        let (piece, who) = (piece(&access.bytes), (access.by, access.under));
        if self.groups.entry(access.touch).or_default().add(piece, who, access.place) {
            self.of.entry(access.by).or_default().push((access.touch, piece, access.under));
        }
    }

    /// An open access is under `now` instead.
    fn rename(&mut self, touch: Touch, piece: Piece, who: Who, now: Under) {
        let Some(group) = self.groups.get_mut(&touch) else { return };
        let place = group.place(piece, who);
        group.remove(&piece, who);
        let is_new = group.add(piece, (who.0, now), place);
        let Some(of) = self.of.get_mut(&who.0) else { return };
        of.retain(|one| *one != (touch, piece, who.1));
        if is_new {
            of.push((touch, piece, now));
        }
    }

    /// Where the program has the call of an open access.
    fn place(&self, touch: Touch, piece: Piece, who: Who) -> Where {
        self.groups.get(&touch)?.place(piece, who)
    }

    fn close(&mut self, by: Rank, is_closed: impl Fn(Touch, Under) -> bool) {
        let Some(open) = self.of.get_mut(&by) else { return };
        let groups = &mut self.groups;
        open.retain(|(touch, piece, under)| {
            let stays = !is_closed(*touch, *under);
            if !stays
                && groups.get_mut(touch).is_some_and(|group| group.remove(piece, (by, *under)))
            {
                groups.remove(touch);
            }
            stays
        });
        if open.is_empty() {
            self.of.remove(&by);
        }
    }

    fn len(&self) -> usize {
        let all = self.groups.values().flat_map(|group| group.open.values());
        all.map(BTreeMap::len).sum()
    }
}

impl Group {
    /// Adds an access; answers whether it is another one than there were.
    fn add(&mut self, piece: Piece, who: Who, place: Where) -> bool {
        let open = self.open.entry(piece).or_insert_with(|| {
            *self.classes.entry(piece.0).or_default() += 1;
            BTreeMap::new()
        });
        open.insert(who, place).is_none()
    }

    /// Where the program has the call of an open access.
    fn place(&self, piece: Piece, who: Who) -> Where {
        self.open.get(&piece)?.get(&who).copied().flatten()
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
    fn overlapping(
        &self,
        access: &Access,
    ) -> impl Iterator<Item = (&Piece, &BTreeMap<Who, Where>)> {
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
fn piece(bytes: &Range<u64>) -> Piece {
    ((bytes.end - bytes.start).ilog2(), bytes.start, bytes.end)
}

fn opened(touch: Touch, (_, start, end): Piece, (by, under): Who, place: Where) -> Access {
    Access { by, touch, bytes: start..end, under, place }
}
