//! The search: which candidates the rows can tell, and their values.
//!
//! Residuals are logarithms of simulated over measured value; where one is large it counts by its
//! size, not its square (soft L1), so that one row that no number reaches does not bend all others. What
//! is large becomes narrower on the way, since the last cost alone would end in the next valley.
//! A number that the machine's model calls measured or stated pulls to where it was: its distance, in
//! halves of its range, weighs as much as the residual of a row. Where the rows can be reproduced exactly,
//! nothing pulls. Steps are
//! those of Gauss and Newton, damped (Levenberg, Marquardt), from differences of runs; at the end two
//! candidates that move nearly the same rows take steps of their own, from longer differences. The eager
//! threshold is one of the measured sizes: those with the least residual are tried, each with a short
//! search of the rest. Nothing is random, and nothing depends on time.
//!
//! A candidate is *separable* if its effect on the rows, less what the candidates before it can do
//! together, is at least a tenth of the whole; and *determined* if the rows then tell it to a factor
//! of two (two standard errors). What is not stays as it was.

use std::f64::consts::LN_2;

use super::bench::{BenchError, Row, Runner, Values};
use super::candidates::{Between, Candidate};
use super::least_squares::{
    FARTHEST, WIDE, cost, difference, dot, learn, newton, root_mean_square, standard_errors,
};
use super::request::Role;
use form::machine::{Confidence, KnownNumber};
use hardware::profile::{Kind, Parameter, Value};

/// Step of differences, in logarithms: below the kinks of the model, above its rounding.
const STEP: f64 = 0.02;
/// Two candidates are alike where the cosine between their effects is at least this.
const ALIKE: f64 = 0.9;
/// Steps of differences along the valley between them: over many kinks first.
const STRIDES: [f64; 3] = [0.3, 0.1, 0.03];
/// A candidate moves rows by at least so many percent for each percent of its own.
const VISIBLE: f64 = 0.03;
/// The least part of a candidate's effect that is its own, beside those of the others.
const SEPARABLE: f64 = 0.1;
/// The greatest standard error of a logarithm that is determined.
const VAGUE: f64 = 0.35;
/// Where a residual is no longer small at the end.
const NARROW: f64 = 0.05;
/// Rounds of a whole search and of a short one.
const LONG: u32 = 24;
const SHORT: u32 = 6;
/// Steps that are tried, each damped more, before none is better.
const TRIES: u32 = 5;
/// Of how much a step is damped first.
const DAMPING: f64 = 1e-3;
/// A step is worth a further one where the cost falls by this part.
const GAIN: f64 = 1e-4;
/// Thresholds that are tried with a search each.
const THRESHOLDS: usize = 6;
/// A candidate whose effect is less may be a limit that is not reached.
const WEAK: f64 = 0.25;
/// How often it is halved then, and how much less a better cost is.
const HALVES: u32 = 8;
const CLEARLY: f64 = 0.95;
/// The misfit of rows before any search.
const FIRST_MISFIT: f64 = 0.1;
/// How often the determined candidates are chosen again.
const LOOKS: u32 = 6;
/// Rows are reproduced where the misfit is not above this.
const MET: f64 = 0.02;
/// A kept candidate decides about a row that it moves by this part of its own change.
const DECIDES: f64 = 0.5;
/// A threshold is determined where the next ones cost so many times as much.
const WORSE: f64 = 1.01;

/// A number that was determined.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its path.
    pub path: &'static str,
    /// Its candidate.
    pub of: &'static str,
    /// As the machine had it.
    pub start: Value,
    /// As it was found.
    pub value: Value,
    /// Twice its standard error below, and above, as far as the band of real machines goes.
    pub range: (Value, Value),
    /// Which measurement tells it.
    pub told_by: &'static str,
    /// By how many percent a row moves with one percent of it, at most.
    pub effect: f64,
}

/// A candidate that was not determined.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its parameters.
    pub paths: Vec<&'static str>,
    /// Its name.
    pub name: &'static str,
    /// Why it stays as it was.
    pub why: String,
    /// Rows that it moves by more than half of its own change: there it decides.
    pub decides: Vec<usize>,
}

/// The result of the search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fitted {
    /// Numbers in place of the machine's.
    pub values: Values,
    /// They, one by one.
    pub numbers: Vec<Number>,
    /// The numbers that could not be determined.
    pub kept: Vec<Kept>,
}

