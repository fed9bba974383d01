//! The schemes by which the processes of a node choose the protocol of a large message.
//!
//! ```text
//!   RTS (scheme, the sender's call) ──▶ matched ──▶ [counters of the node] ──▶ protocol ──▶ CTS | FIN
//! ```
//!
//! A fixed scheme names its protocol. All others are decided once, by the receiver, so that both
//! sides agree; those that depend on load read the counters that the node's processes share.
//!
//! Source: `coop` Sec. II. Between nodes the protocol is always that of the job.

use super::coop_hybrid::Situation;
use super::coop_load::Load;
use super::protocol::{Pins, Protocol};
use super::{coop_coll, coop_hybrid, coop_load};
use crate::contract::{COUNTERS, Counter, Process, Via};
use calls::arguments::SendMode;
use units::Bytes;

/// How a protocol is chosen.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scheme {
    /// Always this one.
    Fixed(Protocol),
    /// COOP-coll: by the calls of both sides.
    Coll,
    /// COOP-load: by the copies that both sides have before them.
    Load,
    /// Adaptive offload: COOP-hca while the HCA has few large operations before it, else RGET.
    Adaptive,
    /// COOP-hybrid.
    Hybrid,
}

impl Scheme {
    /// Every scheme that is no protocol.
    pub const DECIDERS: [Self; 4] = [Self::Coll, Self::Load, Self::Adaptive, Self::Hybrid];

    /// The words of the schemes inside a node, each with its meaning.
    pub const WORDS: &'static [(&'static str, &'static str)] = &words::<{ with_words() }>();

    /// The scheme of this name.
    pub fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed(protocol) => protocol.name(),
            Self::Coll => "coop_coll",
            Self::Load => "coop_load",
            Self::Adaptive => "adaptive_offload",
            Self::Hybrid => "coop_hybrid",
        }
    }

    /// The meaning of its word inside a node, where it has one.
    const fn meaning(self) -> Option<&'static str> {
        match self {
            Self::Fixed(protocol) => protocol.inside_a_node(),
            Self::Coll => Some("by whether the calls of both sides block"),
            Self::Load => Some("the side with fewer copies before it copies"),
            Self::Adaptive => Some("coop_hca while the HCA has little to do, else rget"),
            Self::Hybrid => Some("coop_coll, coop_load or coop_hca, each where it belongs"),
        }
    }

    /// Whether it may give messages to the HCA's loopback.
    pub const fn may_offload(self) -> bool {
        match self {
            Self::Fixed(protocol) => protocol.uses_loopback(),
            Self::Adaptive | Self::Hybrid => true,
            Self::Coll | Self::Load => false,
        }
    }
}

/// The protocols as schemes, then the deciders.
const ALL: [Scheme; Protocol::ALL.len() + Scheme::DECIDERS.len()] = {
    let mut all = [Scheme::Coll; Protocol::ALL.len() + Scheme::DECIDERS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < Protocol::ALL.len() {
            Scheme::Fixed(Protocol::ALL[at])
        } else {
            Scheme::DECIDERS[at - Protocol::ALL.len()]
        };
        at += 1;
    }
    all
};

/// How many schemes have a word inside a node.
const fn with_words() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < ALL.len() {
        count += ALL[at].meaning().is_some() as usize;
        at += 1;
    }
    count
}

const fn words<const COUNT: usize>() -> [(&'static str, &'static str); COUNT] {
    let mut words = [("", ""); COUNT];
    let (mut at, mut count) = (0, 0);
    while at < ALL.len() {
        if let Some(meaning) = ALL[at].meaning() {
            words[count] = (ALL[at].name(), meaning);
            count += 1;
        }
        at += 1;
    }
    words
}

/// Which messages a scheme is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Rule {
    /// Messages of at least so many bytes.
    pub from: Bytes,
    /// Those whose send blocks, or does not; `None`: both.
    pub blocking: Option<bool>,
    /// How they move.
    pub scheme: Scheme,
}

