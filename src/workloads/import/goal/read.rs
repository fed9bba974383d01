//! Reading a GOAL text, line by line: a file of any length takes the memory of its schedule.
//!
//! A wrong line is told, with what is allowed, and reading goes on in the next one.

#![expect(clippy::wildcard_enum_match_arm, reason = "any other token is refused where it stands")]

use std::io::BufRead;

use super::super::lines::{LONGEST_LINE, MOST_ERRORS, Wrong, next_line, shortened, shown};
use super::labels::Labels;
use super::line::{Line, Token, What};
use crate::trace::{Fault, ReadError};
use runtime::loggops::schedule::{ANY, Builder, Edge, Kind, MOST_OPS, Op, Schedule, Until};

/// Reads a schedule.
///
/// # Errors
///
/// Everything that is wrong, in the order of lines, up to [`MOST_ERRORS`].
pub fn read(mut text: impl BufRead) -> Result<Schedule, Vec<ReadError>> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        match next_line(&mut text, &mut line) {
            Ok(None) => break,
            Ok(Some(whole)) => {
                number += 1;
                reader.line(number, &line, whole);
            }
            Err(why) => {
                reader.whole(Fault::Io, format!("the file cannot be read: {why}"), "");
                break;
            }
        }
        if reader.errors.len() >= MOST_ERRORS {
            return Err(reader.errors);
        }
    }
    reader.finish(number)
}

/// The part that is read so far.
#[derive(Default)]
struct Reader {
    builder: Builder,
    labels: Labels,
    /// Stated by `num_ranks`, with its line.
    ranks: Option<u32>,
    /// The line in which the block of the present rank was opened.
    open: Option<u32>,
    /// The line in which the present comment was opened.
    comment: Option<u32>,
    /// Whether the present block has a wrong line: labels that are missing may be those of it.
    torn: bool,
    /// A block that must not be there is read and forgotten.
    errors: Vec<ReadError>,
}

impl Reader {
    fn line(&mut self, number: u32, bytes: &[u8], whole: bool) {
        let mut line = Line::new(bytes, self.comment.is_some());
        let mut result = Ok(());
        while result.is_ok() && line.peek().what != What::End {
            result = self.statement(number, &mut line);
        }
        if !whole && result.is_ok() {
            let found = format!("the line is longer than {LONGEST_LINE} bytes");
            result =
                Err(Wrong::new(Fault::Form, (0, 1), found, "lines are short: one operation each"));
        }
        if let Err(wrong) = result {
            self.torn = true;
            self.errors.push(wrong.at_line(None, number, shown(bytes)));
        }
        // A comment may begin or end in what is left.
        while line.next().what != What::End {}
        self.comment = match (line.in_comment, self.comment) {
            (true, None) => Some(number),
            (in_comment, old) => old.filter(|_| in_comment),
        };
    }

    fn statement(&mut self, number: u32, line: &mut Line<'_>) -> Result<(), Wrong> {
        if self.open.is_none() {
            return self.outside(number, line);
        }
        let first = line.next();
        match first.what {
            What::Close => {
                self.builder.end_rank();
                self.open = None;
                Ok(())
            }
            What::Word("send" | "recv" | "calc") => self.op(number, first, "", line),
            What::Word(label) => {
                let second = line.next();
                match second.what {
                    What::Colon => self.labelled(number, first, label, line),
                    What::Word("requires") => self.depend(first, Until::Done, line),
                    What::Word("irequires") => self.depend(first, Until::Started, line),
                    What::Number(_) => Err(expected(first, &["send", "recv", "calc"])),
                    _ => Err(expected(second, &["`:`", "requires", "irequires"])),
                }
            }
            _ => Err(expected(first, &["a label", "send", "recv", "calc", "`}`"])),
        }
    }

    /// Between the blocks of ranks.
    fn outside(&mut self, number: u32, line: &mut Line<'_>) -> Result<(), Wrong> {
        let first = line.next();
        match first.what {
            What::Word("num_ranks") if self.ranks.is_none() => {
                let (ranks, at) = take_u32(line, "a number of ranks")?;
                if ranks == 0 {
                    let found = "there are 0 ranks".to_owned();
                    return Err(Wrong::new(Fault::Number, at, found, "at least 1 rank is needed"));
                }
                self.ranks = Some(ranks);
                Ok(())
            }
            What::Word("num_ranks") => {
                let found = "`num_ranks` is there twice".to_owned();
                Err(Wrong::new(Fault::Form, span(first), found, "it stands once, at the beginning"))
            }
            What::Word("rank") => self.begin_rank(number, first, line),
            _ => Err(expected(first, &["num_ranks", "rank"])),
        }
    }

