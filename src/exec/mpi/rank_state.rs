//! What MPI knows of a rank, and what comes of its calls.

use std::collections::BTreeSet;
use std::fmt::{Debug, Formatter};

use super::args::handle;
use super::fault::Fault;
use super::frame::Frame;
use super::objects::attributes::Attributes;
use super::objects::comms::{Comms, Communicator};
use super::objects::errors::Errors;
use super::objects::groups::Groups;
use super::objects::infos::Infos;
use super::objects::operators::Operators;
use super::objects::requests::Requests;
use super::objects::sessions::Sessions;
use super::objects::topologies::Topologies;
use super::objects::types::Types;
use super::objects::windows::{Window, Windows};
use crate::choose::Choose;
use crate::exposed::Exposed;
use crate::functions::{self as mpi5, Function};
use crate::place::Place;
use crate::ranks::Request;
use crate::watch::note_of_rank;
use crate::wire;
use collectives::Between;
use protocols::call::{Call, Reply};

/// Continuation with the library's reply.
pub type Then = Box<dyn FnOnce(&mut RankState, &mut Frame<'_>, Reply) -> Answer + Send>;
/// Continuation with the result of a function of the program.
pub type Back = Box<dyn FnOnce(&mut RankState, &mut Frame<'_>, u64) -> Answer + Send>;
/// Result of a call, or of a reply: the next step, or a fault.
pub type Answer = Result<NextStep, Fault>;

/// The next step of a call.
pub enum NextStep {
    /// The function returns this word.
    Returns(u64),
    /// The library is called, and its reply goes on.
    Calls(Call, Then),
    /// The process calls a function of its own, which may call MPI, and what it returns goes on.
    CallsBack {
        /// Its address.
        function: u64,
        /// Its arguments.
        words: [u64; 6],
        /// Continuation with its result.
        back: Back,
    },
    /// The function returns the time in seconds.
    Clock,
    /// The program is over, with the exit status that it asks for.
    Aborts(i32),
}

impl NextStep {
    /// The library is called.
    pub(super) fn calls(
        call: Call,
        then: impl FnOnce(&mut RankState, &mut Frame<'_>, Reply) -> Answer + Send + 'static,
    ) -> Self {
        Self::Calls(call, Box::new(then))
    }

    /// The process calls a function of its own; errors are about the same object afterwards.
    pub(super) fn calls_back(
        state: &RankState,
        function: u64,
        words: [u64; 6],
        back: impl FnOnce(&mut RankState, &mut Frame<'_>, u64) -> Answer + Send + 'static,
    ) -> Self {
        let on = state.errors.on;
        let back = Box::new(move |state: &mut RankState, frame: &mut Frame<'_>, result| {
            state.errors.on = on;
            back(state, frame, result)
        });
        Self::CallsBack { function, words, back }
    }

    /// The library is called, and the function returns.
    pub(super) fn waits(call: Call) -> Self {
        Self::calls(call, |_, _, _| done())
    }
}

impl Debug for NextStep {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Returns(word) => write!(to, "returns {word}"),
            Self::Calls(call, _) => to.debug_tuple("Calls").field(call).finish(),
            Self::CallsBack { function, .. } => write!(to, "calls the function at {function:#x}"),
            Self::Clock => to.write_str("returns the time"),
            Self::Aborts(status) => write!(to, "aborts with {status}"),
        }
    }
}

/// The function returns `MPI_SUCCESS`.
///
/// # Errors
///
/// None.
#[allow(clippy::unnecessary_wraps, reason = "the answer of a call")]
pub(super) const fn done() -> Answer {
    Ok(NextStep::Returns(0))
}

/// State of MPI on one rank.
#[derive(Debug)]
pub struct RankState {
    /// Function that answers a call: functions of the program that MPI calls make some.
    serve: fn(&mut Self, &mut Frame<'_>) -> Answer,
    pub(super) rank: u32,
    pub(super) node: u32,
    pub(super) stage: Stage,
    /// The buffer that the program has attached for its messages: address and bytes.
    pub(super) attached: Option<(u64, i64)>,
    pub(super) comms: Comms,
    pub(super) groups: Groups,
    pub(super) types: Types,
    pub(super) operators: Operators,
    pub(super) requests: Requests,
    pub(super) attributes: Attributes,
    pub(super) infos: Infos,
    pub(super) topologies: Topologies,
    pub(super) sessions: Sessions,
    /// How many functions of the program's, each called by a call of the one before, MPI runs at once.
    nested: u32,
    /// How often the interface for tools was initialized and not finalized.
    pub(super) tools: u32,
    pub(super) windows: Windows,
    pub(super) errors: Errors,
    pub(super) choose: Choose,
    /// The first function that was refused, and the program has gone on.
    pub(super) refusal: Option<String>,
    /// Where the calls return to that something was said about.
    remarked: BTreeSet<u64>,
}

/// Functions of the program's that MPI runs within one another, at most: an error handler whose own calls fail calls
/// itself.
const NESTED: u32 = 100;

/// How far a rank is between `MPI_Init` and `MPI_Finalize`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stage {
    Before,
    Between,
    After,
}

impl RankState {
    /// Rank `rank` of `size`, on a node, of a job whose processes expose memory and whose collectives choose so;
    /// `serve` answers its calls.
    pub(super) fn served_by(
        serve: fn(&mut Self, &mut Frame<'_>) -> Answer,
        (rank, size): (u32, u32),
        node: u32,
        exposed: &Exposed,
        choose: Choose,
    ) -> Self {
        Self {
            serve,
            rank,
            node,
            stage: Stage::Before,
            attached: None,
            comms: Comms::new(rank, size),
            groups: Groups::new(),
            types: Types::new(),
            operators: Operators::new(),
            requests: Requests::new(),
            attributes: Attributes::new(),
            infos: Infos::new(size),
            topologies: Topologies::new(),
            sessions: Sessions::new(),
            nested: 0,
            tools: 0,
            windows: Windows::new(exposed),
            errors: Errors::new(),
            choose,
            refusal: None,
            remarked: BTreeSet::new(),
        }
    }

    /// Tells the user, once for each call of the program, what MPI forbids and libraries let pass, or not.
    pub(super) fn remarks(&mut self, frame: &Frame<'_>, what: &str) {
        if self.remarked.insert(frame.caller()) {
            let called = frame.place.process.called(frame.function, frame.caller());
            note_of_rank(self.rank, &format!("{called}: {what}"));
        }
    }

    /// Refuses the beginning of a send in buffered mode where the program has attached no buffer.
    pub(super) fn check_attached(&self) -> Result<(), Fault> {
        let why = "no buffer is attached for a send in buffered mode";
        self.attached.map(drop).ok_or_else(|| Fault::new(mpi5::ERR_BUFFER, why))
    }

    /// The first function that was refused where the program has gone on: what follows may come of it.
    pub fn refusal(&self) -> String {
        let refused = self.refusal.as_ref();
        refused.map_or_else(String::new, |refused| format!(" (it was refused before: {refused})"))
    }

    /// The library is called once more.
    pub(crate) const fn calls_library(&mut self) {
        self.requests.calls = self.requests.calls.wrapping_add(1);
    }

    /// The function that has started an open operation by call number `call` of the library, and where it returns to.
    pub(crate) fn begun_at(&self, call: u32) -> Option<(Function, u64)> {
        self.requests.begun_at(call)
    }

    /// Whether the process has called `MPI_Init`.
    pub fn has_begun(&self) -> bool {
        self.stage != Stage::Before
    }

    /// Whether the process owes no call of `MPI_Finalize`.
    pub fn may_end(&self) -> bool {
        self.stage != Stage::Between && !self.sessions.are_open()
    }

    /// Refuses a call before `MPI_Init` or after `MPI_Finalize`, where no session is open.
    pub(super) fn check_begun(&self) -> Result<(), Fault> {
        if !self.may_end() {
            return Ok(());
        }
        let when = match self.stage {
            Stage::Before => "before MPI_Init",
            Stage::Between | Stage::After => "after MPI_Finalize",
        };
        Err(Fault::new(mpi5::ERR_OTHER, format!("it is called {when}")))
    }

    /// The communicator of a handle: errors are about it from now on.
    pub(super) fn comm(&mut self, handle: handle::Comm) -> Result<&Communicator, Fault> {
        let comm = self.comms.get(handle)?;
        self.errors.about(handle.0);
        Ok(comm)
    }

    /// Whether the rank is the root of a collective; `None` of other calls.
    pub fn is_root(&self, call: &Call) -> Option<bool> {
        let (Call::Collective(of) | Call::Icollective { call: of, .. }) = call.begun() else {
            return None;
        };
        let comm = self.comms.numbered(of.comm)?;
        let own = comm.group.rank(self.rank);
        Some(of.root == Between::ROOT || comm.remote.is_none() && Some(of.root) == own)
    }

    /// A communicator with one group.
    pub(super) fn intracomm(&mut self, handle: handle::Comm) -> Result<&Communicator, Fault> {
        let comm = self.comm(handle)?;
        if comm.remote.is_some() {
            return Err(Fault::new(mpi5::ERR_COMM, "it is an intercommunicator"));
        }
        Ok(comm)
    }

    /// The window of a handle: errors are about it from now on.
    pub(super) fn win(&mut self, handle: handle::Win) -> Result<&mut Window, Fault> {
        let window = self.windows.get_mut(handle)?;
        self.errors.about(handle.0);
        Ok(window)
    }

    /// Whether a handle is that of a session: errors are about it from now on.
    pub(super) fn session(&mut self, handle: handle::Session) -> Result<(), Fault> {
        self.sessions.check(handle)?;
        self.errors.about(handle.0);
        Ok(())
    }

    /// The process runs a function of its own at once, and local calls of MPI in it are answered; the result is what
    /// it returns.
    pub(super) fn call_back(
        &mut self,
        place: &mut Place,
        function: u64,
        words: [u64; 6],
    ) -> Result<u64, Fault> {
        if self.nested == NESTED {
            return Err(place.process.too_deep(NESTED).into());
        }
        place.process.call_back(function, words)?;
        let on = self.errors.on;
        self.nested += 1;
        let result = self.serve_callback(place);
        self.nested -= 1;
        self.errors.on = on;
        result
    }

    fn serve_callback(&mut self, place: &mut Place) -> Result<u64, Fault> {
        loop {
            let request =
                place.process.request()?.ok_or_else(|| place.process.ended_in_callback())?;
            if request.function == wire::RESULT {
                return Ok(request.word(0));
            }
            let answer = self.in_callback(&request, place)?;
            place.process.answer(answer)?;
        }
    }

    /// A call from a function that is run at once (an operator, an error handler): of these the simulator carries what
    /// is local.
    fn in_callback(&mut self, request: &Request, place: &mut Place) -> Result<u64, Fault> {
        let function = Function::ALL.get(request.function as usize).copied();
        let function = function.ok_or_else(|| place.process.nonsense())?;
        match (self.serve)(self, &mut Frame::new(function, *request, place))? {
            NextStep::Returns(word) => Ok(word),
            NextStep::Aborts(status) => Err(Fault::Aborts(status)),
            NextStep::Calls(..) | NextStep::CallsBack { .. } | NextStep::Clock => {
                Err(place.process.not_in_callback(function.name()).into())
            }
        }
    }
}
