//! Reading cases: the tree by the decoder of scenarios, the rest as it stands.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::case::{Case, Disputed};
use crate::error::VectorError;
use crate::family::Recorded;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::parse;
use language::datatypes;
use mpi::datatype::Datatype;

/// All further fields are what the library says.
#[derive(Deserialize)]
pub(crate) struct RawCase {
    id: u64,
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "type")]
    tree: Value,
    count: u64,
    #[serde(flatten)]
    expected: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDisputed {
    id: u64,
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "type")]
    tree: Value,
    count: u64,
    results: BTreeMap<String, Map<String, Value>>,
    #[serde(rename = "differ_in")]
    _differ_in: Vec<String>,
    #[serde(rename = "model_disagrees_with_first")]
    _model: Vec<String>,
}

impl Recorded for RawCase {
    type Case = Case;
    type Head = ();

    fn checked(self, (): &()) -> Result<Case, VectorError> {
        let Self { id, tree, count, expected, .. } = self;
        let datatype = datatype(id, &tree)?;
        if expected.is_empty() {
            return Err(VectorError::nothing(id));
        }
        Ok(Case { id, datatype, count, expected })
    }
}

impl Recorded for RawDisputed {
    type Case = Disputed;
    type Head = ();

    fn checked(self, (): &()) -> Result<Disputed, VectorError> {
        let Self { id, count, .. } = self;
        let results = self.results.into_iter().collect();
        Ok(Disputed { id, datatype: datatype(id, &self.tree)?, count, results })
    }
}

/// The type of a case; places in its text are given by the path of the field.
fn datatype(case: u64, tree: &Value) -> Result<Datatype, VectorError> {
    let mut diagnostics = Diagnostics::new();
    let source = diagnostics.add_source("type", tree.to_string());
    let node = parse(&mut diagnostics, source);
    let found = node.and_then(|node| datatypes::read(&mut diagnostics, &node, "type"));
    found.ok_or_else(|| {
        let first = diagnostics.sorted().into_iter().next().map(problem).unwrap_or_default();
        VectorError::Case { case, problem: first }
    })
}

fn problem(one: &Diagnostic) -> String {
    format!("`{}`: {}; {}", one.path, one.found, one.allowed)
}
