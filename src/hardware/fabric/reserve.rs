//! Capacity kept for packets where they are many, so that other flows get what the slowed one
//! leaves.
//!
//! Every window of 16 MTU times the packets' share is measured and filtered. Where it is above
//! 1/16, the solver leaves it out of what flows may have; packets within it steal no time.

use super::spec::{EventKind, FabricEvent, Schedule};
use super::{Fabric, ResourceId};
use units::Time;

/// One, as a share of a capacity.
const WHOLE: u64 = 1 << 32;
/// A load below this is not worth a reserve: booking its time is enough.
const LEAST: u64 = WHOLE / 16;
/// A reserve moves only by more than this.
const STEP: u64 = WHOLE / 32;
/// Windows are this many MTU times long.
const WINDOW: u64 = 16;
/// The filtered load counts what was so many times, and a window that ends once.
const PAST: u64 = 3;
/// Unused reserve is kept for this many MTU times.
const BANK: u64 = 64;
/// At the end of a window, unused reserve above this many MTU times goes back to the flows.
const GIFT: u64 = 2;

/// The estimate after a window of this load.
const fn filtered(estimate: u64, load: u64) -> u64 {
    (estimate * PAST + load) / (PAST + 1)
}

/// What packets take of one resource, and what is kept for them; shares in 2^-32.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    /// The filtered load. The reserve follows it and never the other way round.
    estimate: u64,
    /// What the solver keeps.
    kept: u64,
    /// Service time of packets in the present window.
    load: u64,
    window_open: bool,
    /// Service time by which flows and packets together passed the capacity, where no flow is
    /// backlogged so that none was slowed for it. The next reserve makes up for it.
    surplus: u64,
    /// Service time that packets may use before they steal, in 2^-32 ps.
    bank: u128,
    bank_at: u64,
    bank_most: u128,
}

/// What a packet's service changes, to take it back in the same instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    load: u64,
    bank: u128,
    bank_at: u64,
}

impl Reserve {
    pub(super) const fn saved(&self) -> Saved {
        Saved { load: self.load, bank: self.bank, bank_at: self.bank_at }
    }

    pub(super) fn restore(&mut self, saved: Saved) {
        Saved { load: self.load, bank: self.bank, bank_at: self.bank_at } = saved;
    }

    pub(super) const fn is_kept(&self) -> bool {
        self.kept > 0
    }

    /// Whether packets are measured, or something is kept for them.
    pub(super) const fn is_active(&self) -> bool {
        self.window_open || self.kept > 0
    }

    /// What is kept of `rate`.
    pub(super) fn kept(&self, rate: u64) -> u64 {
        let kept = (u128::from(rate) * u128::from(self.kept)) >> 32;
        u64::try_from(kept).expect("less than all is kept")
    }

    /// Takes a packet's service out of the bank; answers how much of it was not there.
    pub(super) fn draw(&mut self, now: u64, service: u64) -> u64 {
        if self.window_open {
            self.load += service;
        }
        if self.kept == 0 {
            return service;
        }
        self.earn(now);
        let wanted = u128::from(service) << 32;
        let drawn = wanted.min(self.bank);
        self.bank -= drawn;
        u64::try_from((wanted - drawn) >> 32).expect("a part of the service")
    }

    /// Empties the bank if it holds more than `least` ps; answers what was in it.
    fn withdraw(&mut self, now: u64, least: u64) -> u64 {
        self.earn(now);
        let saved = u64::try_from(self.bank >> 32).expect("a bank is short");
        if saved < least {
            return 0;
        }
        self.bank = 0;
        saved
    }

    /// Pays what was kept since the last time into the bank.
    fn earn(&mut self, now: u64) {
        let earned = u128::from(now - self.bank_at) * u128::from(self.kept);
        self.bank_at = now;
        self.bank = (self.bank + earned).min(self.bank_most);
    }
}

impl Fabric {
    /// Opens a window if packets meet flows here.
    pub(super) fn watch_load(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        if shared.fluid.reserve.window_open || !shared.fluid.flows() {
            return;
        }
        shared.fluid.reserve.window_open = true;
        let window = shared.service(self.mtu) * WINDOW;
        out.at(now + window, resource, FabricEvent::new(EventKind::Window, resource.0, 0));
    }

