//! Non-hierarchical caching: once the cache has what is used, the backing device serves a share of the hits.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};
use esker_core::{Bytes, Nanos, Ratio};

use super::{HitRouting, RoutingEntry};

pub(super) const ENTRY: RoutingEntry = RoutingEntry {
    name: "orthus",
    summary: "once misses are steady, admission stops, and the share of hits for the backing device is tuned",
    source: "Wu et al. 2021 (Orthus, non-hierarchical caching), with windows of requests instead of times",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "goal",
            meaning: "what a share is judged by: the mean response time, or bytes a second, as in Orthus-CAS",
            value: Accepted::OneOf(&["response-time", "throughput"]),
        },
        // Orthus-CAS measures for 5 ms: 1,000 requests where there are 200,000 a second.
        Parameter {
            name: "window",
            meaning: "requests for which a share is measured",
            value: Accepted::Count { default: Fallback::Value(1000), least: 1, most: 1_000_000_000 },
        },
        // Orthus-CAS has 1%, which disappears in the noise of 1,000 requests.
        share("step", "how much of the hits a step of the tuning adds or takes away", 2, [1, 100]),
        share("period", "reads for a miss ratio before admission stops, as a share of the slots", 100, [1, 10_000]),
        share(
            "steady",
            "misses are steady if their ratio changes by this at most from one period to the next",
            1,
            [0, 100],
        ),
        share("misses_max", "nothing is routed while a larger share of the reads misses", 20, [0, 100]),
        share(
            "change",
            "admission goes on if the miss ratio of a window differs by more from the steady one",
            20,
            [0, 100],
        ),
    ]),
    capabilities: &[],
    build: |slots, parameters| Some(Box::new(Orthus::new(slots, parameters))),
};

const fn share(name: &'static str, meaning: &'static str, percent: u64, [least, most]: [u64; 2]) -> Parameter {
    let (default, least, most) = (Ratio::percent(percent), Ratio::percent(least), Ratio::percent(most));
    Parameter { name, meaning, value: Accepted::Share { default, least, most } }
}

/// How often tuning may end with nothing routed before the cache becomes a plain one again, beside the first time.
/// Orthus-CAS has 1. With exponential service times, noise hides the gain of the first step one time in three.
const CHANCES: u32 = 3;

/// What the tuning tries to make best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TuningGoal {
    ResponseTime,
    Throughput,
}

/// Fills the cache like any other until the miss ratio is steady. Then no line that a read misses enters any more, and
/// [`Tuning`] looks for the best share of hits for the backing device. The cache is filled again when its misses are no
/// longer those that it was tuned for, or when tuning finds again and again that the flash is best alone.
#[derive(Debug)]
struct Orthus {
    goal: TuningGoal,
    /// Requests in a window.
    window: u64,
    /// Reads of lines in a period.
    period: u64,
    steady: f64,
    misses_max: f64,
    change: f64,
    step: Ratio,
    stage: OrthusStage,
    lookups: Lookups,
    measured: WindowSum,
    /// Parts per billion of a read that are due to the backing device.
    due: u64,
}

#[derive(Debug)]
enum OrthusStage {
    /// A plain cache. `last` is the miss ratio of the last period.
    Filling { last: Option<f64> },
    /// No line enters for a read. `misses` is the steady miss ratio.
    Tuning { misses: f64, tuning: Tuning },
}

/// Reads of lines since the last miss ratio.
#[derive(Clone, Copy, Debug, Default)]
struct Lookups {
    all: u64,
    missed: u64,
}

impl Lookups {
    fn miss_ratio(self) -> f64 {
        self.missed as f64 / self.all as f64
    }
}

/// Requests that have ended since a window began.
#[derive(Clone, Copy, Debug, Default)]
struct WindowSum {
    since: Nanos,
    requests: u64,
    bytes: u64,
    response: u64,
}

impl WindowSum {
    /// Returns how good the window is at `now`: the more the better.
    fn value(&self, now: Nanos, goal: TuningGoal) -> f64 {
        match goal {
            TuningGoal::ResponseTime => -(self.response as f64 / self.requests as f64),
            TuningGoal::Throughput => self.bytes as f64 / now.saturating_sub(self.since).0.max(1) as f64,
        }
    }
}

impl Orthus {
    fn new(slots: u32, parameters: Parameters<'_>) -> Self {
        let goal =
            if parameters.name("goal") == "throughput" { TuningGoal::Throughput } else { TuningGoal::ResponseTime };
        let share = |name| parameters.share(name).as_f64();
        Self {
            goal,
            window: parameters.count("window"),
            period: parameters.share("period").of(u64::from(slots)).max(1),
            steady: share("steady"),
            misses_max: share("misses_max"),
            change: share("change"),
            step: parameters.share("step"),
            stage: OrthusStage::Filling { last: None },
            lookups: Lookups::default(),
            measured: WindowSum::default(),
            due: 0,
        }
    }

    fn begin(&mut self, stage: OrthusStage) {
        self.stage = stage;
        self.lookups = Lookups::default();
        self.due = 0;
    }

