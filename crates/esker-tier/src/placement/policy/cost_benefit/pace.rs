//! How many requests go by from one move to the next.
//!
//! All extents of a device that has too much to do learn of it at the same time, and if all of them left, the next
//! device would have too much. How many have to leave depends on how hot they are. So moves follow each other the
//! faster the longer the same device is the dearest, and slow down when another one is.

use super::{DeviceCosts, DeviceView, TOLERANCE};

/// Requests after which the effect of a move is looked at: twice as many as queues are averaged over.
const SETTLES_AFTER: u32 = 512;
/// When moves have made another device the dearest, the gap between moves grows by this factor, from at least one
/// request to at most `SLOWEST`. Each time that the same device still is the dearest, the gap shrinks, by more each
/// time.
const SLOWS_BY: f64 = 8.0;
const SPEEDS_UP_BY: f64 = 0.85;
const SLOWEST: f64 = 4_096.0;

/// Counts requests between moves.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Requests between two moves.
    gap: f64,
    since_move: u32,
    since_look: u32,
    /// Moves since another device has become the dearest, and for how many looks it has been.
    moves: u32,
    looks: i32,
    /// The dearest device and the cheapest when they last differed.
    trend: Option<(usize, usize)>,
}

impl Pace {
    /// Takes a request of the host.
    pub(super) fn request(&mut self, devices: &[DeviceCosts], views: &[DeviceView]) {
        self.since_move = self.since_move.saturating_add(1);
        self.since_look += 1;
        if self.since_look < SETTLES_AFTER {
            return;
        }
        self.since_look = 0;
        let usable = || (0..devices.len()).filter(|&device| views[device].is_usable());
        let load = |device: &usize| devices[*device].load();
        let dearest = usable().max_by(|one, other| load(one).total_cmp(&load(other)));
        let cheapest = usable().min_by(|one, other| load(one).total_cmp(&load(other)));
        let (Some(dearest), Some(cheapest)) = (dearest, cheapest) else { return };
        if load(&dearest) - load(&cheapest) <= TOLERANCE * load(&dearest) {
            return;
        }
        let before = self.trend.replace((dearest, cheapest));
        if before.is_none_or(|(_, before)| before != dearest) {
            self.looks += 1;
            self.gap *= SPEEDS_UP_BY.powi(self.looks);
            return;
        }
        if self.moves > 0 {
            self.gap = (self.gap.max(1.0) * SLOWS_BY).min(SLOWEST);
        }
        (self.moves, self.looks) = (0, 0);
    }

    /// Returns true if the next move may begin.
    pub(super) fn allows(&self) -> bool {
        f64::from(self.since_move) >= self.gap
    }

    /// Notes that a move begins.
    pub(super) fn moves(&mut self) {
        self.since_move = 0;
        self.moves += 1;
    }
}
