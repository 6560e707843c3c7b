//! Assigns each extent a home device, according to shares of the requests.

#[cfg(test)]
mod tests;

use esker_core::Nanos;

use super::usage::{Residents, Usage};
use super::{Completed, DeviceView, MoveOutcome, WishedMove, Wishes};
use crate::extent::{DeviceIndex, LogicalExtent};

/// Most extents that are moved at a time. Moving as many as a device has requests of the host was tried and overloaded
/// it: the longer its queue became, the more was moved.
const MOVES_MAX: usize = 4;
/// A device is far slower than another if it takes more than this many times as long for a request, not counting
/// queues. It gets at most its part of what all busy devices serve together, and extents leave it with the priority of
/// the host's requests. Devices that are closer to each other find their shares step by step.
const FAR_SLOWER: f64 = 8.0;
/// Most extents that are moved, in addition, away from devices that are far slower than their targets. Such a device
/// has as many moves under way as requests of the host, so the moves take half of its time; it gets fewer and fewer
/// requests.
const RELIEVING_MAX: usize = 16;
/// Weight of a new sample in a device's average time per request.
const NEWEST: f64 = 0.01;
/// An extent that is not in use moves at once if its devices are idle. Under a high load they seldom are: then it moves
/// after a pause of 1/`PAUSE_PART` of the duration of the last move, so that moves do not fill slow devices.
const PAUSE_PART: u64 = 4;
/// The least share in the beginning, so that a device with the weight 0 is measured, too.
pub(super) const LEAST_FIRST: f64 = 0.001;
/// When more than this share of the extents has another home, a sweep looks for those in use and moves them. On a large
/// volume it would take long until all of them are used again.
const SWEEP_MIN: f64 = 0.002;
/// While more than this share of the requests go to extents that were never used before, sweeps also move unused
/// extents: they will be used soon.
const SWEEP_UNUSED: f64 = 0.05;
/// Number of earlier sets of shares that are remembered while their sweeps are not complete.
const SWEEP_FOLLOWED: usize = 4;
/// Most extents that are examined at a time to find one that has to move.
const SWEEP_STEP: u32 = 256;

/// Gives each device a share of the extents by rendezvous hashing: an extent's home is the device with the lowest score
/// for the extent's number, so a device whose share grows takes extents from all others alike. The devices' shares of
/// the requests follow, whichever extents are hot, and nothing has to be stored for an extent. An extent that is not at
/// home moves when it is used, or in a sweep after a change of the shares.
///
/// A device without a free extent makes room for extents that belong there: extents leave it that belong elsewhere, or
/// that are not in use.
#[derive(Debug)]
pub(super) struct Homes {
    pub(super) shares: Vec<f64>,
    /// The least share at the last change.
    pub(super) least: f64,
    probe_per_s: f64,
    interval: Nanos,
    moving: Vec<HomeMove>,
    next_move: Nanos,
    /// End of the pause after the last move.
    rests_until: Nanos,
    /// Average time that each device takes for a request, not counting queues, in nanoseconds; 0 before its first
    /// request.
    times: Vec<f64>,
    /// Time at which each device ended its last request, of the host or of a copy.
    last_ends: Vec<Nanos>,
    /// Which extents are in use. Moving one that is not relieves no device.
    usage: Usage,
    residents: Residents,
    /// The shares that the last sweep has applied.
    swept: Vec<f64>,
    sweep: Option<HomeSweep>,
}

/// A move under way.
#[derive(Clone, Copy, Debug)]
struct HomeMove {
    extent: LogicalExtent,
    since: Nanos,
    /// The device that it relieves, if that device is far slower than the target.
    relieves: Option<DeviceIndex>,
}

/// Goes through the extents in order and moves those whose home has changed.
#[derive(Debug)]
struct HomeSweep {
    next: u32,
    /// Earlier shares by which extents may still be placed: the last ones, and those whose sweep did not reach its end.
    before: Vec<Vec<f64>>,
}

