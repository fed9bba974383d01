//! Which points are one simulation: ADR 36.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::super::results::{PointResult, RunResult};
use super::{Plan, Point};
use form::machine::Machine;
use protocols::partitioned::Grouping;

/// A hash over everything that a run of a point depends on: points of one identity are one simulation, whatever plan
/// and whatever swept values they came from.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Identity([u8; 32]);

impl Point {
    /// Its identity. `None` where it has a run of its own: its ranks are processes of this host, or some of its fields
    /// choose only what is measured.
    pub fn identity(&self) -> Option<Identity> {
        let workload = &*self.workload;
        let is_own = workload.runs_real_processes() || workload.is_measured_here();
        if is_own || !workload.observed().is_empty() {
            return None;
        }
        // Where it stands in a sweep is no part of what happens, and neither is where its numbers are from.
        let Machine { name, profile, .. } = &*self.machine;
        let (name, title) = (name.clone(), String::new());
        let machine = Machine { name, title, profile: profile.clone(), numbers: Vec::new() };
        let machine = Arc::new(machine);
        let mut point = Self { index: 0, params: Vec::new(), machine, ..self.clone() };
        // A choice about messages that it does not send decides nothing.
        if !workload.sends_partitions(&self.ranks()) {
            point.mpi.partitioned = Grouping::default();
        }
        let mut hasher = Hasher(blake3::Hasher::new());
        write!(hasher, "{point:?}").ok()?;
        Some(Identity(hasher.0.finalize().into()))
    }

    /// Its swept values without those that choose what is measured.
    fn run_params(&self) -> Vec<&(String, String)> {
        let observed = self.workload.observed();
        self.params.iter().filter(|(path, _)| !observed.contains(&path.as_str())).collect()
    }
}

/// Text that is hashed as it is written.
struct Hasher(blake3::Hasher);

impl fmt::Write for Hasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// Inputs that points of one simulation share.
#[derive(Eq, Ord, PartialEq, PartialOrd)]
enum Alike<'a> {
    Identity(Identity),
    Params(Vec<&'a (String, String)>),
}

/// Points of one sweep by the run that they share, in the order of the first of each: those that are the same, or
/// differ only in what is measured, are one simulation.
pub fn runs<'a>(points: &[&'a Point]) -> Vec<Vec<&'a Point>> {
    let mut runs: Vec<Vec<&Point>> = Vec::new();
    let mut alike: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
    for point in points {
        let key =
            point.identity().map_or_else(|| Alike::Params(point.run_params()), Alike::Identity);
        let run = *alike.entry(key).or_insert(runs.len());
        if run == runs.len() {
            runs.push(Vec::new());
        }
        runs[run].push(point);
    }
    runs
}

/// Results of the points that several plans have simulated, by identity.
#[derive(Debug, Default)]
pub struct Simulated(BTreeMap<Identity, PointResult>);

impl Simulated {
    /// Results of those points of a plan that another plan has simulated.
    pub fn of(&self, plan: &Plan) -> Vec<PointResult> {
        let of = |point: &Point| {
            let (index, params) = (point.index, point.params.clone());
            Some(PointResult { index, params, ..self.0.get(&point.identity()?)?.clone() })
        };
        plan.points.iter().filter_map(of).collect()
    }

