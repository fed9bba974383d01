//! The source line under a diagnostic, cut and escaped so that any file can be shown.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{Position, Span};

/// The longest piece of a source line that is shown.
const WIDTH: usize = 120;
/// The longest text from a file inside a message.
const LONGEST: usize = 200;

/// `text` with control characters escaped, shortened to 200 characters.
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST {
            let _ = write!(out, "… ({} characters)", text.chars().count());
            break;
        }
        if character.is_control() || is_invisible(character) {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// `text` with control characters escaped but ends of lines and tabulators: what is not ours cannot move the cursor.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let moves = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || turns(c);
    if !text.contains(moves) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if moves(character) {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Characters that turn or hide text in a terminal.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Line and column of byte `at`.
pub(super) fn position(text: &str, at: u32) -> Position {
    let at = boundary(text, at);
    let mut line = 1;
    let mut start = 0;
    let bytes = text.as_bytes();
    for (index, byte) in bytes[..at].iter().enumerate() {
        let lone_return = *byte == b'\r' && bytes.get(index + 1) != Some(&b'\n');
        if *byte == b'\n' || lone_return {
            line += 1;
            start = index + 1;
        }
    }
    Position { line, column: text[start..at].chars().count() + 1 }
}

/// The nearest character boundary at or before `at`.
fn boundary(text: &str, at: u32) -> usize {
    let mut at = (at as usize).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The line around `at`, as byte offsets without its end.
fn line_around(text: &str, at: usize) -> (usize, usize) {
    let start = text[..at].rfind(['\n', '\r']).map_or(0, |found| found + 1);
    let end = text[at..].find(['\n', '\r']).map_or(text.len(), |found| at + found);
    (start, end)
}

/// Writes the line of `span`, which is number `number`, with carets under it; nothing for an empty
/// text.
pub(super) fn write_excerpt(out: &mut String, text: &str, span: Span, number: usize) {
    if text.is_empty() {
        return;
    }
    let at = boundary(text, span.start);
    let (start, end) = line_around(text, at);
    let before = text[start..at].chars().count();
    let marked_end = boundary(text, span.end).clamp(at, end);
    let marked = text[at..marked_end].chars().count().max(1);
    let first = before.saturating_sub(WIDTH / 2);
    let shown: Vec<char> = text[start..end].chars().skip(first).take(WIDTH).collect();
    let line: String = shown.iter().map(|character| printable(*character)).collect();
    let indent = before - first;
    let carets = marked.min(WIDTH.saturating_sub(indent)).max(1);
    let _ = writeln!(out, "{number:>4} | {}", line.trim_end());
    let _ = writeln!(out, "     | {}{}", " ".repeat(indent), "^".repeat(carets));
}

/// One column per character: what cannot be shown becomes a replacement mark.
fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        other if other.is_control() || is_invisible(other) => '\u{fffd}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::SourceId;
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span { source: SourceId::default(), start, end }
    }

    #[track_caller]
    fn check_position(text: &str, at: u32, line: usize, column: usize) {
        assert_eq!(position(text, at), Position { line, column });
    }

    #[test]
    fn all_three_line_ends_count_once() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("a{end}bä{end}cé x");
            let at = u32::try_from(text.find('x').unwrap()).unwrap();
            check_position(&text, at, 3, 4);
        }
        check_position("", 0, 1, 1);
        check_position("ab", 99, 1, 3);
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let text = format!("{}X{}", "a".repeat(5_000_000), "b".repeat(5_000_000));
        let mut out = String::new();
        write_excerpt(&mut out, &text, span(5_000_000, 5_000_001), 1);
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].chars().count() <= WIDTH + 7);
        let caret = lines[1].find('^').unwrap();
        assert_eq!(lines[0].as_bytes()[caret], b'X');
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let mut out = String::new();
        write_excerpt(&mut out, "a\u{1b}[31mX", span(6, 7), 1);
        assert!(!out.contains('\u{1b}'));
        assert_eq!(quote("\u{1b}[31m\u{202e}"), "\\u001b[31m\\u202e");
        assert!(quote(&"y".repeat(1000)).ends_with("… (1000 characters)"));
    }
}