impl Homes {
    /// Creates shares from `weights`. Each device keeps a share of at least `probe_per_s` requests per second. Moves
    /// are at least `interval` apart.
    pub(super) fn new(weights: &[u32], probe_per_s: f64, interval: Nanos) -> Self {
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let mut homes = Self {
            shares: weights.iter().map(|&weight| f64::from(weight) / total).collect(),
            least: 0.0,
            probe_per_s,
            interval,
            moving: Vec::new(),
            next_move: Nanos::ZERO,
            rests_until: Nanos::ZERO,
            times: vec![0.0; weights.len()],
            last_ends: vec![Nanos::ZERO; weights.len()],
            usage: Usage::default(),
            residents: Residents::default(),
            swept: Vec::new(),
            sweep: None,
        };
        // The host's request rate is not known yet.
        homes.give_least(LEAST_FIRST);
        homes.swept.clone_from(&homes.shares);
        homes
    }

    /// Returns the home of `extent`.
    pub(super) fn home(&self, extent: LogicalExtent) -> DeviceIndex {
        home(extent, &self.shares)
    }

    /// Notes where `extent` is now.
    pub(super) fn placed(&mut self, extent: LogicalExtent, device: Option<DeviceIndex>) {
        self.residents.placed(extent, device);
    }

    /// Moves home the extents of `done` that are elsewhere, as far as moves are allowed now. Returns true if any extent
    /// was not at home, or another one is moving: then the present response times say less about the shares.
    pub(super) fn move_home(
        &mut self,
        now: Nanos,
        done: &Completed,
        devices: &[DeviceView],
        wishes: &mut Wishes,
    ) -> bool {
        self.note_time(done);
        let mut astray = false;
        for extent in (done.first.0..done.first.0 + done.extents).map(LogicalExtent) {
            self.usage.note(extent);
            let home = self.home(extent);
            if home == done.device {
                continue;
            }
            if devices[usize::from(home.0)].is_full() && !self.is_moving(extent) {
                wishes.without_room += 1;
                self.make_room(now, home, done.device, devices, wishes);
            } else if devices[usize::from(home.0)].has_room() {
                astray = true;
                let between = (done.device, home);
                let has_turn = match self.relieves(between) {
                    true => {
                        self.relieving(done.device) < self.relieving_max(between.0, done.device, devices).max(MOVES_MAX)
                    }
                    false => self.ordinary_moves() < MOVES_MAX,
                };
                if now >= self.next_move && has_turn && !self.is_moving(extent) {
                    self.wish(now, WishedMove::among_requests(extent, home), done.device, wishes);
                }
            }
        }
        astray | self.sweep(now, done.device, devices, wishes)
    }

    /// Notes the time that a device took for a request of the host, without the time for requests ahead of it in the
    /// queue.
    fn note_time(&mut self, done: &Completed) {
        let before = self.last_ends[usize::from(done.device.0)];
        self.copy_ended(done);
        let sample = done.at.saturating_sub(done.sent.max(before)).0 as f64;
        let time = &mut self.times[usize::from(done.device.0)];
        *time += if *time == 0.0 { sample } else { NEWEST * (sample - *time) };
    }

    /// Notes the end of a copy's read or write: the host's requests had to wait for it.
    pub(super) fn copy_ended(&mut self, done: &Completed) {
        self.last_ends[usize::from(done.device.0)] = done.at;
    }

    /// Returns for each device whether it is far slower than the fastest one.
    pub(super) fn far_slower(&self) -> Vec<bool> {
        let known = self.times.iter().copied().filter(|time| *time > 0.0);
        let fastest = known.fold(f64::INFINITY, f64::min);
        self.times.iter().map(|time| *time > FAR_SLOWER * fastest).collect()
    }

    fn is_moving(&self, extent: LogicalExtent) -> bool {
        self.moving.iter().any(|moving| moving.extent == extent)
    }

    /// Returns the number of moves under way that relieve no slow device.
    fn ordinary_moves(&self) -> usize {
        self.moving.iter().filter(|moving| moving.relieves.is_none()).count()
    }

    /// Returns true if a move between these devices leaves one that is far slower than the other.
    fn relieves(&self, (from, to): (DeviceIndex, DeviceIndex)) -> bool {
        let [from, to] = [from, to].map(|device| self.times[usize::from(device.0)]);
        to > 0.0 && from > FAR_SLOWER * to
    }

