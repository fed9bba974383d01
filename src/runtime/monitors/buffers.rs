//! V2: whose buffer it is. Nothing is touched after completion nor before posting, and bytes
//! arrive as they were sent.
//!
//! A call lends its buffer to the library, the completion of its request gives it back. In
//! between, and only then, actions may touch it. With real payload a send buffer is filled with
//! bytes that name its message when it is borrowed and inverted when it is given back, and a receive
//! buffer is compared when it is given back. A buffer that several receives borrow at once has no
//! defined content and is not compared. Buffers whose bytes are the program's own ([`Buffer::OWN`]) are left as they
//! are: the program compares them itself, and keeps its own books on what it may touch ([`protocols::loans`]). Where it
//! lends such a buffer several times at once, the law asks no more than that it is borrowed: which call reads and which
//! writes is a matter of those books.
//!
//! Where both sides of a message state a datatype, their types are compared when it is received: see
//! the module `types`.
//!
//! What the library must keep for this: every call with a buffer ends in [`Action::Complete`] with
//! that buffer, also where it is empty, and with the [`Observation::SendComplete`] or
//! [`Observation::Received`] of its request; and the [`Observation::Sent`] of a send is in the list
//! that its call returns.

mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use types::Types;
pub use types::{Statement, Typed};

use super::law::{Sometimes, Violation};
use crate::memory::{Memories, Payload};
use calls::typed::Elements;
use collectives::Collective;
use mpi::observation::{MessageId, Observation};
use protocols::call::{Buffer, Call};
use protocols::contract::{Action, Process, Region, Space};
use protocols::uses::{self, Lent, UseAs};
use xios_ep::library::{EpCall, SharedOp, Showing, Shown};

const V2: &str = "no buffer is touched after completion nor before posting; bytes arrive as sent";

/// Calls whose buffers are borrowed, for monitors.
pub trait Lends {
    /// The buffer that this call lends until its request is complete; `None` where it has none.
    fn lends(&self) -> Option<Lent>;

    /// A second buffer of the same call, borrowed as long.
    fn lends_also(&self) -> Option<Lent> {
        None
    }

    /// Elements of the first buffer, where the call states a datatype: if that lies in pieces, the bytes
    /// between them are the program's.
    fn elements(&self) -> Option<&Arc<Elements>> {
        None
    }
}

impl Lends for Call {
    fn lends(&self) -> Option<Lent> {
        uses::lends(self)
    }

    fn lends_also(&self) -> Option<Lent> {
        uses::lends_also(self)
    }

    #[inline]
    fn elements(&self) -> Option<&Arc<Elements>> {
        if matches!(self, Self::Typed(_) | Self::Start { .. }) { stated(self) } else { None }
    }
}

/// Elements of the buffer of a call that starts a message of a datatype.
#[inline(never)]
fn stated(call: &Call) -> Option<&Arc<Elements>> {
    if let Call::Typed(typed) = call.begun() { Some(&typed.elements) } else { None }
}

impl Lends for EpCall {
    fn lends(&self) -> Option<Lent> {
        match self {
            Self::Mpi(call) => call.lends(),
            Self::Shared(op) => {
                let output = shown(op)?.buffers()[1];
                output.map(|region| Lent { region, use_as: UseAs::Destination })
            }
        }
    }

    fn lends_also(&self) -> Option<Lent> {
        match self {
            Self::Mpi(call) => call.lends_also(),
            Self::Shared(op) => {
                let input = shown(op)?.buffers()[0];
                input.map(|region| Lent { region, use_as: UseAs::Input })
            }
        }
    }

    #[inline]
    fn elements(&self) -> Option<&Arc<Elements>> {
        if let Self::Mpi(call) = self { call.elements() } else { None }
    }
}

/// Collective whose buffers a thread shows to the others of its process: they may touch them from now on.
fn shown(op: &SharedOp) -> Option<&Collective> {
    if let SharedOp::Arrive(_, Showing::Shows(Shown::Call(call))) = op { Some(call) } else { None }
}

