//! Compares the part of a drive that studies simulate with the whole drive: the table of docs/studies.md.
//!
//! `ESKER_SOAK=2 cargo test -p esker-study --lib parts -- --nocapture` prints it.

use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::Market;
use esker_core::{
    Arrival, Bytes, Completion, Control, Device, LatencyHistogram, Lba, Nanos, Observer, Precondition, Ratio,
    ReplaySettings, Request, RequestKind, Rng, Verdict, replay,
};
use esker_flash::{Ssd, SsdSettings};
use esker_results::Report;
use esker_results::study::{Budgets, Candidate};
use esker_sim::{DeviceDescription, PreconditionKind, System};

use crate::brute_force_tests::{settings, traces};
use crate::design::Design;
use crate::models::WholeDrive;
use crate::offers::{Offer, smallest_part};
use crate::prepare::PreparedWorkload;
use crate::simulate::simulate;
use crate::{Hooks, load};

/// Returns the same drive with all of its blocks, filled as much as the part.
fn whole(offer: &Offer<'_>, part: &Design, utilisation: esker_core::Ratio) -> Design {
    let settings = WholeDrive::of(offer.first().product, offer.first().capacity.bytes).unwrap().settings().clone();
    let drive = DeviceDescription::new(settings).preconditioned(PreconditionKind::Steady, utilisation);
    Design { system: System::single("ssd", drive).unwrap(), ..part.clone() }
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn parts_of_drives_do_like_whole_ones() {
    if esker_testkit::soak() == 1 {
        return;
    }
    println!(
        "| trace | drive | p99, part | p99, whole | p99.9, part | p99.9, whole | mean, part | mean, whole \
         | amplification, part | whole |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let names = ["Financial1-first10k.spc.zst", "cloudphysics-2h.vscsi.zst"];
    for trace in traces(&names) {
        let budgets = Budgets { years: 5.0, ..Budgets::default() };
        let settings = settings(&trace, crate::builtin_catalogue("current").unwrap(), Market::OnPremises, budgets);
        let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
        let prepared = PreparedWorkload::of(&workload, &settings).unwrap();
        let all = prepared.offers(&workload, &settings, &hooks).unwrap();
        let task = prepared.task(&workload, &settings, &hooks);
        let active = Bytes(workload.map().footprint());
        for name in ["micron-5400-pro-240GB", "micron-5400-pro-960GB", "micron-7450-pro-960GB"] {
            let offer = all.iter().find(|offer| offer.name() == name).unwrap();
            let part = offer.design(active, settings.utilisation).unwrap();
            let whole = whole(offer, &part, settings.utilisation);
            let [part, whole] = [&part, &whole].map(|design| simulate(&task, design).unwrap().candidate);
            let response = |one: &Candidate| one.requests.as_ref().unwrap().all.response_time;
            let devices = |one: &Candidate| {
                let flash = one.devices.values().find_map(|device| device.flash.as_ref()).unwrap();
                flash.precondition.as_ref().map_or(1.0, |steady| steady.write_amplification)
            };
            println!(
                "| {} | {name} | {} | {} | {} | {} | {} | {} | {:.2} | {:.2} |",
                workload.name,
                esker_core::words::time(response(&part).p99_us),
                esker_core::words::time(response(&whole).p99_us),
                esker_core::words::time(response(&part).p999_us),
                esker_core::words::time(response(&whole).p999_us),
                esker_core::words::time(response(&part).mean_us),
                esker_core::words::time(response(&whole).mean_us),
                devices(&part),
                devices(&whole),
            );
        }
    }
}

/// Response times of reads in a mix, and how long it took to prepare the drive.
struct Mix {
    p99_us: f64,
    p999_us: f64,
    write_amplification: f64,
    pages: u64,
    prepared: std::time::Duration,
}

struct Reads(LatencyHistogram, u64);

impl<D: ?Sized> Observer<D> for Reads {
    fn completed(&mut self, arrived: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.1 += 1;
        // The first requests find an empty write buffer.
        if self.1 > REQUESTS_LEAST / 10 && request.kind == RequestKind::Read {
            self.0.record(completion.at - arrived);
        }
        Verdict::Continue
    }
}

/// Requests of a run; with `ESKER_SOAK` set, twice as many.
const REQUESTS_LEAST: u64 = 700_000;

/// Runs random requests of 4 KiB, 70 % of them reads, at `rate` per second on a steady drive that is 85 % full.
#[expect(clippy::disallowed_methods, reason = "how long preparing takes decides how large a part can be")]
fn mix(settings: &SsdSettings, rate: f64) -> Mix {
    let begin = std::time::Instant::now();
    let mut ssd = Ssd::new("drive", settings, 1).unwrap();
    let utilisation = Ratio::percent(85);
    let steady = Precondition::Steady { utilisation, seed: 1 };
    ssd.control(Nanos::ZERO, Control::Precondition(steady)).unwrap();
    let prepared = begin.elapsed();
    let places = (ssd.capacity().0 as f64 * utilisation.as_f64()) as u64 / 4096;
    let (mut rng, mut at) = (Rng::new(3), 0.0);
    let requests = (0..REQUESTS_LEAST * u64::from(esker_testkit::soak().min(2))).map(|_| {
        at += rng.exponential(1e9 / rate);
        let start = Lba(rng.below(places) * 8);
        let read = rng.chance(7, 10);
        let request = if read { Request::read(start, Bytes::kib(4)) } else { Request::write(start, Bytes::kib(4)) };
        Arrival { at: Nanos(at as u64), request }
    });
    let mut reads = Reads(LatencyHistogram::default(), 0);
    replay(&mut ssd, requests, &ReplaySettings::OPEN, &mut reads).unwrap();
    let flash = Report::of(&ssd).devices["drive"].flash.clone().unwrap();
    let geometry = settings.geometry;
    let planes = geometry.channels * geometry.packages_per_channel * geometry.dies_per_package;
    let us = |quantile| reads.0.quantile(quantile).0 as f64 / 1e3;
    Mix {
        p99_us: us(0.99),
        p999_us: us(0.999),
        write_amplification: flash.precondition.as_ref().map_or(1.0, |steady| steady.write_amplification),
        pages: u64::from(planes) * u64::from(geometry.blocks_per_plane) * u64::from(geometry.pages_per_block),
        prepared,
    }
}

/// Blocks per plane of the drive that keeps its own blocks: the number that a part aims for with its pieces.
const OWN_BLOCKS: u32 = 128;
/// Largest relative difference between the write amplification of a part and that of the drive, set before measuring.
const TOLERANCE: f64 = 0.05;

/// A part copies as much as a drive with its own blocks, but its reads wait less. The goals were 15 % for the 99th
/// percentile and 25 % for the 99.9th; they are not reached, so that reports say both are too low
/// (docs/decisions/0003).
#[test]
#[expect(clippy::print_stdout, reason = "the table is for docs/decisions/0003")]
fn a_part_copies_as_much_as_its_drive() {
    let catalogue = crate::builtin_catalogue("current").unwrap();
    println!("| drive | blocks of a plane | p99 | p99.9 | amplification | pages | prepared |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for (name, gigabytes, rate) in [("micron-7450-pro", 960, 30_000.0), ("micron-5400-pro", 480, 10_000.0)] {
        let capacity = Bytes(gigabytes * 1_000_000_000);
        let product = catalogue.product(name).unwrap();
        let part = smallest_part(product, capacity).unwrap();
        let with = |blocks: u32| {
            let mut whole = WholeDrive::of(product, capacity).unwrap().settings().clone();
            whole.over_provisioning = part.over_provisioning;
            whole.geometry.blocks_per_plane = blocks;
            whole
        };
        let mut short = part.clone();
        short.timing.block_erase.0 /= u64::from(part.timing.blocks_per_erase);
        short.timing.blocks_per_erase = 1;
        let small = |settings: &SsdSettings| format!("{} small ones", settings.geometry.blocks_per_plane);
        let cases = [
            (small(&part) + ", a shared erase", part.clone()),
            (format!("{OWN_BLOCKS} of its own"), with(OWN_BLOCKS)),
            (small(&short) + ", short erases", short),
            ("32 of its own".to_string(), with(32)),
        ];
        let cases = if esker_testkit::soak() == 1 { &cases[..2] } else { &cases[..] };
        let found: Vec<Mix> = cases.iter().map(|(what, settings)| print(name, what, mix(settings, rate))).collect();
        let (part, own) = (&found[0], &found[1]);
        let apart = (part.write_amplification / own.write_amplification - 1.0).abs();
        assert!(apart < TOLERANCE, "{name}: {} and {}", part.write_amplification, own.write_amplification);
    }
}

#[expect(clippy::print_stdout, reason = "the table is for docs/decisions/0003")]
fn print(name: &str, what: &str, mix: Mix) -> Mix {
    let Mix { p99_us, p999_us, write_amplification, pages, prepared } = mix;
    let millions = pages as f64 / 1e6;
    let [p99, p999] = [p99_us, p999_us].map(esker_core::words::time);
    println!("| {name} | {what} | {p99} | {p999} | {write_amplification:.2} | {millions:.1} M | {prepared:.1?} |");
    mix
}