/// Where the search is: a logarithm for each candidate, the threshold, and the limits of short messages.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    factors: Vec<f64>,
    threshold: Option<u64>,
    /// In bytes, in the order of [`Search::limits`].
    limits: Vec<u64>,
}

/// A place, the candidates determined there, and those determined too vaguely.
type Settled = (Place, Vec<usize>, Vec<(usize, String)>);

struct Search<'a, 'b> {
    runner: &'a mut Runner<'b>,
    between: Between,
    candidates: Vec<&'static Candidate>,
    /// Limits of short messages that are searched.
    limits: Vec<&'static str>,
    /// Half the range of each candidate that was measured or stated, as a logarithm.
    known_to: Vec<Option<f64>>,
    /// How far rows are from what they should be, by now: the root of their mean square.
    misfit: f64,
    /// Where a residual is no longer small, by now.
    small: f64,
    /// Whether candidates are tried that are not the first.
    all: bool,
    /// Rows that are fitted.
    rows: Vec<usize>,
}

/// Searches the numbers of the machine that the rows of these roles can tell.
///
/// # Errors
///
/// [`BenchError`] where a row cannot be run.
pub fn search(
    runner: &mut Runner<'_>,
    between: Between,
    used: &[Role],
) -> Result<Fitted, BenchError> {
    let bench = runner.bench;
    let given = |candidate: &&Candidate| {
        let is_given = |path: &&str| bench.number(path).is_some_and(|n| steps(n) > 0);
        candidate.paths.iter().all(|path| is_given(path) && !bench.keep.contains(path))
    };
    let measured = |candidate: &&Candidate| {
        let tables = || bench.tables.iter().filter(|table| table.fitted);
        candidate.needs.is_none_or(|needed| tables().any(|table| table.benchmark == needed))
    };
    let all = between.candidates().iter().filter(given);
    let candidates: Vec<&'static Candidate> = all.filter(measured).collect();
    let fitted = |(_, row): &(usize, &Row)| used.contains(&row.role);
    let rows = bench.rows.iter().enumerate().filter(fitted).map(|(index, _)| index).collect();
    let threshold = bench.number(between.threshold()).map(steps);
    let threshold = threshold.filter(|_| !bench.keep.contains(&between.threshold()));
    let mut limits = between.limits().to_vec();
    limits.retain(|path| bench.number(path).is_some() && !bench.keep.contains(path));
    let stated = limits.iter().filter_map(|path| bench.number(path)).map(steps).collect();
    let place = Place { factors: vec![0.0; candidates.len()], threshold, limits: stated };
    let known_to = candidates.iter().map(|one| bench.number(one.paths[0]).and_then(half_range));
    let known_to = known_to.collect();
    Search {
        runner,
        between,
        candidates,
        limits,
        known_to,
        misfit: FIRST_MISFIT,
        small: WIDE,
        all: false,
        rows,
    }
    .run(&place)
}

/// Half the range of a number that is more than derived or assumed, as a logarithm.
fn half_range(number: &KnownNumber) -> Option<f64> {
    let sure = matches!(number.confidence, Confidence::Measured | Confidence::Spec);
    let (low, high) = (number.low?.steps(), number.high?.steps());
    let wide = low > 0 && high > low;
    (sure && wide).then(|| (to_f64_steps(high) / to_f64_steps(low)).ln() / 2.0)
}

fn steps(number: &KnownNumber) -> u64 {
    number.value.map_or(0, Value::steps)
}

impl Search<'_, '_> {
    /// Without pulls first: where that meets the rows, nothing needs to pull.
    fn run(mut self, start: &Place) -> Result<Fitted, BenchError> {
        self.misfit = 0.0;
        let (mut place, mut chosen, mut vague) = self.settle(start.clone())?;
        if self.misfit > MET {
            (self.misfit, self.small, self.all) = (FIRST_MISFIT, WIDE, false);
            (place, chosen, vague) = self.settle(start.clone())?;
        }
        self.result(&place, &chosen, vague)
    }