    /// Filters the load of the window that ends, and asks for a solve if the reserve must follow.
    pub(super) fn end_of_window(
        &mut self,
        now: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        let mtu_time = self.resources[resource.0 as usize].shared().service(self.mtu).as_ps();
        let shared = self.resources[resource.0 as usize].shared_mut();
        let kept = shared.fluid.reserve.kept(shared.rate);
        let in_use = shared.rate - kept - shared.fluid.left.min(shared.rate - kept);
        let (rate, backlogged) = (shared.rate, shared.fluid.backlogged);
        let alone = !shared.fluid.flows();
        #[cfg(test)]
        let fault = shared.fault;
        let reserve = &mut shared.fluid.reserve;
        let window = mtu_time * WINDOW;
        let packets = reserve.load;
        let load = (u128::from(packets) << 32) / u128::from(window);
        let load = u64::try_from(load).expect("a load is a share").min(WHOLE);
        reserve.load = 0;
        reserve.window_open = false;
        reserve.estimate = filtered(reserve.estimate, load);
        #[cfg(test)]
        if fault == Some(super::tests::Fault::ReserveFollowsItself) {
            reserve.estimate = filtered(reserve.kept, load);
        }
        if alone {
            // The next flow finds a fresh estimate.
            reserve.estimate = 0;
        }
        let flowed = u128::from(in_use) * u128::from(window) / u128::from(rate);
        let flowed = u64::try_from(flowed).expect("no more than the window");
        let served = if backlogged > 0 || alone { 0 } else { flowed + packets + reserve.surplus };
        reserve.surplus = served.saturating_sub(window);
        let catch_up = (u128::from(reserve.surplus) << 32) / u128::from(window);
        let catch_up = u64::try_from(catch_up).expect("a surplus is short");
        let wanted = reserve.estimate + catch_up;
        let wanted = if wanted >= LEAST { wanted } else { 0 };
        let wanted_rate = (u128::from(rate) * u128::from(wanted)) >> 32;
        let moves = wanted.abs_diff(reserve.kept) > STEP || (wanted == 0 && reserve.kept > 0);
        let matters = backlogged > 0
            || reserve.kept > 0
            || u128::from(in_use) + wanted_rate > u128::from(rate);
        if moves && matters {
            // What was earned at the old rate stays; something is always left for the flows.
            reserve.earn(now.as_ps());
            reserve.kept = wanted.min(WHOLE - LEAST);
            reserve.bank_at = now.as_ps();
            reserve.bank_most = u128::from(mtu_time * BANK) << 32;
            self.ask_for_solve(now, resource, out);
        }
        self.give_back(now, resource, mtu_time * GIFT, out);
        let reserve = &self.resources[resource.0 as usize].shared().fluid.reserve;
        if !alone && (reserve.estimate > LEAST / 16 || reserve.kept > 0) {
            self.watch_load(now, resource, out);
        }
    }

    /// What packets left of their reserve speeds up the flows that are limited here.
    fn give_back(&mut self, now: Time, resource: ResourceId, least: u64, out: &mut impl Schedule) {
        let fluid = &mut self.resources[resource.0 as usize].shared_mut().fluid;
        let saved = fluid.reserve.withdraw(now.as_ps(), least);
        if saved == 0 || fluid.backlogged == 0 {
            return;
        }
        let scaled = (u128::from(saved) * u128::from(fluid.stolen_scale)) >> 32;
        let gift = u64::try_from(scaled).expect("a gift is short");
        for at in 0..self.resources[resource.0 as usize].shared().fluid.members.len() {
            let (flow, _) = self.resources[resource.0 as usize].shared().fluid.members[at];
            if self.flows[flow].limit == resource.0 && self.may_hurry(flow) {
                self.settle(now.as_ps(), flow);
                self.flows[flow].gain(gift);
                let rate = self.flows[flow].rate;
                self.set_rate(flow, rate, resource.0, out);
            }
        }
    }

    /// No other hop of the flow is full, so that it can catch up without taking from others.
    fn may_hurry(&self, flow: u32) -> bool {
        let state = &self.flows[flow];
        state.hops.iter().filter(|hop| hop.resource != state.limit).all(|hop| {
            let shared = self.resources[hop.resource as usize].shared();
            shared.fluid.left >= shared.rate >> 5
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load that begins and stays counts 1/4 after a window, then 7/16 and 37/64: what is missing
    /// shrinks to 3/4 with each. It is forgotten as slowly.
    #[test]
    fn a_load_counts_a_quarter_more_with_each_window() {
        let mut estimate = 0;
        for missing in [3 * WHOLE / 4, 9 * WHOLE / 16, 27 * WHOLE / 64, 81 * WHOLE / 256] {
            estimate = filtered(estimate, WHOLE);
            assert_eq!(estimate, WHOLE - missing);
        }
        assert_eq!(filtered(WHOLE, 0), 3 * WHOLE / 4);
    }
}
