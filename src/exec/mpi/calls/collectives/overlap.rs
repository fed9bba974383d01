//! Memory that a collective reads and writes, though it is not in place.

use std::ops::Range;

use crate::place::Place;
use calls::space::Region;
use collectives::{Blocks, Collective, Kind};

/// Whether some bytes that a rank gives lie where something goes that it takes. Data in pieces is not looked at.
pub(super) fn is_given_twice(call: &Collective, place: &Place) -> bool {
    let (gives, takes) = (located(call.input, place), located(call.output, place));
    let (Some(gives), Some(takes)) = (gives, takes) else { return false };
    if call.kind == Kind::Bcast || !meet(&gives, &takes) {
        return false;
    }
    // The blocks of one side may lie between those of the other.
    let is_list = |blocks: &Blocks| !blocks.are_equal();
    let gives = blocks(gives, Some(&call.sends).filter(|sends| is_list(sends)));
    let takes = blocks(takes, Some(&call.receives).filter(|receives| is_list(receives)));
    let mut takes = takes.iter().peekable();
    gives.iter().any(|block| {
        while takes.next_if(|room| room.end <= block.start).is_some() {}
        takes.peek().is_some_and(|room| meet(block, room))
    })
}

/// Where the program has a buffer of at least a byte.
fn located(region: Region, place: &Place) -> Option<Range<u64>> {
    if region.len == 0 {
        return None;
    }
    let start = place.located(region.space, region.offset)?;
    Some(start..start.saturating_add(region.len))
}

fn meet(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The blocks of a buffer from its lowest byte on, all of it where it has no list.
fn blocks(buffer: Range<u64>, list: Option<&Blocks>) -> Vec<Range<u64>> {
    let Some(Blocks::List(list)) = list else { return vec![buffer] };
    let block = |offset: u64, len: u64| buffer.start + offset..buffer.start + offset + len;
    let all = list.iter().filter(|one| one.len > 0).map(|one| block(one.offset, one.len));
    let mut all: Vec<_> = all.collect();
    all.sort_unstable_by_key(|block| block.start);
    all
}
