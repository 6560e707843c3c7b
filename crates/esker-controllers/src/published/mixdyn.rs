//! MixDyn: each write goes where it is expected to be answered first.

mod adaptive_levelling;
mod busting;
mod predictors;
#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Lba, Nanos, Ratio, Request, RequestKind, Rng};
use esker_tier::{
    DeviceControl, DeviceIndex, DeviceView, Event, LIFE_PERIOD, LifeBudget, LogicalExtent, NewExtent, NewPolicy,
    Placement, PlacementEntry, PlacementError, Rewrite, StaticSplit, Wishes, check_device, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use adaptive_levelling::AdaptiveLevelling;
use busting::{Busting, BustingSettings};
use predictors::{DevicePredictor, PredictorKind, WINDOW_MAX};

/// The entry of [`super::PUBLISHED_PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "mixdyn",
    summary: "Each write goes to the device that is expected to answer it first; reads go where the data are",
    source: "Kim 2009, sections 5.3.1, 5.3.4 and 5.4.3: performance prediction, write regulation, adaptive \
             wear-levelling and fragmentation busting of MixDyn",
    parameters: ParameterSource::Schema(schema_of::<MixDynSettings>),
    capabilities: &[],
    build,
};

/// Settings of [`MixDyn`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct MixDynSettings {
    /// The device that is flash, by its place in `children`, from 0. All others are disks.
    flash: u16,
    /// What predicts the response times of the flash.
    flash_model: PredictorKind,
    /// What predicts those of the disks. The paper has `mean`, and names it as the reason why MixDyn is worse than
    /// flash alone on one of its workloads.
    disk_model: PredictorKind,
    /// Requests of the training phase on each device. Writes of new extents go to the devices in turns until each has
    /// had as many, which is not in the paper: it trains on half of the workload.
    training: u32,
    /// Weights of the devices for data from before the first request, as of `static-split`. Then writes that replace
    /// extents have their turns in the training phase, too. With an empty list, such data are placed in turns.
    weights: Vec<u32>,
    /// Requests in the window of the linear models, which is not in the paper.
    #[schemars(range(min = 1, max = 100_000))]
    window: u32,
    /// Whether a write to a part of an extent may go to another device with the rest, which is read first. Otherwise
    /// only a write that replaces all that an extent holds may.
    merges: bool,
    /// Share of the writes meant for the flash that go to a disk instead, chosen at random, so that the flash lasts
    /// longer (Red25: 25%, Red50: 50%).
    #[schemars(extend("most" = "100%"))]
    divert: Ratio,
    /// How long the flash should last. If left out, its wear is not looked at; nor can it be on a device that counts no
    /// erases.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1s"))]
    life: Option<Nanos>,
    /// What gives way to `life`.
    regulate: Regulated,
    /// The levelling of wear pauses and resumes by the erases of so long. Kim 2009 pauses it for prolonged activity,
    /// which is not to be a burst, and gives no time.
    #[schemars(extend("least" = "10s"))]
    prolonged: Nanos,
    /// Whether what small random writes have left on the flash moves to a disk while the host is idle (fragmentation
    /// busting; `{}`: as the defaults say). If left out, it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    busting: Option<BustingSettings>,
}

/// What gives way to the life that the flash should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Regulated {
    /// While more of its rated life is used up than the time since the start allows, writes meant for the flash go to a
    /// disk.
    Writes,
    /// While the flash is erased faster than that life allows, it moves no data to level wear.
    Levelling,
    /// Both.
    Both,
}