    /// Searches until the determined candidates stay the same: the place, and these candidates.
    fn settle(&mut self, mut place: Place) -> Result<Settled, BenchError> {
        let tries_to_meet = self.misfit == 0.0;
        let jacobian = self.jacobian(&place)?;
        let (mut chosen, _) = self.tell_apart(&jacobian);
        place = self.thresholds(place, &chosen)?;
        self.small = NARROW;
        let mut vague: Vec<(usize, String)> = Vec::new();
        for look in 0..LOOKS {
            place = self.descend(place, &chosen, LONG)?.0;
            place = self.neighbours(place, &chosen)?;
            let residuals = self.residuals(&place)?;
            self.misfit = root_mean_square(&residuals).unwrap_or(FIRST_MISFIT);
            if tries_to_meet && self.misfit > MET {
                break;
            }
            let more = !self.all && self.misfit > MET;
            self.all |= more;
            if more {
                place = self.lowered(place)?;
            }
            if self.misfit > MET {
                place = self.limited(place)?;
            }
            let jacobian = self.jacobian(&place)?;
            let (mut now, _) = self.tell_apart(&jacobian);
            now.retain(|index| vague.iter().all(|(known, _)| known != index));
            // Errors are known once the search has settled.
            if look > 0 && !more {
                vague.extend(vaguest(&jacobian, &residuals, &mut now));
            }
            if look > 0 && now == chosen {
                break;
            }
            // A candidate that is no longer determined goes back to its old value.
            for (index, factor) in place.factors.iter_mut().enumerate() {
                if !now.contains(&index) {
                    *factor = 0.0;
                }
            }
            chosen = now;
        }
        place = self.descend(place, &chosen, LONG)?.0;
        place = self.along_valleys(place, &chosen)?;
        Ok((place, chosen, vague))
    }

    /// Between two candidates that move nearly the same rows lies a narrow valley, and kinks of the
    /// model hide its slope from short differences: the two alone, from long ones.
    fn along_valleys(&mut self, mut place: Place, chosen: &[usize]) -> Result<Place, BenchError> {
        let jacobian = self.jacobian(&place)?;
        let mut residuals = self.residuals(&place)?;
        for _ in 0..SHORT {
            let before = self.cost(&place, &residuals);
            for pair in alike(&jacobian, chosen) {
                for stride in STRIDES {
                    let mut columns = self.differences(&place, &pair, stride)?;
                    let mut damping = DAMPING;
                    let found =
                        self.step(&place, &pair, &mut columns, &residuals, &mut damping, TRIES)?;
                    (place, residuals) = found.unwrap_or((place, residuals));
                }
            }
            if self.cost(&place, &residuals) >= before * (1.0 - GAIN) {
                break;
            }
        }
        Ok(place)
    }

    /// A limit that is not reached hardly moves a row, however wrong it is: what hardly moves one is
    /// lowered by halves, and stays where that is better.
    fn lowered(&mut self, place: Place) -> Result<Place, BenchError> {
        let jacobian = self.jacobian(&place)?;
        let here = self.residuals(&place)?;
        let mut best = (self.cost(&place, &here), place);
        for (index, column) in jacobian.iter().enumerate() {
            if greatest(column) >= WEAK {
                continue;
            }
            let halves = (1..=HALVES).map(|n| moved(&best.1, index, -f64::from(n) * LN_2));
            let places: Vec<Place> = halves.collect();
            for (place, there) in places.iter().zip(self.residuals_of(&places)?) {
                let cost = self.cost(place, &there);
                if cost < best.0 * CLEARLY {
                    best = (cost, place.clone());
                }
            }
        }
        Ok(best.1)
    }

    /// Up to which size a message goes along with its descriptor is a step of the latency: a measured size. Each limit
    /// by itself and all together are moved from size to size, as long as that is clearly better.
    fn limited(&mut self, mut place: Place) -> Result<Place, BenchError> {
        let here = self.residuals(&place)?;
        let mut best = self.cost(&place, &here);
        for _ in 0..SHORT {
            let places = self.limits_of(&place);
            let residuals = self.residuals_of(&places)?;
            let costs = places.iter().zip(&residuals).map(|(place, there)| self.cost(place, there));
            let least = costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((at, cost)) = least.filter(|(_, cost)| *cost < best * CLEARLY) else { break };
            (best, place) = (cost, places[at].clone());
        }
        Ok(place)
    }

    /// Places with other limits.
    fn limits_of(&self, place: &Place) -> Vec<Place> {
        let with = |limits: Vec<u64>| Place { limits, ..place.clone() };
        let mut places = Vec::new();
        for at in 0..self.limits.len() {
            for value in self.limits_of_sizes(at) {
                let mut limits = place.limits.clone();
                limits[at] = value;
                places.push(with(limits));
                let takes = |other: usize| self.limits_of_sizes(other).contains(&value);
                if (0..self.limits.len()).all(takes) {
                    places.push(with(vec![value; place.limits.len()]));
                }
            }
        }
        places.retain(|other| other != place);
        places
    }