    /// Keeps the results of a plan's points. What failed is explained in the words of its scenario, and kept out.
    pub fn keep(&mut self, plan: &Plan, result: &RunResult) {
        for (point, result) in plan.points.iter().zip(&result.points) {
            if result.failure.is_none()
                && let Some(identity) = point.identity()
            {
                self.0.entry(identity).or_insert_with(|| result.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request, load};
    use super::*;
    use crate::library::of_this_checkout;

    fn plan(sizes: &str, more: &str) -> Plan {
        let text = format!(
            r#"{{ "schema": 1, "title": "T", "machine": "broadwell-edr", "nodes": 2,
"workload": {{ "kind": "ping_pong", "size": "8 B", "rounds": 4 }}, "sweep": {{ "workload.size": [ {sizes} ] }}{more} }}"#
        );
        read(text)
    }

    fn read(text: String) -> Plan {
        let (scenario, library) = ("t.json".to_owned(), of_this_checkout());
        let request = Request { scenario, library, text: Some(text), ..Request::default() };
        let (plan, said) = load(&request);
        plan.unwrap_or_else(|| panic!("{}", said.human()))
    }

    fn identity(plan: &Plan, point: usize) -> Identity {
        plan.points[point].identity().expect("nothing of it is real")
    }

    #[test]
    fn a_point_is_the_same_wherever_it_stands_and_another_where_a_number_is() {
        let one = plan(r#""8 B", "16 B""#, "");
        let other = plan(r#""64 B", "16 B""#, "");
        assert_eq!(identity(&one, 1), identity(&other, 1));
        assert_ne!(identity(&one, 0), identity(&one, 1));
        assert_ne!(identity(&one, 0), identity(&other, 0));
        for more in [
            r#", "seed": 2"#,
            r#", "account": true"#,
            r#", "mpi": { "eager_threshold": "1 KiB" }"#,
            r#", "noise": { "start_skew": true }"#,
        ] {
            assert_ne!(identity(&one, 1), identity(&plan(r#""8 B", "16 B""#, more), 1), "{more}");
        }
        let machine = |mtu: &str| plan(&format!(r#""16 B" ], "machine.hca.mtu": [ "{mtu}""#), "");
        assert_ne!(identity(&one, 1), identity(&machine("1 KiB"), 0), "a number of the machine");
        assert_eq!(identity(&one, 1), identity(&machine("4 KiB"), 0), "the same number");
    }

    #[test]
    fn a_choice_about_partitions_matters_where_there_are_some() {
        let identity = |addressing: &str, how: &str| {
            let text = format!(
                r#"{{ "schema": 1, "title": "T", "machine": "broadwell-edr", "nodes": 2,
"ranks": {{ "threads_per_process": 2, "addressing": "{addressing}" }}, "mpi": {{ "partitioned": "{how}" }},
"workload": {{ "kind": "message_rate", "senders_per_node": 1, "size": "8 B", "window": 4, "rounds": 1 }} }}"#
            );
            identity(&read(text), 0)
        };
        let both =
            |addressing| ["each_partition", "one_message"].map(|how| identity(addressing, how));
        let [each, one] = both("process");
        assert_eq!(each, one);
        let [each, one] = both("partitioned");
        assert_ne!(each, one);
    }

    #[test]
    fn equal_points_of_a_sweep_are_one_run_and_all_have_its_result() {
        let mut plan = plan(r#""8 B", "16 B", "32 B""#, "");
        plan.points[1] = Point { index: 1, params: Vec::new(), ..plan.points[0].clone() };
        let points: Vec<&Point> = plan.points.iter().collect();
        let of = |runs: Vec<Vec<&Point>>| -> Vec<Vec<usize>> {
            runs.iter().map(|run| run.iter().map(|point| point.index).collect()).collect()
        };
        assert_eq!(of(runs(&points)), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn results_are_kept_for_other_plans_with_their_own_places() {
        let result = |index: usize, digest: &str| PointResult {
            digest: digest.to_owned(),
            ..PointResult::at(index, Vec::new())
        };
        let (one, other) = (plan(r#""8 B", "16 B""#, ""), plan(r#""16 B", "32 B", "8 B""#, ""));
        let failed = PointResult { failure: Some("deadlock".to_owned()), ..result(1, "b") };
        let points = vec![result(0, "a"), failed];
        let ran = RunResult {
            scenario: "one".to_owned(),
            title: "One".to_owned(),
            version: "0".to_owned(),
            digest: String::new(),
            points,
            claims: Vec::new(),
            what_if: Vec::new(),
        };
        let mut simulated = Simulated::default();
        simulated.keep(&one, &ran);
        let params = other.points[2].params.clone();
        assert_eq!(simulated.of(&other), [PointResult { params, ..result(2, "a") }]);
    }
}