impl Default for MixDynSettings {
    fn default() -> Self {
        Self {
            flash: 0,
            flash_model: PredictorKind::Published,
            disk_model: PredictorKind::Mean,
            training: 10_000,
            weights: Vec::new(),
            window: 100,
            merges: false,
            divert: Ratio::ZERO,
            life: None,
            regulate: Regulated::Writes,
            prolonged: Nanos::from_secs(300),
            busting: None,
        }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: MixDynSettings = policy.options()?;
    let error = |key: &str, message: String| Err(PlacementError::new(key, message));
    if policy.devices < 2 {
        return error("kind", "`mixdyn` chooses between flash and a disk: it takes at least two devices".to_string());
    }
    check_device("flash", settings.flash, policy.devices)?;
    if settings.window == 0 || settings.window > WINDOW_MAX {
        return error("window", format!("`window` is {}; it has to be 1 to {WINDOW_MAX}", settings.window));
    }
    if settings.divert > Ratio::ONE {
        return error("divert", format!("`divert` is {}; it has to be at most 100%", settings.divert));
    }
    if settings.life.is_some_and(|life| LifeBudget::new(life).is_none()) {
        return error("life", "`life` is less than a second; flash lasts for years".to_string());
    }
    if settings.life.is_none() && settings.regulate != Regulated::Writes {
        return error(
            "regulate",
            "the levelling of wear adapts to a life that the flash should have: `life`".to_string(),
        );
    }
    if settings.prolonged < LIFE_PERIOD {
        let message = format!("`prolonged` is {}; wear is looked at every {LIFE_PERIOD}", settings.prolonged);
        return error("prolonged", message);
    }
    settings.busting.as_ref().map_or(Ok(()), BustingSettings::check)?;
    let weights = &settings.weights;
    let first = (!weights.is_empty()).then(|| StaticSplit::of_weights(weights, policy.devices)).transpose()?;
    Ok(Box::new(MixDyn { first, ..MixDyn::new(settings, policy.devices) }))
}

/// What a write leaves of the extent that it goes to.
#[derive(Clone, Copy, Debug)]
struct Rest {
    /// The device that holds it.
    from: usize,
    /// How long it should take to read it there.
    read_ms: f64,
    /// The write to another device, with the rest.
    merged: Request,
}

/// Predicts for each write how long every device would take for it, and chooses the shortest.
#[derive(Debug)]
struct MixDyn {
    settings: MixDynSettings,
    predictors: Vec<DevicePredictor>,
    /// Where data from before the first request lie, if not in turns.
    first: Option<StaticSplit>,
    /// The device of the last new extent of the training phase.
    turn: usize,
    /// Draws the writes that are diverted.
    rng: Rng,
    life: Option<LifeBudget>,
    levelling: Option<AdaptiveLevelling>,
    /// The device of the last write that was asked about, with its range. All extents that a write replaces as a whole
    /// go to one device, or it would become two requests.
    last: Option<(Lba, Bytes, usize)>,
    busting: Option<Busting>,
    /// The time of the last event, which is the time of each decision.
    now: Nanos,
}

impl MixDyn {
    fn new(settings: MixDynSettings, devices: usize) -> Self {
        let MixDynSettings { life, regulate, prolonged, flash, .. } = settings;
        let busting = settings.busting.clone().map(|settings| Busting::new(settings, flash));
        let mut policy = Self {
            settings,
            predictors: Vec::new(),
            first: None,
            turn: devices - 1,
            rng: Rng::derive(0, "diverted writes"),
            life: life.filter(|_| regulate != Regulated::Levelling).and_then(LifeBudget::new),
            levelling: life
                .filter(|_| regulate != Regulated::Writes)
                .map(|life| AdaptiveLevelling::new(life, prolonged)),
            last: None,
            busting,
            now: Nanos::ZERO,
        };
        policy.devices_joined(devices);
        policy
    }

    /// Returns true while a device has not had the requests of the training phase.
    fn is_training(&self) -> bool {
        self.predictors.iter().any(|of| of.learnt() < u64::from(self.settings.training))
    }

    /// Returns the device expected to answer `write` first, of those for which `takes` is true. A device other than
    /// that of `rest` has to wait until this has been read.
    fn fastest(&self, write: &Request, rest: Option<&Rest>, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let expected = |&device: &usize| match rest.filter(|rest| rest.from != device) {
            Some(rest) => rest.read_ms + self.predictors[device].predict(self.now, &rest.merged),
            None => self.predictors[device].predict(self.now, write),
        };
        let devices = (0..self.predictors.len()).filter(|&device| takes(device));
        devices.min_by(|one, other| expected(one).total_cmp(&expected(other)))
    }

    /// Returns what has to be read for `write` to go to another device; `None` if it replaces everything.
    fn rest(&self, write: &Rewrite<'_>) -> Option<Rest> {
        if write.rest == Bytes::ZERO {
            return None;
        }
        let from = usize::from(write.from.0);
        let read = Request { kind: RequestKind::Read, length: write.rest, ..*write.write };
        let merged = Request { length: write.write.length + write.rest, ..*write.write };
        Some(Rest { from, read_ms: self.predictors[from].predict(self.now, &read), merged })
    }

    /// Returns true if a write meant for the flash goes to a disk.
    fn is_diverted(&mut self) -> bool {
        let is_drawn = self.rng.chance(self.settings.divert.as_parts_per_billion(), Ratio::ONE.as_parts_per_billion());
        is_drawn || self.life.is_some_and(|life| life.is_overspent())
    }

