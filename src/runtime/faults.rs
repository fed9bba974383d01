//! The fault plan: what goes wrong in a run, where, and when.
//!
//! A plan is part of the job. In the timed runtime each fault begins at a time, or when so many
//! packets have left cores, and ends or lasts; random ones draw from streams of their own
//! (`fault packet loss` and the like, by the fault's number in the plan), so that a fault moves no
//! other stream. In the untimed world a crash is a choice, and so is what a wire does to a packet, as often
//! as [`Allowed`] says; delays are orders, which it tries all ([`Fault::untimed`]).

use hardware::core::Noise;
use hardware::profile::Ratio;
use hardware::slow_core::{Slow, SlowCore};
use protocols::contract::Process;
use units::{Time, TimeDelta};

/// Everything that goes wrong in a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FaultPlan {
    /// In the order of the scenario.
    pub faults: Vec<Fault>,
    /// Retransmission settings of the HCAs, for links that lose packets.
    pub transport: Transport,
}

impl FaultPlan {
    /// Whether a process may die.
    pub fn has_crash(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.effect, Effect::Crash { .. }))
    }

    /// Whether links may lose, repeat or reorder packets: messages then cross them packet by packet.
    pub fn cuts_messages(&self) -> bool {
        self.faults.iter().any(|fault| fault.effect.unreliable().is_some())
    }

    /// Whether messages cross links packet by packet, and nothing happens to one.
    pub fn only_cuts_messages(&self) -> bool {
        self.cuts_messages() && self.faults.iter().all(Fault::asks_for_nothing)
    }

    /// Slowdown of a process's cores, with the `noise` that they have anyway; `None` where no fault
    /// takes anything. Noise of the plan takes the place of that, the last one named.
    pub fn slow_core(
        &self,
        of: Process,
        noise: Option<Noise>,
        draw: &mut impl FnMut() -> u64,
    ) -> Option<Box<SlowCore>> {
        let mut core = SlowCore { noise, slow: Vec::new() };
        let mut any = false;
        for fault in &self.faults {
            if let Effect::Straggler { process, factor } = fault.effect
                && process.is_none_or(|one| one == of)
                && let Begin::At(from) = fault.begin
            {
                let until = fault.length.map(|length| from + length);
                core.slow.push(Slow { from, until, factor });
                any = true;
            }
            if let Effect::OsNoise { process, period, length, phase } = fault.effect
                && process.is_none_or(|one| one == of)
            {
                core.noise = Some(match phase {
                    Some(phase) => Noise::new(period, length, phase),
                    None => Noise::drawn(period, length, draw),
                });
                any = true;
            }
        }
        any.then(|| Box::new(core))
    }
}

/// How often wires may do what, all of them together: the packet faults of the untimed world.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Allowed {
    /// Packets and answers that are lost.
    pub losses: u8,
    /// Those that arrive twice.
    pub repeats: u8,
    /// Those that are overtaken.
    pub overtakings: u8,
}

impl Allowed {
    /// So often as one of the two allows that allows more.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        Self {
            losses: self.losses.max(other.losses),
            repeats: self.repeats.max(other.repeats),
            overtakings: self.overtakings.max(other.overtakings),
        }
    }

    /// All three together.
    pub const fn sum(self) -> u32 {
        self.losses as u32 + self.repeats as u32 + self.overtakings as u32
    }

    /// Whether the wires do nothing.
    pub const fn is_nothing(self) -> bool {
        self.sum() == 0
    }
}

/// Meaning of a fault in the untimed world, which knows neither times nor chances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Untimed {
    /// Nothing of its own: what comes later is another order.
    Order,
    /// Faults that a wire may commit once, whatever their chances and times are.
    Packet(Allowed),
    /// A process may die, whichever and whenever.
    Death,
    /// It cannot do it, in words.
    Beyond(&'static str),
}

/// The reliable connections of the HCAs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transport {
    /// Until a packet without answer is sent again.
    pub timeout: TimeDelta,
    /// Tries without progress after the first.
    pub retries: u8,
}

impl Default for Transport {
    /// Local ACK timeout 14 (4.096 us times 2^14) and retry count 7.
    ///
    /// Source: rdma-core, `libibverbs/examples/rc_pingpong.c`.
    fn default() -> Self {
        Self { timeout: TimeDelta::from_ns(4_096 << 14), retries: 7 }
    }
}

impl Transport {
    /// How long a message is tried at most before its connection fails.
    pub const fn longest(self) -> TimeDelta {
        TimeDelta::from_ps(self.timeout.as_ps().saturating_mul(self.retries as u64 + 1))
    }
}

/// One fault.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Effect of the fault.
    pub effect: Effect,
    /// When it begins.
    pub begin: Begin,
    /// How long it lasts; `None`: to the end of the run.
    pub length: Option<TimeDelta>,
}

impl Fault {
    /// Whether it changes nothing by its own numbers.
    pub const fn asks_for_nothing(&self) -> bool {
        matches!(
            self.effect,
            Effect::Loss { hits: Hits::Chance(0), .. }
                | Effect::Duplication { hits: Hits::Chance(0), .. }
                | Effect::Reordering { hits: Hits::Chance(0), .. }
        )
    }

    /// Whether no packet crosses its links from its beginning on.
    const fn cuts_for_ever(&self) -> bool {
        let all = matches!(
            self.effect,
            Effect::LinkDown { .. } | Effect::Loss { hits: Hits::Chance(1_000_000_000), .. }
        );
        all && self.length.is_none()
    }