/// The monitor: every borrowed buffer of a run.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Buffers {
    processes: Vec<Ledger>,
    /// With real payload: the bytes that each message under way was filled with.
    contents: BTreeMap<MessageId, u64>,
    /// Types stated for buffers in use and for messages under way.
    types: Types,
    /// Branches that were reached.
    pub sometimes: Sometimes,
}

#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Ledger {
    /// By number of the program's buffer, where that is small.
    loans: Vec<Loan>,
    /// Those of large numbers.
    others: BTreeMap<u32, Loan>,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Loan {
    sources: u32,
    destinations: u32,
    /// The longest region borrowed since it was free last.
    len: u64,
    /// How far it was filled when it was borrowed first.
    filled: u64,
    /// Borrowed several times at once since it was free last.
    several: bool,
    /// Seed of the bytes that it was filled with.
    seed: Option<u64>,
}

impl Loan {
    /// Whether the program has it.
    const fn is_free(&self) -> bool {
        self.sources == 0 && self.destinations == 0
    }

    /// Whether the library may read it, or write it.
    const fn allows(&self, writes: bool) -> bool {
        self.destinations > 0 || (!writes && self.sources > 0)
    }

    /// The count of borrowings for a use.
    const fn count(&mut self, use_as: UseAs) -> &mut u32 {
        if use_as.writes() { &mut self.destinations } else { &mut self.sources }
    }

    /// Whether it is the program's own, was borrowed several times at once, and still is.
    const fn is_shared(&self, id: u32) -> bool {
        id >= Buffer::OWN && self.several && self.sources + self.destinations > 0
    }
}

/// Buffers with numbers below this are found by index.
/// Method: a list is faster than a map, and numbers have gaps.
const SMALL: u32 = 1 << 12;

/// A list of so many buffers has no room for more.
/// Method: of the many processes of a large job, most use two.
const FEW: usize = 4;

impl Ledger {
    #[inline]
    fn loan(&self, id: u32) -> Option<&Loan> {
        if id < SMALL { self.loans.get(id as usize) } else { self.others.get(&id) }
    }

    #[inline]
    fn loan_mut(&mut self, id: u32) -> &mut Loan {
        let place = id as usize;
        if place < self.loans.len() { &mut self.loans[place] } else { self.loan_made(id) }
    }

    /// The loan of a buffer that was not borrowed before, or whose number is large.
    #[cold]
    fn loan_made(&mut self, id: u32) -> &mut Loan {
        if id >= SMALL {
            return self.others.entry(id).or_default();
        }
        let place = id as usize;
        if place < FEW {
            self.loans.reserve_exact(place + 1 - self.loans.len());
        }
        self.loans.resize(place + 1, Loan::default());
        &mut self.loans[place]
    }
}

impl Buffers {
    /// The monitor of a run of `processes` processes.
    pub fn new(processes: usize) -> Self {
        let processes = vec![Ledger::default(); processes];
        let (contents, types) = (BTreeMap::new(), Types::default());
        Self { processes, contents, types, sometimes: Sometimes::default() }
    }

    /// Reads what the next facts of a process will change: see `runtime::timed`.
    pub(crate) fn touch(&self, process: Process) -> u64 {
        let Ledger { loans, others, .. } = &self.processes[process.0 as usize];
        loans.first().map_or(0, |loan| loan.len) ^ others.len() as u64
    }

    /// Notes the elements that a call states for the buffer that it is about to use.
    pub fn stated(&mut self, lent: Option<Lent>, statement: Statement) {
        self.types.coming = lent.map(|_| statement);
    }

    /// Takes the types stated for a message of this call, which another process is to receive.
    pub fn take_typed(&mut self, message: MessageId) -> Option<Arc<Typed>> {
        self.types.messages.remove(&message)
    }