    /// Returns the number of moves under way that relieve `from`.
    fn relieving(&self, from: DeviceIndex) -> usize {
        self.moving.iter().filter(|moving| moving.relieves == Some(from)).count()
    }

    /// Returns how many moves may relieve `from` at a time: as many as it has requests of the host. `ended` is the
    /// device that has just ended one.
    fn relieving_max(&self, from: DeviceIndex, ended: DeviceIndex, devices: &[DeviceView]) -> usize {
        let of_the_host = devices[usize::from(from.0)].under_way.saturating_sub(u32::from(from == ended)) as usize;
        let of_others = self.moving.len() - self.ordinary_moves() - self.relieving(from);
        of_the_host.min(RELIEVING_MAX.saturating_sub(of_others))
    }

    /// Returns true if an extent that is not in use may begin to move now: its devices are idle, or the pause after the
    /// last move is over, or it relieves a slow device. `ended` is the device that has just ended a request.
    fn may_move(
        &self,
        now: Nanos,
        (from, to): (DeviceIndex, DeviceIndex),
        ended: DeviceIndex,
        devices: &[DeviceView],
    ) -> bool {
        let ordinary = self.ordinary_moves();
        let is_due = || ordinary == 0 && now >= self.rests_until;
        let is_idle = |device: DeviceIndex| devices[usize::from(device.0)].under_way <= u32::from(device == ended);
        let has_turn = match self.relieves((from, to)) {
            true => self.relieving(from) < self.relieving_max(from, ended, devices).max(1),
            false => ordinary < MOVES_MAX && (is_due() || is_idle(to) && is_idle(from)),
        };
        now >= self.next_move && has_turn
    }

    /// Asks for a move away from `from`.
    fn wish(&mut self, now: Nanos, wished: WishedMove, from: DeviceIndex, wishes: &mut Wishes) {
        let relieves = self.relieves((from, wished.to)).then_some(from);
        self.moving.push(HomeMove { extent: wished.extent, since: now, relieves });
        self.next_move = now + self.interval;
        wishes.moves.push(wished);
    }

    /// Has an extent leave the device `full`, if a move may begin now: one that belongs elsewhere or is not in use.
    fn make_room(
        &mut self,
        now: Nanos,
        full: DeviceIndex,
        ended: DeviceIndex,
        devices: &[DeviceView],
        wishes: &mut Wishes,
    ) {
        let with_room = |device: &usize| devices[*device].has_room();
        let roomiest = (0..devices.len()).filter(with_room).max_by_key(|&device| devices[device].free_extents);
        let Some(roomiest) = roomiest.map(|device| DeviceIndex(device as u16)) else { return };
        if !self.may_move(now, (full, roomiest), ended, devices) {
            return;
        }
        let (shares, usage, moving) = (&self.shares, &self.usage, &self.moving);
        let leaves = |extent: LogicalExtent| {
            let home = home(extent, shares);
            let belongs_elsewhere = home != full && devices[usize::from(home.0)].has_room();
            let to = if belongs_elsewhere { Some(home) } else { (!usage.contains(extent)).then_some(roomiest) };
            to.filter(|_| !moving.iter().any(|moving| moving.extent == extent))
        };
        if let Some((extent, to)) = self.residents.next_to_leave(full, SWEEP_STEP, leaves) {
            self.wish(now, WishedMove::among_requests(extent, to), full, wishes);
        }
    }

