//! Least squares in which a large residual counts by its size: costs, steps and standard errors.
//!
//! A residual is a logarithm of simulated over measured value. A column says how one number moves
//! the residuals.

/// Where a residual is no longer small, so that a search finds its way.
pub(super) const WIDE: f64 = 0.5;
/// The greatest logarithm of a factor.
pub(super) const FARTHEST: f64 = 4.0;

pub(super) fn difference(above: &[f64], below: &[f64], step: f64) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| (above - below) / step).collect()
}

pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// Soft L1: squares of small residuals, sizes of large ones.
pub(super) fn cost(residuals: &[f64], small: f64) -> f64 {
    let one = |residual: &f64| small * small * ((1.0 + (residual / small).powi(2)).sqrt() - 1.0);
    let sum: f64 = residuals.iter().map(one).sum();
    if sum.is_nan() { f64::INFINITY } else { sum }
}

/// `None` where one is infinite.
pub(super) fn root_mean_square(residuals: &[f64]) -> Option<f64> {
    let mean = dot(residuals, residuals) / to_f64(residuals.len().max(1));
    mean.is_finite().then(|| mean.sqrt())
}

fn weight(residual: f64, small: f64) -> f64 {
    1.0 / (1.0 + (residual / small).powi(2)).sqrt()
}

/// The weighted normal matrix of columns.
fn normal<C: AsRef<[f64]>>(columns: &[C], residuals: &[f64], small: f64) -> Vec<Vec<f64>> {
    let weighted = |left: &[f64], right: &[f64]| -> f64 {
        let pairs = left.iter().zip(right).zip(residuals);
        pairs.map(|((left, right), residual)| left * right * weight(*residual, small)).sum()
    };
    let row =
        |left: &C| columns.iter().map(|right| weighted(left.as_ref(), right.as_ref())).collect();
    columns.iter().map(row).collect()
}

/// The damped step that the columns ask for; each pull with its slope.
pub(super) fn newton(
    columns: &[Vec<f64>],
    residuals: &[f64],
    pulls: &[(f64, f64)],
    (damping, small): (f64, f64),
) -> Option<Vec<f64>> {
    let mut matrix = normal(columns, residuals, small);
    for (index, row) in matrix.iter_mut().enumerate() {
        row[index] += pulls[index].1.powi(2);
        row[index] += damping * row[index] + 1e-12;
    }
    let against = |column: &Vec<f64>| -> f64 {
        let pairs = column.iter().zip(residuals);
        -pairs.map(|(effect, residual)| effect * residual * weight(*residual, small)).sum::<f64>()
    };
    let right =
        columns.iter().zip(pulls).map(|(column, (pull, slope))| against(column) - pull * slope);
    let right = right.collect();
    solve(matrix, right)
}

/// The columns after a step with an unexpected outcome: changed as little as explains it, along the
/// step alone (Broyden).
pub(super) fn learn(columns: &mut [Vec<f64>], step: &[f64], before: &[f64], after: &[f64]) {
    let length = dot(step, step);
    if length <= 0.0 || after.iter().any(|residual| !residual.is_finite()) {
        return;
    }
    for (row, (before, after)) in before.iter().zip(after).enumerate() {
        let foretold: f64 = columns.iter().zip(step).map(|(column, step)| column[row] * step).sum();
        let missed = after - before - foretold;
        for (column, step) in columns.iter_mut().zip(step) {
            column[row] += missed * step / length;
        }
    }
}

/// Standard errors of the logarithms.
pub(super) fn standard_errors(columns: &[&Vec<f64>], residuals: &[f64]) -> Vec<f64> {
    let matrix = normal(columns, residuals, WIDE);
    let squares: f64 = residuals.iter().map(|one| one * one * weight(*one, WIDE)).sum();
    let free = residuals.len().saturating_sub(columns.len()).max(1);
    let variance = squares / to_f64(free);
    let diagonal = |index: usize| {
        let mut unit = vec![0.0; columns.len()];
        unit[index] = 1.0;
        solve(matrix.clone(), unit)
            .map_or(FARTHEST, |inverse| (inverse[index] * variance).max(0.0).sqrt())
    };
    (0..columns.len()).map(diagonal).collect()
}

/// Elimination with pivots; `None` where the matrix is singular.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        if matrix[pivot][column].abs() <= 1e-14 || matrix[pivot][column].is_nan() {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..size {
            let factor = matrix[row][column] / matrix[column][column];
            let (above, below) = matrix.split_at_mut(row);
            below[0]
                .iter_mut()
                .zip(&above[column])
                .for_each(|(cell, pivot)| *cell -= factor * pivot);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let known = dot(&matrix[row][row + 1..], &right[row + 1..]);
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

#[expect(clippy::cast_precision_loss, reason = "a number of rows")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_and_singular_ones_refused() {
        let matrix = vec![vec![0.0, 2.0, 1.0], vec![1.0, 1.0, 0.0], vec![4.0, 0.0, 1.0]];
        let found = solve(matrix, vec![7.0, 3.0, 7.0]).unwrap();
        for (found, wanted) in found.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
        assert_eq!(solve(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 2.0]), None);
    }

    #[test]
    fn a_step_of_a_straight_line_ends_in_its_minimum() {
        // Residuals 2 a - b - 0.01 and a + b - 0.02 vanish at a = b = 0.01.
        let columns = [vec![2.0, 1.0], vec![-1.0, 1.0]];
        let step = newton(&columns, &[-0.01, -0.02], &[(0.0, 0.0); 2], (0.0, WIDE)).unwrap();
        for found in step {
            assert!((found - 0.01).abs() < 1e-9, "{found}");
        }
    }

    #[test]
    fn an_outlier_counts_by_its_size() {
        assert!(cost(&[0.0], WIDE) < 1e-12);
        let ratio = |size: f64| cost(&[2.0 * size], 0.2) / cost(&[size], 0.2);
        assert!((2.0..2.1).contains(&ratio(10.0)) && (3.9..4.0).contains(&ratio(0.01)));
    }

    #[test]
    fn columns_learn_what_a_step_has_shown_and_nothing_else() {
        let mut columns = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        learn(&mut columns, &[0.5, 0.0], &[0.0, 0.0], &[1.0, 0.0]);
        assert_eq!(columns, [vec![2.0, 0.0], vec![0.0, 1.0]]);
        learn(&mut columns, &[0.5, 0.0], &[0.0, 0.0], &[f64::INFINITY, 0.0]);
        assert_eq!(columns, [vec![2.0, 0.0], vec![0.0, 1.0]]);
    }
}
