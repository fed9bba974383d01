//! Protocols, in the timed runtime and under every order of events.

#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

#[path = "../common/binary.rs"]
mod binary;
#[path = "../common/chart.rs"]
mod chart;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/datatypes_model.rs"]
mod datatypes_model;
#[path = "../common/layouts.rs"]
mod layouts;
#[path = "../common/reference.rs"]
mod reference;
#[path = "../common/small.rs"]
mod small;
#[path = "../common/windows.rs"]
mod windows;

mod accesses;
mod adapters;
mod applications;
mod between_groups;
mod bridge;
mod buffered;
mod charts;
mod collectives;
mod collectives_library;
mod communicators;
mod cooperation;
mod cooperation_charts;
mod datatypes;
mod endpoints;
mod explorations;
mod explore;
mod explorer;
mod faults;
mod gpu_messages;
mod icollectives;
mod in_use;
mod intercommunicators;
mod kept;
mod linked_lists;
mod lossy_wires;
mod mapped_lines;
mod mapped_locks;
mod mutex_orders;
mod mutexes;
mod offers;
mod one_sided;
mod one_sided_charts;
mod one_sided_orders;
mod progress;
mod shared_windows;
mod standstill;
mod team;
mod typed;
mod vcis;
mod window_growth;
mod xios_ep_collectives;
mod xios_ep_communicators;
mod xios_ep_intercommunicators;
mod xios_ep_library;
mod xios_ep_windows;
