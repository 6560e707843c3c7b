//! How fast drives are simulated, with full event timing, through the device contract and the virtual driver.

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, Lba, Nanos, Observer, Precondition, Ratio, ReplaySettings, Report,
    Request, Rng, Verdict, replay,
};
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_testkit::Bench;

const PAGE: u64 = 4096;
const REQUESTS: u64 = 4_000_000;
const DEPTH: usize = 32;

struct Count(u64);

impl Observer for Count {
    fn completed(&mut self, _: Nanos, _: &Request, completion: &Completion) -> Verdict {
        assert!(completion.result.is_ok());
        self.0 += 1;
        Verdict::Continue
    }
}

fn agrawal(stated: impl Fn(&mut SsdSettings)) -> Ssd {
    let mut settings: SsdSettings = toml::from_str(PRESETS[0].toml).expect("presets are well-formed");
    stated(&mut settings);
    Ssd::new("flash", &settings, 1).expect("presets work")
}

fn condition(mut ssd: Ssd, condition: Precondition) -> Ssd {
    ssd.control(Nanos::ZERO, Control::Precondition(condition)).expect("drives can be preconditioned");
    ssd.control(Nanos::ZERO, Control::StartMeasuring).expect("drives can be measured");
    ssd
}

fn run(ssd: &mut Ssd, requests: u64, mut request: impl FnMut(u64, &mut Rng) -> Request) -> u64 {
    let mut rng = Rng::new(7);
    let arrivals = (0..requests).map(|index| Arrival { at: Nanos::ZERO, request: request(index, &mut rng) });
    let mut count = Count(0);
    let end = replay(ssd, arrivals, &ReplaySettings::closed(DEPTH), &mut count).expect("drives go on");
    assert_eq!(end.completed, requests);
    count.0
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn describe(ssd: &Ssd) {
    let mut report = Report::default();
    ssd.report(&mut report);
    let flash = report.devices["flash"].flash.clone().expect("it is a drive");
    println!(
        "    write amplification {:?}, {:.2} bytes per page, {:?}",
        flash.write_amplification, flash.simulator_bytes_per_page, flash.precondition
    );
}

fn main() {
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    let filled = Precondition::Filled { utilisation: Ratio::ONE };
    let pages = |ssd: &Ssd| ssd.capacity().0 / PAGE;
    let page_at = |page: u64| (Lba(page * PAGE / 512), Bytes(PAGE));
    for (name, spare) in [("spare factor 15 %", true), ("over-provisioning 15 %", false)] {
        let build = || {
            agrawal(|settings| {
                if spare {
                    settings.spare_factor = Some(Ratio::percent(15));
                } else {
                    settings.over_provisioning = Some(Ratio::percent(15));
                }
            })
        };
        Bench::new(format!("precondition 32 GB to steady, {name}")).rate_with_setup("devices", build, |ssd| {
            describe(&condition(ssd, steady));
            1
        });
        Bench::new(format!("random 4 KiB writes, steady, {name}")).rate_with_setup(
            "requests",
            || condition(build(), steady),
            |mut ssd| {
                let pages = pages(&ssd);
                let done = run(&mut ssd, REQUESTS, |_, rng| {
                    let (start, length) = page_at(rng.below(pages));
                    Request::write(start, length)
                });
                describe(&ssd);
                done
            },
        );
    }
    let build = || condition(agrawal(|settings| settings.spare_factor = Some(Ratio::percent(15))), filled);
    Bench::new("random 4 KiB reads").rate_with_setup("requests", build, |mut ssd| {
        let pages = pages(&ssd);
        run(&mut ssd, REQUESTS, |_, rng| {
            let (start, length) = page_at(rng.below(pages));
            Request::read(start, length)
        })
    });
    Bench::new("sequential 64 KiB reads").rate_with_setup("requests", build, |mut ssd| {
        let last = pages(&ssd) - 16;
        run(&mut ssd, REQUESTS / 16, |index, _| Request::read(page_at(index * 16 % last).0, Bytes::kib(64)))
    });
    Bench::new("sequential 64 KiB writes").rate_with_setup("requests", build, |mut ssd| {
        let last = pages(&ssd) - 16;
        run(&mut ssd, REQUESTS / 16, |index, _| Request::write(page_at(index * 16 % last).0, Bytes::kib(64)))
    });
}
