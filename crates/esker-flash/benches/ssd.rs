//! Simulation speed of drives, with full event timing, through the `Device` trait and the virtual driver.

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, Lba, Nanos, Observer, Precondition, Preset, Ratio, ReplaySettings,
    Request, Rng, Verdict, replay,
};
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_ftl::{Choice, FTLS, ParameterValue, WRITE_MODE_POLICIES};
use esker_nand::{ModeSettings, PoolScope, Scheduling, WriteModeSettings};
use esker_results::Report;
use esker_testkit::Bench;

const PAGE: u64 = 4096;
/// A smoke run only shows that everything works. It takes a small drive and few requests.
fn requests() -> u64 {
    if Bench::is_smoke() { 5_000 } else { 4_000_000 }
}
/// Blocks of a plane of a drive in a smoke run.
const SMOKE_BLOCKS: u32 = 32;
const DEPTH: usize = 32;

struct Successes;

impl<D: ?Sized> Observer<D> for Successes {
    fn completed(&mut self, _: Nanos, _: &Request, completion: &Completion) -> Verdict {
        assert!(completion.result.is_ok());
        Verdict::Continue
    }
}

fn agrawal(stated: impl Fn(&mut SsdSettings)) -> Ssd {
    let mut settings: SsdSettings = toml::from_str(PRESETS[0].toml).expect("presets are well-formed");
    if Bench::is_smoke() {
        settings.geometry.blocks_per_plane = SMOKE_BLOCKS;
    }
    stated(&mut settings);
    Ssd::new("flash", &settings, 1).expect("presets work")
}

/// The drive of Agrawal 2008 with the bit errors and the code of a worn drive: many pages take several decoding steps.
fn worn(stated: impl Fn(&mut SsdSettings)) -> Ssd {
    let preset = PRESETS.iter().find(|preset| preset.name == "tlc-data-centre-worn").expect("it is a preset");
    let worn: SsdSettings = toml::from_str(preset.toml).expect("presets are well-formed");
    agrawal(|settings| {
        settings.geometry.spare_size = worn.geometry.spare_size;
        (settings.ecc, settings.endurance_cycles) = (worn.ecc.clone(), worn.endurance_cycles);
        settings.wear = worn.wear;
        stated(settings);
    })
}

/// Random writes and reads on the drive of Agrawal 2008 with three write modes, once for each policy.
fn write_modes(spare: fn(&mut SsdSettings)) {
    for policy in WRITE_MODE_POLICIES {
        let drive = move || {
            agrawal(|settings| {
                spare(settings);
                let mode = |program, read| {
                    let [page_program, read] = [program, read].map(Nanos::from_micros);
                    let (page_read, decode) = (Some(read), Nanos::ZERO);
                    Some(ModeSettings { page_program, page_read, decode, raw_errors: 1.0, code: None })
                };
                let [low_cost, medium_cost, high_cost] = [mode(100, 80), mode(200, 60), mode(400, 40)];
                let policy = Choice::named(policy.name);
                settings.write_modes = Some(WriteModeSettings { policy, low_cost, medium_cost, high_cost });
            })
        };
        random_writes(&format!("spare factor 15 %, write modes {}", policy.name), drive);
        let filled = || condition(drive(), Precondition::Filled { utilisation: Ratio::ONE });
        let name = format!("random 4 KiB reads, write modes {}", policy.name);
        Bench::new(name).rate_with_setup("requests", filled, |mut ssd| {
            let pages = ssd.capacity().0 / PAGE;
            run(&mut ssd, requests(), |_, rng| Request::read(page_at(rng.below(pages)), Bytes(PAGE)))
        });
    }
}

fn condition(mut ssd: Ssd, condition: Precondition) -> Ssd {
    ssd.control(Nanos::ZERO, Control::Precondition(condition)).expect("drives can be preconditioned");
    ssd.control(Nanos::ZERO, Control::StartMeasuring).expect("drives can be measured");
    ssd
}

fn run(ssd: &mut Ssd, requests: u64, request: impl FnMut(u64, &mut Rng) -> Request) -> u64 {
    run_at(ssd, DEPTH, Nanos::ZERO, requests, request);
    requests
}

