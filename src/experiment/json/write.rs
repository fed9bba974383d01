//! Writing a tree as JSON text.

use std::fmt::Write as _;

use super::{Node, Value};

/// Objects and lists that fit so many characters stand on one line.
const LINE: usize = 90;

impl Node {
    /// The tree as JSON text: numbers as they were written, members in their order.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write(&mut out, self, 0);
        out
    }

    fn on_one_line(&self) -> String {
        let all = |parts: Vec<String>, open: &str, close: &str| {
            if parts.is_empty() {
                return format!("{open}{close}");
            }
            format!("{open} {} {close}", parts.join(", "))
        };
        match &self.value {
            Value::Null | Value::Invalid => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) | Value::Word(text) => quoted(text),
            Value::List(elements) => {
                all(elements.iter().map(Self::on_one_line).collect(), "[", "]")
            }
            Value::Object(members) => all(
                members
                    .iter()
                    .map(|member| format!("{}: {}", quoted(&member.key), member.node.on_one_line()))
                    .collect(),
                "{",
                "}",
            ),
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write(out: &mut String, node: &Node, depth: usize) {
    let line = node.on_one_line();
    let nested =
        node.members().map_or_else(|| node.elements().map_or(0, <[Node]>::len), <[_]>::len);
    if nested == 0 || (depth > 0 && line.len() + 2 * depth <= LINE) {
        out.push_str(&line);
        return;
    }
    let indent = "  ".repeat(depth + 1);
    let (open, close) = if node.members().is_some() { ('{', '}') } else { ('[', ']') };
    out.push(open);
    let members = node.members().unwrap_or(&[]).iter();
    let parts = members.map(|member| (Some(&member.key), &member.node));
    let elements = node.elements().unwrap_or(&[]).iter().map(|element| (None, element));
    for (index, (key, value)) in parts.chain(elements).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(out, "{comma}\n{indent}");
        if let Some(key) = key {
            let _ = write!(out, "{}: ", quoted(key));
        }
        write(out, value, depth + 1);
    }
    let _ = write!(out, "\n{}{close}", "  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostic::Diagnostics;
    use super::super::parse;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let long = "x".repeat(100);
        let text = format!(
            "{{ \"a\": [1, 2.50, -0.0, 1e3, \"é\\n\\\"\", null, true, [], {{}}], \"b\": {{ \"c\": \"{long}\" }} }}"
        );
        let mut all = Diagnostics::new();
        let first = all.add_source("first", text);
        let tree = parse(&mut all, first).unwrap();
        let written = tree.to_json();
        assert!(written.contains("2.50"), "{written}");
        let second = all.add_source("second", written);
        assert_eq!(parse(&mut all, second).unwrap(), tree);
        assert!(all.is_empty());
    }
}
