//! The reader proper: a recursive descent over one text, with the path of the field it is in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use super::super::codes;
use super::super::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, quote};
use super::{Member, Node, Number, Value, is_number};

/// How deep objects and arrays may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many characters a number may have.
const MAX_NUMBER: usize = 64;
/// How many values one text may hold.
pub const MAX_VALUES: usize = 500_000;

/// Reading cannot go on; the reason has been reported.
pub(super) struct Stop;

/// A segment of a path into the document.
#[derive(Clone, Debug)]
enum Segment {
    Key(String),
    Index(usize),
}

/// The state of one reading.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    source: SourceId,
    pub(super) at: usize,
    steps: Vec<Segment>,
    values: usize,
    found: Vec<Diagnostic>,
    /// The field that was being read when the text ended, if it ended too early.
    path_at_end: String,
}

/// Reads the text of `source`; `None` where it cannot be read to its end.
///
/// What is wrong is pushed to `diagnostics`; a tree may come back even so, in which the wrong
/// parts are [`Value::Invalid`].
pub fn parse(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Node> {
    // Taken, not copied: a text may have 64 MiB.
    let text = diagnostics.take_text(source);
    let mut parser = Parser::new(&text, source);
    let tree = parser.document();
    let found = parser.found;
    diagnostics.put_text(source, text);
    for one in found {
        diagnostics.push(one);
    }
    tree.ok()
}

/// The path of the field in which `prefix`, the beginning of a document, ends.
pub(super) fn path_at_end(prefix: &str) -> String {
    let mut parser = Parser::new(prefix, SourceId::default());
    let _ = parser.document();
    parser.path_at_end
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, source: SourceId) -> Self {
        let steps = Vec::new();
        Self {
            text,
            source,
            at: 0,
            steps,
            values: 0,
            found: Vec::new(),
            path_at_end: String::new(),
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let offset = |at: usize| u32::try_from(at).expect("inputs are at most 64 MiB");
        Span { source: self.source, start: offset(start), end: offset(end) }
    }

    /// The path of the value that is being read.
    pub(super) fn path(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step {
                Segment::Index(index) => {
                    let _ = write!(out, "[{index}]");
                }
                Segment::Key(key) => {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.push_str(&quote(key));
                }
            }
        }
        out
    }

    /// A piece of the text for a message.
    pub(super) fn shown(&self, start: usize, end: usize) -> String {
        quote(&self.text[start..end])
    }

    pub(super) fn peek_char(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The end of the text inside something opened at `open`.
    pub(super) fn unclosed(&mut self, open: usize, what: &str) -> Stop {
        self.path_at_end = self.path();
        let span = self.span(open, open + 1);
        let end = self.span(self.text.len(), self.text.len());
        let path = self.path();
        self.report(
            Diagnostic::error(
                &codes::UNCLOSED,
                span,
                path,
                format!("the file ends inside the {what} opened here"),
                format!("a closing `{}` is needed", closing(what)),
            )
            .related(end, "the file ends here"),
        );
        Stop
    }

    fn document(&mut self) -> Result<Node, Stop> {
        self.blanks();
        let node = self.value(0)?;
        self.blanks();
        if self.at < self.text.len() {
            self.text_after_end();
        }
        Ok(node)
    }

    fn text_after_end(&mut self) {
        let rest: String = self.text[self.at..].chars().take(20).collect();
        let span = self.span(self.at, self.at + rest.lines().next().unwrap_or("").len().max(1));
        let found = format!("text follows the end of the document: `{}`", quote(rest.trim_end()));
        let second = rest.starts_with(['{', '[']);
        let allowed =
            if second { "one document per file" } else { "nothing may follow the document" };
        let one = Diagnostic::error(&codes::TEXT_AFTER_END, span, "", found, allowed);
        let help = if second {
            "put the second document into a file of its own"
        } else {
            "remove it, or look for a bracket that closes too early"
        };
        self.report(one.help(help));
    }

    /// Skips blanks and, with a report, comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.text[self.at..].starts_with("//") => self.comment("\n"),
                Some(b'/') if self.text[self.at..].starts_with("/*") => self.comment("*/"),
                Some(b'#') => self.comment("\n"),
                _ => return,
            }
        }
    }

    fn comment(&mut self, end: &str) {
        let start = self.at;
        let rest = &self.text[start..];
        let length = if end == "\n" {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else {
            rest.find(end).map_or(rest.len(), |found| found + end.len())
        };
        self.at += length;
        let (span, path) = (self.span(start, self.at), self.path());
        self.report(
            Diagnostic::error(
                &codes::COMMENT,
                span,
                path,
                format!("`{}` is a comment", self.shown(start, self.at)),
                "JSON has no comments",
            )
            .help("put the text under a key \"note\", which every object may have"),
        );
    }

    fn value(&mut self, depth: usize) -> Result<Node, Stop> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.too_many());
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => self.string()?.map_or(Value::Invalid, Value::Text),
            Some(b'\'') => self.single_quotes()?,
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.word(),
            _ => return Err(self.unexpected("a value", start)),
        };
        Ok(Node { value, span: self.span(start, self.at) })
    }

    fn too_many(&mut self) -> Stop {
        let (span, path) = (self.span(self.at, self.at + 1), self.path());
        let found = format!("this is value number {}", self.values);
        let allowed = format!("a file holds at most {MAX_VALUES} values");
        let one = Diagnostic::error(&codes::TOO_MANY_VALUES, span, path, found, allowed);
        let help = "a longer program is written as a schedule in GOAL (docs/guide/exchange.md), an axis as a range";
        self.report(one.help(help));
        Stop
    }

    /// A character that fits nowhere here; `start` is the opening of the present value.
    fn unexpected(&mut self, wanted: &str, start: usize) -> Stop {
        let path = self.path();
        let Some(found) = self.peek_char() else {
            self.path_at_end.clone_from(&path);
            let span = self.span(start, start);
            self.report(Diagnostic::error(
                &codes::UNCLOSED,
                span,
                path,
                "the file ends here",
                format!("{wanted} is needed"),
            ));
            return Stop;
        };
        let span = self.span(self.at, self.at + found.len_utf8());
        let mut one = Diagnostic::error(
            &codes::UNEXPECTED,
            span,
            path,
            format!("found `{}`", quote(&found.to_string())),
            format!("{wanted} is needed"),
        );
        if matches!(found, '“' | '”' | '‘' | '’' | '`') {
            one = one.help("JSON needs plain double quotes: \"");
        }
        self.report(one);
        Stop
    }

    fn nest(&mut self, depth: usize) -> Result<(), Stop> {
        if depth < MAX_DEPTH {
            return Ok(());
        }
        let span = self.span(self.at, self.at + 1);
        self.report(Diagnostic::error(
            &codes::DEPTH,
            span,
            "",
            format!("this bracket is nested {} deep", depth + 1),
            format!("at most {MAX_DEPTH} levels are allowed"),
        ));
        Err(Stop)
    }

    fn object(&mut self, depth: usize) -> Result<Value, Stop> {
        self.nest(depth)?;
        let open = self.at;
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        let mut known = BTreeMap::new();
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(self.unclosed(open, "object")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Object(members));
                }
                Some(_) => {}
            }
            let (key, key_span) = self.key()?;
            self.blanks();
            self.colon(open)?;
            self.blanks();
            self.steps.push(Segment::Key(key.clone()));
            if self.at >= self.text.len() {
                return Err(self.unclosed(open, "object"));
            }
            let node = self.value(depth + 1)?;
            match known.entry(key.clone()) {
                Entry::Vacant(place) => {
                    place.insert(key_span);
                    members.push(Member { key, key_span, node });
                }
                Entry::Occupied(first) => self.duplicate(&key, key_span, *first.get()),
            }
            self.steps.pop();
            self.separator(open, b'}', "object")?;
        }
    }

    fn duplicate(&mut self, key: &str, span: Span, first: Span) {
        let path = self.path();
        let one = Diagnostic::error(
            &codes::DUPLICATE_KEY,
            span,
            path,
            format!("the key `{}` occurs a second time", quote(key)),
            "each key may occur once in an object",
        )
        .help("remove one of the two")
        .related(first, "it occurs first here");
        self.report(one);
    }

    fn key(&mut self) -> Result<(String, Span), Stop> {
        let start = self.at;
        let key = match self.peek() {
            Some(b'"') => self.string()?.unwrap_or_default(),
            Some(b'\'') => {
                self.single_quotes()?;
                self.text[start + 1..self.at - 1].to_owned()
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let word = self.bare().to_owned();
                let (span, path) = (self.span(start, self.at), self.path());
                self.report(
                    Diagnostic::error(
                        &codes::QUOTES,
                        span,
                        path,
                        format!("the key `{}` has no quotes", quote(&word)),
                        "keys stand in double quotes",
                    )
                    .help(format!("write `\"{}\"`", quote(&word))),
                );
                word
            }
            _ => return Err(self.unexpected("a key in double quotes", start)),
        };
        Ok((key, self.span(start, self.at)))
    }

    fn colon(&mut self, open: usize) -> Result<(), Stop> {
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            None => Err(self.unclosed(open, "object")),
            Some(_) => Err(self.unexpected("a colon after the key", self.at)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Stop> {
        self.nest(depth)?;
        let open = self.at;
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(self.unclosed(open, "list")),
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::List(elements));
                }
                Some(_) => {}
            }
            self.steps.push(Segment::Index(elements.len()));
            elements.push(self.value(depth + 1)?);
            self.steps.pop();
            self.separator(open, b']', "list")?;
        }
    }

    /// Reads the mark behind a member or element: a comma, or the closing bracket (left in place).
    fn separator(&mut self, open: usize, close: u8, what: &str) -> Result<(), Stop> {
        let end = self.at;
        self.blanks();
        match self.peek() {
            None => Err(self.unclosed(open, what)),
            Some(byte) if byte == close => Ok(()),
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.blanks();
                if self.peek() == Some(close) {
                    self.trailing_comma(comma);
                }
                Ok(())
            }
            Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9') => {
                self.missing_comma(end);
                Ok(())
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.missing_comma(end);
                Ok(())
            }
            Some(_) => {
                let wanted = format!("a comma or `{}`", char::from(close));
                Err(self.unexpected(&wanted, open))
            }
        }
    }

    fn trailing_comma(&mut self, comma: usize) {
        let (span, path) = (self.span(comma, comma + 1), self.path());
        self.report(
            Diagnostic::error(
                &codes::TRAILING_COMMA,
                span,
                path,
                "a comma stands after the last value",
                "commas stand between values only",
            )
            .help("remove it"),
        );
    }

    fn missing_comma(&mut self, end: usize) {
        let (span, path) = (self.span(end, end), self.path());
        let next = self.span(self.at, self.at + 1);
        let line = self.text[..end].rfind(['\n', '\r']).map_or(0, |found| found + 1);
        let tail = self.text[line..end].char_indices().rev().take(20).last();
        let before = tail.map_or(end, |(at, _)| line + at);
        let after: String = self.text[self.at..].chars().take(20).collect();
        let found = format!(
            "no comma between `{}` and `{}`",
            self.shown(before, end).trim(),
            quote(after.lines().next().unwrap_or("")).trim()
        );
        self.report(
            Diagnostic::error(&codes::MISSING_COMMA, span, path, found, "a comma is needed here")
                .related(next, "the next value begins here"),
        );
    }

    fn single_quotes(&mut self) -> Result<Value, Stop> {
        let start = self.at;
        let rest = &self.text[start + 1..];
        let Some(length) = rest.find(['\'', '\n', '\r']) else {
            return Err(self.unclosed(start, "string"));
        };
        if !rest[length..].starts_with('\'') {
            return Err(self.unexpected("a text in double quotes", start));
        }
        self.at = start + length + 2;
        let inner = self.shown(start + 1, self.at - 1);
        let (span, path) = (self.span(start, self.at), self.path());
        self.report(
            Diagnostic::error(
                &codes::QUOTES,
                span,
                path,
                format!("`'{inner}'` stands in single quotes"),
                "texts and keys stand in double quotes",
            )
            .help(format!("write `\"{inner}\"`")),
        );
        Ok(Value::Invalid)
    }

    fn bare(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'));
        let length = rest.find(end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn word(&mut self) -> Value {
        match self.bare() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            other => Value::Word(other.to_owned()),
        }
    }

    fn number(&mut self) -> Value {
        let start = self.at;
        let text = self.bare();
        if matches!(text, "-Infinity" | "+Infinity" | "-NaN" | "+NaN" | "-inf" | "+inf") {
            return Value::Word(text.to_owned());
        }
        let (span, path) = (self.span(start, self.at), self.path());
        if text.len() > MAX_NUMBER {
            let found = format!("a number of {} characters", text.len());
            let allowed = format!("a number has at most {MAX_NUMBER} characters");
            self.report(Diagnostic::error(&codes::LONG_NUMBER, span, path, found, allowed));
            return Value::Invalid;
        }
        if is_number(text) {
            return Value::Number(Number::new(text));
        }
        let found = format!("`{}` is {}", quote(text), wrong_form(text));
        let mut one = Diagnostic::error(
            &codes::NUMBER_FORM,
            span,
            path,
            found,
            "a JSON number has digits, then at most one point with digits, then an exponent",
        );
        if let Some(form) = json_form(text) {
            one = one.help(format!("write `{form}`"));
        } else if text.ends_with(|c: char| c.is_ascii_alphabetic()) {
            one = one
                .help(format!("a quantity with its unit is a text: write `\"{}\"`", quote(text)));
        }
        self.report(one);
        Value::Invalid
    }
}