/// The agreement of all processes about large messages inside a node.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Cooperation {
    /// The first rule that fits decides; where none does, messages go through shared cells.
    pub rules: Vec<Rule>,
    /// Most bytes that a core copies before it polls; `None`: no limit.
    pub chunk: Option<Bytes>,
    /// So many parts has a message between which a copying core polls; 0 and 1: one.
    pub chunks: u32,
    /// The HCA's part of a message that it and a core share, in millionths.
    pub hca_share_ppm: u32,
    /// Bytes of a page: the HCA's part and the core's are cut where one ends.
    pub page: Bytes,
    /// A node's large RDMA operations under way, up to which one more may be given to the HCA.
    pub offload_threshold: u32,
    /// Messages of at least so many bytes are large enough for the HCA and for chunks.
    pub large: Bytes,
    /// Whether the node has cores without a process.
    pub free_cores: bool,
    /// Whether large RDMA operations are counted.
    pub counts_offloads: bool,
    /// How COOP-load counts copies.
    pub load: Load,
    /// Whether COOP-coll moves ready sends into non-blocking receives by RTR, else by RPUT.
    pub ready_by_rtr: bool,
}

/// The two calls of a message, once it is matched.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Calls {
    /// The sender's mode.
    pub mode: SendMode,
    /// Whether the sender's call waits.
    pub send_blocks: bool,
    /// Whether the receiver's call waits.
    pub receive_blocks: bool,
    /// Bytes of the message.
    pub bytes: u64,
}

impl Cooperation {
    /// One scheme for all messages, with an even split where the HCA shares.
    pub fn by(scheme: Scheme) -> Self {
        let rule = Rule { from: Bytes::new(0), blocking: None, scheme };
        Self {
            rules: vec![rule],
            hca_share_ppm: 500_000,
            counts_offloads: matches!(scheme, Scheme::Adaptive | Scheme::Hybrid),
            ..Self::default()
        }
    }

    /// The scheme for a message of so many bytes, by whether its send blocks.
    pub fn scheme(&self, bytes: u64, blocking: bool) -> Scheme {
        let fits = |rule: &&Rule| {
            bytes >= rule.from.as_u64() && rule.blocking.is_none_or(|asked| asked == blocking)
        };
        self.rules.iter().find(fits).map_or(Scheme::Fixed(Protocol::SharedMemory), |r| r.scheme)
    }

    /// Whether some receive inside a node may be offered to its sender.
    pub fn has_offers(&self) -> bool {
        self.rules.iter().any(|rule| match rule.scheme {
            Scheme::Fixed(protocol) => protocol == Protocol::Rtr,
            Scheme::Coll | Scheme::Hybrid => self.ready_by_rtr,
            Scheme::Load | Scheme::Adaptive => false,
        })
    }

    /// Whether a receive with room for so many bytes is offered to its sender, whose call is not
    /// known yet.
    pub fn may_offer(&self, room: u64, receive_blocks: bool) -> bool {
        [false, true].into_iter().any(|blocking| match self.scheme(room, blocking) {
            Scheme::Fixed(protocol) => protocol == Protocol::Rtr,
            Scheme::Coll | Scheme::Hybrid => self.ready_by_rtr && !receive_blocks,
            Scheme::Load | Scheme::Adaptive => false,
        })
    }

    /// Whether a message of this scheme takes an offer that it has.
    pub fn takes_offer(&self, scheme: Scheme, mode: SendMode) -> bool {
        match scheme {
            Scheme::Fixed(protocol) => protocol == Protocol::Rtr,
            Scheme::Coll | Scheme::Hybrid => self.ready_by_rtr && mode == SendMode::Ready,
            Scheme::Load | Scheme::Adaptive => false,
        }
    }

    /// Most bytes of such a message that a core copies before it polls.
    pub fn chunk_of(&self, bytes: u64) -> Option<u64> {
        if bytes < self.large.as_u64() {
            return None;
        }
        let part = (self.chunks > 1).then(|| bytes.div_ceil(u64::from(self.chunks)));
        self.chunk.map(Bytes::as_u64).into_iter().chain(part).min()
    }