    fn begin_rank(
        &mut self,
        number: u32,
        word: Token<'_>,
        line: &mut Line<'_>,
    ) -> Result<(), Wrong> {
        let Some(ranks) = self.ranks else {
            let found = "a rank comes before `num_ranks`".to_owned();
            return Err(Wrong::new(
                Fault::Form,
                span(word),
                found,
                "the text begins with `num_ranks N`",
            ));
        };
        let (rank, at) = take_u32(line, "the number of a rank")?;
        let brace = line.next();
        if brace.what != What::Open {
            return Err(expected(brace, &["`{`"]));
        }
        // The block is read in any case, so that its own errors are told as well.
        (self.open, self.torn) = (Some(number), false);
        self.labels.clear();
        let wanted = self.builder.rank();
        if rank >= ranks {
            let found = format!("rank {rank} does not exist");
            return Err(Wrong::new(
                Fault::Rank,
                at,
                found,
                format!("ranks are 0 to {}", ranks - 1),
            ));
        }
        if rank != wanted {
            let found = if rank < wanted {
                format!("rank {rank} is there twice")
            } else {
                format!("{} missing before rank {rank}", missing(wanted, rank))
            };
            let allowed = format!("ranks come in order, each once; rank {wanted} is next");
            return Err(Wrong::new(Fault::Block, at, found, allowed));
        }
        Ok(())
    }

    fn labelled(
        &mut self,
        number: u32,
        first: Token<'_>,
        label: &str,
        line: &mut Line<'_>,
    ) -> Result<(), Wrong> {
        if let Some(old) = self.labels.find(&self.builder, label) {
            let before = self.builder.line(old).unwrap_or_default();
            let found = format!("the label `{label}` is there twice");
            let allowed = format!("it stands in line {before}; labels of one rank differ");
            return Err(Wrong::new(Fault::Label, span(first), found, allowed));
        }
        let kind = line.next();
        self.op(number, kind, label, line)
    }

    fn op(
        &mut self,
        number: u32,
        kind: Token<'_>,
        label: &str,
        line: &mut Line<'_>,
    ) -> Result<(), Wrong> {
        let kind = match kind.what {
            What::Word("send") => Kind::Send,
            What::Word("recv") => Kind::Receive,
            What::Word("calc") => Kind::Compute,
            _ => return Err(expected(kind, &["send", "recv", "calc"])),
        };
        let rank = self.builder.rank();
        let mut op = Op { amount: 0, peer: 0, tag: 0, rank, kind, cpu: 0, nic: 0 };
        op.amount = take_number(line, amount_of(kind), u64::MAX)?.0;
        if kind != Kind::Compute {
            take_word(line, "b")?;
            self.peer(&mut op, line)?;
        }
        options(&mut op, line)?;
        if self.builder.len() == MOST_OPS {
            let found = "there are too many operations".to_owned();
            return Err(Wrong::new(Fault::TooMany, (0, 1), found, format!("at most {MOST_OPS}")));
        }
        let place = self.builder.add_read(op, number, label);
        if !label.is_empty() {
            self.labels.insert(&self.builder, label, place);
        }
        Ok(())
    }

    fn peer(&self, op: &mut Op, line: &mut Line<'_>) -> Result<(), Wrong> {
        let receives = op.kind == Kind::Receive;
        take_word(line, if receives { "from" } else { "to" })?;
        let ahead = line.peek();
        if ahead.what == What::Any {
            line.next();
            if !receives {
                let found = "a send to `-1`".to_owned();
                let allowed = "any rank is for receives only; a send names its receiver";
                return Err(Wrong::new(Fault::Wildcard, span(ahead), found, allowed));
            }
            op.peer = ANY;
            return Ok(());
        }
        let (peer, at) = take_u32(line, "the number of a rank")?;
        let ranks = self.ranks.unwrap_or(u32::MAX);
        if peer >= ranks {
            let found = format!("rank {peer} does not exist");
            return Err(Wrong::new(
                Fault::Rank,
                at,
                found,
                format!("ranks are 0 to {}", ranks - 1),
            ));
        }
        op.peer = peer;
        Ok(())
    }