    /// A limit that lets through so many of the measured sizes, for each number of them: the payload and its header.
    fn limits_of_sizes(&self, at: usize) -> Vec<u64> {
        let header = self.runner.bench.start.profile.mpi.header_bytes.as_u64();
        let band = Parameter::find(self.limits[at]).expect("a parameter").plausible();
        let sizes = self.sizes().into_iter().map(|size| size + header);
        std::iter::once(0).chain(sizes).filter(|limit| *limit <= band.1.steps()).collect()
    }

    /// The residuals that pull candidates to their old values, one each.
    fn pulls(&self, place: &Place) -> Vec<f64> {
        let pull = |(factor, half): (&f64, &Option<f64>)| {
            half.map_or(0.0, |half| self.misfit * factor / half)
        };
        place.factors.iter().zip(&self.known_to).map(pull).collect()
    }

    fn cost(&self, place: &Place, residuals: &[f64]) -> f64 {
        let pulls = self.pulls(place).iter().map(|pull| pull * pull / 2.0).sum::<f64>();
        cost(residuals, self.small) + pulls
    }

    /// The numbers at a place.
    fn values(&self, place: &Place) -> Values {
        let mut values = Values::new();
        for (candidate, factor) in self.candidates.iter().zip(&place.factors) {
            for path in candidate.paths.iter().filter(|_| *factor != 0.0) {
                let known = self.runner.bench.number(path).expect("a candidate is given");
                let before = values.get(path).copied().or(known.value).expect("it has a value");
                values.insert(path, scaled(path, before, *factor));
            }
        }
        if let Some(threshold) = place.threshold {
            values.insert(self.between.threshold(), Kind::Bytes.value(threshold));
        }
        for (path, limit) in self.limits.iter().zip(&place.limits) {
            values.insert(path, Kind::Bytes.value(*limit));
        }
        values
    }

    /// Logarithms of simulated over measured value.
    fn residuals(&mut self, place: &Place) -> Result<Vec<f64>, BenchError> {
        Ok(self.residuals_of(std::slice::from_ref(place))?.remove(0))
    }

    /// The same of many places, which run side by side.
    fn residuals_of(&mut self, places: &[Place]) -> Result<Vec<Vec<f64>>, BenchError> {
        let values: Vec<Values> = places.iter().map(|place| self.values(place)).collect();
        let simulated = self.runner.run(&values, &self.rows)?;
        let measured = |row: &usize| self.runner.bench.rows[*row].measured;
        let measured: Vec<f64> = self.rows.iter().map(measured).collect();
        let logarithms = |simulated: Vec<f64>| {
            simulated.iter().zip(&measured).map(|(one, measured)| (one / measured).ln()).collect()
        };
        Ok(simulated.into_iter().map(logarithms).collect())
    }

    /// How each candidate moves the rows, a column each.
    fn jacobian(&mut self, place: &Place) -> Result<Vec<Vec<f64>>, BenchError> {
        let all: Vec<usize> = (0..self.candidates.len()).collect();
        self.differences(place, &all, STEP)
    }

    /// The same of some candidates, by differences of `step` to both sides.
    fn differences(
        &mut self,
        place: &Place,
        of: &[usize],
        step: f64,
    ) -> Result<Vec<Vec<f64>>, BenchError> {
        let both = of.iter().flat_map(|&index| [-step, step].map(|step| moved(place, index, step)));
        let both: Vec<Place> = both.collect();
        let residuals = self.residuals_of(&both)?;
        Ok(residuals.chunks(2).map(|ends| difference(&ends[1], &ends[0], 2.0 * step)).collect())
    }

    /// The same of some candidates, on one side only: half the runs.
    fn slopes(
        &mut self,
        place: &Place,
        here: &[f64],
        of: &[usize],
    ) -> Result<Vec<Vec<f64>>, BenchError> {
        let places: Vec<Place> = of.iter().map(|&index| moved(place, index, STEP)).collect();
        let residuals = self.residuals_of(&places)?;
        Ok(residuals.iter().map(|there| difference(there, here, STEP)).collect())
    }

