//! Where bytes lie: the memories of a process, and parts of them.

use super::identity::Process;

/// A place in the memory of one process.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Space {
    /// A buffer of the program.
    User(u32),
    /// Where an eager message is copied before it is posted; one per thread.
    Staging(u16),
    /// A receive buffer filled by the HCA (or a shared-memory cell filled by a neighbour).
    Landing(u32),
    /// A buffer of the library that keeps an unexpected eager message.
    Unexpected(u32),
    /// Where a collective keeps what is on its way; one per thread, and, from the other end, one per
    /// nonblocking collective.
    Scratch(u16),
    /// Memory of the program that a window exposes to others.
    Window(u32),
    /// Memory that several processes of a node map: see [`Space::shared`].
    Shared(u32),
    /// Room that the program has attached for buffered sends: that of one message.
    Attached(u16),
    /// Where the endpoint library joins what the threads of a process give; one per thread.
    Exchange(u16),
    /// A buffer of the program in the memory of its GPU.
    Device(u32),
    /// Where the library has packed bytes in the memory of the GPU: two per thread.
    DeviceStaging(u16),
    /// Host memory of the library that GPU and HCA both reach: two buffers per thread.
    Pinned(u16),
    /// Where the packed bytes of a message are whose buffer lies in pieces; one per open message.
    Packed(u32),
}

impl Space {
    /// All memory of a real process, whose bytes lie at their addresses: parts of one array that a program names as
    /// buffers of their own are parts of one memory.
    pub const PROCESS: Self = Self::User(u32::MAX);

    /// Memory number `number` among those that `root` has allocated for its neighbours; `None` where
    /// one of the numbers is too large.
    pub fn shared(root: Process, number: u32) -> Option<Self> {
        let (root, number) = (u16::try_from(root.0).ok()?, u16::try_from(number).ok()?);
        Some(Self::Shared(u32::from(root) << 16 | u32::from(number)))
    }

    /// Process that has allocated memory that several processes map.
    pub const fn root(self) -> Option<Process> {
        match self {
            Self::Shared(name) => Some(Process(name >> 16)),
            Self::User(_)
            | Self::Staging(_)
            | Self::Landing(_)
            | Self::Unexpected(_)
            | Self::Scratch(_)
            | Self::Window(_)
            | Self::Attached(_)
            | Self::Exchange(_)
            | Self::Device(_)
            | Self::DeviceStaging(_)
            | Self::Pinned(_)
            | Self::Packed(_) => None,
        }
    }
}

/// Consecutive bytes in one [`Space`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Region {
    /// Which buffer.
    pub space: Space,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Region {
    /// The first `len` bytes of `space`.
    pub const fn new(space: Space, len: u64) -> Self {
        Self { space, offset: 0, len }
    }

    /// Whether other processes can reach it.
    pub const fn is_in_a_window(self) -> bool {
        matches!(self.space, Space::Window(_) | Space::Shared(_))
    }

    /// The part of `len` bytes that begins `offset` bytes into this region.
    pub const fn part(self, offset: u64, len: u64) -> Self {
        Self { space: self.space, offset: self.offset + offset, len }
    }
}