    fn depend(&mut self, first: Token<'_>, until: Until, line: &mut Line<'_>) -> Result<(), Wrong> {
        let second = line.next();
        let What::Word(_) = second.what else {
            return Err(expected(second, &["a label"]));
        };
        end_of_statement(line, &["the end of the line", "`}`"])?;
        let (dependant, dependency) = (self.labelled_op(first), self.labelled_op(second));
        if let (Some(dependant), Some(dependency)) = (dependant, dependency) {
            self.builder.depend(Edge { dependant, dependency, until });
            return Ok(());
        }
        let unknown = if dependant.is_none() { first } else { second };
        if self.torn {
            return Ok(());
        }
        let What::Word(label) = unknown.what else { unreachable!("both are words") };
        let found = format!("the label `{label}` is not known");
        let allowed = "a label stands before its operation, further up in the block of the rank";
        Err(Wrong::new(Fault::Label, span(unknown), found, allowed))
    }

    fn labelled_op(&self, token: Token<'_>) -> Option<u32> {
        let What::Word(label) = token.what else { return None };
        self.labels.find(&self.builder, label)
    }

    /// Something that is wrong with the text as a whole.
    fn whole(&mut self, fault: Fault, found: String, allowed: impl Into<String>) {
        self.errors.push(Wrong::new(fault, (0, 0), found, allowed).in_text());
    }

    fn finish(mut self, lines: u32) -> Result<Schedule, Vec<ReadError>> {
        let opened = |what: &str, line| format!("the text ends inside the {what} of line {line}");
        if let Some(line) = self.comment {
            self.whole(Fault::Unclosed, opened("comment", line), "`*/` ends it");
        } else if let Some(line) = self.open {
            self.whole(Fault::Unclosed, opened("block", line), "`}` ends the block of a rank");
        } else if lines == 0 || (self.ranks.is_none() && self.errors.is_empty()) {
            let found = "the file is empty".to_owned();
            self.whole(Fault::Empty, found, "it begins with `num_ranks N`");
        } else if let Some(ranks) = self.ranks.filter(|ranks| *ranks > self.builder.rank())
            && self.errors.iter().all(|error| error.fault != Fault::Block)
        {
            let found = format!("{} missing", missing(self.builder.rank(), ranks));
            let allowed = format!("`num_ranks` says {ranks}; each has a block, even an empty one");
            self.whole(Fault::Block, found, allowed);
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let schedule = self.builder.finish();
        match schedule.circle() {
            None => Ok(schedule),
            Some(circle) => Err(vec![round(&schedule, &circle)]),
        }
    }
}

/// Most operations of a circle that a message names.
/// Limit: it counts the others.
const MOST_OF_A_CIRCLE: usize = 10;

fn round(schedule: &Schedule, circle: &[u32]) -> ReadError {
    let name = |op: &u32| schedule.label(*op).unwrap_or("?").to_owned();
    let mut names: Vec<String> = circle.iter().take(MOST_OF_A_CIRCLE).map(name).collect();
    if circle.len() > MOST_OF_A_CIRCLE {
        names.push(format!("({} more)", circle.len() - MOST_OF_A_CIRCLE));
    }
    names.push(name(&circle[0]));
    let rank = schedule.ops()[circle[0] as usize].rank;
    let found = format!("rank {rank}: operations wait for each other: {}", names.join(" -> "));
    let text = name(&circle[0]);
    let allowed = "none of them could ever begin; leave one dependency out";
    let line = schedule.line(circle[0]).unwrap_or_default();
    Wrong::new(Fault::Circle, (0, text.len()), found, allowed).at_line(None, line, text)
}

/// Ranks from `from` up to before `to`, in words.
fn missing(from: u32, to: u32) -> String {
    let last = to - 1;
    if from == last { format!("rank {from} is") } else { format!("ranks {from} to {last} are") }
}

const fn amount_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Send | Kind::Receive => "a number of bytes",
        Kind::Compute => "a number of units of time",
    }
}