    /// The candidates that the rows can tell, and why not the others.
    fn tell_apart(&self, jacobian: &[Vec<f64>]) -> (Vec<usize>, Vec<(usize, String)>) {
        let mut chosen = Vec::new();
        let mut why = Vec::new();
        let mut basis: Vec<(usize, Vec<f64>)> = Vec::new();
        for (index, column) in jacobian.iter().enumerate() {
            if !self.all && !self.candidates[index].first {
                why.push((index, "the rows are met without it".to_owned()));
                continue;
            }
            let most = greatest(column);
            if !most.is_finite() || most < VISIBLE {
                why.push((
                    index,
                    format!("moves no fitted row by more than {VISIBLE} % a percent"),
                ));
                continue;
            }
            let mut left = column.clone();
            let mut shares = Vec::new();
            for (other, unit) in &basis {
                let share = dot(&left, unit);
                left.iter_mut().zip(unit).for_each(|(left, unit)| *left -= share * unit);
                shares.push((share.abs(), *other));
            }
            let norm = dot(&left, &left).sqrt();
            if norm < SEPARABLE * dot(column, column).sqrt() {
                shares.sort_by(|a, b| b.0.total_cmp(&a.0));
                let names: Vec<&str> =
                    shares.iter().take(2).map(|(_, other)| self.candidates[*other].name).collect();
                why.push((index, format!("not separable from {}", names.join(" and "))));
                continue;
            }
            basis.push((index, left.iter().map(|left| left / norm).collect()));
            chosen.push(index);
        }
        (chosen, why)
    }

    /// Damped steps from `place`; the place and its cost.
    ///
    /// Columns are measured by runs once, learn from each step, and are measured again where no
    /// step that they ask for is better.
    fn descend(
        &mut self,
        mut place: Place,
        chosen: &[usize],
        rounds: u32,
    ) -> Result<(Place, f64), BenchError> {
        let mut residuals = self.residuals(&place)?;
        let mut columns = self.slopes(&place, &residuals, chosen)?;
        let mut fresh = true;
        let mut damping = DAMPING;
        for _ in 0..rounds {
            let before = self.cost(&place, &residuals);
            let tries = if fresh { TRIES } else { 1 };
            let found = self.step(&place, chosen, &mut columns, &residuals, &mut damping, tries)?;
            let gain =
                found.as_ref().map_or(0.0, |(moved, there)| before - self.cost(moved, there));
            if let Some(better) = found {
                (place, residuals) = better;
            }
            if gain >= GAIN * before && gain > 0.0 {
                fresh = false;
            } else if fresh {
                break;
            } else {
                columns = self.slopes(&place, &residuals, chosen)?;
                fresh = true;
            }
        }
        let cost = self.cost(&place, &residuals);
        Ok((place, cost))
    }

    /// One step that makes the cost less, and its residuals; `None` where none of `tries` does.
    fn step(
        &mut self,
        place: &Place,
        chosen: &[usize],
        columns: &mut [Vec<f64>],
        residuals: &[f64],
        damping: &mut f64,
        tries: u32,
    ) -> Result<Option<(Place, Vec<f64>)>, BenchError> {
        let slope = |index: usize| self.known_to[index].map_or(0.0, |half| self.misfit / half);
        let all = self.pulls(place);
        let pulls: Vec<(f64, f64)> =
            chosen.iter().map(|&index| (all[index], slope(index))).collect();
        for _ in 0..tries {
            let Some(step) = newton(columns, residuals, &pulls, (*damping, self.small)) else {
                return Ok(None);
            };
            let mut moved = place.clone();
            for (&index, step) in chosen.iter().zip(&step) {
                let factor = &mut moved.factors[index];
                *factor = (*factor + step.clamp(-1.0, 1.0)).clamp(-FARTHEST, FARTHEST);
            }
            let found = self.residuals(&moved)?;
            let went: Vec<f64> =
                chosen.iter().map(|&at| moved.factors[at] - place.factors[at]).collect();
            let better = self.cost(&moved, &found) < self.cost(place, residuals);
            learn(columns, &went, residuals, &found);
            if better {
                *damping = (*damping / 10.0).max(1e-6);
                return Ok(Some((moved, found)));
            }
            *damping *= 10.0;
        }
        Ok(None)
    }

