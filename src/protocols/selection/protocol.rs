//! The protocols of the family by their published names: one line for each.

/// Where a sender pins its buffer before the RTS, since the RTS tells its address to an HCA.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pins {
    /// Nowhere: the RTS tells no address, or none that an HCA uses.
    Nowhere,
    /// Between nodes; inside one the kernel copies, which needs no pinned buffer.
    BetweenNodes,
    /// Inside a node too, where the HCA reads it.
    Everywhere,
}

/// Hands the table of the family to a macro: name, module, word of scenarios, and properties of each protocol.
/// The meaning of the word between nodes, or inside a node, is `None` where the protocol does not work there, or
/// where another word means the same: inside a node no adapter writes, and `rput_immediate` is `rput`.
macro_rules! protocols {
    ($each:ident) => {
        $each! {
            /// Sender puts by RDMA write after the receiver's CTS.
            RPut => rput, "rput",
                between_nodes: Some("the sender writes after the receiver has answered"),
                inside_a_node: Some("the sender copies, after the receiver has answered"),
                single_copy: true, loopback: false, pins: Nowhere;
            /// Receiver gets by RDMA read after the sender's RTS.
            RGet => rget, "rget",
                between_nodes: Some("the receiver reads"),
                inside_a_node: Some("the receiver copies"),
                single_copy: true, loopback: false, pins: BetweenNodes;
            /// Sender puts into a buffer that the receiver has offered before; without an offer as RPUT.
            Rtr => rtr, "rtr",
                between_nodes: Some("the receiver offers its buffer before, and the sender writes; else as rput"),
                inside_a_node: Some("the sender copies into a buffer that the receiver has offered before; else as rput"),
                single_copy: true, loopback: false, pins: Nowhere;
            /// As RPUT, and the write itself brings the FIN.
            RPutImmediate => rput_immediate, "rput_immediate",
                between_nodes: Some("as rput; the last byte brings the FIN, as immediate data"),
                inside_a_node: None,
                single_copy: true, loopback: false, pins: Nowhere;
            /// Both copy through cells of a shared segment; used inside a node.
            SharedMemory => shared_memory, "shared_memory",
                between_nodes: None,
                inside_a_node: Some("both sides copy, through cells of a shared segment"),
                single_copy: false, loopback: false, pins: Nowhere;
            /// Both cores copy one half each; used inside a node.
            CoopP2p => coop_p2p, "coop_p2p",
                between_nodes: None,
                inside_a_node: Some("both copy one half each"),
                single_copy: true, loopback: false, pins: Nowhere;
            /// The HCA's loopback and the receiver's core copy one part each; used inside a node.
            CoopHca => coop_hca, "coop_hca",
                between_nodes: None,
                inside_a_node: Some("the HCA's loopback and the receiver copy one part each"),
                single_copy: true, loopback: true, pins: Everywhere;
        }
    };
}
pub(crate) use protocols;

/// Generates the enum of the names.
macro_rules! names {
    ($(
        $(#[$doc:meta])* $name:ident => $module:ident, $label:literal,
            between_nodes: $between:expr,
            inside_a_node: $inside:expr,
            single_copy: $single:literal, loopback: $loopback:literal, pins: $pins:ident;
    )*) => {
        /// A rendezvous protocol, by its published name.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Protocol {
            $($(#[$doc])* $name,)*
        }

        impl Protocol {
            /// Every protocol, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The protocol of this name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|protocol| protocol.name() == name)
            }

            /// The name that scenarios use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// The meaning of its word between nodes, where it has one.
            const fn between_nodes(self) -> Option<&'static str> {
                match self { $(Self::$name => $between,)* }
            }

            /// The meaning of its word inside a node, where it has one.
            pub(super) const fn inside_a_node(self) -> Option<&'static str> {
                match self { $(Self::$name => $inside,)* }
            }

            /// Whether it works between two nodes.
            pub const fn crosses_nodes(self) -> bool {
                self.between_nodes().is_some()
            }

            /// Whether it moves bytes by kernel or loopback between processes of one node.
            pub const fn is_single_copy(self) -> bool {
                match self { $(Self::$name => $single,)* }
            }

            /// Whether the HCA's loopback moves bytes of it inside a node.
            pub(crate) const fn uses_loopback(self) -> bool {
                match self { $(Self::$name => $loopback,)* }
            }

            /// Where the sender pins its buffer before the RTS.
            pub(crate) const fn pins(self) -> Pins {
                match self { $(Self::$name => Pins::$pins,)* }
            }
        }
    };
}

protocols!(names);

impl Protocol {
    /// The words of the protocols between nodes, each with its meaning.
    pub const BETWEEN_NODES: &'static [(&'static str, &'static str)] =
        &between_nodes::<{ crossing() }>();
}

/// How many protocols work between nodes.
const fn crossing() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < Protocol::ALL.len() {
        count += Protocol::ALL[at].crosses_nodes() as usize;
        at += 1;
    }
    count
}

const fn between_nodes<const COUNT: usize>() -> [(&'static str, &'static str); COUNT] {
    let mut words = [("", ""); COUNT];
    let (mut at, mut count) = (0, 0);
    while at < Protocol::ALL.len() {
        let protocol = Protocol::ALL[at];
        if let Some(meaning) = protocol.between_nodes() {
            words[count] = (protocol.name(), meaning);
            count += 1;
        }
        at += 1;
    }
    words
}
