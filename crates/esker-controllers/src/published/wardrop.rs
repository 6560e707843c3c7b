//! Equation 3.1 as published, with its constants; the engine's `wardrop` is a variant without them.

use std::collections::VecDeque;

use esker_core::registry::ParameterSource;
use esker_core::{Nanos, Ratio};
use esker_results::TokenReport;
use esker_tier::{
    Completed, DeviceIndex, DeviceView, Event, LogicalExtent, MoveOutcome, NewExtent, NewPolicy, Placement,
    PlacementEntry, PlacementError, Rewrite, WishedMove, Wishes, checked_weights, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The entry of [`super::PUBLISHED_PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "wardrop-published",
    summary: "The rule that `wardrop` began as: a timer turns differences of response times, in ms, into tokens",
    source: "Wu 2011, section III.B: equation 3.1 with the constants of section III.C",
    parameters: ParameterSource::Schema(schema_of::<WardropPublishedSettings>),
    capabilities: &[],
    build,
};

/// Weight of a new sample in the average response times, from section III.B.
const NEWEST: f64 = 0.01;

/// Settings of [`WardropPublished`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct WardropPublishedSettings {
    /// Shares of the extents to begin with, one weight per device. With an empty list they are equal.
    weights: Vec<u32>,
    /// By which part a share changes for each millisecond that the device is faster or slower than the mean (alpha, in
    /// 1/ms).
    alpha: f64,
    /// Tokens for a change of a share from 0 to 1 (beta). Each token is worth one extent.
    beta: f64,
    /// The least share of a device. The paper only says that none can be zero.
    #[schemars(extend("least" = "0.1%", "most" = "50%"))]
    least: Ratio,
    /// Time between two computations of the shares, which is not in the paper.
    #[schemars(extend("least" = "1ns"))]
    period: Nanos,
    /// Whether a move waits for the host's requests, as published. Else it waits like one of them: see `wardrop`.
    background: bool,
    /// Of this many extents, those used last, some are moved.
    #[schemars(range(min = 1, max = 10_000))]
    recent: u32,
}

impl Default for WardropPublishedSettings {
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            alpha: 10.0,
            beta: 100.0,
            least: Ratio::percent(1),
            period: Nanos::from_secs(1),
            background: true,
            recent: 100,
        }
    }
}

/// Limit of `recent`: the list is searched at each access.
const RECENT_MAX: u32 = 10_000;

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: WardropPublishedSettings = policy.options()?;
    let error = |key: &str, message: String| Err(PlacementError::new(key, message));
    for (key, value) in [("alpha", settings.alpha), ("beta", settings.beta)] {
        if !(0.0..=1e9).contains(&value) {
            return error(key, format!("`{key}` is {value}; it has to be 0 to 1e9"));
        }
    }
    let least = settings.least.as_f64();
    if !(0.001..=0.5).contains(&least) {
        return error("least", format!("`least` is {}; it has to be 0.1% to 50%", settings.least));
    }
    if settings.period == Nanos::ZERO {
        return error("period", "`period` is 0; shares are computed once in some time".to_string());
    }
    if settings.recent == 0 || settings.recent > RECENT_MAX {
        return error("recent", format!("`recent` is {}; it has to be 1 to {RECENT_MAX}", settings.recent));
    }
    let weights = checked_weights(&settings.weights, policy.devices)?;
    Ok(Box::new(WardropPublished::new(settings, &weights)))
}

/// What is known about a device, and what is wanted from it.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceLoad {
    /// Average response time in ms; zero before the first request.
    average_ms: f64,
    /// Number of the host's requests that ended there in this period.
    requests: u32,
    /// P: the share that it should have.
    share: f64,
    /// P - Q: above zero for a device that should get more.
    change: f64,
    /// Number of extents that it should still get in this period.
    tokens: u32,
    /// By how many new extents it is behind its share.
    owed: f64,
}

/// Computes shares once in each period. A device that should have more gets tokens. New extents spend them first; the
/// rest let recently used extents move there.
#[derive(Debug)]
struct WardropPublished {
    settings: WardropPublishedSettings,
    loads: Vec<DeviceLoad>,
    /// Number of new extents in this period.
    allocated: u32,
    /// Number of tokens that moves may still spend in this period.
    for_moves: u32,
    /// Counts of all tokens so far.
    tokens: TokenReport,
    /// The most recently used extents with their devices, newest first.
    recent: VecDeque<(LogicalExtent, DeviceIndex)>,
    /// The extent that is moving: one at a time.
    moving: Option<LogicalExtent>,
    /// End of the period; `None` while there are no requests.
    timer: Option<Nanos>,
}

/// Equation 3.1 for any number of devices: P = Q + alpha (R - R_i) Q with R = sum of Q R_i. `found` has Q and R_i, in
/// ms, of each device. The printed equation has the absolute value of the difference, but the text says that a slower
/// device loses. Shares below `least` are raised to it, and all shares are then divided by their sum.
fn shares(found: &[(f64, f64)], alpha: f64, least: f64) -> Vec<f64> {
    let mean: f64 = found.iter().map(|(share, time)| share * time).sum();
    let least = least.min(1.0 / found.len() as f64);
    let wanted = found.iter().map(|(share, time)| (share + alpha * (mean - time) * share).max(least));
    let mut wanted: Vec<f64> = wanted.collect();
    let total: f64 = wanted.iter().sum();
    wanted.iter_mut().for_each(|share| *share /= total);
    wanted
}

impl WardropPublished {
    fn new(settings: WardropPublishedSettings, weights: &[u32]) -> Self {
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let found: Vec<_> = weights.iter().map(|&weight| (f64::from(weight) / total, 0.0)).collect();
        let shares = shares(&found, 0.0, settings.least.as_f64());
        let loads = shares.into_iter().map(|share| DeviceLoad { share, ..DeviceLoad::default() }).collect();
        Self {
            settings,
            loads,
            allocated: 0,
            for_moves: 0,
            tokens: TokenReport::default(),
            recent: VecDeque::new(),
            moving: None,
            timer: None,
        }
    }

    fn measure(&mut self, done: &Completed) {
        let load = &mut self.loads[done.device.0 as usize];
        let sample = done.at.saturating_sub(done.sent).0 as f64 / 1e6;
        let first = load.average_ms == 0.0;
        load.average_ms = if first { sample } else { load.average_ms + NEWEST * (sample - load.average_ms) };
        load.requests += 1;
        for extent in (done.first.0..done.first.0 + done.extents).map(LogicalExtent) {
            match self.recent.iter().position(|&(recent, _)| recent == extent) {
                Some(position) => drop(self.recent.remove(position)),
                None if self.recent.len() == self.settings.recent as usize => drop(self.recent.pop_back()),
                None => {}
            }
            self.recent.push_front((extent, done.device));
        }
    }

    /// Ends a period: computes new shares and tokens.
    fn balance(&mut self) {
        let requests: u32 = self.loads.iter().map(|load| load.requests).sum();
        if requests > 0 {
            let share = |load: &DeviceLoad| f64::from(load.requests) / f64::from(requests);
            let found: Vec<(f64, f64)> = self.loads.iter().map(|load| (share(load), load.average_ms)).collect();
            let wanted = shares(&found, self.settings.alpha, self.settings.least.as_f64());
            for (load, (wanted, (had, _))) in self.loads.iter_mut().zip(wanted.into_iter().zip(found)) {
                let change = wanted - had;
                let tokens = (change.max(0.0) * self.settings.beta).round() as u32;
                self.tokens.lapsed += u64::from(load.tokens);
                self.tokens.granted += u64::from(tokens);
                *load = DeviceLoad { share: wanted, change, tokens, requests: 0, ..*load };
            }
        }
        // Moves get the tokens that new extents will leave, if there are as many new extents as in the last period.
        let tokens = self.loads.iter().fold(0u32, |sum, load| sum.saturating_add(load.tokens));
        self.for_moves = tokens.saturating_sub(std::mem::take(&mut self.allocated));
    }

    /// Returns the device with the most tokens among those that have room.
    fn lightest(&self, devices: &[DeviceView]) -> Option<usize> {
        let with_room = (0..self.loads.len()).filter(|&device| devices[device].has_room());
        with_room.filter(|&device| self.loads[device].tokens > 0).max_by_key(|&device| self.loads[device].tokens)
    }

    fn is_heavy(&self, device: DeviceIndex) -> bool {
        self.loads[device.0 as usize].change < 0.0
    }

    /// Moves the most recently used extent on a device that should have less, if there is a token for it.
    fn move_one(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        if self.for_moves == 0 || self.moving.is_some() {
            return;
        }
        let Some(to) = self.lightest(devices) else {
            let is_wanted = |(load, view): (&DeviceLoad, &DeviceView)| load.tokens > 0 && view.is_full();
            wishes.without_room += u64::from(self.loads.iter().zip(devices).any(is_wanted));
            return;
        };
        let Some(position) = self.recent.iter().position(|&(_, device)| self.is_heavy(device)) else { return };
        let (extent, _) = self.recent.remove(position).expect("it was found there");
        self.for_moves -= 1;
        self.loads[to].tokens -= 1;
        self.tokens.moves += 1;
        self.moving = Some(extent);
        let to = DeviceIndex(to as u16);
        wishes.moves.push(match self.settings.background {
            true => WishedMove::in_background(extent, to),
            false => WishedMove::among_requests(extent, to),
        });
    }

    /// Returns the next device by shares: each device is owed its share of every new extent.
    fn by_shares(&mut self, devices: &[DeviceView]) -> usize {
        self.loads.iter_mut().for_each(|load| load.owed += load.share);
        let room = |device: &usize| devices[*device].has_room();
        let owed = |one: &usize, other: &usize| self.loads[*one].owed.total_cmp(&self.loads[*other].owed);
        // Of equal devices, the first.
        let chosen = (0..self.loads.len()).rev().filter(room).max_by(owed).unwrap_or(0);
        self.loads[chosen].owed -= 1.0;
        chosen
    }
}

impl Placement for WardropPublished {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let lightest = if new.write.is_some() { self.lightest(devices) } else { None };
        self.allocated = self.allocated.saturating_add(u32::from(new.write.is_some()));
        let device = match lightest {
            Some(device) => {
                self.loads[device].tokens -= 1;
                self.tokens.new_extents += 1;
                device
            }
            None => self.by_shares(devices),
        };
        DeviceIndex(device as u16)
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            // Without requests there is no timer: nothing moves while the host is idle.
            Event::Request { request, .. } if request.kind.has_data() && self.timer.is_none() => {
                let at = now + self.settings.period;
                self.timer = Some(at);
                wishes.wake_at = Some(at);
            }
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => {
                self.measure(&done);
                self.move_one(devices, wishes);
            }
            Event::Moved { extent, outcome } if self.moving == Some(extent) => {
                self.moving = None;
                // Requests during the copy went to the old device.
                self.recent.retain(|&(recent, _)| recent != extent);
                if outcome == MoveOutcome::NoRoom {
                    self.for_moves = 0;
                }
                self.move_one(devices, wishes);
            }
            Event::Timer => match self.timer {
                Some(at) if at > now => wishes.wake_at = Some(at),
                Some(_) => {
                    self.timer = None;
                    self.balance();
                    self.move_one(devices, wishes);
                }
                None => {}
            },
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces an extent needs no copy, only a token.
    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let to = self.lightest(devices).filter(|_| self.is_heavy(write.from))?;
        self.loads[to].tokens -= 1;
        self.tokens.redirects += 1;
        Some(DeviceIndex(to as u16))
    }

    fn redirects(&self) -> bool {
        true
    }

    fn tokens(&self) -> Option<TokenReport> {
        Some(self.tokens)
    }

    /// A new device begins with the least share.
    fn devices_joined(&mut self, devices: usize) {
        self.loads.resize(devices, DeviceLoad::default());
        let found: Vec<_> = self.loads.iter().map(|load| (load.share, 0.0)).collect();
        let shares = shares(&found, 0.0, self.settings.least.as_f64());
        self.loads.iter_mut().zip(shares).for_each(|(load, share)| load.share = share);
    }
}