    /// A message is under way whose sender states types.
    pub fn expect_types(&mut self, message: MessageId, typed: Arc<Typed>) {
        self.types.messages.insert(message, typed);
    }

    /// A call was handled and returned `list`: lends its buffer, and fills a send buffer.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most calls lend one buffer or none")]
    pub fn called<P, R>(
        &mut self,
        memories: &mut Memories,
        process: Process,
        lent: Option<Lent>,
        list: &[Action<P, R>],
    ) {
        if let Some(lent) = lent {
            self.lend(memories, process, lent, list);
        }
    }

    /// Without bytes and datatypes nothing is filled, and none name their message: borrowings are counted.
    #[inline]
    fn lend<P, R>(
        &mut self,
        memories: &mut Memories,
        process: Process,
        lent: Lent,
        list: &[Action<P, R>],
    ) {
        if memories.payload() == Payload::Real || self.types.coming.is_some() {
            return self.lend_with_content(memories, process, lent, list);
        }
        let Lent { region, use_as } = lent;
        let Space::User(id) = region.space else { return };
        let end = region.offset + region.len;
        let loan = self.processes[process.0 as usize].loan_mut(id);
        if loan.is_free() {
            *loan = Loan { len: end, filled: end, ..Loan::default() };
        } else {
            loan.several = true;
            loan.len = loan.len.max(end);
        }
        *loan.count(use_as) += 1;
    }

    #[inline(never)]
    fn lend_with_content<P, R>(
        &mut self,
        memories: &mut Memories,
        process: Process,
        Lent { region, use_as }: Lent,
        list: &[Action<P, R>],
    ) {
        let coming = self.types.coming.take();
        let Space::User(id) = region.space else { return };
        let real = memories.payload() == Payload::Real;
        let message = match use_as {
            UseAs::Source | UseAs::Replaced if real && id < Buffer::OWN => {
                list.iter().find_map(sent)
            }
            UseAs::Source
            | UseAs::Destination
            | UseAs::Input
            | UseAs::Replaced
            | UseAs::SourceInParts
            | UseAs::DestinationInParts => None,
        };
        if let (UseAs::Source, Some(statement)) = (use_as, &coming) {
            self.types.sent(statement, list);
        }
        let pieces = coming.as_ref().and_then(Statement::pieces).map(AsRef::as_ref);
        let loan = self.processes[process.0 as usize].loan_mut(id);
        let mut is_as_filled = true;
        if loan.is_free() {
            *loan = Loan { filled: region.offset + region.len, ..Loan::default() };
            if real {
                loan.seed = filled(memories, process, (id, region), pieces, message);
            }
            if let Some(statement) = coming {
                self.types.buffers.insert((process, id), statement);
            }
        } else {
            loan.several = true;
            // The bytes are those of the first message: another selection of them has other ones.
            let is_same = self.types.pieces(process, id) == pieces;
            is_as_filled = is_same && region.offset + region.len <= loan.filled;
        }
        loan.len = loan.len.max(region.offset + region.len);
        *loan.count(use_as) += 1;
        if let Some((message, seed)) = message.zip(loan.seed).filter(|_| is_as_filled) {
            self.contents.insert(message, seed);
        }
    }

    /// The messages under way whose bytes became known since the last call.
    pub fn take_contents(&mut self) -> impl Iterator<Item = (MessageId, u64)> + use<> {
        std::mem::take(&mut self.contents).into_iter()
    }

    /// A message was filled with the bytes that `seed` names.
    pub fn expect_content(&mut self, message: MessageId, seed: u64) {
        self.contents.insert(message, seed);
    }

    /// An action reads `region`.
    #[inline]
    pub fn reads(&self, process: Process, region: Region, found: &mut Vec<Violation>) {
        self.touches(process, region, false, found);
    }

    /// An action writes `region`.
    #[inline]
    pub fn writes(&self, process: Process, region: Region, found: &mut Vec<Violation>) {
        self.touches(process, region, true, found);
    }