    /// Returns the device for all extents that `write` replaces as a whole.
    fn choose_once(&mut self, write: &Request, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let (start, length) = (write.start, write.length);
        let last = self.last.filter(|last| (last.0, last.1) == (start, length) && takes(last.2));
        let chosen = match last {
            Some((.., device)) => device,
            None if self.is_training() => self.next_in_turn(takes)?,
            None => self.choose(write, None, takes)?,
        };
        self.last = Some((start, length, chosen));
        Some(chosen)
    }

    /// Returns the next device in turn of those for which `takes` is true.
    fn next_in_turn(&mut self, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.predictors.len();
        let next = (1..=count).map(|step| (self.turn + step) % count).find(|&device| takes(device));
        self.turn = next.unwrap_or(self.turn);
        next
    }

    /// Returns the device for `write`: the fastest, or, for what is diverted from the flash, the fastest disk.
    fn choose(&mut self, write: &Request, rest: Option<&Rest>, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let fastest = self.fastest(write, rest, &takes)?;
        let flash = usize::from(self.settings.flash);
        if fastest != flash || !self.is_diverted() {
            return Some(fastest);
        }
        Some(self.fastest(write, rest, |device| device != flash && takes(device)).unwrap_or(flash))
    }
}

impl Placement for MixDyn {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let has_room = |device: usize| devices[device].has_room();
        let chosen = match new.write {
            Some(write) => self.choose_once(write, has_room),
            None => {
                let wanted = self.first.as_mut().map(|first| usize::from(first.place(new, devices).0));
                wanted.filter(|&device| has_room(device)).or_else(|| self.next_in_turn(has_room))
            }
        };
        DeviceIndex(chosen.unwrap_or(0) as u16)
    }

    fn placed(&mut self, extent: LogicalExtent, _: Bytes, device: Option<DeviceIndex>) {
        self.busting.iter_mut().for_each(|busting| busting.placed(extent, device));
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        self.now = now;
        self.busting.iter_mut().for_each(|busting| busting.observe(now, event, devices, wishes));
        match *event {
            Event::Request { .. } => self.last = None,
            Event::Sent { device, request } if request.kind.has_data() => {
                self.predictors[usize::from(device.0)].sent(now, request);
            }
            Event::Completed(done) if done.for_host && done.kind.has_data() => {
                self.predictors[usize::from(done.device.0)].ended(&done);
            }
            Event::Device { device, telemetry } if device.0 == self.settings.flash => {
                self.life.iter_mut().for_each(|life| life.look(now, telemetry));
                let change = self.levelling.as_mut().and_then(|levelling| levelling.look(now, telemetry.life_used));
                let control = change.map(DeviceControl::PauseWearLevelling);
                wishes.controls.extend(control.map(|control| (device, control)));
            }
            // It moves no data to level wear.
            Event::Unsupported { device, .. } if device.0 == self.settings.flash => self.levelling = None,
            _ => {}
        }
    }

    fn telemetry_period(&self) -> Option<Nanos> {
        (self.life.is_some() || self.levelling.is_some()).then_some(LIFE_PERIOD)
    }

    fn observes(&self) -> bool {
        true
    }

    fn follows_requests(&self) -> bool {
        true
    }

    /// Without fragmentation busting, nothing moves but what the host writes.
    fn needs_free_extents(&self) -> bool {
        self.busting.is_some()
    }

    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let rest = self.rest(write);
        // Where all data lie on one device, the others would never be known without such writes.
        let takes_turns = self.first.is_some() && rest.is_none();
        if self.is_training() && !takes_turns {
            return None;
        }
        let from = usize::from(write.from.0);
        let takes = |device: usize| device == from || devices[device].has_room();
        let chosen = match rest {
            None => self.choose_once(write.write, takes),
            rest => self.choose(write.write, rest.as_ref(), takes),
        }?;
        (chosen != from).then_some(DeviceIndex(chosen as u16))
    }

    fn redirects(&self) -> bool {
        true
    }

    fn merges(&self) -> bool {
        self.settings.merges
    }

    fn devices_joined(&mut self, devices: usize) {
        let MixDynSettings { flash, flash_model, disk_model, training, window, .. } = self.settings;
        for device in self.predictors.len()..devices {
            let kind = if device == usize::from(flash) { flash_model } else { disk_model };
            self.predictors.push(DevicePredictor::new(kind, training, window));
        }
    }
}