/// Serves `requests` requests from `start` on, always `depth` at a time. Returns when the last one ended.
fn run_at(
    ssd: &mut Ssd,
    depth: usize,
    start: Nanos,
    requests: u64,
    mut request: impl FnMut(u64, &mut Rng) -> Request,
) -> Nanos {
    let mut rng = Rng::new(7 + start.0);
    let arrivals = (0..requests).map(|index| Arrival { at: Nanos::ZERO, request: request(index, &mut rng) });
    let settings = ReplaySettings { start, ..ReplaySettings::closed(depth) };
    let end = replay(ssd, arrivals, &settings, &mut Successes).expect("drives go on");
    assert_eq!(end.completed, requests);
    end.last_event
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn describe(ssd: &Ssd) {
    let report = Report::of(ssd);
    let flash = report.devices["flash"].flash.clone().expect("it is a drive");
    println!(
        "    write amplification {:?}, {:.2} bytes per page, {:?}",
        flash.write_amplification, flash.simulator_bytes_per_page, flash.precondition
    );
    if let Some(ecc) = flash.ecc {
        println!("    reads by decoding step {:?}", ecc.reads_by_step);
    }
    if let Some(mapping) = flash.mapping {
        println!("    hit ratio {:?}, {mapping:?}", mapping.hit_ratio());
    }
}

/// Measures random writes of one page in the steady state.
fn random_writes(name: &str, build: impl Fn() -> Ssd) {
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    Bench::new(format!("random 4 KiB writes, steady, {name}")).rate_with_setup(
        "requests",
        || condition(build(), steady),
        |mut ssd| {
            let pages = ssd.capacity().0 / PAGE;
            let done = run(&mut ssd, requests(), |_, rng| Request::write(page_at(rng.below(pages)), Bytes(PAGE)));
            describe(&ssd);
            done
        },
    );
}

/// Returns the number of pages that preconditioning wrote.
fn written(ssd: &Ssd) -> u64 {
    let report = Report::of(ssd);
    let outcome = report.devices["flash"].flash.as_ref().and_then(|flash| flash.precondition);
    outcome.map_or(0, |outcome| outcome.filled_pages + outcome.overwritten_pages)
}

/// Returns the page operations of the array so far: reads, programs and erases, each counted as one.
fn page_operations(ssd: &Ssd) -> u64 {
    let report = Report::of(ssd);
    let flash = report.devices["flash"].flash.clone().expect("it is a drive");
    flash.reads.total() + flash.programs.total() + flash.erases
}

/// Measures random writes of one page to a share of the space: per request, and per page operation that they cause.
fn layer_writes(kind: &'static str, share: Ratio, requests: u64) {
    let requests = if Bench::is_smoke() { requests / 256 } else { requests };
    let setup = || {
        let filled = Precondition::Filled { utilisation: Ratio::ONE };
        let build = |settings: &mut SsdSettings| {
            settings.spare_factor = Some(Ratio::percent(15));
            settings.ftl = Choice::named(kind);
        };
        let mut ssd = condition(agrawal(build), filled);
        // Fills the logs with writes other than the ones that are measured.
        let pages = share.of(ssd.capacity().0 / PAGE);
        run(&mut ssd, requests, |_, rng| Request::write(page_at(pages - 1 - rng.below(pages)), Bytes(PAGE)));
        ssd.control(Nanos::ZERO, Control::StartMeasuring).expect("drives can be measured");
        ssd
    };
    let write = |ssd: &mut Ssd| {
        let pages = share.of(ssd.capacity().0 / PAGE);
        run(ssd, requests, |_, rng| Request::write(page_at(rng.below(pages)), Bytes(PAGE)))
    };
    let name = format!("random 4 KiB writes to {share} of the space, {kind}");
    Bench::new(name.clone()).rate_with_setup("requests", setup, |mut ssd| {
        let done = write(&mut ssd);
        describe(&ssd);
        done
    });
    Bench::new(name).rate_with_setup("page operations", setup, |mut ssd| {
        write(&mut ssd);
        page_operations(&ssd)
    });
}

/// Measures a map in flash: random pages under full event timing, uniform and with the locality of Zipf's law.
fn map_on_flash(spare: impl Fn(&mut SsdSettings) + Copy) {
    let build = move || {
        agrawal(|settings| {
            spare(settings);
            settings.ftl = Choice::named("dftl");
        })
    };
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    for (locality, exponent) in [("uniform", None), ("Zipf 0.99", Some(0.99))] {
        for (mix, reads) in [("writes", 0), ("reads", 100), ("70 % reads", 70)] {
            let name = format!("dftl, random 4 KiB {mix}, {locality}, cache of 1/32 of the map");
            Bench::new(name).rate_with_setup(
                "requests",
                || condition(build(), steady),
                |mut ssd| {
                    let pages = ssd.capacity().0 / PAGE;
                    let done = run(&mut ssd, requests(), |_, rng| {
                        let page = page_at(match exponent {
                            Some(exponent) => zipf(rng.unit(), exponent, pages),
                            None => rng.below(pages),
                        });
                        match rng.chance(reads, 100) {
                            true => Request::read(page, Bytes(PAGE)),
                            false => Request::write(page, Bytes(PAGE)),
                        }
                    });
                    describe(&ssd);
                    done
                },
            );
        }
    }
}

/// Measures requests like those of the Financial trace (Kim 2009, table 3.3): 91 % writes of 1 to 4 pages of 2 KiB, by
/// Zipf's law over 128 MiB, on an active region of 512 MiB with four channels, with 32 KiB for cached entries and logs
/// of 3 %.
fn financial(kind: &'static str) {
    let build = || {
        let preset = PRESETS.iter().find(|preset| preset.name == "kim-slc-32g").expect("it is a preset");
        let mut settings: SsdSettings = toml::from_str(preset.toml).expect("presets are well-formed");
        (settings.geometry.channels, settings.geometry.blocks_per_plane) = (4, 1067);
        settings.over_provisioning = Some(Ratio::percent(4));
        settings.ftl = Choice::named(kind);
        if kind == "dftl" {
            settings.ftl.parameters.insert("cache".to_string(), ParameterValue::Integer(32 << 10));
        }
        Ssd::new("flash", &settings, 1).expect("presets work")
    };
    let filled = Precondition::Filled { utilisation: Ratio::percent(25) };
    let requests = requests() / 2;
    let serve = |ssd: &mut Ssd, requests| {
        run(ssd, requests, |_, rng| {
            let pages = match rng.below(1000) {
                0..300 => 1,
                300..755 => 2,
                _ => 4,
            };
            // Requests are aligned to their length.
            let start = Lba(zipf(rng.unit(), 1.000_001, (128 << 10) / 2 / pages) * pages * 4);
            match rng.chance(9, 100) {
                true => Request::read(start, Bytes(pages * 2048)),
                false => Request::write(start, Bytes(pages * 2048)),
            }
        })
    };
    let setup = || {
        let mut ssd = condition(build(), filled);
        serve(&mut ssd, requests / 4);
        ssd.control(Nanos::ZERO, Control::StartMeasuring).expect("drives can be measured");
        ssd
    };
    Bench::new(format!("requests like Financial (Kim 2009, table 3.3), {kind}")).rate_with_setup(
        "requests",
        setup,
        |mut ssd| {
            let done = serve(&mut ssd, requests);
            describe(&ssd);
            done
        },
    );
}

/// Draws a page by Zipf's law (the continuous one, by inversion) from a uniform `unit`. The most popular pages are
/// scattered over the address space.
fn zipf(unit: f64, exponent: f64, pages: u64) -> u64 {
    let end = 1.0 - exponent;
    let rank = ((((pages as f64).powf(end) - 1.0) * unit + 1.0).powf(1.0 / end) - 1.0) as u64;
    (u128::from(rank) * 0x9e37_79b9_7f4a_7c15 % u128::from(pages)) as u64
}

/// Measures random writes of one page with and without a write buffer, in the steady state. The drive has a preset's
/// dies with few blocks, and the preset's pools unless `asked` names others. Besides the simulator's speed, it prints
/// how many writes per second the simulated drive does.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn buffered_writes(preset: &Preset, asked: Option<PoolScope>, depth: usize) {
    let mut settings: SsdSettings = toml::from_str(preset.toml).expect("presets are well-formed");
    let Some(buffer) = settings.write_buffer.take() else { return };
    settings.pool = asked.unwrap_or(settings.pool);
    let pools = asked.map_or_else(String::new, |scope| format!("{scope:?} pools, "));
    settings.geometry.blocks_per_plane = if Bench::is_smoke() { SMOKE_BLOCKS } else { 64 };
    let page = settings.geometry.page_size;
    // Enough requests that single victims do not change the result: if one pool spans the drive, all dies wait for each
    // victim.
    let requests = requests() / 8;
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    for write_buffer in [None, Some(buffer)] {
        let with = if write_buffer.is_some() { "with" } else { "without" };
        let name = format!("random writes, {}, {pools}depth {depth}, {with} its buffer", preset.name);
        let settings = SsdSettings { write_buffer, ..settings.clone() };
        let setup = || condition(Ssd::new("flash", &settings, 1).expect("presets work"), steady);
        Bench::new(name).rate_with_setup("requests", setup, |mut ssd| {
            let pages = ssd.capacity().0 / page.0;
            let write = |rng: &mut Rng| Request::write(Lba(rng.below(pages) * page.0 / 512), page);
            let begun = run_at(&mut ssd, depth, Nanos::ZERO, requests / 4, |_, rng| write(rng));
            let ended = run_at(&mut ssd, depth, begun, requests, |_, rng| write(rng));
            println!("    the drive does {:.0} writes per second", requests as f64 / (ended - begun).as_secs_f64());
            requests + requests / 4
        });
    }
}

