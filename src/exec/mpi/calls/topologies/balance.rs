//! Grids whose dimensions are as alike as can be: `MPI_Dims_create`.

use std::cmp::Reverse;

/// So many factors of a number, the greatest first: those whose greatest and least differ least; of several such
/// lists that with the greatest least factor, then with the greatest next one, and so on.
pub(super) fn factors(number: u32, count: usize) -> Vec<u32> {
    let Some(others) = count.checked_sub(1) else { return Vec::new() };
    let divisors = divisors(number);
    let mut best: Option<Vec<u32>> = None;
    for greatest in &divisors {
        // To be as good, a list must have a least factor of at least so much.
        let least = best.as_ref().map_or(1, |known| {
            let unlike = known[0] - known[others];
            greatest.saturating_sub(unlike).max(1)
        });
        let rest = number / greatest;
        if power(least, others) > rest.into() {
            break;
        }
        let lists = lists(rest, others, (least, *greatest), &divisors);
        let lists = lists.into_iter().map(|list| [vec![*greatest], list].concat());
        best = best.into_iter().chain(lists).min_by_key(|list| {
            let from_least: Vec<u32> = list.iter().rev().copied().collect();
            (list[0] - list[others], Reverse(from_least))
        });
    }
    best.unwrap_or_default()
}

/// All lists of so many factors of a number, the greatest first, from `least` to `most`.
fn lists(number: u32, count: usize, (least, most): (u32, u32), divisors: &[u32]) -> Vec<Vec<u32>> {
    let Some(others) = count.checked_sub(1) else {
        return if number == 1 { vec![Vec::new()] } else { Vec::new() };
    };
    if power(most, count) < number.into() || power(least, count) > number.into() {
        return Vec::new();
    }
    let allowed =
        |factor: &&u32| (least..=most).contains(*factor) && number.is_multiple_of(**factor);
    let greatest = divisors.iter().filter(allowed);
    greatest
        .flat_map(|greatest| {
            let behind = lists(number / greatest, others, (least, *greatest), divisors);
            behind.into_iter().map(|list| [vec![*greatest], list].concat())
        })
        .collect()
}

fn power(base: u32, exponent: usize) -> u64 {
    (0..exponent).fold(1, |all: u64, _| all.saturating_mul(base.into()))
}

fn divisors(number: u32) -> Vec<u32> {
    let small = (1..).take_while(|factor| factor * factor <= number);
    let small: Vec<u32> = small.filter(|factor| number.is_multiple_of(*factor)).collect();
    let large = small.iter().rev().map(|factor| number / factor);
    let mut all: Vec<u32> = small.iter().copied().chain(large).collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_as_alike_as_can_be() {
        assert_eq!(factors(72, 2), [9, 8]);
        assert_eq!(factors(24, 3), [4, 3, 2]);
        assert_eq!(factors(4096, 4), [8, 8, 8, 8]);
        assert_eq!(factors(7, 3), [7, 1, 1]);
        assert_eq!(factors(1, 2), [1, 1]);
        assert_eq!(factors(1, 0), [0; 0]);
        assert_eq!(factors(336, 2), [21, 16]);
    }
}