const fn closing(what: &str) -> char {
    match what.as_bytes()[0] {
        b'o' => '}',
        b'l' => ']',
        _ => '"',
    }
}

fn wrong_form(text: &str) -> &'static str {
    let plain = text.trim_start_matches(['-', '+']);
    if text.starts_with('+') {
        "a number with a plus sign"
    } else if plain.starts_with("0x") || plain.starts_with("0X") {
        "a hexadecimal number"
    } else if plain.starts_with('.') {
        "a number without a digit before the point"
    } else if plain.ends_with('.') {
        "a number without a digit after the point"
    } else if plain.len() > 1 && plain.starts_with('0') && plain.as_bytes()[1].is_ascii_digit() {
        "a number with a leading zero"
    } else {
        "not a number in JSON form"
    }
}

/// The JSON form of a number in another form, if there is one.
fn json_form(text: &str) -> Option<String> {
    let (sign, plain) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = plain.to_ascii_lowercase();
    let form = if let Some(digits) = lower.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).ok()?.to_string()
    } else {
        let trimmed = plain.trim_start_matches('0').replace('_', "");
        let led = if trimmed.is_empty() || trimmed.starts_with(['.', 'e', 'E']) {
            format!("0{trimmed}")
        } else {
            trimmed
        };
        led.strip_suffix('.').map_or(led.clone(), str::to_owned)
    };
    is_number(&form).then(|| format!("{sign}{form}"))
}

#[cfg(test)]
mod tests;
