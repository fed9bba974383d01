//! Computed keys of one-sided calls.

use super::control::{self, Key, PROC_NULL};
use mpi::envelope::Rank;
use protocols::contract::Handle;
use protocols::rma::call::{At, Operation, RmaCall};

/// Puts `value` into its place in `call`.
pub(super) fn put(key: Key, call: &mut RmaCall, value: i64) {
    let number = || u64::try_from(value).expect("the range has no negative number");
    let rank = || u32::try_from(value).expect("the range is that of ranks");
    match (key, call) {
        (Key::Target, RmaCall::Operate { target, .. }) => {
            *target = (value != PROC_NULL).then(rank);
        }
        (
            Key::Target,
            RmaCall::Lock { target, .. }
            | RmaCall::Unlock { target, .. }
            | RmaCall::Query { target, .. }
            | RmaCall::Flush { target, .. },
        ) => *target = rank(),
        (Key::Member, RmaCall::Post { group, .. } | RmaCall::Start { group, .. }) => {
            *group = group.ranks().iter().copied().chain([Rank(rank())]).collect();
        }
        (Key::Request(members), RmaCall::Operate { request: Some(request), .. }) => {
            *request = members.at(value);
        }
        (Key::Buffers(members), RmaCall::Operate { does, .. }) => {
            let Handle(first) = members.at(value);
            move_to(does, [first, first + 1]);
        }
        (Key::Disp, RmaCall::Operate { at, .. }) => at.disp += number(),
        (Key::Size, RmaCall::Create { bytes, .. } | RmaCall::Attach { bytes, .. }) => {
            *bytes = number();
        }
        (Key::Size, RmaCall::Operate { at, does, .. }) => resize(at, does, number()),
        (Key::Count { width }, RmaCall::Operate { at, does, .. }) => {
            resize(at, does, number() * width);
        }
        (Key::OriginAt { width }, RmaCall::Operate { does, .. }) => {
            does.begin(number() * width, 0);
        }
        (Key::ResultAt { width }, RmaCall::Operate { does, .. }) => {
            does.begin(0, number() * width);
        }
        (key, call) => unreachable!("{call:?} has no key {key:?}"),
    }
}

/// The operation has these buffers, but for those with a name.
fn move_to(does: &mut Operation, [first, second]: [u32; 2]) {
    match does {
        Operation::Put { origin: region } | Operation::Get { into: region } => {
            control::move_to(region, first);
        }
        Operation::Update { origin, result, .. } => {
            for (region, id) in [(origin, first), (result, second)] {
                if let Some(region) = region {
                    control::move_to(region, id);
                }
            }
        }
    }
}

/// The operation is one of so many consecutive bytes.
fn resize(at: &mut At, does: &mut Operation, bytes: u64) {
    *at = At::contiguous(at.disp, bytes);
    does.resize(bytes);
}