    /// Measured sizes that can be the largest eager one.
    fn sizes(&self) -> Vec<u64> {
        let bench = self.runner.bench;
        let by_size = |row: &&Row| bench.tables[row.table].benchmark.first_column() == "size";
        let rows = self.rows.iter().map(|&row| &bench.rows[row]);
        let mut sizes: Vec<u64> = rows.filter(by_size).map(|row| row.key).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let band = Parameter::find(self.between.threshold()).expect("a parameter").plausible();
        sizes.retain(|size| *size <= band.1.steps());
        sizes
    }

    /// The best threshold: all are looked at as the machine is, the best of them with a short search.
    fn thresholds(&mut self, place: Place, chosen: &[usize]) -> Result<Place, BenchError> {
        let Some(start) = place.threshold else { return Ok(self.descend(place, chosen, SHORT)?.0) };
        let sizes = self.sizes();
        let with = |size: &u64| Place { threshold: Some(*size), ..place.clone() };
        let places: Vec<Place> = sizes.iter().map(with).collect();
        let residuals = self.residuals_of(&places)?;
        let costs = places.iter().zip(&residuals).map(|(place, there)| self.cost(place, there));
        let mut tried: Vec<(f64, u64)> = costs.zip(sizes).collect();
        tried.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let sizes: Vec<u64> = tried.iter().take(THRESHOLDS).map(|(_, size)| *size).collect();
        let mut best: Option<(f64, Place)> = None;
        for size in std::iter::once(start).chain(sizes) {
            self.small = WIDE;
            let begin = Place { threshold: Some(size), ..place.clone() };
            let (found, _) = self.descend(begin, chosen, SHORT)?;
            self.small = NARROW;
            let (found, cost) = self.descend(found, chosen, SHORT)?;
            if best.as_ref().is_none_or(|(least, _)| cost < least * (1.0 - 1e-6)) {
                best = Some((cost, found));
            }
        }
        Ok(best.map_or(place, |(_, place)| place))
    }

    /// The same with the sizes beside the present one, until none is better.
    fn neighbours(&mut self, place: Place, chosen: &[usize]) -> Result<Place, BenchError> {
        let residuals = self.residuals(&place)?;
        let now = self.cost(&place, &residuals);
        let mut best = (place, now);
        while let Some(now) = best.0.threshold {
            let tried: Vec<u64> = self.beside(now).into_iter().flatten().collect();
            best = self.best_of(best, &tried, chosen)?;
            if best.0.threshold == Some(now) {
                break;
            }
        }
        Ok(best.0)
    }

    /// The thresholds that make one more size, and one less, a large one.
    fn beside(&self, threshold: u64) -> [Option<u64>; 2] {
        let sizes = self.sizes();
        let eager = sizes.iter().rposition(|size| *size <= threshold);
        let below = eager.and_then(|place| place.checked_sub(1)).map(|place| sizes[place]);
        [below, sizes.into_iter().find(|size| *size > threshold)]
    }

    fn best_of(
        &mut self,
        mut best: (Place, f64),
        thresholds: &[u64],
        chosen: &[usize],
    ) -> Result<(Place, f64), BenchError> {
        for &size in thresholds {
            let begin = Place { threshold: Some(size), ..best.0.clone() };
            let found = self.descend(begin, chosen, SHORT)?;
            if found.1 < best.1 * (1.0 - 1e-6) {
                best = found;
            }
        }
        Ok(best)
    }

