//! What MPI knows of a rank: its handles, what a call's arguments mean, and what the program reads when the library
//! has replied.
//!
//! | file | functions |
//! |---|---|
//! | `environment`, `sessions`, `tools` | start and end, versions, memory |
//! | `conversions` | handles as ints |
//! | `errors` | error handlers, classes, strings |
//! | `types`, `packs` | datatypes |
//! | `messages` | messages between two ranks |
//! | `requests`, `statuses` | what waits for them |
//! | `comms`, `groups` | communicators |
//! | `attributes`, `infos` | what programs keep with objects, and say of them |
//! | `topologies` | grids and graphs of ranks |
//! | `operators`, `collectives` | collective operations |
//! | `windows` | one-sided communication |

mod asked;
mod attributes;
mod collectives;
mod comms;
mod conversions;
mod data;
mod environment;
mod errors;
mod groups;
mod infos;
mod messages;
mod operators;
mod packs;
mod requests;
mod sessions;
mod statuses;
mod table;
mod tools;
mod topologies;
mod types;
mod windows;

use std::fmt::{Debug, Formatter};

pub use asked::Asked;
use asked::{done, listed};
use attributes::Attributes;
use comms::Comms;
use errors::{Errors, On};
use groups::Groups;
use infos::Infos;
use operators::Operators;
use requests::Requests;
use sessions::Sessions;
use table::Table;
use topologies::Topologies;
use types::Types;
use windows::Windows;

use super::choose::Choose;
use super::exposed::Exposed;
use super::functions::{self as mpi5, Function};
use super::place::Place;
use super::ranks::{RankError, Request};
use super::wire;
use protocols::call::{Call, Reply};

/// What becomes of the library's reply.
pub type Then = Box<dyn FnOnce(&mut Client, &mut Asked<'_>, Reply) -> Answer + Send>;
/// What comes of a call, or of a reply.
pub type Answer = Result<Step, Fault>;

/// What comes next.
pub enum Step {
    /// The function returns this word.
    Returns(u64),
    /// The library is called, and its reply goes on.
    Calls(Call, Then),
    /// The function returns the time in seconds.
    Clock,
    /// The program is over, with the exit status that it asks for.
    Aborts(i32),
}

impl Step {
    /// The library is called.
    fn calls(
        call: Call,
        then: impl FnOnce(&mut Client, &mut Asked<'_>, Reply) -> Answer + Send + 'static,
    ) -> Self {
        Self::Calls(call, Box::new(then))
    }

    /// The library is called, and the function returns.
    fn waits(call: Call) -> Self {
        Self::calls(call, |_, _, _| done())
    }
}

impl Debug for Step {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Returns(word) => write!(to, "returns {word}"),
            Self::Calls(call, _) => to.debug_tuple("Calls").field(call).finish(),
            Self::Clock => to.write_str("returns the time"),
            Self::Aborts(status) => write!(to, "aborts with {status}"),
        }
    }
}

/// Why a function does not do what it is called for.
#[derive(Debug)]
pub enum Fault {
    /// An error of MPI.
    Error {
        /// Its class.
        class: i32,
        /// What is wrong.
        why: String,
    },
    /// The process is of no use any more.
    Lost(RankError),
}

impl Fault {
    /// An error of this class.
    fn new(class: i32, why: impl Into<String>) -> Self {
        Self::Error { class, why: why.into() }
    }

    /// What the simulator does not carry.
    fn not_carried(what: impl Into<String>) -> Self {
        Self::new(mpi5::ERR_UNSUPPORTED_OPERATION, what)
    }
}

impl From<RankError> for Fault {
    fn from(error: RankError) -> Self {
        Self::Lost(error)
    }
}

/// What MPI knows of one rank.
#[derive(Debug)]
pub struct Client {
    rank: u32,
    node: u32,
    stage: Stage,
    /// How many callbacks the process is in.
    callbacks: u32,
    attached: Option<(u64, i64)>,
    comms: Comms,
    groups: Groups,
    types: Types,
    operators: Operators,
    requests: Requests,
    attributes: Attributes,
    infos: Infos,
    topologies: Topologies,
    sessions: Sessions,
    /// How often the interface for tools is begun and not ended.
    tools: u32,
    windows: Windows,
    errors: Errors,
    choose: Choose,
    /// The first function that was refused, and the program has gone on.
    refusal: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Before,
    Between,
    After,
}

