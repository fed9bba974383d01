//! What a claim that holds is worth: whether it could have failed, and whether a trivial model meets it.

use super::super::claim::{Claim, ClaimKind, Replicas, Trend};
use super::super::results::{ClaimStatus, NullModel, PointResult};
use super::{Bench, Found, near};
use units::{Dimension, parse_quantity};

/// Axes along which a run does more of the same: whatever a byte, an element or a computation costs, more
/// of them take longer.
const AMOUNTS: [&str; 4] =
    ["workload.size", "workload.elements", "workload.compute", "workload.busy"];

/// Why the claim, which holds, could not have failed; `None` where it could.
pub(super) fn cannot_fail(claim: &Claim, points: &[PointResult]) -> Option<String> {
    let pairs = pairs(&claim.kind);
    if !pairs.is_empty() && pairs.iter().all(|pair| is_same_run(*pair, points)) {
        return Some("both sides are the same run, event by event".to_owned());
    }
    if takes_time(claim) && is_order(&claim.kind) {
        let more = |pair: &(&Replicas, &Replicas)| does_more(*pair, points);
        let rises = is_rising(&claim.kind);
        if !pairs.is_empty()
            && pairs.iter().all(|&(of, to)| more(&if rises { (of, to) } else { (to, of) }))
        {
            return Some(
                "one side does more of the same, and any cost above zero takes time".to_owned(),
            );
        }
    }
    claim.cannot_fail.clone()
}

/// The verdict of the trivial model for claims of this kind: no difference between the sides of a
/// comparison, or the number of the claim before it about the same metric.
pub(super) fn null_model(claim: &Claim, before: &[Claim]) -> Option<NullModel> {
    if let ClaimKind::Value { value, tolerance, .. } = &claim.kind {
        let copied = before.iter().rev().find_map(|other| stated(other, claim.metric.name))?;
        let found = near(copied, *value, *tolerance);
        return Some(NullModel { name: "copy", status: status(found.holds) });
    }
    if pairs(&claim.kind).is_empty() {
        return None;
    }
    let holds = match &claim.kind {
        // No axis moves the metric: it neither rises nor falls.
        ClaimKind::Trend { shape, .. } => matches!(shape, Trend::Flat(_)),
        ClaimKind::RisingRatio { .. } => false,
        kind @ (ClaimKind::Value { .. }
        | ClaimKind::Bound { .. }
        | ClaimKind::Spread { .. }
        | ClaimKind::Between { .. }
        | ClaimKind::Ratio { .. }
        | ClaimKind::Ordering { .. }
        | ClaimKind::Crossover { .. }) => {
            Bench::Constant.cases(kind).is_some_and(|all| all.iter().all(Found::holds))
        }
    };
    Some(NullModel { name: "no effect", status: status(holds) })
}

/// The number that a claim states of a metric.
fn stated(claim: &Claim, metric: &str) -> Option<f64> {
    let ClaimKind::Value { value, .. } = &claim.kind else { return None };
    (claim.metric.name == metric).then_some(*value)
}

const fn status(holds: bool) -> ClaimStatus {
    if holds { ClaimStatus::Pass } else { ClaimStatus::Deviates }
}

/// The points that a claim compares, the later one of an axis first; none where it compares with a
/// number, or ratios with each other.
fn pairs(kind: &ClaimKind) -> Vec<(&Replicas, &Replicas)> {
    match kind {
        ClaimKind::Value { .. } | ClaimKind::Bound { .. } => Vec::new(),
        ClaimKind::Ordering { bases, .. } if !bases.is_empty() => Vec::new(),
        ClaimKind::Ratio { cases, .. }
        | ClaimKind::Between { cases, .. }
        | ClaimKind::Ordering { cases, .. } => cases.iter().map(|(of, to)| (of, to)).collect(),
        ClaimKind::Crossover { lines, .. } | ClaimKind::RisingRatio { lines, .. } => {
            lines.iter().flatten().map(|(of, to)| (of, to)).collect()
        }
        ClaimKind::Spread { cases, .. } => steps(cases).collect(),
        ClaimKind::Trend { lines, .. } => lines.iter().flat_map(|line| steps(line)).collect(),
    }
}

fn steps(line: &[Replicas]) -> impl Iterator<Item = (&Replicas, &Replicas)> {
    line.windows(2).map(|step| (&step[1], &step[0]))
}

fn is_same_run((of, to): (&Replicas, &Replicas), points: &[PointResult]) -> bool {
    let digest = |index: &usize| Some(&at(points, *index)?.digest);
    of.len() == to.len()
        && of.iter().zip(to).all(|(a, b)| digest(a).is_some() && digest(a) == digest(b))
}

fn at(points: &[PointResult], index: usize) -> Option<&PointResult> {
    points.iter().find(|point| point.index == index)
}

fn takes_time(claim: &Claim) -> bool {
    claim.metric.dimension == Some(Dimension::Time)
}

/// Whether it says no more than which of two is greater.
fn is_order(kind: &ClaimKind) -> bool {
    if let ClaimKind::Ordering { times, .. } = kind {
        return times.to_bits() == 1.0_f64.to_bits();
    }
    let ClaimKind::Trend { shape, .. } = kind else { return false };
    matches!(shape, Trend::Rises { .. } | Trend::Falls { .. })
}

/// Whether it says that the first of a pair is greater.
const fn is_rising(kind: &ClaimKind) -> bool {
    matches!(
        kind,
        ClaimKind::Ordering { below: false, .. }
            | ClaimKind::Trend { shape: Trend::Rises { .. }, .. }
    )
}

/// Whether two points differ in amounts only, and the first one has more of them.
fn does_more((of, to): (&Replicas, &Replicas), points: &[PointResult]) -> bool {
    let both = |(a, b): (&usize, &usize)| {
        let (a, b) = (at(points, *a)?, at(points, *b)?);
        let differ = a.params.iter().zip(&b.params).filter(|(a, b)| a != b);
        let mut compared =
            differ.map(|(a, b)| AMOUNTS.contains(&&*a.0) && amount(&a.1) > amount(&b.1));
        Some(compared.clone().next().is_some() && compared.all(|more| more))
    };
    of.len() == to.len() && of.iter().zip(to).all(|pair| both(pair) == Some(true))
}

fn amount(text: &str) -> Option<u64> {
    let quantity = |dimension| parse_quantity(text, dimension).ok();
    quantity(Dimension::Bytes).or_else(|| quantity(Dimension::Time)).or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(index: usize, digest: &str, size: &str) -> PointResult {
        let params = vec![("workload.size".to_owned(), size.to_owned())];
        PointResult { digest: digest.to_owned(), ..PointResult::at(index, params) }
    }

    #[test]
    fn runs_are_the_same_by_their_digests() {
        let points = [point(0, "a", "8 B"), point(1, "a", "8 B"), point(2, "b", "8 B")];
        assert!(is_same_run((&vec![0], &vec![1]), &points));
        assert!(!is_same_run((&vec![0], &vec![2]), &points));
        assert!(!is_same_run((&vec![0], &vec![7]), &points), "there is no point 7");
    }

    #[test]
    fn more_bytes_are_more_of_the_same() {
        let points = [point(0, "a", "1 KiB"), point(1, "b", "2 KiB"), point(2, "c", "2 KiB")];
        assert!(does_more((&vec![1], &vec![0]), &points));
        assert!(!does_more((&vec![0], &vec![1]), &points));
        assert!(!does_more((&vec![1], &vec![2]), &points), "they differ in nothing");
    }
}