fn page_at(page: u64) -> Lba {
    Lba(page * PAGE / 512)
}

fn main() {
    let spare = |settings: &mut SsdSettings| settings.spare_factor = Some(Ratio::percent(15));
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    Bench::new("precondition 32 GB to steady, spare factor 15 %").rate_with_setup(
        "page writes",
        || agrawal(spare),
        |ssd| {
            let ssd = condition(ssd, steady);
            describe(&ssd);
            written(&ssd)
        },
    );
    let fast = |settings: &mut SsdSettings| {
        spare(settings);
        settings.ftl = Choice::named("fast");
    };
    Bench::new("precondition 32 GB to steady, spare factor 15 %, fast").rate_with_setup(
        "page writes",
        || agrawal(fast),
        |ssd| {
            let ssd = condition(ssd, steady);
            describe(&ssd);
            written(&ssd)
        },
    );
    random_writes("spare factor 15 %", || agrawal(spare));
    random_writes("over-provisioning 15 %", || {
        agrawal(|settings| settings.over_provisioning = Some(Ratio::percent(15)))
    });
    random_writes("spare factor 15 %, one pool", || {
        agrawal(|settings| {
            spare(settings);
            settings.pool = PoolScope::Device;
        })
    });
    for scheduling in [Scheduling::ReadsFirst, Scheduling::OutOfOrder] {
        random_writes(&format!("spare factor 15 %, {scheduling:?}, event by event"), || {
            agrawal(|settings| {
                spare(settings);
                settings.array.scheduling = scheduling;
            })
        });
    }
    random_writes("spare factor 15 %, ecc of worn cells", || worn(spare));
    write_modes(spare);
    for layer in FTLS.iter().filter(|layer| !["page", "dftl"].contains(&layer.name)) {
        layer_writes(layer.name, Ratio::ONE, 1 << 18);
        layer_writes(layer.name, Ratio::percent(1), 1 << 21);
    }
    map_on_flash(spare);
    ["page", "dftl", "fast"].into_iter().for_each(financial);
    for preset in PRESETS.iter().filter(|preset| !Bench::is_smoke() || preset.name == "tlc-data-centre") {
        buffered_writes(preset, None, 512);
        buffered_writes(preset, Some(PoolScope::Device), 512);
    }
    for preset in PRESETS.iter().filter(|preset| ["tlc-data-centre", "mlc-3d-512g"].contains(&preset.name)) {
        buffered_writes(preset, None, 1);
        buffered_writes(preset, None, 32);
    }
    let filled = || condition(agrawal(spare), Precondition::Filled { utilisation: Ratio::ONE });
    Bench::new("random 4 KiB reads").rate_with_setup("requests", filled, |mut ssd| {
        let pages = ssd.capacity().0 / PAGE;
        run(&mut ssd, requests(), |_, rng| Request::read(page_at(rng.below(pages)), Bytes(PAGE)))
    });
    let filled_worn = || condition(worn(spare), Precondition::Filled { utilisation: Ratio::ONE });
    Bench::new("random 4 KiB reads, ecc of worn cells").rate_with_setup("requests", filled_worn, |mut ssd| {
        let pages = ssd.capacity().0 / PAGE;
        let done = run(&mut ssd, requests(), |_, rng| Request::read(page_at(rng.below(pages)), Bytes(PAGE)));
        describe(&ssd);
        done
    });
    for (name, write) in [("reads", false), ("writes", true)] {
        Bench::new(format!("sequential 64 KiB {name}")).rate_with_setup("requests", filled, |mut ssd| {
            let last = ssd.capacity().0 / PAGE - 16;
            run(&mut ssd, requests() / 16, |index, _| {
                let start = page_at(index * 16 % last);
                if write { Request::write(start, Bytes::kib(64)) } else { Request::read(start, Bytes::kib(64)) }
            })
        });
    }
}