    /// Moves the next extent whose home has changed, if a move may begin now. `ended` is the device that has just ended
    /// a request. Returns true if an extent moves.
    fn sweep(&mut self, now: Nanos, ended: DeviceIndex, devices: &[DeviceView], wishes: &mut Wishes) -> bool {
        if self.sweep.is_none() || now < self.next_move {
            return false;
        }
        let Some(HomeSweep { next, before }) = self.sweep.take() else { return false };
        let end = next.saturating_add(SWEEP_STEP).min(self.usage.end());
        let all_of_them = self.usage.first_uses() > SWEEP_UNUSED;
        let is_wanted = |extent: &LogicalExtent| all_of_them || self.usage.contains(*extent);
        let moves = |extent: LogicalExtent| {
            let to = self.home(extent);
            let from = before.iter().map(|shares| home(extent, shares)).find(|&from| from != to)?;
            (devices[usize::from(to.0)].has_room() && !self.is_moving(extent)).then_some((extent, from, to))
        };
        let found = (next..end).map(LogicalExtent).filter(is_wanted).find_map(moves);
        let may_move = found.filter(|&(_, from, to)| self.may_move(now, (from, to), ended, devices));
        let next = match (found, may_move) {
            (Some((waits, ..)), None) => waits.0,
            (Some((moves, ..)), Some(_)) => moves.0 + 1,
            (None, _) => end,
        };
        self.sweep = (next < self.usage.end()).then_some(HomeSweep { next, before });
        if let Some((extent, from, to)) = may_move {
            // A slow device always has requests of the host: with background priority, nothing would leave it.
            let wished = match self.relieves((from, to)) {
                true => WishedMove::among_requests(extent, to),
                false => WishedMove::in_background(extent, to),
            };
            self.wish(now, wished, from, wishes);
        }
        may_move.is_some()
    }

    /// Notes how a move has ended.
    pub(super) fn moved(&mut self, now: Nanos, extent: LogicalExtent, outcome: MoveOutcome) {
        if let Some(at) = self.moving.iter().position(|moving| moving.extent == extent) {
            let moved = self.moving.swap_remove(at);
            if moved.relieves.is_none() {
                self.rests_until = now + Nanos(now.saturating_sub(moved.since).0 / PAUSE_PART);
            }
        }
        match outcome {
            // A device that is full now is not asked again right away.
            MoveOutcome::NoRoom => self.next_move = now + Nanos(self.interval.0.saturating_mul(100)),
            MoveOutcome::NothingToDo => self.next_move = now,
            _ => {}
        }
    }

    /// Gives each device its least share, if the host sends `rate_per_s` requests per second.
    pub(super) fn keep_probing(&mut self, rate_per_s: f64) {
        self.give_least(self.probe_per_s / rate_per_s);
    }

    /// Makes the shares add up to one. None is less than `least`, or than half of an equal share if that is less.
    pub(super) fn give_least(&mut self, least: f64) {
        let least = least.min(0.5 / self.shares.len() as f64);
        self.least = least;
        let total: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share = (*share / total).max(least));
        let total: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share /= total);
        self.begin_sweep();
    }

    /// Begins a sweep if enough extents have another home than after the last one.
    fn begin_sweep(&mut self) {
        let gained = |(share, before): (&f64, &f64)| (share - before).max(0.0);
        let changed: f64 = self.shares.iter().zip(&self.swept).map(gained).sum();
        if changed > SWEEP_MIN {
            let mut before = self.sweep.take().map_or_else(Vec::new, |sweep| sweep.before);
            before.truncate(SWEEP_FOLLOWED - 1);
            before.insert(0, std::mem::replace(&mut self.swept, self.shares.clone()));
            self.sweep = Some(HomeSweep { next: 0, before });
        }
    }

    /// New devices begin with the least share.
    pub(super) fn devices_joined(&mut self, devices: usize) {
        self.shares.resize(devices, 0.0);
        self.swept.resize(devices, 0.0);
        self.times.resize(devices, 0.0);
        self.last_ends.resize(devices, Nanos::ZERO);
        self.give_least(self.least.max(LEAST_FIRST));
    }
}

/// Returns the home of `extent` according to `shares`.
fn home(extent: LogicalExtent, shares: &[f64]) -> DeviceIndex {
    let score = |device: usize| -draw(extent, device).ln() / shares[device];
    let scores = (0..shares.len()).map(|device| (score(device), device));
    let (_, device) = scores.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are devices");
    DeviceIndex(device as u16)
}

/// Returns a number in `(0, 1]` that is always the same for this extent and device.
fn draw(extent: LogicalExtent, device: usize) -> f64 {
    // SplitMix64.
    let mut bits = (u64::from(extent.0) << 16 | device as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}
