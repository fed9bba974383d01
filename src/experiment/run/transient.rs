//! How much of a point's measured time is a start, and not a steady state.

use crate::plan::Point;
use crate::results::Transient;
use form::shape::Field;
use runtime::account::Account;
use runtime::timed::Outcome;
use units::TimeDelta;
use workloads::metric::{brackets, halves};

/// A difference counts from one part in so many on.
const PARTS: u64 = 20;

/// Keys that take a start out of the measured time, the best first.
const MENDS: [&str; 4] = ["warmup", "rounds", "steps", "iterations"];

/// The part of the measured time that is a start, where that is more than one part in [`PARTS`].
pub(super) fn of(point: &Point, outcome: &Outcome) -> Option<Transient> {
    let halves = halves(outcome).filter(|&[first, second]| differ(first, second));
    let once = paid_once(outcome).filter(|&[once, measured]| once > measured.scaled(1, PARTS));
    if halves.is_none() && once.is_none() {
        return None;
    }
    let fields = point.workload.kind().fields;
    let known = |name: &&&str| fields.iter().any(|field: &Field| field.key == **name);
    let mend = MENDS.iter().find(known).map(|name| format!("workload.{name}"));
    Some(Transient { halves, once, mend })
}

fn differ(first: TimeDelta, second: TimeDelta) -> bool {
    let (less, more) = (first.min(second), first.max(second));
    more - less > first.scaled(1, PARTS)
}

/// The one-time costs of the thread that pays most in its measured time, and that time.
fn paid_once(outcome: &Outcome) -> Option<[TimeDelta; 2]> {
    let spent = brackets(outcome).map(|(start, end)| end.account - start.account);
    let of = |account: Account| [account.once, account.total()];
    let greater = |one: [TimeDelta; 2], other: [TimeDelta; 2]| {
        let product = |once: TimeDelta, total: TimeDelta| {
            u128::from(once.as_ps()) * u128::from(total.as_ps())
        };
        if product(other[0], one[1]) > product(one[0], other[1]) { other } else { one }
    };
    spent.map(of).reduce(greater)
}