    #[inline]
    fn touches(&self, process: Process, region: Region, writes: bool, found: &mut Vec<Violation>) {
        // Buffers of the library have no owner.
        let Space::User(id) = region.space else { return };
        let loan = self.processes[process.0 as usize].loan(id);
        let end = region.offset.saturating_add(region.len);
        if !loan.is_some_and(|loan| loan.allows(writes) && end <= loan.len) {
            self.touches_rarely(process, region, writes, found);
        }
    }

    /// A touch of no bytes, of a buffer that the program lends several times at once, or a wrong one.
    #[inline(never)]
    fn touches_rarely(
        &self,
        process: Process,
        region: Region,
        writes: bool,
        found: &mut Vec<Violation>,
    ) {
        let Space::User(id) = region.space else { return };
        let loan = self.processes[process.0 as usize].loan(id).copied().unwrap_or_default();
        let allowed = loan.allows(writes) || loan.is_shared(id);
        let (begin, end, lent) = (region.offset, region.offset + region.len, loan.len);
        if region.len == 0 || (allowed && end <= lent) {
            return;
        }
        let verb = if writes { "written" } else { "read" };
        let detail = if allowed {
            format!("bytes {begin}..{end} of {lent} are {verb}")
        } else {
            format!("bytes {begin}..{end} are {verb} while it belongs to the program")
        };
        found.push(broken(process, id, detail));
    }

    /// A request is complete, and `fact` tells what has ended with it: compares or inverts its
    /// buffer, and gives it back.
    #[inline]
    pub fn completed(
        &mut self,
        memories: &mut Memories,
        process: Process,
        fact: Option<&Observation>,
        buffer: Option<Region>,
        found: &mut Vec<Violation>,
    ) {
        let Some(region) = buffer else { return };
        let Space::User(id) = region.space else { return };
        let sends = match fact {
            Some(Observation::SendComplete { .. }) => true,
            Some(Observation::Received { .. }) if !self.knows_content() => false,
            _ => return self.completed_with_content(memories, process, fact, region, found),
        };
        let loan = self.processes[process.0 as usize].loan_mut(id);
        let count = if sends { &mut loan.sources } else { &mut loan.destinations };
        let Some(rest) = count.checked_sub(1) else {
            return self.completed_with_content(memories, process, fact, region, found);
        };
        *count = rest;
        let content = memories.payload() == Payload::Real || !self.types.buffers.is_empty();
        if content && loan.is_free() {
            let len = loan.len;
            self.freed(memories, process, (id, len), sends);
        }
    }

    /// Whether bytes or types of messages under way are known.
    #[inline]
    fn knows_content(&self) -> bool {
        !self.contents.is_empty() || !self.types.messages.is_empty()
    }

    /// A buffer of which so many bytes were borrowed, for sends at last or not, is its program's again.
    #[inline(never)]
    fn freed(
        &mut self,
        memories: &mut Memories,
        process: Process,
        (id, len): (u32, u64),
        sends: bool,
    ) {
        if sends && id < Buffer::OWN {
            memories.poison(process, Region::new(Space::User(id), len));
        }
        self.types.buffers.remove(&(process, id));
    }

