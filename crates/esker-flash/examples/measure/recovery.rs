//! Measures how long the 32 GB drive of Agrawal 2008 takes to find its data again after a power failure. It was filled,
//! and then written at random.

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, Lba, Nanos, Observer, Precondition, Ratio, ReplaySettings, Request,
    Rng, Verdict, replay,
};
use esker_flash::{PRESETS, PowerFailureSettings, Ssd, SsdSettings};
use esker_ftl::{Choice, FTLS, LayerCapability, ParameterValue};
use esker_results::{RecoveryReport, Report};

struct Ignore;

impl<D: ?Sized> Observer<D> for Ignore {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}

const WRITES: u64 = 1_000_000;

/// Fills the drive that `settings` describe, writes to random pages of it, and cuts the power.
fn measure(settings: SsdSettings) -> RecoveryReport {
    let mut ssd = Ssd::new("flash", &settings, 1).expect("the settings work");
    let filled = Precondition::Filled { utilisation: Ratio::ONE };
    ssd.control(Nanos::ZERO, Control::Precondition(filled)).expect("drives can be filled");
    let pages = ssd.capacity().0 / 4096;
    let mut rng = Rng::new(3);
    let arrivals = (0..WRITES + 1000)
        .map(|_| Arrival { at: Nanos::ZERO, request: Request::write(Lba(rng.below(pages) * 8), Bytes(4096)) });
    replay(&mut ssd, arrivals, &ReplaySettings::closed(32), &mut Ignore).expect("drives go on");
    let report = Report::of(&ssd);
    report.devices["flash"].flash.as_ref().and_then(|flash| flash.recovery).expect("power failed")
}

#[expect(clippy::print_stdout, reason = "its output is what it is for")]
pub(crate) fn run(arguments: &[String]) {
    // Arguments, all optional: the one layer to measure, the factor by which to multiply the number of blocks, and
    // "sudden" for a power failure with requests under way.
    let only = arguments.first();
    let times = arguments.get(1).map_or(1, |times| times.parse().expect("a whole number"));
    let sudden = arguments.get(2).is_some();
    let able = FTLS.iter().filter(|entry| entry.can(LayerCapability::Recover));
    for entry in able.filter(|entry| only.is_none_or(|only| only == entry.name)) {
        for (batch, summary) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut settings: SsdSettings = toml::from_str(PRESETS[0].toml).expect("presets are well-formed");
            settings.spare_factor = Some(Ratio::percent(15));
            settings.block_summary = summary;
            settings.geometry.blocks_per_plane *= times;
            settings.power_failure = Some(match sudden {
                false => PowerFailureSettings::after_requests(WRITES),
                true => PowerFailureSettings::after_operations(WRITES),
            });
            settings.ftl = Choice::named(entry.name);
            if batch {
                if entry.name != "dftl" {
                    continue;
                }
                settings.ftl.parameters.insert("batch_evictions".to_string(), ParameterValue::Flag(true));
            }
            let what = [(batch, ", batch_evictions"), (summary, ", block summaries")];
            let what: String = what.iter().filter(|(on, _)| *on).map(|(_, what)| *what).collect();
            let RecoveryReport { duration_s, reads, programs, erases, .. } = measure(settings);
            println!("| `{}`{what} | {reads} | {programs} | {erases} | {duration_s:.2} s |", entry.name);
        }
    }
}
