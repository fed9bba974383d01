//! Reading a trace: the lines of all ranks, then each rank's actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::BufRead;
use std::sync::Arc;

use super::super::lines::{LONGEST_LINE, MOST_ERRORS, Span, Wrong, next_line, shortened, shown};
use super::actions::{Action, Actions, Work};
use super::collectives::Caller;
use super::types::{self, OF_MPE, OF_TAU};
use super::words::Words;
use crate::trace::{Fault, ReadError, Source};
use form::fields::MAX_MESSAGE;
use mpi::envelope::{Rank, TAG_UB};
use mpi::operator::Datatype;
use protocols::call::{Buffer, Call, Comm, Exchange, Peer, Requests, SendMode};
use protocols::contract::Handle;
use units::TimeDelta;

/// The most ranks of a trace.
/// Limit: as of any program.
const MOST_RANKS: u32 = 65_536;
/// The most buffers of a rank, of which each action takes two at most.
/// Encoding: buffers with a name have higher numbers.
const MOST_BUFFERS: u32 = Buffer::OWN - 2;
/// `MPI_ANY_SOURCE`.
/// Source: `include/smpi/smpi.h` of `SimGrid` (`simgrid`).
const ANY_SOURCE: i64 = -555;
/// `MPI_PROC_NULL`.
/// Source: as [`ANY_SOURCE`].
const PROC_NULL: i64 = -666;
/// `MPI_ANY_TAG`.
/// Source: as [`ANY_SOURCE`].
const ANY_TAG: i64 = -444;

/// The actions that are read.
pub(super) const ACTIONS: [&str; 29] = [
    "init",
    "finalize",
    "comm_size",
    "location",
    "compute",
    "sleep",
    "send",
    "recv",
    "isend",
    "irecv",
    "sendrecv",
    "wait",
    "waitall",
    "test",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "reducescatter",
    "scan",
    "exscan",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
];

/// Actions that traces have and the reader refuses, with the reason.
const REFUSED: [(&str, &str); 19] = [
    ("comm_split", OTHER_COMMUNICATOR),
    ("comm_dup", OTHER_COMMUNICATOR),
    ("ibarrier", NONBLOCKING),
    ("ibcast", NONBLOCKING),
    ("ireduce", NONBLOCKING),
    ("iallreduce", NONBLOCKING),
    ("iallgather", NONBLOCKING),
    ("ialltoall", NONBLOCKING),
    ("igather", NONBLOCKING),
    ("iscatter", NONBLOCKING),
    ("waitany", ANY_OF_SEVERAL),
    ("testany", ANY_OF_SEVERAL),
    ("testall", ANY_OF_SEVERAL),
    ("testsome", ANY_OF_SEVERAL),
    ("ssend", OTHER_MODE),
    ("issend", OTHER_MODE),
    ("bsend", OTHER_MODE),
    ("ibsend", OTHER_MODE),
    ("probe", "a trace does not say which message was found"),
];
const OTHER_COMMUNICATOR: &str = "collectives do not name their communicator, so that those of the new one look like those of all ranks";
const NONBLOCKING: &str = "a trace does not name the request of a nonblocking collective";
const ANY_OF_SEVERAL: &str = "a trace does not name the requests";
const OTHER_MODE: &str = "SMPI does not replay it either; `send` and `isend` are read";

/// Whether a line is one of a trace: a rank, and an action.
pub(super) fn is_line(line: &str) -> bool {
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let rank = words.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let action = words.next().map(str::to_ascii_lowercase);
    let known = |action: &str| {
        ACTIONS.contains(&action) || REFUSED.iter().any(|(refused, _)| *refused == action)
    };
    rank && action.as_deref().is_some_and(known)
}

/// The first line of a text that is neither empty nor a comment.
pub(super) fn first_line(bytes: &[u8]) -> Option<&str> {
    let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut lines = lines.map(|line| std::str::from_utf8(line).unwrap_or_default().trim());
    lines.find(|line| !is_blank(line))
}

