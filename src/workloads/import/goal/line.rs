//! One line of a GOAL text, word by word.

/// A word, a number or a sign, with the byte at which it begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) what: What<'a>,
}

/// Its kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum What<'a> {
    /// Letters, digits and `_`, a letter first.
    Word(&'a str),
    /// Digits.
    Number(&'a str),
    /// `-1`.
    Any,
    /// `:`.
    Colon,
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// Nothing of the language.
    Other(&'a [u8]),
    /// The end of the line.
    End,
}

/// A line that is read from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether a comment that began with `/*` goes on.
    pub(super) in_comment: bool,
}

impl<'a> Line<'a> {
    pub(super) fn new(bytes: &'a [u8], in_comment: bool) -> Self {
        Self { bytes, at: 0, in_comment }
    }

    /// The next token, without taking it.
    #[inline]
    pub(super) fn peek(&self) -> Token<'a> {
        let mut ahead = *self;
        ahead.next()
    }

    /// Takes the next token; at the end of the line, its end for ever.
    #[inline]
    pub(super) fn next(&mut self) -> Token<'a> {
        self.skip();
        let at = self.at;
        let what = match self.bytes.get(at) {
            None => What::End,
            Some(b':') => self.sign(1, What::Colon),
            Some(b'{') => self.sign(1, What::Open),
            Some(b'}') => self.sign(1, What::Close),
            Some(first) if first.is_ascii_digit() => What::Number(self.run(u8::is_ascii_digit)),
            Some(first) if first.is_ascii_alphabetic() => {
                What::Word(self.run(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
            }
            Some(_) if is_any(&self.bytes[at..]) => self.sign(2, What::Any),
            Some(_) => self.other(),
        };
        Token { at, what }
    }

    fn sign(&mut self, length: usize, what: What<'a>) -> What<'a> {
        self.at += length;
        what
    }

    #[inline]
    fn run(&mut self, belongs: impl Fn(&u8) -> bool) -> &'a str {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        self.at += length;
        std::str::from_utf8(&rest[..length]).expect("ASCII was asked for")
    }

    fn other(&mut self) -> What<'a> {
        let rest = &self.bytes[self.at..];
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let length = rest.iter().position(blank).unwrap_or(rest.len());
        self.at += length;
        What::Other(&rest[..length])
    }

    /// Blanks and comments.
    #[inline]
    fn skip(&mut self) {
        loop {
            let rest = &self.bytes[self.at..];
            if self.in_comment {
                let Some(end) = rest.windows(2).position(|two| two == b"*/") else {
                    self.at = self.bytes.len();
                    return;
                };
                self.at += end + 2;
                self.in_comment = false;
                continue;
            }
            match rest {
                [b' ' | b'\t', ..] => self.at += 1,
                [b'/', b'/', ..] => self.at = self.bytes.len(),
                [b'/', b'*', ..] => (self.at, self.in_comment) = (self.at + 2, true),
                _ => return,
            }
        }
    }
}

/// `-1`, and not `-12`.
fn is_any(rest: &[u8]) -> bool {
    rest.starts_with(b"-1") && !rest.get(2).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &[What<'_>]) {
        let mut line = Line::new(text.as_bytes(), false);
        for what in wanted {
            assert_eq!(line.next().what, *what, "{text}");
        }
        assert_eq!(line.next().what, What::End);
    }

    #[test]
    fn words_numbers_and_comments() {
        use What::{Any, Close, Colon, Number, Open, Other, Word};
        check(
            "l1: send 8b to",
            &[Word("l1"), Colon, Word("send"), Number("8"), Word("b"), Word("to")],
        );
        check("rank 3 {", &[Word("rank"), Number("3"), Open]);
        check("tag -1 cpu -12", &[Word("tag"), Any, Word("cpu"), Other(b"-12")]);
        check("a /* x */ } // all", &[Word("a"), Close]);
        check("/* open", &[]);
        check("a_b\u{e9} c", &[Word("a_b"), Other("\u{e9}".as_bytes()), Word("c")]);
    }

    #[test]
    fn a_comment_goes_on_in_the_next_line() {
        let mut first = Line::new(b"a /* b", false);
        assert_eq!((first.next().what, first.next().what), (What::Word("a"), What::End));
        let mut second = Line::new(b"c */ d", first.in_comment);
        assert_eq!(second.next(), Token { at: 5, what: What::Word("d") });
    }
}
