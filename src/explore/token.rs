//! Replay tokens: one word that names a job, a version and every choice of a run.
//!
//! ```text
//!   x1:mutex/mcs:3x2:c:s1:0.1.0:<first state>:<last state>:<choices>:<sum>
//! ```
//!
//! Format, subject, ranks x operations (`-` for a scenario), faults of the environment (`c`: a process dies;
//! `l1d2r3`: a packet is lost, two are duplicated, three reordered; `-`: none), seed, version of the program,
//! fingerprints of the first and the last state, one place among the open choices for each step, and a sum over all of
//! it that catches a slip of the pen.

use std::fmt;
use std::str::FromStr;

use super::{MayFail, Size};
use runtime::faults::Allowed;

/// The format that is written and read.
const FORMAT: &str = "x1";

/// A run of a job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Token {
    /// Name of the protocol, or the scenario as it was given.
    pub subject: String,
    /// Its size; `None` for a scenario.
    pub size: Option<Size>,
    /// Faults of the environment.
    pub faults: MayFail,
    /// The seed of the exploration.
    pub seed: u64,
    /// The program that made the run.
    pub version: String,
    /// Fingerprint of the first state.
    pub first: u128,
    /// Fingerprint of the last state.
    pub last: u128,
    /// The place of each step among the choices that were open.
    pub choices: Vec<usize>,
}

/// Why a text is no token.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TokenError {
    /// Not the form of a token at all.
    #[error("this is no replay token: {0}")]
    Form(&'static str),
    /// The format of another version.
    #[error("the token has the format `{0}`; this program reads `{FORMAT}`")]
    Format(String),
    /// A character was lost or changed.
    #[error("the token is damaged: its last four digits do not belong to the rest")]
    Sum,
}

const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.";

/// Places below this are one character; others are `~` and two.
const SHORT: usize = 64;

fn choices_to_text(choices: &[usize]) -> String {
    let digit = |value: usize| char::from(DIGITS[value % SHORT]);
    let mut text = String::with_capacity(choices.len());
    for &place in choices {
        if place < SHORT {
            text.push(digit(place));
        } else {
            text.extend(['~', digit(place / SHORT), digit(place)]);
        }
    }
    text
}

fn choices_from_text(text: &str) -> Option<Vec<usize>> {
    let mut digits = text.bytes();
    let value = |byte: u8| DIGITS.iter().position(|digit| *digit == byte);
    let mut choices = Vec::new();
    while let Some(byte) = digits.next() {
        choices.push(if byte == b'~' {
            value(digits.next()?)? * SHORT + value(digits.next()?)?
        } else {
            value(byte)?
        });
    }
    Some(choices)
}

fn faults_to_text(MayFail { crash, packets }: MayFail) -> String {
    let Allowed { losses, repeats, overtakings } = packets;
    let counts = [('l', losses), ('d', repeats), ('r', overtakings)];
    let mut text = String::from(if crash { "c" } else { "" });
    text.extend(counts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{word}{n}")));
    if text.is_empty() { "-".to_owned() } else { text }
}

fn faults_from_text(text: &str) -> Option<MayFail> {
    let mut faults = MayFail::default();
    let (crash, mut rest) = text.strip_prefix('c').map_or((false, text), |rest| (true, rest));
    faults.crash = crash;
    if rest == "-" && !crash {
        return Some(faults);
    }
    let Allowed { losses, repeats, overtakings } = &mut faults.packets;
    for (word, count) in [('l', losses), ('d', repeats), ('r', overtakings)] {
        let Some(number) = rest.strip_prefix(word) else { continue };
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        *count = number[..digits].parse().ok()?;
        rest = &number[digits..];
    }
    rest.is_empty().then_some(faults)
}

/// Everything but plain characters as `%` and two digits.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_.+-".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") })
        .collect()
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part.as_bytes().get(2..)?);
    }
    String::from_utf8(bytes).ok()
}

fn sum(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..4].to_owned()
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size.map(|Size { ranks, ops }| format!("{ranks}x{ops}"));
        let text = format!(
            "{FORMAT}:{}:{}:{}:s{}:{}:{:032x}:{:032x}:{}",
            escaped(&self.subject),
            size.as_deref().unwrap_or("-"),
            faults_to_text(self.faults),
            self.seed,
            escaped(&self.version),
            self.first,
            self.last,
            choices_to_text(&self.choices),
        );
        write!(f, "{text}:{}", sum(&text))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let (format, _) = text.split_once(':').ok_or(TokenError::Form("it has no `:`"))?;
        if format != FORMAT {
            return Err(TokenError::Format(format.chars().take(20).collect()));
        }
        let (body, found) = text.rsplit_once(':').ok_or(TokenError::Form("it has one part"))?;
        let parts: Vec<&str> = body.split(':').collect();
        let &[_, subject, size, faults, seed, version, first, last, choices] = &parts[..] else {
            return Err(TokenError::Form("it does not have ten parts"));
        };
        if sum(body) != found {
            return Err(TokenError::Sum);
        }
        Self::of_parts(subject, size, faults, seed, version, [first, last], choices)
            .ok_or(TokenError::Form("a part cannot be read"))
    }
}

impl Token {
    fn of_parts(
        subject: &str,
        size: &str,
        faults: &str,
        seed: &str,
        version: &str,
        states: [&str; 2],
        choices: &str,
    ) -> Option<Self> {
        let print = |text: &str| u128::from_str_radix(text, 16).ok();
        let size = match size {
            "-" => None,
            size => {
                let (ranks, ops) = size.split_once('x')?;
                Some(Size { ranks: ranks.parse().ok()?, ops: ops.parse().ok()? })
            }
        };
        Some(Self {
            subject: unescaped(subject)?,
            size,
            faults: faults_from_text(faults)?,
            seed: seed.strip_prefix('s')?.parse().ok()?,
            version: unescaped(version)?,
            first: print(states[0])?,
            last: print(states[1])?,
            choices: choices_from_text(choices)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token {
            subject: "a folder/program: 1.json".to_owned(),
            size: Some(Size { ranks: 3, ops: 2 }),
            faults: MayFail::DEATH,
            seed: 42,
            version: "0.1.0".to_owned(),
            first: 7,
            last: u128::MAX,
            choices: vec![0, 1, 9, 10, 63, 64, 4095, 2],
        }
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let text = token().to_string();
        assert_eq!(text.parse(), Ok(token()));
        assert_eq!(format!(" {text}\n").parse(), Ok(token()));
        assert!(!text.contains(' '), "one word: {text}");
        let faults = MayFail::default();
        let scenario = Token { size: None, faults, choices: vec![], ..token() };
        assert_eq!(scenario.to_string().parse(), Ok(scenario));
        let packets = Allowed { losses: 2, repeats: 0, overtakings: 255 };
        let lossy = Token { faults: MayFail { packets, ..faults }, ..token() };
        assert!(lossy.to_string().contains(":l2r255:"), "{lossy}");
        assert_eq!(lossy.to_string().parse(), Ok(lossy));
    }

    #[test]
    fn a_changed_character_is_noticed() {
        let text = token().to_string();
        for at in text.find("3x2").unwrap()..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(changed.parse::<Token>().is_err(), "{changed}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        let refusal = |text: &str| text.parse::<Token>().unwrap_err().to_string();
        assert!(refusal("hello").contains("no `:`"));
        assert!(refusal("x9:a:b").contains("`x9`; this program reads `x1`"));
        assert!(refusal("x1:a:b").contains("ten parts"));
    }
}
