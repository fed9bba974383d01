//! Texts inside a JSON document: escapes, control characters, surrogates.

use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::parser::{Parser, Stop};

impl Parser<'_> {
    /// Reads the text that begins at the current double quote.
    ///
    /// `None` where a part of it was reported; the place after the closing quote is reached.
    pub(super) fn string(&mut self) -> Result<Option<String>, Stop> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        let mut valid = true;
        loop {
            let Some(next) = self.peek_char() else { return Err(self.unclosed(open, "string")) };
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(valid.then_some(out));
                }
                '\\' => match self.escape(open)? {
                    Some(character) => out.push(character),
                    None => valid = false,
                },
                '\n' | '\r' => return Err(self.line_end_in_string(open)),
                control if control < ' ' => {
                    self.control(control);
                    valid = false;
                }
                other => {
                    out.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
    }

    fn control(&mut self, control: char) {
        let span = self.span(self.at, self.at + 1);
        let found = format!("a text contains the control character U+{:04X}", u32::from(control));
        let path = self.path();
        self.report(
            Diagnostic::error(
                &codes::CONTROL_CHARACTER,
                span,
                path,
                found,
                "printed characters are allowed",
            )
            .help(format!("remove it, or write it as `\\u{:04x}`", u32::from(control))),
        );
        self.at += 1;
    }

    /// A text that is not closed on its line: the opening quote is where to look.
    fn line_end_in_string(&mut self, open: usize) -> Stop {
        let span = self.span(open, self.at);
        let path = self.path();
        self.report(
            Diagnostic::error(
                &codes::UNCLOSED,
                span,
                path,
                "the line ends inside the string opened here",
                "a closing double quote is needed on the same line",
            )
            .help("close the string, or write a line end inside it as `\\n`"),
        );
        Stop
    }

    fn escape(&mut self, open: usize) -> Result<Option<char>, Stop> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.peek_char() else { return Err(self.unclosed(open, "string")) };
        let plain = match letter {
            '"' | '\\' | '/' => Some(letter),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            _ => None,
        };
        if plain.is_some() {
            self.at += 1;
            return Ok(plain);
        }
        if letter == 'u' {
            return Ok(self.unicode(start));
        }
        if !matches!(letter, '\n' | '\r') {
            self.at += letter.len_utf8();
        }
        self.bad_escape(
            start,
            "the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with 4 digits",
        );
        Ok(None)
    }

    fn bad_escape(&mut self, start: usize, allowed: &str) {
        let span = self.span(start, self.at);
        let found = format!("the escape `{}` is unknown", self.shown(start, self.at));
        let path = self.path();
        self.report(
            Diagnostic::error(&codes::ESCAPE, span, path, found, allowed)
                .help("a backslash itself is written `\\\\`"),
        );
    }

    /// Four hexadecimal digits at the current place.
    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// A `\u` escape, or a pair of them; the current place is the `u`.
    fn unicode(&mut self, start: usize) -> Option<char> {
        self.at += 1;
        let Some(first) = self.four_digits() else {
            self.bad_escape(start, "\\u is followed by 4 hexadecimal digits");
            return None;
        };
        if let Some(character) = char::from_u32(first) {
            return Some(character);
        }
        let after_first = self.at;
        if first < 0xdc00 && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            match self.four_digits() {
                Some(second) if (0xdc00..0xe000).contains(&second) => {
                    return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
                }
                _ => self.at = after_first,
            }
        }
        self.lone_surrogate(start, first);
        None
    }

    fn lone_surrogate(&mut self, start: usize, first: u32) {
        let span = self.span(start, self.at);
        let (half, other) = if first < 0xdc00 {
            ("first", "a second half, \\uDC00 to \\uDFFF, must follow it")
        } else {
            ("second", "a first half, \\uD800 to \\uDBFF, must stand before it")
        };
        let found =
            format!("`{}` is only the {half} half of a surrogate pair", self.shown(start, self.at));
        let path = self.path();
        self.report(
            Diagnostic::error(&codes::SURROGATE, span, path, found, other)
                .help("write the character itself: files are UTF-8"),
        );
    }
}
