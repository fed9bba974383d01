//! Reading cases: each as the text of a scenario, one statement a line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Case, Disputed, Scenario, WAYS};
use crate::error::VectorError;
use crate::family::{Head, Recorded, Recording};
use experiment::shipped::Shipped;

/// The machine; the program's values do not depend on it.
const MACHINE: &str = "broadwell-edr";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCase {
    id: u64,
    /// 1, where all processes must be on one node.
    nodes: Option<u64>,
    program: RawProgram,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDisputed {
    id: u64,
    nodes: Option<u64>,
    results: BTreeMap<String, RawProgram>,
}

/// Where the machine of every case is found.
#[derive(Clone, Copy)]
pub(crate) struct Machines(Shipped);

impl Head for Machines {
    fn of(recording: Recording) -> Result<Self, VectorError> {
        Ok(Self(recording.shipped))
    }
}

/// Keys of the workload.
#[derive(Deserialize)]
struct RawProgram {
    ranks: Vec<Vec<Value>>,
    /// Buffers and whatever else the program names; the reader of scenarios checks it.
    #[serde(flatten)]
    names: Map<String, Value>,
}

impl Recorded for RawCase {
    type Case = Case;
    type Head = Machines;

    fn checked(self, machines: &Machines) -> Result<Case, VectorError> {
        self.program.case(self.id, self.nodes, *machines)
    }
}

impl Recorded for RawDisputed {
    type Case = Disputed;
    type Head = Machines;

    fn checked(self, machines: &Machines) -> Result<Disputed, VectorError> {
        let Self { id, nodes, results } = self;
        let case = |(library, program): (String, RawProgram)| {
            program.case(id, nodes, *machines).map(|case| (library, case))
        };
        Ok(Disputed { id, results: results.into_iter().map(case).collect::<Result<_, _>>()? })
    }
}

impl RawProgram {
    fn case(
        self,
        id: u64,
        nodes: Option<u64>,
        Machines(shipped): Machines,
    ) -> Result<Case, VectorError> {
        let wrong = |problem: String| VectorError::Case { case: id, problem };
        if !self.ranks.iter().flatten().any(tests) {
            return Err(VectorError::nothing(id));
        }
        if nodes.is_some_and(|nodes| nodes != 1) {
            return Err(wrong("`nodes` is 1, or left out".to_owned()));
        }
        let case = Case { id, scenario: self.scenario(nodes.is_some()), shipped };
        case.plan(&WAYS[0]).map_err(wrong)?;
        Ok(case)
    }

    fn scenario(mut self, on_one_node: bool) -> Scenario {
        self.names.insert("kind".to_owned(), json!("program"));
        let names = Value::Object(self.names).to_string();
        let mut lines = vec![
            r#"{ "schema": 1, "title": "A recorded program", "#.to_owned(),
            format!(r#""machine": "{MACHINE}", "mpi": {{ "payload": "real" }}, "#),
            format!(r#""workload": {}, "ranks": ["#, names.strip_suffix('}').unwrap_or(&names)),
        ];
        let mut statements = vec![None; lines.len()];
        for (rank, own) in self.ranks.iter().enumerate() {
            let comma = |at: usize, of: usize| if at + 1 < of { "," } else { "" };
            lines.push("[".to_owned());
            statements.push(None);
            for (at, statement) in own.iter().enumerate() {
                lines.push(format!("{statement}{}", comma(at, own.len())));
                statements.push(Some((rank, at)));
            }
            lines.push(format!("]{}", comma(rank, self.ranks.len())));
            statements.push(None);
        }
        lines.push("] } }".to_owned());
        Scenario { text: lines.join("\n"), statements, ranks: self.ranks.len(), on_one_node }
    }
}

/// Whether a statement, or one within it, compares something.
fn tests(statement: &Value) -> bool {
    match statement {
        Value::Object(keys) => {
            let asserts = keys.get("op").is_some_and(|op| op == "assert");
            asserts || keys.contains_key("expect") || keys.values().any(tests)
        }
        Value::Array(list) => list.iter().any(tests),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
