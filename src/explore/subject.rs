//! A job before its first step, whatever its library is.

use super::report::{Explored, Replayed};
use super::{MayFail, Options, strategy};
use hardware::reliable::Settings;
use protocols::contract::{Machine, Program};
use runtime::explore::{Failure, failure_of, tell};
use runtime::faults::Transport;
use runtime::fingerprint::Fingerprint;
use runtime::monitors::Violation;
use runtime::monitors::buffers::Lends;
use runtime::untimed::{Between, PacketFaults, World};

/// A law of a good end, beyond those of the monitors of every run.
pub type Judge<M, P> = Box<dyn Fn(&World<M, P>) -> Option<Violation>>;

/// A job that can be explored.
pub trait Subject {
    /// The fingerprint of its settings and its first state: equal jobs have equal ones.
    fn digest(&self) -> u128;

    /// Tries the orders that the options ask for.
    fn explore(&self, options: &Options) -> Explored;

    /// Takes at each step the choice with the given place among those that are open, where `faults`
    /// may happen.
    ///
    /// # Errors
    ///
    /// The number of the first step that has no choice with that place, and how many it has.
    fn replay(&self, choices: &[usize], faults: MayFail) -> Result<Replayed, (usize, usize)>;
}

/// The job of a world.
pub struct Start<M: Machine, P: Program<M>> {
    world: World<M, P>,
    /// Jobs that begin in equal states differ in their settings.
    settings: String,
    wires: (Settings, Between),
    judge: Judge<M, P>,
}

impl<M: Machine, P: Program<M>> Start<M, P>
where
    M::Call: Lends,
{
    /// A job in which only the laws of every run are watched for.
    pub fn new(world: World<M, P>) -> Self {
        let wires = (Settings::new(Transport::default().retries), Between::All);
        Self { world, settings: String::new(), wires, judge: Box::new(|_| None) }
    }

    /// The same job with a law of its own, of every good end.
    #[must_use]
    pub fn judged(self, judge: impl Fn(&World<M, P>) -> Option<Violation> + 'static) -> Self {
        Self { judge: Box::new(judge), ..self }
    }

    /// The same job, known by settings that are no part of its states.
    #[must_use]
    pub fn with_settings(self, settings: impl Into<String>) -> Self {
        Self { settings: settings.into(), ..self }
    }

    /// The same job with other connections between its HCAs, where packets may be lost.
    #[must_use]
    pub fn with_wires(self, settings: Settings, between: Between) -> Self {
        Self { wires: (settings, between), ..self }
    }

    /// The same job from another first state on.
    #[must_use]
    pub fn over(self, world: World<M, P>) -> Self {
        Self { world, ..self }
    }

    /// The first state.
    pub const fn world(&self) -> &World<M, P> {
        &self.world
    }

    /// The law of a good end.
    pub const fn judge(&self) -> &Judge<M, P> {
        &self.judge
    }

    pub(super) fn begin(&self, faults: MayFail) -> World<M, P> {
        let world = self.world.clone();
        if faults.crash {
            return world.with_crash();
        }
        if faults.packets.is_nothing() {
            return world;
        }
        let (settings, between) = self.wires.clone();
        world.with_packet_faults(PacketFaults { allowed: faults.packets, settings, between })
    }
}

impl<M: Machine, P: Program<M>> std::fmt::Debug for Start<M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start").field("world", &self.world).finish_non_exhaustive()
    }
}

impl<M: Machine, P: Program<M>> Subject for Start<M, P>
where
    M::Call: Lends,
{
    fn digest(&self) -> u128 {
        Fingerprint::of(&(&self.settings, self.world.fingerprint()))
    }

    fn explore(&self, options: &Options) -> Explored {
        strategy::explore(self, options)
    }

    fn replay(&self, choices: &[usize], faults: MayFail) -> Result<Replayed, (usize, usize)> {
        let start = self.begin(faults);
        let mut world = start.clone();
        let mut run = Vec::with_capacity(choices.len());
        for (at, &place) in choices.iter().enumerate() {
            let open = world.choices();
            let choice = *open.get(place).ok_or((at, open.len()))?;
            world.apply(choice).expect("the world offered this choice");
            run.push(choice);
        }
        let story = tell(&start, &run).expect("each was open");
        let failure = failure_of(&story.end, &self.judge);
        Ok(Replayed {
            class: failure.as_ref().map(Failure::class),
            explanation: strategy::explain(&story.end, failure.as_ref()),
            steps: strategy::steps(&story),
            end: story.end.fingerprint(),
        })
    }
}