    /// The values found, rounded as they are written, with their ranges.
    fn result(
        mut self,
        place: &Place,
        chosen: &[usize],
        unsure: Vec<(usize, String)>,
    ) -> Result<Fitted, BenchError> {
        let residuals = self.residuals(place)?;
        let jacobian = self.jacobian(place)?;
        let (separable, mut why) = self.tell_apart(&jacobian);
        why.extend(unsure);
        // Reasons that were found first stand first.
        why.extend(
            separable.into_iter().map(|index| (index, "told at the end of the search only".into())),
        );
        why.retain(|(index, _)| !chosen.contains(index));
        why.sort_by_key(|(index, _)| *index);
        why.dedup_by_key(|(index, _)| *index);
        let threshold = self.threshold_number(place, &residuals)?;
        let limits = self.limit_numbers(place, &residuals)?;
        let columns: Vec<&Vec<f64>> = chosen.iter().map(|&index| &jacobian[index]).collect();
        let errors = standard_errors(&columns, &residuals);
        let mut values = self.values(place);
        for (path, value) in &mut values {
            if *path != self.between.threshold() && !self.limits.contains(path) {
                *value = rounded(*value);
            }
        }
        let mut numbers = Vec::new();
        for (place, &index) in chosen.iter().enumerate() {
            let candidate = self.candidates[index];
            let effect = jacobian[index].iter().fold(0.0_f64, |most, e| most.max(e.abs()));
            for path in candidate.paths {
                if let Some(known) =
                    numbers.iter_mut().find(|known: &&mut Number| known.path == *path)
                {
                    // One of several that move together, and one that moves by itself, too.
                    (known.of, known.told_by) =
                        (candidate.name, candidate.witness(&self.runner.bench.tables));
                    continue;
                }
                let known = self.runner.bench.number(path).and_then(|number| number.value);
                let start = known.expect("a candidate has a value");
                let value = *values.entry(path).or_insert(start);
                let spread = (2.0 * errors[place]).clamp(0.01, FARTHEST);
                let end = |spread: f64| rounded(scaled(path, value, spread));
                let range = (end(-spread), end(spread));
                let (of, told_by) = (candidate.name, candidate.witness(&self.runner.bench.tables));
                numbers.push(Number { path, of, start, value, range, told_by, effect });
            }
        }
        let mut kept: Vec<Kept> = Vec::new();
        match threshold {
            Some(Ok(number)) => numbers.push(number),
            Some(Err(unknown)) => {
                values.remove(unknown.name);
                kept.push(unknown);
            }
            None => {}
        }
        let others = why.into_iter().map(|(index, why)| {
            let candidate = self.candidates[index];
            let told = |path: &&&str| !numbers.iter().any(|number| number.path == **path);
            let paths = candidate.paths.iter().filter(told).copied().collect();
            let decides = jacobian[index].iter().zip(&self.rows);
            let decides = decides.filter(|(effect, _)| effect.abs() >= DECIDES);
            let decides = decides.map(|(_, row)| *row).collect();
            Kept { paths, name: candidate.name, why, decides }
        });
        kept.splice(0..0, others);
        for limit in limits {
            match limit {
                Ok(number) => numbers.push(number),
                Err(unknown) => {
                    values.remove(unknown.name);
                    kept.push(unknown);
                }
            }
        }
        Ok(Fitted { values, numbers, kept })
    }

    /// The limits that were moved, each with the range in which the rows are reproduced as well; those that were not,
    /// and why.
    fn limit_numbers(
        &mut self,
        place: &Place,
        residuals: &[f64],
    ) -> Result<Vec<Result<Number, Kept>>, BenchError> {
        let mut all = Vec::new();
        for (at, &path) in self.limits.clone().iter().enumerate() {
            let start = self.runner.bench.number(path).and_then(|number| number.value);
            let start = start.expect("a limit that is searched has a value");
            let found = place.limits[at];
            if start.steps() == found {
                all.push(Err(unknown(path, "no other size is clearly better for it")));
                continue;
            }
            let sizes = self.limits_of_sizes(at);
            let here = sizes.iter().position(|limit| *limit == found).expect("one of them");
            let as_well = |search: &mut Self,
                           other: Option<usize>|
             -> Result<Option<u64>, BenchError> {
                let Some(other) = other.and_then(|other| sizes.get(other)) else { return Ok(None) };
                let mut moved = place.clone();
                moved.limits[at] = *other;
                let there = cost(&search.residuals(&moved)?, search.small);
                Ok((there < cost(residuals, search.small) * WORSE).then_some(*other))
            };
            let low = as_well(self, here.checked_sub(1))?.unwrap_or(found);
            let high = as_well(self, Some(here + 1))?.unwrap_or(found);
            let next = |limit: u64| {
                sizes.iter().find(|other| **other > limit).map_or(limit, |other| other - 1)
            };
            let bytes = |size| Kind::Bytes.value(size);
            all.push(Ok(Number {
                path,
                of: path,
                start,
                value: bytes(found),
                range: (bytes(low), bytes(next(high))),
                told_by: "size at which the latency of short messages steps up",
                effect: 0.0,
            }));
        }
        Ok(all)
    }