    /// Looks at the miss ratio at the end of a period or, if admission has stopped, of a window. A window in which few
    /// lines were read says nothing about misses.
    fn judge_misses(&mut self) {
        let misses = self.lookups.miss_ratio();
        match &mut self.stage {
            OrthusStage::Filling { last } if self.lookups.all >= self.period => {
                let is_steady = last.is_some_and(|last| (misses - last).abs() <= self.steady);
                *last = Some(misses);
                self.lookups = Lookups::default();
                if is_steady && misses <= self.misses_max {
                    self.begin(OrthusStage::Tuning { misses, tuning: Tuning::new(self.step) });
                }
            }
            OrthusStage::Tuning { misses: steady, .. } if self.lookups.all >= self.window => {
                let has_changed = misses > self.misses_max || (misses - *steady).abs() > self.change;
                self.lookups = Lookups::default();
                if has_changed {
                    self.begin(OrthusStage::Filling { last: None });
                }
            }
            OrthusStage::Filling { .. } | OrthusStage::Tuning { .. } => {}
        }
    }
}

impl HitRouting for Orthus {
    fn looked_up(&mut self, is_hit: bool) {
        self.lookups.all += 1;
        self.lookups.missed += u64::from(!is_hit);
    }

    fn ended(&mut self, now: Nanos, bytes: Bytes, response: Nanos) {
        self.measured.requests += 1;
        self.measured.bytes += bytes.0;
        self.measured.response += response.0;
        if self.measured.requests < self.window {
            return;
        }
        let value = self.measured.value(now, self.goal);
        self.measured = WindowSum { since: now, ..WindowSum::default() };
        if let OrthusStage::Tuning { tuning, .. } = &mut self.stage
            && tuning.learn(value) == TuningOutcome::FlashAlone
        {
            return self.begin(OrthusStage::Filling { last: None });
        }
        self.judge_misses();
    }

    fn admits(&self) -> bool {
        matches!(self.stage, OrthusStage::Filling { .. })
    }

    /// Reads are routed at even distances, and not by chance as in Orthus-CAS: a window measures the share itself.
    fn routes(&mut self) -> bool {
        self.due += self.share().as_parts_per_billion();
        let is_due = self.due >= Ratio::ONE.as_parts_per_billion();
        if is_due {
            self.due -= Ratio::ONE.as_parts_per_billion();
        }
        is_due
    }

    fn share(&self) -> Ratio {
        match &self.stage {
            OrthusStage::Filling { .. } => Ratio::ZERO,
            OrthusStage::Tuning { tuning, .. } => tuning.share(),
        }
    }
}

/// What a window has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TuningOutcome {
    GoesOn,
    /// The flash has been found best alone more often than there are chances.
    FlashAlone,
}

/// Looks for the best share in rounds. A round measures the present share, the one a step below, and the one a step
/// above, and moves on in the direction that is better until no neighbour is. Then the next round measures anew.
#[derive(Debug)]
struct Tuning {
    step: Ratio,
    /// The present share in steps.
    at: u32,
    /// The steps that make the largest share.
    most: u32,
    /// What the shares a step below, at and a step above the present one are worth; `None` if not measured yet.
    values: [Option<f64>; 3],
    chances: u32,
}

/// The order in which a round measures, as places in `values`.
const MEASURED: [usize; 3] = [1, 0, 2];

impl Tuning {
    fn new(step: Ratio) -> Self {
        let most = Ratio::ONE.as_parts_per_billion().div_ceil(step.as_parts_per_billion()) as u32;
        let mut tuning = Self { step, at: 0, most, values: [None; 3], chances: CHANCES };
        tuning.set_values([None; 3]);
        tuning
    }

    /// Keeps the values of the shares around the present one. There is none below nothing or above everything.
    fn set_values(&mut self, values: [Option<f64>; 3]) {
        let [less, same, more] = values;
        let worst = Some(f64::NEG_INFINITY);
        let less = if self.at == 0 { worst } else { less };
        self.values = [less, same, if self.at == self.most { worst } else { more }];
    }

    /// Returns the place in `values` that is measured now.
    fn place(&self) -> usize {
        MEASURED.into_iter().find(|&place| self.values[place].is_none()).expect("a round ends once it has measured")
    }

    /// Returns the share that is measured now.
    fn share(&self) -> Ratio {
        let steps = u64::from(self.at) + self.place() as u64 - 1;
        Ratio::parts_per_billion(self.step.as_parts_per_billion() * steps).min(Ratio::ONE)
    }

    /// Takes the value of the share that was measured.
    fn learn(&mut self, value: f64) -> TuningOutcome {
        self.values[self.place()] = Some(value);
        let [Some(less), Some(same), Some(more)] = self.values else { return TuningOutcome::GoesOn };
        if same >= less && same >= more {
            return self.end_round();
        }
        if less >= more {
            self.at -= 1;
            self.set_values([None, Some(less), Some(same)]);
        } else {
            self.at += 1;
            self.set_values([Some(same), Some(more), None]);
        }
        if self.at == 0 || self.at == self.most { self.end_round() } else { TuningOutcome::GoesOn }
    }

    fn end_round(&mut self) -> TuningOutcome {
        self.set_values([None; 3]);
        if self.at > 0 {
            return TuningOutcome::GoesOn;
        }
        match self.chances.checked_sub(1) {
            Some(left) => {
                self.chances = left;
                TuningOutcome::GoesOn
            }
            None => TuningOutcome::FlashAlone,
        }
    }
}
