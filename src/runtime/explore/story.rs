//! A run in words.

use super::bridge::Drift;
use crate::monitors::buffers::Lends;
use crate::untimed::{Choice, World};
use protocols::contract::{Machine, Program};

/// One step of a story.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoryEvent {
    /// Description of the step.
    pub words: String,
    /// Where the call of the acting thread stands in the scenario.
    pub position: Option<u32>,
    /// Its place among the choices that were open: what a token keeps.
    pub index: usize,
}

/// A run in words, and where it leads.
#[derive(Clone, Debug)]
pub struct Story<M: Machine, P: Program<M>> {
    /// Step by step.
    pub steps: Vec<StoryEvent>,
    /// The state after the last step.
    pub end: World<M, P>,
}

/// Tells the run that `choices` make of `start`.
///
/// # Errors
///
/// [`Drift::NotEnabled`] at the first choice that is not open.
///
/// # Panics
///
/// Where the runtime contradicts itself: a choice that can be made and is not offered.
pub fn tell<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    choices: &[Choice],
) -> Result<Story<M, P>, Drift>
where
    M::Call: Lends,
{
    let mut end = start.clone();
    let mut steps = Vec::with_capacity(choices.len());
    for (at, &choice) in choices.iter().enumerate() {
        let open = end.choices();
        let place = open.iter().position(|one| *one == choice);
        let (words, position) = (end.tell(choice), end.position_of(choice));
        end.apply(choice).map_err(|refusal| Drift::NotEnabled { index: at, refusal })?;
        let index = place.expect("what could be made was open");
        steps.push(StoryEvent { words, position, index });
    }
    Ok(Story { steps, end })
}