impl Client {
    /// Rank `rank` of `size`, on a node, of a job whose processes expose memory and whose collectives choose so.
    pub fn new((rank, size): (u32, u32), node: u32, exposed: &Exposed, choose: Choose) -> Self {
        Self {
            rank,
            node,
            stage: Stage::Before,
            callbacks: 0,
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
            tools: 0,
            windows: Windows::new(exposed),
            errors: Errors::new(),
            choose,
            refusal: None,
        }
    }

    /// The first function that was refused where the program has gone on: what follows may come of it.
    pub fn refusal(&self) -> String {
        let refused = self.refusal.as_ref();
        refused.map_or_else(String::new, |refused| format!(" (it was refused before: {refused})"))
    }

    /// Whether the process owes no call of `MPI_Finalize`.
    pub fn may_end(&self) -> bool {
        self.stage != Stage::Between && !self.sessions.are_open()
    }

    /// What a call means.
    ///
    /// # Errors
    ///
    /// What ends the job: an error that no handler returns, or that the process cannot be reached.
    pub fn call(&mut self, asked: &mut Asked<'_>) -> Answer {
        self.errors.on = On::Job;
        let answer = self.answer(asked);
        self.handled(asked, answer)
    }

    /// What the reply means to the call that waits for it.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub fn replied(&mut self, then: Then, asked: &mut Asked<'_>, reply: Reply) -> Answer {
        let answer = then(self, asked, reply);
        self.handled(asked, answer)
    }

    fn answer(&mut self, asked: &mut Asked<'_>) -> Answer {
        let at_any_time = [
            Self::environment_call,
            Self::info_call,
            Self::conversion_call,
            Self::tool_call,
            Self::session_call,
        ];
        if let Some(answer) = at_any_time.iter().find_map(|family| family(self, asked)) {
            return answer;
        }
        if self.stage != Stage::Between && !self.sessions.are_open() {
            let when = match self.stage {
                Stage::Before => "before MPI_Init",
                Stage::Between | Stage::After => "after MPI_Finalize",
            };
            return Err(Fault::new(mpi5::ERR_OTHER, format!("it is called {when}")));
        }
        let families = [
            Self::message_call,
            Self::request_call,
            Self::status_call,
            Self::collective_call,
            Self::window_call,
            Self::type_call,
            Self::comm_call,
            Self::group_call,
            Self::operator_call,
            Self::attribute_call,
            Self::hint_call,
            Self::topology_call,
            Self::pack_call,
            Self::error_call,
        ];
        let mut families = families.iter();
        families.find_map(|family| family(self, asked)).unwrap_or_else(|| {
            Err(Fault::not_carried("the simulator does not carry this function yet"))
        })
    }

    /// The process runs a function of its own, and calls of MPI in it are answered; the result is what it returns.
    fn call_back(
        &mut self,
        place: &mut Place,
        function: u64,
        words: [u64; 6],
    ) -> Result<u64, Fault> {
        place.process.call_back(function, words)?;
        let on = self.errors.on;
        self.callbacks += 1;
        let result = self.serve_callback(place);
        self.callbacks -= 1;
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
            let answer = self.asked_in_callback(&request, place)?;
            place.process.answer(answer)?;
        }
    }

    /// A call from a function that MPI has called: of these the simulator carries what is local.
    fn asked_in_callback(&mut self, request: &Request, place: &mut Place) -> Result<u64, Fault> {
        let function = Function::ALL.get(request.function as usize).copied();
        let function = function.ok_or_else(|| place.process.nonsense())?;
        match self.call(&mut Asked::new(function, *request, place))? {
            Step::Returns(word) => Ok(word),
            Step::Aborts(status) => Err(Fault::new(
                mpi5::ERR_OTHER,
                format!("a function that MPI has called calls MPI_Abort with {status}"),
            )),
            Step::Calls(..) | Step::Clock => Err(Fault::not_carried(format!(
                "the simulator does not carry {} in a function that MPI has called",
                function.name()
            ))),
        }
    }
}