    #[inline(never)]
    fn completed_with_content(
        &mut self,
        memories: &mut Memories,
        process: Process,
        fact: Option<&Observation>,
        region: Region,
        found: &mut Vec<Violation>,
    ) {
        let Space::User(id) = region.space else { return };
        let loan = self.processes[process.0 as usize].loan_mut(id);
        let use_as = match fact {
            Some(Observation::SendComplete { .. }) => UseAs::Source,
            Some(&Observation::Received { message, bytes, .. }) => {
                let wrong = self.types.received(message, (process, id));
                found.extend(wrong.filter(|_| !loan.several));
                let seed = self.contents.remove(&message).filter(|_| !loan.several);
                if let Some(seed) = seed {
                    self.sometimes.compared += 1;
                    let checked = match self.types.pieces(process, id) {
                        // What lies between the pieces is the program's.
                        Some(_) if id >= Buffer::OWN => Ok(()),
                        Some(elements) => {
                            memories.check_pieces(process, (id, elements), bytes, seed)
                        }
                        None => memories.check(process, region.part(0, bytes), seed),
                    };
                    if let Err(difference) = checked {
                        found.push(broken(process, id, format!("as received, {difference}")));
                    }
                }
                UseAs::Destination
            }
            // What a collective has only read, or has written; or a cancelled receive.
            _ if loan.destinations == 0 && loan.sources > 0 => UseAs::Input,
            _ => UseAs::Destination,
        };
        let is_shared = loan.is_shared(id);
        let (count, other) = if use_as.writes() {
            (&mut loan.destinations, &mut loan.sources)
        } else {
            (&mut loan.sources, &mut loan.destinations)
        };
        // The use of an operation that tells no fact was a guess.
        let count = if *count == 0 && is_shared { other } else { count };
        let Some(rest) = count.checked_sub(1) else {
            found.push(broken(process, id, "it is given back, but was not lent".into()));
            return;
        };
        *count = rest;
        if loan.is_free() {
            let len = loan.len;
            self.freed(memories, process, (id, len), use_as == UseAs::Source);
        }
    }
}

/// Fills a free buffer, as a message or what lies in pieces: the seed of its bytes.
fn filled(
    memories: &mut Memories,
    process: Process,
    (id, region): (u32, Region),
    pieces: Option<&Elements>,
    message: Option<MessageId>,
) -> Option<u64> {
    if id >= Buffer::OWN {
        return None;
    }
    // Where a byte is sent twice, no content makes all bytes of the message differ.
    let apart = pieces.is_none_or(Elements::are_apart);
    let seed = message.filter(|_| apart).map(seed);
    match (seed, pieces) {
        (seed, Some(elements)) => memories.fill_pieces(process, (id, elements), seed),
        (Some(seed), None) => memories.fill(process, region, seed),
        (None, None) => {}
    }
    seed
}

fn sent<P, R>(action: &Action<P, R>) -> Option<MessageId> {
    let Action::Observe(Observation::Sent { message, .. }) = action else { return None };
    Some(*message)
}

fn seed(message: MessageId) -> u64 {
    u64::from(message.process) << 32 | u64::from(message.serial)
}

