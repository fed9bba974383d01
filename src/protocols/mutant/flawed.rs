//! The library of one process with a planted bug between it and its runtime.
//!
//! ```text
//!   input ──bent──▶ Library ──actions──bent──▶ runtime
//! ```
//!
//! A wrapper: the library itself is the model's. What the wrapper changes is an input before the
//! library sees it, or a list of actions after the library made it. `messages.rs` has the bugs of
//! messages between two processes, `pieces.rs` those of buffers in pieces, `windows.rs` those of
//! one-sided communication. The bugs of a decision inside the library ask for
//! [`SharedJob::mutant`] where the library decides.

use std::hash::Hasher;
use std::num::NonZero;

use super::Mutant;
use super::messages::Messages;
use super::windows::Answers;
use super::{messages, pieces, prepared, windows};
use crate::call::{Call, Reply};
use crate::contract::{
    Action, Awaited, Brought, Emit, Entry, Guard, Input, Keeps, Lane, Lanes, Machine, Process,
    ProtocolError, Region, Thread, WaitSet,
};
use crate::library::{Library, SharedJob};
use crate::wire::{LibraryAction, Packet};
use mpi::matching::Flaw;
use mpi::observation::{GroupFact, Observation};

/// An input of the library.
pub(super) type LibraryInput = Input<Packet, Call>;

/// The library of one process, with the bug of its job or none.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Flawed {
    library: Library,
    mutant: Option<Mutant>,
    messages: Messages,
    answers: Answers,
}

/// Gives tests read access to the library inside, as to one without a bug.
impl std::ops::Deref for Flawed {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

impl Flawed {
    /// The library of process `me`, with the bug that is planted in its job.
    pub fn new(job: SharedJob, me: Process) -> Self {
        let mutant = job.mutant();
        let library = Library::new(job, me);
        let (messages, answers) = (Messages::default(), Answers::default());
        let mut flawed = Self { library, mutant, messages, answers };
        flawed.plant_in_engines(mutant);
        flawed
    }

    /// Gives all matching engines the bug of theirs, where it is one.
    fn plant_in_engines(&mut self, mutant: Option<Mutant>) {
        let flaw = match mutant {
            Some(Mutant::ExactFirst) => Flaw::ExactFirst,
            Some(Mutant::Tail) => Flaw::Tail,
            Some(Mutant::PartOfContext) => Flaw::PartOfContext,
            Some(Mutant::NoDestination) => Flaw::NoDestination,
            Some(Mutant::OtherSource) => Flaw::OtherSource,
            _ => return,
        };
        self.library.messages_mut().plant_in_engines(flaw);
    }

    /// The end of a call that the library would not survive: a bug made two communicators of
    /// endpoints one, or freed one before its time.
    fn frees_an_orphan(&mut self, input: &LibraryInput) -> bool {
        let Input::Call(Call::FreeEndpoint { comm }) = input else { return false };
        self.library.messages_mut().free_orphan(*comm)
    }

    /// Changes what the library has counted, by its input and its actions.
    fn miscount(&mut self, mutant: Mutant, list: &[LibraryAction]) {
        for action in list {
            match (mutant, action) {
                (
                    Mutant::ReadsCounter,
                    Action::Observe(Observation::Group(GroupFact::Opened { context })),
                ) => self.library.messages_mut().contexts_mut().count(*context),
                (
                    Mutant::ContextGaps,
                    Action::Observe(Observation::Group(GroupFact::Opened { .. })),
                ) => self.library.messages_mut().contexts_mut().leave_gap(),
                (
                    Mutant::ContextAgain,
                    Action::Observe(Observation::Group(GroupFact::Closed { .. })),
                ) => self.library.messages_mut().contexts_mut().give_back(),
                _ => {}
            }
        }
    }

    fn bend(&mut self, mutant: Mutant, thread: Thread, list: &mut Vec<LibraryAction>) {
        if mutant == Mutant::LeavesWaiting {
            let of_another = |action: &LibraryAction| matches!(action, Action::Return { thread: whose, .. } if *whose != thread);
            list.retain(|action| !of_another(action));
        }
        self.miscount(mutant, list);
        messages::bend(mutant, &mut self.messages, &self.library, list);
        pieces::bend(mutant, list);
        windows::bend(mutant, &mut self.answers, self.library.job(), list);
    }
}

impl Machine for Flawed {
    type Packet = Packet;
    type Call = Call;
    type Reply = Reply;

