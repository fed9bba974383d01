//! Programs of a protocol's job: a list of steps for each thread.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use protocols::call::{Call, Reply};
use protocols::contract::{Machine, Next, Program};
use runtime::fingerprint::Fingerprint;

/// A list of steps, and the replies to its calls.
#[derive(Clone, Debug)]
pub(super) struct Script {
    steps: Arc<[Next<Call>]>,
    at: usize,
    /// Fingerprint of all replies so far: states of a program differ in them.
    known: u128,
}

impl Script {
    pub(super) fn new(steps: Vec<Next<Call>>) -> Self {
        Self { steps: steps.into(), at: 0, known: 0 }
    }

    pub(super) fn calls(calls: Vec<Call>) -> Self {
        Self::new(calls.into_iter().map(Next::Call).collect())
    }
}

/// The steps never change, so two states of one script differ only in the rest.
impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.known) == (other.at, other.known)
    }
}

impl Eq for Script {}

impl Hash for Script {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.at, self.known).hash(state);
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        if let Some(reply) = reply {
            // A test that says yes makes the wait that follows it needless.
            let over = matches!(reply, Reply::Tested(Some(_)) | Reply::AllTested(Some(_)));
            self.at += usize::from(over);
            self.known = Fingerprint::of(&(self.known, reply));
        }
        let step = self.steps.get(self.at).cloned().unwrap_or(Next::End);
        self.at += 1;
        step
    }

    fn forks(&self) -> bool {
        self.steps.contains(&Next::Fork)
    }
}