    /// Whether the buffer of such a send must be pinned when its RTS tells its address.
    pub(crate) fn registers_at_rts(&self, scheme: Scheme, via: Via, bytes: u64) -> bool {
        match scheme {
            Scheme::Fixed(protocol) => match protocol.pins() {
                Pins::Nowhere => false,
                Pins::BetweenNodes => !matches!(via, Via::SharedMemory),
                Pins::Everywhere => true,
            },
            // Where the HCA may be chosen, it reads the buffer.
            Scheme::Adaptive => bytes >= self.large.as_u64(),
            Scheme::Hybrid => self.may_take(bytes),
            Scheme::Coll | Scheme::Load => false,
        }
    }

    /// Whether the HCA could take a part of such a message.
    const fn may_take(&self, bytes: u64) -> bool {
        self.free_cores && bytes >= self.large.as_u64()
    }

    /// Whether the counters of the node must be read before the scheme can decide.
    pub fn asks(&self, scheme: Scheme, calls: Calls) -> bool {
        match scheme {
            Scheme::Fixed(_) | Scheme::Coll => false,
            Scheme::Load | Scheme::Adaptive => true,
            Scheme::Hybrid => {
                self.may_take(calls.bytes) || !(calls.send_blocks || calls.receive_blocks)
            }
        }
    }

    /// Counters to read: the copies of both sides, and the operations of their HCA.
    pub const fn question(
        &self,
        sender: Process,
        receiver: Process,
        node: u32,
    ) -> [Counter; COUNTERS] {
        [self.load.of(sender), self.load.of(receiver), Counter::Offloads(node)]
    }

    /// The protocol, and whether the choice counts copies. `values` answers [`Self::question`];
    /// schemes that do not ask are given zeros.
    pub fn decide(
        &self,
        scheme: Scheme,
        calls: Calls,
        values: [u32; COUNTERS],
    ) -> (Protocol, bool) {
        let [sender, receiver, offloads] = values;
        let may_offload = offloads <= self.offload_threshold;
        let Calls { mode, send_blocks, receive_blocks, bytes } = calls;
        match scheme {
            Scheme::Fixed(protocol) => (protocol, false),
            Scheme::Coll => (coop_coll::table(mode, send_blocks, receive_blocks), false),
            Scheme::Load => (coop_load::choose(sender, receiver), true),
            Scheme::Adaptive if may_offload && bytes >= self.large.as_u64() => {
                (Protocol::CoopHca, false)
            }
            Scheme::Adaptive => (Protocol::RGet, false),
            Scheme::Hybrid => {
                let offload = may_offload && self.may_take(bytes);
                let situation =
                    Situation { mode, send_blocks, receive_blocks, sender, receiver, offload };
                let by_load = !(offload || send_blocks || receive_blocks);
                (coop_hybrid::choose(situation), by_load)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pinning costs tens of microseconds: where the HCA can never be chosen, none is paid.
    #[test]
    fn a_buffer_is_pinned_at_the_rts_only_where_the_hca_may_read_it() {
        let large = Bytes::kib(64);
        let pins = |scheme, free_cores, bytes: u64| {
            let settings = Cooperation { large, free_cores, ..Cooperation::by(scheme) };
            settings.registers_at_rts(scheme, Via::SharedMemory, bytes)
        };
        let (small, large) = (large.as_u64() - 1, large.as_u64());
        assert!(pins(Scheme::Hybrid, true, large));
        assert!(!pins(Scheme::Hybrid, true, small));
        assert!(!pins(Scheme::Hybrid, false, large), "a full node offloads nothing");
        for free_cores in [false, true] {
            assert!(pins(Scheme::Adaptive, free_cores, large));
            assert!(!pins(Scheme::Adaptive, free_cores, small));
            assert!(
                !pins(Scheme::Load, free_cores, large) && !pins(Scheme::Coll, free_cores, large)
            );
        }
    }
}