    fn name_of(packet: &Packet) -> String {
        Library::name_of(packet)
    }

    fn guard(&self, thread: Thread, entry: &Entry<'_, Call>) -> Option<Guard> {
        self.library.guard(thread, entry)
    }

    fn polls(&self, thread: Thread) -> Lanes {
        if self.mutant == Some(Mutant::FirstPolls)
            && self.library.messages().is_later_endpoint(thread)
        {
            return Lanes { first: Lane(0), count: 0 };
        }
        self.library.polls(thread)
    }

    fn sweeps(&self, thread: Thread) -> Option<(Lanes, NonZero<u32>)> {
        self.library.sweeps(thread)
    }

    fn handle(
        &mut self,
        thread: Thread,
        mut input: LibraryInput,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if let Input::Resume(_) = input
            && self.library.messages_mut().appends_late(thread)
        {
            return Ok(());
        }
        let out = out.list();
        let Some(mutant) = self.mutant else { return self.library.handle(thread, input, out) };
        if self.frees_an_orphan(&input) {
            out.push(Action::Return { thread, reply: Reply::Done });
            return Ok(());
        }
        let begins = matches!(input, Input::Call(_));
        let frees = matches!(input, Input::Call(Call::FreeEndpoint { .. }));
        let contexts = *self.library.messages_mut().contexts_mut();
        messages::bend_input(mutant, &mut self.messages, &mut input);
        prepared::bend_input(mutant, &mut input);
        let told = windows::bend_input(mutant, &mut self.answers, &mut input);
        let mut list = Vec::new();
        self.library.handle(thread, input, &mut list)?;
        windows::bend_answers(mutant, told, &mut list);
        if begins && mutant == Mutant::ReadsCounter {
            *self.library.messages_mut().contexts_mut() = contexts;
        }
        if frees && mutant == Mutant::IdAgain {
            self.library.messages_mut().give_name_back();
        }
        self.plant_in_engines(self.mutant);
        self.bend(mutant, thread, &mut list);
        out.append(&mut list);
        Ok(())
    }

    fn waits(&self, thread: Thread) -> Option<WaitSet> {
        self.library.waits(thread)
    }

    fn awaits(&self, thread: Thread) -> Option<Awaited> {
        self.library.awaits(thread)
    }

    fn call_so_far<H: Hasher>(&self, thread: Thread, to: &mut H) -> bool {
        self.library.call_so_far(thread, to)
    }

    fn adapter_takes(&self, brought: Brought<'_, Packet>) -> bool {
        self.library.adapter_takes(brought)
    }

    fn handle_by_adapter(
        &mut self,
        input: LibraryInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        match self.mutant {
            Some(Mutant::NicExactFirst) => {
                self.library.messages_mut().plant_in_engines(Flaw::ExactFirst);
                let handled = self.handle(Thread(0), input, out);
                self.library.messages_mut().heal_engines();
                handled
            }
            Some(Mutant::NicFinFirst) => {
                let mut list = Vec::new();
                self.handle(Thread(0), input, &mut list)?;
                self.messages.say_fin_first(&self.library, &mut list);
                out.append(&mut list);
                Ok(())
            }
            _ => self.handle(Thread(0), input, out),
        }
    }

    fn is_exposed(&self) -> bool {
        self.library.is_exposed()
    }

    fn exposes(&self, region: Region) -> Result<(), ProtocolError> {
        self.library.exposes(region)
    }

    fn leftovers(&self) -> Vec<String> {
        self.library.leftovers()
    }

    fn keeps(&self) -> Keeps {
        self.library.keeps()
    }

    fn call_in_words(call: &Call) -> String {
        Library::call_in_words(call)
    }

    fn packet_in_words(packet: &Packet) -> String {
        Library::packet_in_words(packet)
    }
}
