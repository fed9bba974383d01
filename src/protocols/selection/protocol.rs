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

/// Hands the table of the family to a macro: name, module, label and properties of each protocol.
macro_rules! protocols {
    ($each:ident) => {
        $each! {
            /// Sender puts by RDMA write after the receiver's CTS.
            RPut => rput, "rput",
                crosses_nodes: true, single_copy: true, loopback: false, pins: Nowhere;
            /// Receiver gets by RDMA read after the sender's RTS.
            RGet => rget, "rget",
                crosses_nodes: true, single_copy: true, loopback: false, pins: BetweenNodes;
            /// Sender puts into a buffer that the receiver has offered before; without an offer as RPUT.
            Rtr => rtr, "rtr",
                crosses_nodes: true, single_copy: true, loopback: false, pins: Nowhere;
            /// As RPUT, and the write itself brings the FIN.
            RPutImmediate => rput_immediate, "rput_immediate",
                crosses_nodes: true, single_copy: true, loopback: false, pins: Nowhere;
            /// Both copy through cells of a shared segment; used inside a node.
            SharedMemory => shared_memory, "shared_memory",
                crosses_nodes: false, single_copy: false, loopback: false, pins: Nowhere;
            /// Both cores copy one half each; used inside a node.
            CoopP2p => coop_p2p, "coop_p2p",
                crosses_nodes: false, single_copy: true, loopback: false, pins: Nowhere;
            /// The HCA's loopback and the receiver's core copy one part each; used inside a node.
            CoopHca => coop_hca, "coop_hca",
                crosses_nodes: false, single_copy: true, loopback: true, pins: Everywhere;
        }
    };
}
pub(crate) use protocols;

/// Generates the enum of the names.
macro_rules! names {
    ($(
        $(#[$doc:meta])* $name:ident => $module:ident, $label:literal,
            crosses_nodes: $crosses:literal, single_copy: $single:literal, loopback: $loopback:literal,
            pins: $pins:ident;
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

            /// Whether it works between two nodes.
            pub const fn crosses_nodes(self) -> bool {
                match self { $(Self::$name => $crosses,)* }
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
