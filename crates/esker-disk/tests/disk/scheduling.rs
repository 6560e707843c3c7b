//! Is the order of service right?

use esker_core::{Arrival, Bytes, Device, Lba, Nanos, ReplaySettings, Request};
use esker_disk::{Disk, DiskSettings, SCHEDULERS, WaitLimit};

use crate::common::{at, plain_preset, poisson, preset, report, round_numbers, run};

fn served(scheduler: &str, arrivals: &[Arrival]) -> Vec<u64> {
    let settings = DiskSettings { scheduler: scheduler.to_string(), ..round_numbers() };
    let (_, log) = run(&mut Disk::new("disk", &settings).unwrap(), &ReplaySettings::OPEN, arrivals.iter().copied());
    log.0.iter().map(|(_, request, _)| request.start.0).collect()
}

#[test]
fn fcfs_keeps_the_order_of_arrival_and_c_look_sweeps() {
    let read = |micros, start| at(micros, Request::read(Lba(start), Bytes(512)));
    let arrivals = [read(0, 5_000), read(1, 9_000), read(2, 100), read(3, 7_000), read(4, 4_000), read(5, 9_500)];
    assert_eq!(served("fcfs", &arrivals), [5_000, 9_000, 100, 7_000, 4_000, 9_500]);
    assert_eq!(served("c-look", &arrivals), [5_000, 7_000, 9_000, 9_500, 100, 4_000]);
}

#[test]
fn every_scheduler_serves_each_request_once() {
    for entry in SCHEDULERS {
        let settings = DiskSettings { scheduler: entry.name.to_string(), ..preset("seagate-cheetah-15k5-146g") };
        let mut disk = Disk::new("disk", &settings).unwrap();
        let arrivals = poisson(5, 5_000, Nanos::from_micros(4_000), disk.capacity().0 / 512, 8);
        let (_, log) = run(&mut disk, &ReplaySettings::OPEN, arrivals.iter().copied());
        let mut served: Vec<_> = log.0.iter().map(|(arrival, request, _)| (*arrival, request.start)).collect();
        served.sort();
        let mut asked: Vec<_> = arrivals.iter().map(|arrival| (arrival.at, arrival.request.start)).collect();
        asked.sort();
        assert_eq!(served, asked, "{}", entry.name);
    }
}

#[test]
fn c_look_outdoes_fcfs_when_many_wait() {
    let throughput = |scheduler: &str| {
        let settings = DiskSettings { scheduler: scheduler.to_string(), ..preset("seagate-cheetah-15k5-146g") };
        let mut disk = Disk::new("disk", &settings).unwrap();
        let arrivals = poisson(6, 20_000, Nanos(1), disk.capacity().0 / 512, 8);
        let (replay, _) = run(&mut disk, &ReplaySettings::closed(32), arrivals);
        (20_000.0 / replay.last_event.as_secs_f64(), report(&disk).mean_seek_us)
    };
    let ((fcfs, fcfs_seek), (c_look, c_look_seek)) = (throughput("fcfs"), throughput("c-look"));
    // A sweep through 32 random places moves a 32nd of the stroke at a time instead of a third.
    assert!(c_look > 1.35 * fcfs, "c-look {c_look}, fcfs {fcfs}");
    assert!(c_look_seek < 0.55 * fcfs_seek, "c-look {c_look_seek}, fcfs {fcfs_seek}");
}

/// Random reads of 4 KiB a second, always `depth` of them under way, without buffer and without a limit of waits.
fn random_reads(preset: &str, scheduler: &str, depth: u32) -> f64 {
    let (scheduler, wait_limit) = (scheduler.to_string(), WaitLimit::OFF);
    let settings = DiskSettings { scheduler, wait_limit, cache: None, queue_depth: depth, ..plain_preset(preset) };
    let mut disk = Disk::new("disk", &settings).unwrap();
    let arrivals = poisson(6, 20_000, Nanos(1), disk.capacity().0 / 512, 8);
    let read = |arrival: Arrival| Request::read(arrival.request.start, Bytes::kib(4));
    let arrivals = arrivals.into_iter().map(|arrival| Arrival { request: read(arrival), ..arrival });
    let (replay, _) = run(&mut disk, &ReplaySettings::closed(depth as usize), arrivals);
    20_000.0 / replay.last_event.as_secs_f64()
}

/// Random reads at a depth of 32: what Worthington, Ganger and Patt found of a disk of 1992 holds of later ones.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows the rates")]
fn sptf_outdoes_seek_schedulers_and_these_fcfs() {
    for entry in esker_disk::PRESETS {
        let rate = |scheduler| random_reads(entry.name, scheduler, 32);
        let [fcfs, c_look, sstf, vscan, sptf] = ["fcfs", "c-look", "sstf", "vscan", "sptf"].map(rate);
        println!(
            "{}: fcfs {fcfs:.0}, c-look {c_look:.0}, sstf {sstf:.0}, vscan {vscan:.0}, sptf {sptf:.0}/s",
            entry.name
        );
        assert!(sstf > 1.2 * fcfs && vscan > 1.2 * fcfs && c_look > 1.2 * fcfs, "{}", entry.name);
        assert!(sptf > 1.1 * sstf.max(vscan).max(c_look), "{}", entry.name);
    }
}

/// Seltzer, Chen and Ousterhout (USENIX, winter 1990) report nearly four times the bandwidth of FCFS for the order by
/// shortest positioning time, with queues of about a thousand requests at a disk of 1985.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows the ratios")]
fn sptf_gains_with_a_thousand_requests_what_was_published() {
    for (preset, published) in [
        ("ibm-ultrastar-36z15", 3.4..4.0),
        ("seagate-cheetah-15k5-146g", 3.4..4.0),
        // What no order saves is a smaller part of the time of slower disks.
        ("nearline-7200-20t", 4.0..7.0),
        ("samsung-sp2504c-250g", 4.0..7.0),
    ] {
        let fcfs = random_reads(preset, "fcfs", 1);
        let gains = [16, 32, 64, 256, 1_000].map(|depth| random_reads(preset, "sptf", depth) / fcfs);
        println!("{preset}: {gains:.2?} times the {fcfs:.0} reads/s of fcfs with 16, 32, 64, 256 and 1,000 under way");
        assert!(gains.is_sorted() && published.contains(&gains[4]), "{preset}");
    }
}

#[test]
fn the_disk_takes_as_many_requests_as_its_queue_holds() {
    let settings = DiskSettings { queue_depth: 3, ..round_numbers() };
    let mut disk = Disk::new("disk", &settings).unwrap();
    let mut tags = esker_core::TagSlab::default();
    for left in [3, 2, 1] {
        assert_eq!(disk.free_slots(), left);
        disk.submit(Nanos::ZERO, tags.insert(()), Request::read(Lba(left as u64 * 900), Bytes(512)));
    }
    assert_eq!(disk.free_slots(), 0);
    assert_eq!(disk.telemetry().queued, 3);
    let mut done = Vec::new();
    while done.is_empty() {
        disk.advance(disk.next_event(), &mut done);
    }
    assert_eq!((disk.free_slots(), done.len()), (1, 1));
}
