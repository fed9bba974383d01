//! Lists of statements, and statements that hold others: loops and conditions.
//!
//! The statements inside are laid out one after the other, with steps of control between:
//!
//! ```text
//!   repeat   Enter ─▶ do ─▶ Again            Again goes back behind Enter
//!   until             do ─▶ Until            Until goes back to the first of do
//!   if       Unless ─▶ then ─▶ Jump ─▶ else  Unless goes on at else, Jump behind it
//! ```

use super::buffers::steps;
use super::communicators::{self, Opened};
use super::handles::{Open, Way};
use super::partitions::listed;
use super::reader::{Item, Place, Reader};
use super::statement::{Statement, Work};
use super::variables::MOST_VARIABLES;
use super::windows;
use crate::program::Does;
use crate::program::computed::{Part, Range};
use crate::program::control::Control;
use form::codes;
use form::diagnostic::{Diagnostic, Span};
use form::expression::{Expression, Type, text_of};
use form::json::{Node, Value};

/// Open names at a place of the program, requests and messages apart.
struct Names {
    attached: Option<(Span, bool)>,
    communicators: Opened,
}

impl Reader<'_> {
    /// Reads the statements of a list, at the end of `out`.
    pub(super) fn list(&mut self, list: &Node, path: &str, out: &mut Vec<Statement>) {
        for (index, node) in list.elements().unwrap_or(&[]).iter().enumerate() {
            self.statement(node, &format!("{path}[{index}]"), out);
        }
    }

    fn statement(&mut self, node: &Node, path: &str, out: &mut Vec<Statement>) {
        self.read_statement(node, path, out);
        if std::mem::take(&mut self.scope.too_many) {
            let found = "a loop or a variable more than a program can have";
            let allowed = format!("{MOST_VARIABLES} are allowed, where each loop counts two");
            self.report(Diagnostic::error(&codes::EXPRESSION, node.span, path, found, allowed));
        }
    }

    fn read_statement(&mut self, node: &Node, path: &str, out: &mut Vec<Statement>) {
        let at = self.lines.place(node.span);
        let op = node.required_word("op");
        match op {
            "repeat" => self.repeat(node, (path, at), out),
            "until" => self.until(node, (path, at), out),
            "if" => self.condition(node, (path, at), out),
            "set" => self.set(node, (path, at), out),
            "assert" => {
                let condition = self.value(node, "condition", Some(Type::Truth), path);
                let condition = condition.unwrap_or_else(|| Expression::constant(1));
                out.push(control(Control::Assert(condition), at));
            }
            "store" | "load" => {
                steps(&mut Item { reader: self, node, path }, op, out, (at.line, at.column));
            }
            "pready_list" => {
                let request = Item { reader: self, node, path }.close(Open::Perhaps);
                let list = node.get("list").and_then(Node::elements).unwrap_or(&[]);
                for (index, value) in list.iter().enumerate() {
                    let of_value = format!("{path}.list[{index}]");
                    let mut item = Item { reader: self, node, path };
                    let work = listed(&mut item, request, value, &of_value);
                    let extras = self.scope.take();
                    out.push(Statement { work, line: at.line, column: at.column, extras });
                }
            }
            _ => {
                let of = if communicators::OF_ENDPOINTS.contains(&op) {
                    Some((&codes::COMMUNICATOR, "endpoints"))
                } else {
                    windows::MAKING.contains(&op).then_some((&codes::WINDOW, "windows"))
                };
                if let Some((code, what)) = of.filter(|_| self.nested > 0) {
                    let found = format!("`{op}` inside a loop or a condition");
                    let allowed = format!("{what} are made and freed outside of them");
                    let of_op = format!("{path}.op");
                    self.report(Diagnostic::error(code, node.span, of_op, found, allowed));
                }
                let work = self.work(node, path);
                self.returns(node, path);
                out.push(Statement {
                    work,
                    line: at.line,
                    column: at.column,
                    extras: self.scope.take(),
                });
            }
        }
    }

    /// The expression under `key`, or the number or flag that stands there.
    pub(super) fn value(
        &mut self,
        node: &Node,
        key: &str,
        of: Option<Type>,
        path: &str,
    ) -> Option<Expression> {
        self.scope.used = true;
        let value = node.get(key).expect("the key is required");
        if text_of(value).is_some() {
            let path = format!("{path}.{key}");
            return match of {
                Some(of) => self.typed(value, &path, of),
                None => self.expression(value, &path),
            };
        }
        let flag = if let Value::Bool(flag) = value.value { Some(flag) } else { None };
        Some(Expression::constant(flag.map_or_else(|| value.as_integer(), i64::from)))
    }

    fn repeat(&mut self, node: &Node, (path, at): (&str, Place), out: &mut Vec<Statement>) {
        let times = self.value(node, "times", Some(Type::Integer), path);
        let counter = self.scope.hidden();
        let limit = self.scope.hidden();
        let shown = node.get("with");
        let shown = shown.map(|name| self.variable(name, Type::Integer, &format!("{path}.with")));
        let enter = out.len();
        out.push(control(Control::Jump(0), at));
        self.body(node, path, out);
        out.push(control(Control::Again { counter, limit, shown, body: enter + 1 }, at));
        let times = times.unwrap_or_else(|| Expression::constant(0));
        out[enter] = control(Control::Enter { counter, limit, shown, times, end: out.len() }, at);
    }

    fn until(&mut self, node: &Node, (path, at): (&str, Place), out: &mut Vec<Statement>) {
        let counter = self.scope.repetitions();
        let times = i64::try_from(node.count("at_most").unwrap_or(1));
        let times = times.expect("the shape limits the repetitions");
        let body = out.len();
        out.push(control(Control::Repeat { counter }, at));
        self.body(node, path, out);
        // The condition sees variables that the statements make.
        let condition = self.value(node, "condition", Some(Type::Truth), path);
        let condition = condition.unwrap_or_else(|| Expression::constant(1));
        let until = Control::Until { counter, condition, times, body: body + 1 };
        out.push(control(until, at));
    }

    /// The statements of a loop, where names may be those of the iteration before.
    fn body(&mut self, node: &Node, path: &str, out: &mut Vec<Statement>) {
        let list = node.get("do").expect("the key is required");
        self.expect_later(list);
        let (mark, before) = (self.handles.begin(self.nested == 0), self.names());
        self.nested += 1;
        self.list(list, &format!("{path}.do"), out);
        self.nested -= 1;
        self.handles.meet(mark, Way::new());
        self.merge(&before);
    }

    fn condition(&mut self, node: &Node, (path, at): (&str, Place), out: &mut Vec<Statement>) {
        let condition = self.value(node, "condition", Some(Type::Truth), path);
        let condition = condition.unwrap_or_else(|| Expression::constant(0));
        let unless = out.len();
        out.push(control(Control::Jump(0), at));
        let (mark, before) = (self.handles.begin(self.nested == 0), self.names());
        self.nested += 1;
        let then = node.get("then").expect("the key is required");
        self.list(then, &format!("{path}.then"), out);
        let jump = out.len();
        out.push(control(Control::Jump(0), at));
        let handles = self.handles.go_back(mark);
        let after = Names {
            attached: std::mem::replace(&mut self.attached, before.attached),
            communicators: self.communicators.go_back(before.communicators),
        };
        if let Some(list) = node.get("else") {
            self.list(list, &format!("{path}.else"), out);
        }
        self.nested -= 1;
        self.handles.meet(mark, handles);
        self.merge(&after);
        out[unless] = control(Control::Unless { condition, end: jump + 1 }, at);
        out[jump] = control(Control::Jump(out.len()), at);
    }

    fn set(&mut self, node: &Node, (path, at): (&str, Place), out: &mut Vec<Statement>) {
        let to = self.value(node, "to", None, path);
        let to = to.unwrap_or_else(|| Expression::constant(0));
        let name = node.get("name").expect("the key is required");
        let slot = self.variable(name, to.of(), &format!("{path}.name"));
        out.push(control(Control::Set { slot, to }, at));
    }

    /// Requests that a loop begins may be open where its next iteration uses them.
    fn expect_later(&mut self, list: &Node) {
        for node in list.elements().unwrap_or(&[]) {
            for key in ["do", "then", "else"] {
                if let Some(list) = node.get(key) {
                    self.expect_later(list);
                }
            }
            let op = node.required_word("op");
            let begins = match op {
                "wait" | "test" | "cancel" | "mrecv" | "request_get_status" | "request_free"
                | "start" => None,
                "imrecv" => node.get("req"),
                _ => node.get("req").or_else(|| node.get("handle")),
            };
            let Some((name, span)) = begins.and_then(|name| Some((name.text()?, name.span))) else {
                continue;
            };
            if self.handles.get(name).is_none() {
                let next = self.number(name);
                let open = if op.ends_with("_init") { Open::Prepared } else { Open::Perhaps };
                self.handles.set(name, (next, open, span));
            }
        }
    }

    /// Names that are open here.
    fn names(&self) -> Names {
        Names { attached: self.attached, communicators: self.communicators.opened() }
    }

    /// Keeps the names that are open after this way and after one that leaves `other`.
    fn merge(&mut self, other: &Names) {
        self.communicators.merge(&other.communicators);
        self.attached = match (self.attached, other.attached) {
            (Some((first, one)), Some((_, other))) => Some((first, one && other)),
            (Some((first, _)), None) | (None, Some((first, _))) => Some((first, false)),
            (None, None) => None,
        };
    }

    /// The computation of a statement, in picoseconds, where it is not computed.
    pub(super) fn time(&mut self, node: &Node, path: &str) -> units::TimeDelta {
        let range = Range::up_to(i64::try_from(form::fields::LONG).expect("a thousand seconds"));
        if self.computes_typed(node, ("time", Part::Time), (Type::Time, range), path) {
            return units::TimeDelta::ZERO;
        }
        node.time("time").unwrap_or_default()
    }
}

const fn control(control: Control, at: Place) -> Statement {
    let Place { line, column } = at;
    Statement { work: Work::Does(Does::Control(control)), line, column, extras: None }
}
