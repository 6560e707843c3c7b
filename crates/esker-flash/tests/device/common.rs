//! Helpers of the integration tests.

use esker_core::{
    Arrival, Completion, Control, Device, DeviceError, Nanos, Observer, Precondition, Ratio, ReplayEnd, ReplaySettings,
    Request, Verdict, replay,
};
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_results::{FlashReport, Report, RequestStatistics};

/// Returns the settings of a preset.
pub(crate) fn preset(name: &str) -> SsdSettings {
    let preset = PRESETS.iter().find(|preset| preset.name == name).expect("there is such a preset");
    toml::from_str(preset.toml).expect("presets are well-formed")
}

/// Settings of one package of the drive of Agrawal 2008, with fewer blocks.
pub(crate) fn one_package(dies: u32) -> SsdSettings {
    let mut settings = preset("samsung-k9xxg08-slc-32g");
    settings.geometry.channels = 1;
    settings.geometry.dies_per_package = dies;
    settings.geometry.planes_per_die = 1;
    settings.geometry.blocks_per_plane = 64;
    settings
}

/// Builds a drive whose host space was written once.
pub(crate) fn filled(settings: &SsdSettings) -> Ssd {
    let mut ssd = Ssd::new("flash", settings, 1).expect("the settings work");
    let condition = Precondition::Filled { utilisation: Ratio::ONE };
    ssd.control(Nanos::ZERO, Control::Precondition(condition)).expect("drives can be filled");
    ssd.control(Nanos::ZERO, Control::StartMeasuring).expect("drives can be measured");
    ssd
}

/// The result of a run.
pub(crate) struct Run {
    pub(crate) statistics: RequestStatistics,
    pub(crate) last_event: Nanos,
}

struct Watch {
    statistics: RequestStatistics,
    last: Nanos,
}

impl<D: ?Sized> Observer<D> for Watch {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        assert!(completion.at >= self.last, "simulated time went back");
        assert!(completion.service_start >= arrival && completion.service_start <= completion.at);
        let expected = matches!(
            completion.result,
            Ok(())
                | Err(DeviceError::OutOfRange { .. }
                    | DeviceError::ReadOnly
                    | DeviceError::Medium { .. }
                    | DeviceError::Interrupted)
        );
        assert!(expected, "{request:?} ended with {:?}", completion.result);
        self.last = completion.at;
        self.statistics.record(arrival, request.kind, completion);
        Verdict::Continue
    }
}

/// Feeds `arrivals` to `ssd` until all are served.
pub(crate) fn run(ssd: &mut Ssd, arrivals: impl IntoIterator<Item = Arrival>, settings: &ReplaySettings) -> Run {
    let mut watch = Watch { statistics: RequestStatistics::default(), last: Nanos::ZERO };
    let end = replay(ssd, arrivals, settings, &mut watch).expect("time goes on");
    assert_eq!(end.end, ReplayEnd::Complete);
    assert_eq!(end.arrived, end.completed);
    Run { statistics: watch.statistics, last_event: end.last_event }
}

/// Returns the drive's report.
pub(crate) fn report(ssd: &Ssd) -> FlashReport {
    let report = Report::of(ssd);
    report.devices["flash"].flash.clone().expect("drives report on flash")
}
