//! How long drives take to find their data again after a power failure: the 32 GB drive of Agrawal 2008, filled, then random
//! writes.

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, Lba, Nanos, Observer, Precondition, Ratio, ReplaySettings, Report,
    Request, Rng, Verdict, replay,
};
use esker_flash::{Choice, PRESETS, Parameter, PowerFailureSettings, Ssd, SsdSettings};

struct Ignore;

impl Observer for Ignore {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}

#[expect(clippy::print_stdout, reason = "its output is what it is for")]
fn main() {
    const WRITES: u64 = 1_000_000;
    for (ftl, summary, batch) in [
        ("page", false, false),
        ("page", true, false),
        ("dftl", false, false),
        ("dftl", false, true),
        ("dftl", true, true),
    ] {
        let mut settings: SsdSettings = toml::from_str(PRESETS[0].toml).expect("presets are well-formed");
        settings.spare_factor = Some(Ratio::percent(15));
        settings.block_summary = summary;
        settings.ftl = Choice::named(ftl);
        if batch {
            settings.ftl.parameters.insert("batch_evictions".to_string(), Parameter::Flag(true));
        }
        settings.power_failure = Some(PowerFailureSettings { after_requests: WRITES });
        let mut ssd = Ssd::new("flash", &settings, 1).expect("the settings work");
        let filled = Precondition::Filled { utilisation: Ratio::ONE };
        ssd.control(Nanos::ZERO, Control::Precondition(filled)).expect("drives can be filled");
        let pages = ssd.capacity().0 / 4096;
        let mut rng = Rng::new(3);
        let arrivals = (0..WRITES + 1000)
            .map(|_| Arrival { at: Nanos::ZERO, request: Request::write(Lba(rng.below(pages) * 8), Bytes(4096)) });
        replay(&mut ssd, arrivals, &ReplaySettings::closed(32), &mut Ignore).expect("drives go on");
        let mut report = Report::default();
        ssd.report(&mut report);
        let recovery = report.devices["flash"].flash.as_ref().and_then(|flash| flash.recovery).expect("power failed");
        println!("{ftl:5} summaries {summary:5} batches {batch:5} {recovery:?}");
    }
}
