//! What an engine and its children did, for results.

use esker_core::{Device, DeviceState, LatencyHistogram, Nanos};
use esker_results::{
    ChildReport, ChildResponses, ChildState, Composite, DeviceReport, ExtentPlaces, LatencySummary, Report, Reporting,
};
use esker_tier::{DeviceIndex, Engine};

use super::EngineDevice;

impl<E: Engine> Reporting for EngineDevice<E> {
    fn report(&self, into: &mut Report) {
        self.world.children.iter().for_each(|(device, _)| device.report(into));
        let total = self.world.responses.iter().map(LatencyHistogram::count).sum::<u64>().max(1) as f64;
        let children = (0..self.world.names.len()).zip(self.world.children.iter()).map(|(index, (_, requests))| {
            let responses = &self.world.responses[index];
            let (share, response_time) = (responses.count() as f64 / total, LatencySummary::of(responses));
            let drained_at_s = self.world.drained_at.get(index).copied().flatten().map(Nanos::as_secs_f64);
            // Those that have not joined are not known to the engine.
            let has_joined = index < self.world.joined;
            let state =
                has_joined.then(|| self.engine.machine().device_state(DeviceIndex(index as u16))).and_then(child_state);
            (self.world.names[index].clone(), ChildReport { share, requests, response_time, state, drained_at_s })
        });
        let mut report = DeviceReport {
            kind: self.kind.to_string(),
            capacity_bytes: self.capacity().0,
            requests: self.requests,
            children: children.collect(),
            ..DeviceReport::default()
        };
        self.engine.machine().report(&mut report);
        into.add(&self.name, report);
    }

    fn composite(&self) -> Option<&dyn Composite> {
        Some(self)
    }
}

impl<E: Engine> Composite for EngineDevice<E> {
    fn child_responses(&self) -> Vec<ChildResponses> {
        let of = |times: &LatencyHistogram| ChildResponses { requests: times.count(), nanoseconds: times.sum() };
        self.world.responses.iter().map(of).collect()
    }

    fn extent_places(&self) -> Option<&dyn ExtentPlaces> {
        self.engine.machine().extent_places()
    }
}

const fn child_state(state: DeviceState) -> Option<ChildState> {
    match state {
        DeviceState::Online => None,
        DeviceState::ReadOnly => Some(ChildState::ReadOnly),
        DeviceState::Failed => Some(ChildState::Failed),
    }
}