    /// Meaning of the fault in the untimed world.
    pub const fn untimed(&self) -> Untimed {
        const NONE: Allowed = Allowed { losses: 0, repeats: 0, overtakings: 0 };
        match self.effect {
            Effect::LinkDown { .. } | Effect::Loss { .. } if self.cuts_for_ever() => {
                Untimed::Beyond("a link loses every packet for ever, not some of them")
            }
            Effect::LinkDown { .. } | Effect::Loss { .. } => {
                Untimed::Packet(Allowed { losses: 1, ..NONE })
            }
            Effect::Duplication { .. } => Untimed::Packet(Allowed { repeats: 1, ..NONE }),
            Effect::Reordering { .. } => Untimed::Packet(Allowed { overtakings: 1, ..NONE }),
            Effect::Delay { .. }
            | Effect::RateCut { .. }
            | Effect::HcaStall { .. }
            | Effect::Straggler { .. }
            | Effect::OsNoise { .. } => Untimed::Order,
            Effect::CreditLoss { .. } => Untimed::Beyond("receive buffers are gone for ever"),
            Effect::Crash { .. } => Untimed::Death,
        }
    }
}

/// When a fault begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Begin {
    /// At this time.
    At(Time),
    /// When this packet, counted from 1, leaves its core.
    Packet(u64),
    /// When the process of the fault makes this call, counted from 1.
    Call(u64),
}

/// Where a packet fault is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wires {
    /// All links between nodes.
    All,
    /// One, by its name.
    Link(String),
}

/// Which packets a packet fault hits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hits {
    /// Each with this probability, in billionths.
    Chance(u64),
    /// This one, counted from 1 from the fault's beginning.
    Nth(u64),
}

/// Effect of a fault.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Everything over a resource takes longer by `extra`.
    Delay {
        /// Its name.
        resource: String,
        /// How much longer.
        extra: TimeDelta,
    },
    /// A resource has the part `left` of its rate.
    RateCut {
        /// Its name.
        resource: String,
        /// Part of the rate that is left.
        left: Ratio,
    },
    /// An HCA begins nothing.
    HcaStall {
        /// Its node.
        node: u32,
    },
    /// Work of cores takes `factor` times as long.
    Straggler {
        /// Process whose cores are affected; `None`: all.
        process: Option<Process>,
        /// At least one.
        factor: Ratio,
    },
    /// The operating system takes cores for `length` in every `period`, from the run's beginning.
    OsNoise {
        /// Process whose cores are affected; `None`: all.
        process: Option<Process>,
        /// From one interruption to the next.
        period: TimeDelta,
        /// How long one takes.
        length: TimeDelta,
        /// When the first begins; `None`: drawn for each core.
        phase: Option<TimeDelta>,
    },
    /// A link loses everything.
    LinkDown {
        /// Which.
        wires: Wires,
    },
    /// A link loses packets.
    Loss {
        /// Which link.
        wires: Wires,
        /// Which packets.
        hits: Hits,
    },
    /// A link delivers packets twice.
    Duplication {
        /// Which link.
        wires: Wires,
        /// Which packets.
        hits: Hits,
    },
    /// A link delivers packets late, behind others.
    Reordering {
        /// Which link.
        wires: Wires,
        /// Which packets.
        hits: Hits,
        /// How late.
        late: TimeDelta,
    },
    /// Receive buffers of a connection are gone for ever.
    CreditLoss {
        /// Process that sends into them.
        from: Process,
        /// Process that posted them.
        to: Process,
        /// How many.
        credits: u32,
    },
    /// A process dies, and its HCA with it.
    Crash {
        /// Which.
        process: Process,
    },
}

impl Effect {
    /// Its kind, as scenarios call it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Delay { .. } => "delay_spike",
            Self::RateCut { .. } => "rate_cut",
            Self::HcaStall { .. } => "hca_stall",
            Self::Straggler { .. } => "straggler",
            Self::OsNoise { .. } => "os_noise",
            Self::LinkDown { .. } => "link_down",
            Self::Loss { .. } => "packet_loss",
            Self::Duplication { .. } => "packet_duplication",
            Self::Reordering { .. } => "packet_reordering",
            Self::CreditLoss { .. } => "credit_loss",
            Self::Crash { .. } => "crash",
        }
    }

    /// The link faults of which a reliable connection must make nothing.
    pub const fn unreliable(&self) -> Option<&Wires> {
        match self {
            Self::LinkDown { wires }
            | Self::Loss { wires, .. }
            | Self::Duplication { wires, .. }
            | Self::Reordering { wires, .. } => Some(wires),
            Self::Delay { .. }
            | Self::RateCut { .. }
            | Self::HcaStall { .. }
            | Self::Straggler { .. }
            | Self::OsNoise { .. }
            | Self::CreditLoss { .. }
            | Self::Crash { .. } => None,
        }
    }

    /// Whether it is about cores: it is known before the run.
    pub const fn is_of_cores(&self) -> bool {
        matches!(self, Self::Straggler { .. } | Self::OsNoise { .. })
    }
}

/// A failure that a fault brings about: named, and expected of it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Failure {
    /// A reliable connection has given up.
    #[error(
        "transport retry counter exceeded at {at}: process {} sent packet {packet} to process {} \
         {tries} times without an answer; last lost on link {link}",
        from.0, to.0
    )]
    RetryExceeded {
        /// Sending process.
        from: Process,
        /// Process that does not answer.
        to: Process,
        /// The packet, counted from 0 for the connection.
        packet: u64,
        /// How often it was sent.
        tries: u32,
        /// The link that lost it, or its answer, last.
        link: String,
        /// When it was given up.
        at: Time,
    },
    /// A connection has no receive buffer left.
    #[error(
        "receiver-not-ready retry counter exceeded at {at}: process {} has lost all receive \
         buffers for messages from process {}",
        to.0, from.0
    )]
    NotReadyExceeded {
        /// Sending process.
        from: Process,
        /// Process that has no receive buffers.
        to: Process,
        /// When it was given up.
        at: Time,
    },
}
