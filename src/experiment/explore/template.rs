//! Templates of explorations: scenarios with two parameters, `R` ranks and `K` operations.
//!
//! A template is a file below `explorations/`; its path is the name of the job. Every text may hold expressions in
//! braces: `"{(r + 1) % R}"` becomes a number, `"s{k}"` a text. An object
//! `{ "for": "k", "times": "K", "do": [...] }` in a list stands for the elements of `do`, once for each `k` from 0.
//!
//! Left out: mistakes in a template are no errors of a user. A template ships with the program, and a test expands
//! each.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Size;
use form::expression::{Expression, Type, Variable};

/// A family of scenarios.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Template {
    /// The job in one line.
    pub(super) about: String,
    /// The fewest and the most ranks.
    pub(super) ranks: [u32; 2],
    /// Branches that an exploration must reach, each where its expression is not 0.
    #[serde(borrow)]
    reaches: BTreeMap<&'static str, &'static str>,
    scenario: Value,
}

impl Template {
    /// Reads the text of a template.
    pub(super) fn read(text: &'static str) -> Self {
        serde_json::from_str(text).expect("a test reads every template that ships")
    }

    /// Branches that an exploration of this size must reach.
    pub(super) fn reaches(&self, size: Size) -> Vec<&'static str> {
        let names = names(size);
        let all = self.reaches.iter().filter(|(_, asked)| value_of(asked, &names) != 0);
        all.map(|(branch, _)| *branch).collect()
    }

    /// The text of the scenario of this size.
    pub(super) fn scenario(&self, size: Size) -> String {
        filled(&self.scenario, &mut names(size)).to_string()
    }
}

/// The values of names.
type Names = BTreeMap<String, i64>;

fn names(size: Size) -> Names {
    [("R", size.ranks), ("K", size.ops)].map(|(name, value)| (name.to_owned(), value.into())).into()
}

/// A value with its expressions and loops carried out.
fn filled(value: &Value, names: &mut Names) -> Value {
    match value {
        Value::String(text) => filled_text(text, names),
        Value::Array(list) => {
            let mut out = Vec::new();
            for one in list {
                match one.as_object().filter(|one| one.contains_key("for")) {
                    Some(each) => repeat(each, names, &mut out),
                    None => out.push(filled(one, names)),
                }
            }
            Value::Array(out)
        }
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), filled(value, names))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn repeat(each: &Map<String, Value>, names: &mut Names, out: &mut Vec<Value>) {
    let text = |key: &str| each[key].as_str().expect("a loop has a name and a count");
    let times = value_of(text("times"), names);
    for value in 0..times {
        names.insert(text("for").to_owned(), value);
        let Value::Array(elements) = filled(&each["do"], names) else {
            unreachable!("a loop repeats a list")
        };
        out.extend(elements);
    }
}

/// A text with values in place of expressions; a number where the text is one expression.
fn filled_text(text: &str, names: &Names) -> Value {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let (expression, after) = behind.split_once('}').expect("a brace is closed");
        let value = value_of(expression, names);
        if before.is_empty() && after.is_empty() && out.is_empty() {
            return value.into();
        }
        out += before;
        out += &value.to_string();
        rest = after;
    }
    Value::String(out + rest)
}

/// The value of an expression over these names; a comparison is 1 or 0.
fn value_of(expression: &str, names: &Names) -> i64 {
    let variable = |name| Variable { name, of: Type::Integer };
    let variables: Vec<Variable<'_>> = names.keys().map(|name| variable(&**name)).collect();
    let values: Vec<i64> = names.values().copied().collect();
    let expression = Expression::new(expression, &variables);
    let expression = expression.expect("a test expands every template that ships");
    expression.value(&values).expect("a test expands every template that ships")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: &Value, expected: &Value) {
        let size = Size { ranks: 3, ops: 2 };
        assert_eq!(filled(value, &mut names(size)), *expected);
    }

    #[test]
    fn expressions_follow_the_rules_of_arithmetic() {
        check(&json!("{1 + 2 * K - R}"), &json!(2));
        check(&json!("{(R - 1) * K}"), &json!(4));
        check(&json!("{(0 - 1) % R}"), &json!(2));
        check(&json!(["{R > 2}", "{R > 1 + 2}"]), &json!([1, 0]));
        check(&json!("{8 + 32 * (K % 2)} B"), &json!("8 B"));
        check(&json!("from {R} to {K}"), &json!("from 3 to 2"));
        check(&json!({ "plain": [true, 7, "text"] }), &json!({ "plain": [true, 7, "text"] }));
    }

    #[test]
    fn a_loop_stands_for_its_elements() {
        let inner = json!({ "for": "k", "times": "r", "do": ["{r}{k}", "{k}"] });
        let outer = json!(["first", { "for": "r", "times": "R", "do": [[inner]] }]);
        check(&outer, &json!(["first", [], ["10", 0], ["20", 0, "21", 1]]));
    }
}
