//! Capacity kept for packets where they are many, so that other flows get what the slowed one
//! leaves.
//!
//! Every window of 16 MTU times the packets' share is measured and filtered. Where it is above
//! 1/16, the solver leaves it out of what flows may have; packets within it steal no time.

use units::TimeDelta;

/// One, as a share of a capacity.
/// Encoding: shares have 32 bits after the point.
const WHOLE: u64 = 1 << 32;
/// The least load that gets a reserve.
/// Method: below it, booking the time of packets is enough.
const LEAST: u64 = WHOLE / 16;
/// The least change of a reserve.
/// Method: every change makes the solver run again.
const STEP: u64 = WHOLE / 32;
/// Length of a window in MTU times.
/// Method: the load is measured window by window.
const WINDOW: u64 = 16;
/// Weight of the filtered load, where a window that ends has the weight 1.
/// Method: exponential smoothing, by a quarter for each window.
const PAST: u64 = 3;
/// MTU times for which unused reserve is kept.
/// Method: packets come in bursts.
const BANK: u64 = 64;
/// MTU times of unused reserve that are left at the end of a window.
/// Method: what is above goes back to the flows.
const GIFT: u64 = 2;

/// The estimate after a window of this load.
const fn filtered(estimate: u64, load: u64) -> u64 {
    (estimate * PAST + load) / (PAST + 1)
}

/// Load of packets on one resource, and the capacity kept for them; shares in 2^-32.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    /// The filtered load. The reserve follows it and never the other way round.
    estimate: u64,
    /// The share that the solver keeps for packets.
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
    /// Its state before the last service of a packet.
    saved: Saved,
}

/// A reserve, made where packets meet flows: most links of a large job carry packets only.
#[derive(Debug, Default)]
pub(super) struct LazyReserve(Option<Box<Reserve>>);

impl LazyReserve {
    /// The reserve, made if there is none.
    #[inline]
    pub(super) fn made(&mut self) -> &mut Reserve {
        self.0.get_or_insert_default()
    }

    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.0.as_ref().is_some_and(|reserve| reserve.is_kept())
    }

    /// As [`Reserve::is_active`].
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.0.as_ref().is_some_and(|reserve| reserve.is_active())
    }

    /// As [`Reserve::kept`].
    #[inline]
    pub(super) fn kept(&self, rate: u64) -> u64 {
        self.0.as_ref().map_or(0, |reserve| reserve.kept(rate))
    }
}

/// State that a packet's service changes, to restore it in the same instant.
#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    load: u64,
    bank: u128,
    bank_at: u64,
}

/// The end of a window: the flows of the resource.
pub(super) struct Window {
    /// Time of one MTU.
    pub(super) mtu_time: u64,
    /// The capacity, and what flows use of it.
    pub(super) rate: u64,
    pub(super) in_use: u64,
    /// Whether the resource limits a flow.
    pub(super) is_backlogged: bool,
    /// Whether no flow crosses it.
    pub(super) is_alone: bool,
    /// A defect planted by a test.
    #[cfg(test)]
    pub(super) fault: Option<super::tests::Fault>,
}

impl Reserve {
    /// Keeps what a packet's service is about to change.
    pub(super) const fn save(&mut self) {
        self.saved = Saved { load: self.load, bank: self.bank, bank_at: self.bank_at };
    }

    /// The last service is taken back.
    pub(super) const fn restore(&mut self) {
        Saved { load: self.load, bank: self.bank, bank_at: self.bank_at } = self.saved;
    }

    pub(super) const fn is_kept(&self) -> bool {
        self.kept > 0
    }

    /// Whether packets are measured, or something is kept for them.
    pub(super) const fn is_active(&self) -> bool {
        self.window_open || self.kept > 0
    }

    /// The part of `rate` that is kept for packets.
    pub(super) fn kept(&self, rate: u64) -> u64 {
        if self.kept == 0 {
            return 0;
        }
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

    /// Empties the bank if it holds more than some MTU times; answers what was in it.
    pub(super) fn withdraw(&mut self, now: u64, mtu_time: u64) -> u64 {
        self.earn(now);
        let saved = u64::try_from(self.bank >> 32).expect("a bank is short");
        if saved < mtu_time * GIFT {
            return 0;
        }
        self.bank = 0;
        saved
    }

    /// Begins to measure packets, if none are measured yet: answers how long, for an MTU time.
    pub(super) fn open_window(&mut self, mtu_time: TimeDelta) -> Option<TimeDelta> {
        let opens = !self.window_open;
        self.window_open = true;
        opens.then_some(mtu_time * WINDOW)
    }

    /// Whether packets are still to be measured after a window.
    pub(super) const fn goes_on(&self) -> bool {
        self.estimate > LEAST / 16 || self.kept > 0
    }

    /// Filters the load of the window that ends; answers whether other rates must be solved because
    /// the reserve follows it.
    pub(super) fn end_window(&mut self, now: u64, window: &Window) -> bool {
        let Window { mtu_time, rate, in_use, is_backlogged, is_alone, .. } = *window;
        let time = mtu_time * WINDOW;
        let packets = self.load;
        let load = (u128::from(packets) << 32) / u128::from(time);
        let load = u64::try_from(load).expect("a load is a share").min(WHOLE);
        self.load = 0;
        self.window_open = false;
        self.estimate = filtered(self.estimate, load);
        #[cfg(test)]
        if window.fault == Some(super::tests::Fault::ReserveFollowsItself) {
            self.estimate = filtered(self.kept, load);
        }
        if is_alone {
            // The next flow finds a fresh estimate.
            self.estimate = 0;
        }
        let flowed = u128::from(in_use) * u128::from(time) / u128::from(rate);
        let flowed = u64::try_from(flowed).expect("no more than the window");
        let served = if is_backlogged || is_alone { 0 } else { flowed + packets + self.surplus };
        self.surplus = served.saturating_sub(time);
        let catch_up = (u128::from(self.surplus) << 32) / u128::from(time);
        let catch_up = u64::try_from(catch_up).expect("a surplus is short");
        let wanted = self.estimate + catch_up;
        let wanted = if wanted >= LEAST { wanted } else { 0 };
        let wanted_rate = (u128::from(rate) * u128::from(wanted)) >> 32;
        let moves = wanted.abs_diff(self.kept) > STEP || (wanted == 0 && self.kept > 0);
        let matters =
            is_backlogged || self.kept > 0 || u128::from(in_use) + wanted_rate > u128::from(rate);
        if moves && matters {
            // What was earned at the old rate stays; something is always left for the flows.
            self.earn(now);
            self.kept = wanted.min(WHOLE - LEAST);
            self.bank_at = now;
            self.bank_most = u128::from(mtu_time * BANK) << 32;
        }
        moves && matters
    }

    /// Pays what was kept since the last time into the bank.
    fn earn(&mut self, now: u64) {
        let earned = u128::from(now - self.bank_at) * u128::from(self.kept);
        self.bank_at = now;
        self.bank = (self.bank + earned).min(self.bank_most);
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