    /// The threshold lies between the largest eager size and the next one, where both are measured
    /// and another choice would be worse.
    fn threshold_number(
        &mut self,
        place: &Place,
        residuals: &[f64],
    ) -> Result<Option<Result<Number, Kept>>, BenchError> {
        let path = self.between.threshold();
        let start = self.runner.bench.number(path).and_then(|number| number.value);
        let (Some(found), Some(start)) = (place.threshold, start) else { return Ok(None) };
        let unknown = |why: &str| Some(Err(unknown(path, why)));
        let [Some(below), Some(above)] = self.beside(found) else {
            return Ok(unknown("no size of the tables lies on its other side"));
        };
        for other in [below, above] {
            let moved = Place { threshold: Some(other), ..place.clone() };
            if cost(&self.residuals(&moved)?, self.small) < cost(residuals, self.small) * WORSE {
                return Ok(unknown("another threshold fits as well"));
            }
        }
        let bytes = |size| Kind::Bytes.value(size);
        let eager = self.sizes().into_iter().rev().find(|size| *size <= found).unwrap_or(found);
        Ok(Some(Ok(Number {
            path,
            of: path,
            start,
            value: bytes(found),
            range: (bytes(eager), bytes(above - 1)),
            told_by: "size at which latency and bandwidth leave their curves",
            effect: 0.0,
        })))
    }
}

/// A number of bytes that stays as it was.
fn unknown(path: &'static str, why: &str) -> Kept {
    Kept { paths: vec![path], name: path, why: why.to_owned(), decides: Vec::new() }
}

/// Takes the last candidate out that the rows tell too vaguely, and says how vaguely.
fn vaguest(
    jacobian: &[Vec<f64>],
    residuals: &[f64],
    chosen: &mut Vec<usize>,
) -> Option<(usize, String)> {
    let columns: Vec<&Vec<f64>> = chosen.iter().map(|&index| &jacobian[index]).collect();
    let errors = standard_errors(&columns, residuals);
    let place = errors.iter().rposition(|error| *error > VAGUE)?;
    let factor = (2.0 * errors[place]).exp().min(99.0);
    Some((chosen.remove(place), format!("told to a factor of {factor:.1} only")))
}

/// Pairs of chosen candidates whose effects are nearly one.
fn alike(jacobian: &[Vec<f64>], chosen: &[usize]) -> Vec<[usize; 2]> {
    let cosine = |left: usize, right: usize| {
        let (left, right) = (&jacobian[left], &jacobian[right]);
        dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
    };
    let pairs = chosen
        .iter()
        .enumerate()
        .flat_map(|(place, &left)| chosen[place + 1..].iter().map(move |&right| [left, right]));
    pairs.filter(|&[left, right]| cosine(left, right).abs() >= ALIKE).collect()
}

/// The greatest effect on a row.
fn greatest(column: &[f64]) -> f64 {
    column.iter().fold(0.0_f64, |most, effect| most.max(effect.abs()))
}

fn moved(place: &Place, index: usize, step: f64) -> Place {
    let mut moved = place.clone();
    moved.factors[index] += step;
    moved
}

/// A value times the exponential of `factor`, inside the band of real machines.
fn scaled(path: &str, value: Value, factor: f64) -> Value {
    let parameter = Parameter::find(path).expect("candidates are parameters");
    let (low, high) = parameter.plausible();
    let steps = to_steps(to_f64_steps(value.steps()) * factor.exp());
    let (low, high) = (low.steps().min(value.steps()), high.steps().max(value.steps()));
    parameter.kind.value(steps.clamp(low.max(1), high))
}

/// To four digits: more were never measured.
fn rounded(value: Value) -> Value {
    let steps = value.steps();
    let mut unit = 1;
    while steps / unit >= 10_000 {
        unit *= 10;
    }
    value.kind().value(((steps + unit / 2) / unit * unit).max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a factor is applied to it")]
fn to_f64_steps(steps: u64) -> f64 {
    steps as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest whole number of its range"
)]
fn to_steps(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_the_band_and_have_four_digits() {
        let value = Kind::Time.parse("100 ns").unwrap();
        let path = "coh.line_same_socket";
        assert_eq!(scaled(path, value, 0.5_f64.ln()).to_string(), "50 ns");
        assert_eq!(scaled(path, value, 4.0).to_string(), "500 ns");
        assert_eq!(scaled(path, value, -4.0).to_string(), "10 ns");
        assert_eq!(rounded(Kind::Time.value(1_234_567)).steps(), 1_235_000);
        assert_eq!(rounded(Kind::Time.value(9_999)).steps(), 9_999);
    }
}