fn is_blank(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// A line that says something, and where it stands.
struct Line {
    number: u32,
    text: String,
}

/// The lines of one file.
struct Text {
    /// Its name, where it is not the file that was given.
    file: Option<String>,
    lines: Vec<Line>,
}

/// Reads a trace.
pub(super) fn read(source: &mut dyn Source) -> Result<Actions, Vec<ReadError>> {
    let mut errors = Vec::new();
    let first = lines_of(source.text(), None, &mut errors);
    let is_trace = first.lines.first().is_some_and(|line| {
        let rank = Words::new(&line.text).next().0.unwrap_or_default();
        rank.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    if first.lines.is_empty() {
        let allowed = "it has lines such as `0 compute 1e6`";
        let wrong = Wrong::new(Fault::Empty, (0, 0), "the file is empty", allowed);
        return Err(vec![wrong.in_text()]);
    }
    let ranks =
        if is_trace { of_one_file(first, &mut errors) } else { named(source, &first, &mut errors) };
    let count = u32::try_from(ranks.len()).unwrap_or(MOST_RANKS);
    let mut all = Vec::with_capacity(ranks.len());
    for (rank, text) in (0..).zip(&ranks) {
        let (mut reader, before) = (Reader::new(rank, count), errors.len());
        for line in &text.lines {
            if let Err(wrong) = reader.line(line) {
                errors.push(wrong.at_line(text.file.clone(), line.number, line.text.clone()));
            }
            if errors.len() - before >= MOST_ERRORS {
                break;
            }
        }
        reader.end(text.lines.last().map_or(1, |line| line.number));
        all.push(reader.actions);
    }
    if errors.is_empty() {
        return Ok(Actions { ranks: all });
    }
    errors.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    errors.truncate(MOST_ERRORS);
    Err(errors)
}

fn lines_of(text: &mut dyn BufRead, file: Option<String>, errors: &mut Vec<ReadError>) -> Text {
    let (mut text, mut bytes, mut lines) = (text, Vec::new(), Vec::new());
    let mut number = 0;
    loop {
        match next_line(&mut text, &mut bytes) {
            Ok(None) => break,
            Ok(Some(whole)) => {
                number += 1;
                let line = shown(&bytes);
                if !whole {
                    let found = format!("the line is longer than {LONGEST_LINE} bytes");
                    let wrong = Wrong::new(Fault::Form, (0, 1), found, "a line is one action");
                    errors.push(wrong.at_line(file.clone(), number, line));
                } else if !is_blank(line.trim()) {
                    lines.push(Line { number, text: line });
                }
            }
            Err(why) => {
                let found = format!("the file cannot be read: {why}");
                errors.push(Wrong::new(Fault::Io, (0, 0), found, "").at_line(
                    file.clone(),
                    0,
                    String::new(),
                ));
                break;
            }
        }
        if errors.len() >= MOST_ERRORS {
            break;
        }
    }
    Text { file, lines }
}

/// The rank of a line.
fn rank_of(line: &Line) -> Result<(u32, Span), Wrong> {
    let (rank, at) = Words::new(&line.text).count("the rank", u64::from(MOST_RANKS - 1))?;
    Ok((u32::try_from(rank).expect("it is below the limit"), at))
}

/// The lines of each rank, where one file has those of all.
fn of_one_file(text: Text, errors: &mut Vec<ReadError>) -> Vec<Text> {
    let mut ranks: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    for line in text.lines {
        match rank_of(&line) {
            Ok((rank, _)) => ranks.entry(rank).or_default().push(line),
            Err(wrong) => errors.push(wrong.at_line(None, line.number, line.text)),
        }
    }
    let missing = (0..).zip(ranks.keys()).find(|(wanted, rank)| wanted != *rank);
    if let (Some((wanted, rank)), true) = (missing, errors.is_empty()) {
        let found = format!("rank {rank} has lines and rank {wanted} has none");
        let allowed = "ranks are counted from 0, and each has a line, if only `init`";
        errors.push(Wrong::new(Fault::Block, (0, 0), found, allowed).in_text());
    }
    ranks.into_values().map(|lines| Text { file: None, lines }).collect()
}

/// The lines of each rank, where a list names a file of each, in the order of ranks.
fn named(source: &mut dyn Source, list: &Text, errors: &mut Vec<ReadError>) -> Vec<Text> {
    let mut all = Vec::new();
    for (rank, line) in (0..).zip(&list.lines) {
        let name = line.text.trim();
        let Some(mut text) = source.named(name) else { break };
        let text = lines_of(&mut *text, Some(name.to_owned()), errors);
        for line in &text.lines {
            let wrong = match rank_of(line) {
                Ok((found, _)) if found == rank => continue,
                Ok((found, at)) => {
                    let found = format!("a line of rank {found} in the file of rank {rank}");
                    let allowed = "the files of a list are those of ranks 0, 1 and so on";
                    Wrong::new(Fault::Rank, at, found, allowed)
                }
                Err(wrong) => wrong,
            };
            errors.push(wrong.at_line(text.file.clone(), line.number, line.text.clone()));
            break;
        }
        all.push(text);
    }
    all
}

/// Source, destination and tag as lines write them: what names a request.
type Key = (i64, i64, i64);

/// The open requests of a rank.
#[derive(Debug, Default)]
struct Open {
    by_key: BTreeMap<Key, VecDeque<(u64, Handle)>>,
    /// How many were opened.
    opened: u64,
    free: BTreeSet<Handle>,
    handles: u32,
}

impl Open {
    fn open(&mut self, key: Key) -> Handle {
        let handle = self.free.pop_first().unwrap_or_else(|| {
            self.handles += 1;
            Handle(self.handles - 1)
        });
        self.opened += 1;
        self.by_key.entry(key).or_default().push_back((self.opened, handle));
        handle
    }

    /// The request that was opened first under a key.
    fn first(&self, key: Key) -> Option<Handle> {
        self.by_key.get(&key)?.front().map(|(_, handle)| *handle)
    }

    /// The same, which ends.
    fn close(&mut self, key: Key) -> Option<Handle> {
        let queue = self.by_key.get_mut(&key)?;
        let (_, handle) = queue.pop_front()?;
        if queue.is_empty() {
            self.by_key.remove(&key);
        }
        self.free.insert(handle);
        Some(handle)
    }

    /// All of them, in the order in which they were opened; they end.
    fn close_all(&mut self) -> Arc<[Handle]> {
        let mut all: Vec<(u64, Handle)> =
            std::mem::take(&mut self.by_key).into_values().flatten().collect();
        all.sort_unstable_by_key(|(opened, _)| *opened);
        self.free.extend(all.iter().map(|(_, handle)| *handle));
        all.into_iter().map(|(_, handle)| handle).collect()
    }
}

/// One rank, as its lines are read.
struct Reader {
    rank: u32,
    ranks: u32,
    /// The type of messages whose lines name none.
    datatype: Datatype,
    buffers: u32,
    open: Open,
    /// Whether its `finalize` was read.
    is_over: bool,
    actions: Vec<Action>,
}

impl Reader {
    fn new(rank: u32, ranks: u32) -> Self {
        let (open, actions) = (Open::default(), Vec::new());
        Self { rank, ranks, datatype: OF_TAU, buffers: 0, open, is_over: false, actions }
    }

    fn push(&mut self, line: u32, work: Work) {
        self.actions.push(Action { line, work });
    }

    fn line(&mut self, line: &Line) -> Result<(), Wrong> {
        let mut words = Words::new(&line.text);
        words.next();
        let (action, at) = words.next();
        let Some(action) = action else {
            let allowed = "an action follows the rank";
            return Err(Wrong::new(Fault::Form, at, "the line ends", allowed));
        };
        if self.is_over {
            let found = format!("`{}` behind `finalize`", shortened(action));
            return Err(Wrong::new(Fault::Form, at, found, "`finalize` is the last action"));
        }
        if self.buffers >= MOST_BUFFERS {
            let found = "the rank has too many actions";
            return Err(Wrong::new(Fault::TooMany, at, found, format!("at most {MOST_BUFFERS}")));
        }
        let name = action.to_ascii_lowercase();
        if let Some(work) = self.work(&name, words)? {
            self.push(line.number, work);
            return Ok(());
        }
        let caller = Caller {
            rank: self.rank,
            ranks: self.ranks,
            datatype: self.datatype,
            buffer: self.buffers,
        };
        if let Some((call, flops)) = caller.call(&name, words)? {
            self.buffers += 2;
            self.push(line.number, Work::Collective(Box::new(call)));
            if flops > 0 {
                self.push(line.number, Work::Flops(flops));
            }
            return Ok(());
        }
        if ACTIONS.contains(&&*name) {
            return Ok(());
        }
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        Err(match refused {
            Some((_, why)) => {
                let found = format!("the action `{}` is not read", shortened(action));
                Wrong::new(Fault::Action, at, found, *why)
            }
            None => Wrong {
                words: &ACTIONS,
                ..Wrong::new(
                    Fault::Form,
                    at,
                    format!("there is no action `{}`", shortened(action)),
                    format!("the actions are {}", ACTIONS.join(", ")),
                )
            },
        })
    }

    /// The work of an action; `None` of a collective, and of an action that does nothing.
    fn work(&mut self, name: &str, mut words: Words<'_>) -> Result<Option<Work>, Wrong> {
        let words = &mut words;
        let work = match name {
            "init" => {
                self.datatype = if words.has_more() { OF_MPE } else { OF_TAU };
                return Ok(None);
            }
            "finalize" => {
                words.end()?;
                self.is_over = true;
                return Ok(None);
            }
            "compute" => Work::Flops(words.amount("a number of flops", 0)?),
            "sleep" => Work::Time(TimeDelta::from_ps(words.amount("a number of seconds", 12)?)),
            "send" | "isend" => self.send(name == "isend", words)?,
            "recv" | "irecv" => self.receive(name == "irecv", words)?,
            "sendrecv" => self.exchange(words)?,
            "wait" => {
                let key = Self::key(words)?;
                let request = self.open.close(key.0).ok_or_else(|| unknown(key))?;
                Work::Call(Call::Wait { request })
            }
            // A request that its test has completed stays known: a later wait finds nothing to do.
            "test" => {
                let key = Self::key(words)?;
                let request = self.open.first(key.0).ok_or_else(|| unknown(key))?;
                Work::Call(Call::Test { request })
            }
            "waitall" => {
                // As SMPI replays it: the number of requests is not looked at.
                if words.has_more() {
                    words.count("a number of requests", u64::from(u32::MAX))?;
                }
                let open = self.open.close_all();
                if open.is_empty() {
                    words.end()?;
                    return Ok(None);
                }
                Work::Call(Call::WaitAll { requests: Requests::List(open), statuses: true })
            }
            "barrier" => Work::Call(Call::Barrier { comm: Comm(0) }),
            _ => return Ok(None),
        };
        words.end()?;
        Ok(Some(work))
    }

    fn buffer(&mut self, bytes: u64) -> Buffer {
        self.buffers += 1;
        Buffer { id: self.buffers - 1, bytes }
    }

    fn peer(&self, number: i64, at: Span, receives: bool) -> Result<Peer, Wrong> {
        match u32::try_from(number) {
            Ok(rank) if rank < self.ranks => Ok(Peer::Rank(Rank(rank))),
            Ok(rank) => Err(Wrong::no_rank(u64::from(rank), self.ranks, at)),
            Err(_) if number == ANY_SOURCE && receives => Ok(Peer::Any),
            Err(_) if number == PROC_NULL => Ok(Peer::Null),
            Err(_) => {
                let found = format!("rank {number}");
                let any =
                    if receives { format!("{ANY_SOURCE} for any source, ") } else { String::new() };
                let allowed = format!(
                    "ranks are 0 to {}, {any}{PROC_NULL} for MPI_PROC_NULL",
                    self.ranks - 1
                );
                Err(Wrong::new(Fault::Rank, at, found, allowed))
            }
        }
    }

    fn tag(number: i64, at: Span, receives: bool) -> Result<Option<i32>, Wrong> {
        match i32::try_from(number) {
            Ok(tag) if tag >= 0 => Ok(Some(tag)),
            _ if number == ANY_TAG && receives => Ok(None),
            _ => {
                let any = if receives { format!(", {ANY_TAG} for any") } else { String::new() };
                let allowed = format!("tags are 0 to {TAG_UB}{any}");
                Err(Wrong::new(Fault::Number, at, format!("the tag {number}"), allowed))
            }
        }
    }

    /// Peer, tag and bytes of a message, and the peer and tag as they were written.
    fn message(
        &mut self,
        words: &mut Words<'_>,
        receives: bool,
    ) -> Result<(Peer, Option<i32>, Buffer, [i64; 2]), Wrong> {
        let (peer, peer_at) = words.integer("the rank of the other side")?;
        let (tag, tag_at) = words.integer("a tag")?;
        if !words.has_more() {
            let at = words.next().1;
            let allowed = "a message has a rank, a tag and a size; traces of SimGrid before 3.20 have no tag, and are not read";
            return Err(Wrong::new(Fault::Form, at, "the line ends", allowed));
        }
        let bytes = self.bytes(words)?;
        let written = [peer, tag];
        let peer = self.peer(peer, peer_at, receives)?;
        Ok((peer, Self::tag(tag, tag_at, receives)?, self.buffer(bytes), written))
    }

    /// A number of elements, and perhaps their type.
    fn bytes(&self, words: &mut Words<'_>) -> Result<u64, Wrong> {
        let (count, at) = words.count("a number of elements", MAX_MESSAGE)?;
        let datatype = types::take(words, self.datatype)?;
        types::sized((count, at), datatype).map(|(bytes, _)| bytes)
    }

    fn send(&mut self, begins: bool, words: &mut Words<'_>) -> Result<Work, Wrong> {
        let (to, tag, buffer, [peer, written]) = self.message(words, false)?;
        let (tag, comm, mode) = (tag.unwrap_or_default(), Comm(0), SendMode::Standard);
        Ok(Work::Call(if begins {
            let request = self.open.open((i64::from(self.rank), peer, written));
            Call::Isend { request, to, tag, comm, buffer, mode }
        } else {
            Call::Send { to, tag, comm, buffer, mode }
        }))
    }

    fn receive(&mut self, begins: bool, words: &mut Words<'_>) -> Result<Work, Wrong> {
        let (source, tag, buffer, [peer, written]) = self.message(words, true)?;
        let comm = Comm(0);
        Ok(Work::Call(if begins {
            let request = self.open.open((peer, i64::from(self.rank), written));
            Call::Irecv { request, source, tag, comm, buffer }
        } else {
            Call::Recv { source, tag, comm, buffer }
        }))
    }

    /// `MPI_Sendrecv`, whose tags a trace does not have: SMPI replays it with 0.
    fn exchange(&mut self, words: &mut Words<'_>) -> Result<Work, Wrong> {
        let (sent, sent_at) = words.count("a number of elements", MAX_MESSAGE)?;
        let (to, to_at) = words.integer("the rank of the receiver")?;
        let (received, received_at) = words.count("a number of elements", MAX_MESSAGE)?;
        let (from, from_at) = words.integer("the rank of the sender")?;
        let first = types::take(words, self.datatype)?;
        let second = types::take(words, self.datatype)?;
        let buffer = self.buffer(types::sized((sent, sent_at), first)?.0);
        let into = self.buffer(types::sized((received, received_at), second)?.0);
        let (to, source) = (self.peer(to, to_at, false)?, self.peer(from, from_at, true)?);
        let (comm, mode) = (Comm(0), SendMode::Standard);
        Ok(Work::Call(Call::Exchange(Arc::new(Exchange {
            send: Call::Send { to, tag: 0, comm, buffer, mode },
            receive: Call::Recv { source, tag: Some(0), comm, buffer: into },
            request: None,
            replaces: false,
        }))))
    }

    fn key(words: &mut Words<'_>) -> Result<(Key, Span), Wrong> {
        let (source, (begin, _)) = words.integer("the rank of the sender")?;
        let (destination, _) = words.integer("the rank of the receiver")?;
        let (tag, (_, end)) = words.integer("a tag")?;
        Ok(((source, destination, tag), (begin, end)))
    }

    /// Requests that are open at the end are waited for, as SMPI does.
    fn end(&mut self, line: u32) {
        let left = self.open.close_all();
        if !left.is_empty() {
            let requests = Requests::List(left);
            self.push(line, Work::Call(Call::WaitAll { requests, statuses: true }));
        }
    }
}

fn unknown(((source, destination, tag), at): (Key, Span)) -> Wrong {
    let found = format!("no request from {source} to {destination} with tag {tag} is open here");
    Wrong::new(
        Fault::Request,
        at,
        found,
        "an `isend` or `irecv` of the rank with these three opens one",
    )
}
