//! An emulated device as what a server serves.

use esker_core::{Bytes, Nanos, Ratio, Request, Tag};
use esker_serve::{ControlError, Metrics, Served, ServingStatus};
use esker_volume::{Buffer, Clock, Reply, ReplyData};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::device::EmulatedDevice;
use crate::failing::Failing;
use crate::status::EmulationServerStatus;

/// What the server of an emulated device is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EmulationOperation {
    /// The [`EmulationServerStatus`].
    Status,
    /// Everything takes this many times as long as the device's settings say.
    Slow {
        /// One restores the device's speed.
        factor: Ratio,
    },
    /// Requests fail, those under way included.
    Fail {
        /// Which.
        requests: Failing,
    },
    /// Requests fail no more.
    Repair,
    /// The power fails: all connections are closed, and what was not flushed is lost in part.
    PowerCut {
        /// The power comes back after this time; without it, with [`Self::PowerOn`].
        #[serde(rename = "for")]
        off: Option<Nanos>,
    },
    /// The power comes back.
    PowerOn,
}

impl<C: Clock> EmulatedDevice<C> {
    fn perform_operation(
        &mut self,
        operation: EmulationOperation,
        serving: &ServingStatus,
    ) -> Result<Value, ControlError> {
        match operation {
            EmulationOperation::Status => {
                let status = EmulationServerStatus { emulation: self.status(), serving: serving.clone() };
                return serde_json::to_value(status).map_err(|error| ControlError::new(error.to_string()));
            }
            EmulationOperation::Slow { factor } => self.slow(factor).map_err(|error| ControlError::of(&error))?,
            EmulationOperation::Fail { requests } => self.fail(requests),
            EmulationOperation::Repair => self.fail(Failing::None),
            EmulationOperation::PowerCut { off } => self
                .cut_power(off)
                .map_err(|error| ControlError::new(format!("the data that were lost cannot be written: {error}")))?,
            EmulationOperation::PowerOn => self.power_on(),
        }
        Ok(Value::Null)
    }
}

impl<C: Clock> Served for EmulatedDevice<C> {
    type Operation = EmulationOperation;

    fn capacity(&self) -> Bytes {
        Self::capacity(self)
    }
    fn description(&self) -> String {
        format!("emulated by esker: {}", self.name())
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn is_reachable(&self) -> bool {
        self.has_power()
    }
    fn buffer(&mut self, length: usize) -> Buffer {
        Self::buffer(self, length)
    }
    fn submit(&mut self, tag: Tag, request: Request, data: Buffer) {
        Self::submit(self, tag, request, data);
    }
    fn step(&mut self) {
        Self::step(self);
    }
    fn next_reply(&mut self) -> Option<Reply> {
        Self::next_reply(self)
    }
    fn recycle(&mut self, data: ReplyData) {
        Self::recycle(self, data);
    }
    fn written_run(&self, from: Bytes, length: Bytes) -> (Bytes, bool) {
        Self::written_run(self, from, length)
    }
    /// What the simulated device does for itself does not have to end.
    fn is_busy(&self) -> bool {
        false
    }
    fn next_event(&self) -> Nanos {
        Self::next_event(self)
    }

    fn is_punctual(&self) -> bool {
        true
    }

    fn operate(
        &mut self,
        _: u32,
        operation: EmulationOperation,
        serving: &ServingStatus,
    ) -> Option<Result<Value, ControlError>> {
        Some(self.perform_operation(operation, serving))
    }

    fn next_answer(&mut self) -> Option<(u32, Result<Value, ControlError>)> {
        None
    }

    fn add_figures(&self, figures: &mut Metrics) {
        let status = self.status();
        let (times, punctuality) = (&status.response_times, &status.punctuality);
        figures.single("esker_power", "gauge", "1 while the emulated device has power.", u64::from(status.has_power));
        figures.single("esker_power_cuts_total", "counter", "How often the power was cut.", status.power_cuts);
        let volatile = status.volatile_bytes;
        figures.single("esker_volatile_bytes", "gauge", "Bytes that a power cut would lose, at most.", volatile);
        figures.family("esker_response_time_p99_ns", "gauge", "99th percentile of simulated response times.");
        for (kind, times) in [("read", &times.reads), ("write", &times.writes), ("other", &times.others)] {
            figures.figure("esker_response_time_p99_ns", &[("kind", kind)], nanos(times.p99_us));
        }
        let late = nanos(punctuality.lateness.p99_us);
        figures.single("esker_lateness_p99_ns", "gauge", "99th percentile of how late answers were.", late);
        let keeps_up = u64::from(punctuality.keeps_up);
        figures.single("esker_keeps_up", "gauge", "1 while this machine keeps up with the device.", keeps_up);
    }
}

fn nanos(micros: f64) -> u64 {
    (micros * 1e3).round() as u64
}