/// `tag`, `cpu` and `nic`, each at most once, up to the end of the statement.
fn options(op: &mut Op, line: &mut Line<'_>) -> Result<(), Wrong> {
    const MESSAGE: &[&str] = &["tag", "cpu", "nic", "the end of the line", "`}`"];
    const WORK: &[&str] = &["cpu", "the end of the line", "`}`"];
    let computes = op.kind == Kind::Compute;
    let words = if computes { WORK } else { MESSAGE };
    let mut seen = [false; 3];
    loop {
        let token = line.peek();
        let (which, word) = match token.what {
            What::Word("tag") if !computes => (0, "tag"),
            What::Word("cpu") => (1, "cpu"),
            What::Word("nic") if !computes => (2, "nic"),
            _ => return end_of_statement(line, words),
        };
        line.next();
        if std::mem::replace(&mut seen[which], true) {
            let found = format!("`{word}` is there twice");
            return Err(Wrong::new(Fault::Form, span(token), found, "each option stands once"));
        }
        match which {
            0 => op.tag = take_tag(op.kind, line)?,
            1 => op.cpu = take_small(line, "the number of a CPU")?,
            _ => op.nic = take_small(line, "the number of a NIC")?,
        }
    }
}

fn end_of_statement(line: &Line<'_>, words: &'static [&'static str]) -> Result<(), Wrong> {
    let token = line.peek();
    if matches!(token.what, What::End | What::Close) { Ok(()) } else { Err(expected(token, words)) }
}

fn take_tag(kind: Kind, line: &mut Line<'_>) -> Result<u32, Wrong> {
    let token = line.peek();
    if token.what == What::Any {
        line.next();
        if kind == Kind::Receive {
            return Ok(ANY);
        }
        let found = "a send with tag `-1`".to_owned();
        let allowed = "any tag is for receives only";
        return Err(Wrong::new(Fault::Wildcard, span(token), found, allowed));
    }
    Ok(take_u32(line, "a tag")?.0)
}

fn take_word(line: &mut Line<'_>, word: &'static str) -> Result<(), Wrong> {
    let token = line.next();
    if token.what == What::Word(word) {
        return Ok(());
    }
    Err(expected(
        token,
        match word {
            "b" => &["b"],
            "to" => &["to"],
            _ => &["from"],
        },
    ))
}

type Taken<T> = Result<(T, (usize, usize)), Wrong>;

fn take_number(line: &mut Line<'_>, what: &'static str, most: u64) -> Taken<u64> {
    let token = line.next();
    let What::Number(digits) = token.what else {
        return Err(Wrong { words: &[], ..expected_one(token, what) });
    };
    match digits.parse() {
        Ok(number) if number <= most => Ok((number, span(token))),
        _ => {
            let found = format!("`{}` is too large", shortened(digits));
            Err(Wrong::new(Fault::Number, span(token), found, format!("{what} is 0 to {most}")))
        }
    }
}

/// Ranks and tags: the last number stands for any.
fn take_u32(line: &mut Line<'_>, what: &'static str) -> Taken<u32> {
    let (number, at) = take_number(line, what, u64::from(ANY - 1))?;
    Ok((u32::try_from(number).expect("at most ANY - 1"), at))
}

fn take_small(line: &mut Line<'_>, what: &'static str) -> Result<u8, Wrong> {
    let (number, _) = take_number(line, what, u64::from(u8::MAX))?;
    Ok(u8::try_from(number).expect("at most u8::MAX"))
}

fn span(token: Token<'_>) -> (usize, usize) {
    let length = match token.what {
        What::Word(text) | What::Number(text) => text.len(),
        What::Other(bytes) => bytes.len(),
        What::Any => 2,
        What::Colon | What::Open | What::Close | What::End => 1,
    };
    (token.at, token.at + length)
}

fn expected(token: Token<'_>, words: &'static [&'static str]) -> Wrong {
    let allowed = match words {
        [one] => format!("{} is expected", quoted(one)),
        [most @ .., last] => {
            let most: Vec<_> = most.iter().map(|word| quoted(word)).collect();
            format!("{} or {} is expected", most.join(", "), quoted(last))
        }
        [] => String::new(),
    };
    let found = match token.what {
        What::Word(text) | What::Number(text) => format!("`{}`", shortened(text)),
        What::Other(bytes) => format!("`{}`", shortened(&shown(bytes))),
        What::Any => "`-1`".to_owned(),
        What::Colon => "`:`".to_owned(),
        What::Open => "`{`".to_owned(),
        What::Close => "`}`".to_owned(),
        What::End => "the line ends".to_owned(),
    };
    Wrong { fault: Fault::Form, at: span(token), found, allowed, words }
}

fn expected_one(token: Token<'_>, what: &str) -> Wrong {
    Wrong { allowed: format!("{what} is expected"), ..expected(token, &[]) }
}

/// Words of the language in back-ticks, descriptions as they are.
fn quoted(word: &str) -> String {
    let is_word = word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    if is_word { format!("`{word}`") } else { word.to_owned() }
}
