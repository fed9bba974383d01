//! Metrics that show one fact several times: a time, and the rates that follow from it.

/// The part by which the changes of two numbers may differ, where one is computed from the other.
const ROUNDING: f64 = 1e-9;

/// Whether two numbers changed by the same factor, or by its inverse: before and after of each.
pub fn in_step([old, new]: [f64; 2], [other_old, other_new]: [f64; 2]) -> bool {
    let (factor, other) = (new / old, other_new / other_old);
    let is_one = |ratio: f64| (ratio - 1.0).abs() < ROUNDING;
    is_one(factor / other) || is_one(factor * other)
}

/// Items in groups: each joins the first group whose first item is `alike`. The order stays.
pub fn groups<T>(
    items: impl IntoIterator<Item = T>,
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut all: Vec<Vec<T>> = Vec::new();
    for item in items {
        match all.iter_mut().find(|group| alike(&group[0], &item)) {
            Some(group) => group.push(item),
            None => all.push(vec![item]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_and_its_time_are_in_step_and_what_moved_otherwise_is_not() {
        assert!(in_step([10.0, 11.0], [100.0, 110.0]));
        assert!(in_step([10.0, 11.0], [1.0 / 10.0, 1.0 / 11.0]));
        assert!(!in_step([10.0, 11.0], [10.0, 11.000_1]));
        assert!(!in_step([0.0, 1.0], [0.0, 1.0]), "no factor leads away from zero");
        let groups = groups([3, 5, 4, 7, 8], |one, other| one % 2 == other % 2);
        assert_eq!(groups, [vec![3, 5, 7], vec![4, 8]]);
    }
}