fn broken(process: Process, id: u32, detail: String) -> Violation {
    let objects = vec![format!("buffer {id} of process {}", process.0)];
    Violation { id: "V2", statement: V2, objects, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::envelope::{Context, Envelope, Rank};
    use mpi::observation::ReceiveId;

    const FROM: Process = Process(0);
    const TO: Process = Process(1);
    const MESSAGE: MessageId = MessageId { process: 0, serial: 4 };

    struct Pair {
        buffers: Buffers,
        memories: Memories,
        found: Vec<Violation>,
    }

    fn buffer() -> Region {
        Region::new(Space::User(0), 100)
    }

    /// A send of process 0 and a receive of process 1 are posted.
    fn posted() -> Pair {
        let mut pair = Pair {
            buffers: Buffers::new(2),
            memories: Memories::new(2, Payload::Real),
            found: Vec::new(),
        };
        let envelope = Envelope { context: Context(0), dest: Rank(0), source: Rank(0), tag: 0 };
        let sent =
            Observation::Sent { message: MESSAGE, envelope, to: 1, bytes: 100, ready: false };
        let list: [Action<(), ()>; 1] = [Action::Observe(sent)];
        let lent = |use_as| Some(Lent { region: buffer(), use_as });
        pair.buffers.called(&mut pair.memories, FROM, lent(UseAs::Source), &list);
        let memories = &mut pair.memories;
        pair.buffers.called::<(), ()>(memories, TO, lent(UseAs::Destination), &[]);
        pair
    }

    impl Pair {
        fn transfer(&mut self) {
            self.buffers.reads(FROM, buffer(), &mut self.found);
            let parcel = self.memories.capture(FROM, buffer());
            self.buffers.writes(TO, buffer(), &mut self.found);
            self.memories.write(TO, buffer(), &parcel);
        }

        fn complete_send(&mut self) {
            self.complete(FROM, Observation::SendComplete { message: MESSAGE });
        }

        fn complete_receive(&mut self) {
            let receive = ReceiveId { process: 1, serial: 0 };
            let (message, bytes) = (MESSAGE, 100);
            self.complete(TO, Observation::Received { receive, message, bytes, truncated: false });
        }

        fn complete(&mut self, process: Process, fact: Observation) {
            let Self { buffers, memories, found } = self;
            buffers.completed(memories, process, Some(&fact), Some(buffer()), found);
        }

        #[track_caller]
        fn check(&self, words: &[&str]) {
            assert_eq!(self.found.len(), words.len(), "{:?}", self.found);
            for (violation, words) in self.found.iter().zip(words) {
                assert_eq!(violation.id, "V2");
                assert!(violation.to_string().contains(words), "{violation}");
            }
        }
    }

    #[test]
    fn a_transfer_between_posting_and_completion_is_clean() {
        let mut pair = posted();
        pair.transfer();
        pair.complete_receive();
        pair.complete_send();
        pair.check(&[]);
        assert_eq!(pair.buffers.sometimes.compared, 1);
    }

    /// A get and a put of one buffer, in either order of their ends.
    fn got_and_put(id: u32) -> Vec<Violation> {
        let region = Region::new(Space::User(id), 8);
        let (mut buffers, mut found) = (Buffers::new(1), Vec::new());
        let mut memories = Memories::new(1, Payload::Real);
        for use_as in [UseAs::Destination, UseAs::Input] {
            let lent = Some(Lent { region, use_as });
            buffers.called::<(), ()>(&mut memories, FROM, lent, &[]);
        }
        // The put ends first, and nothing says that it is the put.
        buffers.reads(FROM, region, &mut found);
        buffers.completed(&mut memories, FROM, None, Some(region), &mut found);
        buffers.writes(FROM, region, &mut found);
        buffers.completed(&mut memories, FROM, None, Some(region), &mut found);
        assert!(found.len() < 2, "{found:?}");
        buffers.writes(FROM, region, &mut found);
        found
    }

    #[test]
    fn a_buffer_of_the_program_s_own_may_be_lent_to_be_read_and_written_at_once() {
        let written = |found: &[Violation]| {
            let words = "bytes 0..8 are written while it belongs to the program";
            found.iter().filter(|one| one.detail == words).count()
        };
        assert_eq!(written(&got_and_put(0)), 2);
        // What comes after both is wrong all the same.
        assert_eq!(written(&got_and_put(Buffer::OWN)), 1);
    }

    #[test]
    fn a_sender_that_completes_too_early_is_found_twice() {
        let mut pair = posted();
        pair.complete_send();
        pair.transfer();
        pair.complete_receive();
        pair.check(&["are read while it belongs to the program", "as received, byte 0 is"]);
    }

    #[test]
    fn a_receiver_that_completes_too_early_is_found_twice() {
        let mut pair = posted();
        pair.complete_receive();
        pair.transfer();
        pair.check(&["as received, byte 0 is", "are written while it belongs to the program"]);
    }

    #[test]
    fn a_write_past_the_end_and_a_second_completion_are_found() {
        let mut pair = posted();
        pair.buffers.writes(TO, buffer().part(99, 2), &mut pair.found);
        pair.buffers.writes(FROM, buffer(), &mut pair.found);
        pair.transfer();
        pair.complete_send();
        pair.complete_send();
        pair.check(&["99..101 of 100", "written while", "given back, but was not lent"]);
    }
}
