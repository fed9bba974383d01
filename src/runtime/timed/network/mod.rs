//! The network side of the job: adapters, channels, and what is under way.

pub(super) mod flight;
pub(super) mod reliable;
pub(super) mod wires;

use super::slab::Slab;
use flight::{Content, Flight};
use hardware::cluster::Cluster;
use hardware::fabric::Delivery;
use units::Time;
use wires::{Channel, ChannelTable};

/// Adapters, wires, and what is under way on them.
#[derive(Debug)]
pub(super) struct Network<K> {
    pub(super) cluster: Cluster,
    pub(super) channels: Vec<Channel>,
    pub(super) channel_of: ChannelTable,
    pub(super) flights: Slab<Flight>,
    pub(super) contents: Slab<Content<K>>,
    /// When the atomic unit of each node's HCA is free again.
    pub(super) atomic_free: Vec<Time>,
    pub(super) delivered: Vec<Delivery>,
    /// Whether the adapter of each process is about to look for a message, where adapters match.
    pub(super) looking: Vec<bool>,
    /// Messages that left a core.
    pub(super) packets: u64,
    /// Receiver-not-ready pauses.
    pub(super) rnr: u64,
}

impl<K> Network<K> {
    pub(super) fn new(cluster: Cluster, processes: usize, lanes: u16, nodes: usize) -> Self {
        Self {
            cluster,
            channels: Vec::new(),
            channel_of: ChannelTable::new(processes, lanes),
            flights: Slab::default(),
            contents: Slab::default(),
            atomic_free: vec![Time::ZERO; nodes],
            delivered: Vec::new(),
            looking: vec![false; processes],
            packets: 0,
            rnr: 0,
        }
    }
}
