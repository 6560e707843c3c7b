//! Do several arms serve as they should, and more than one?

use esker_core::{Arrival, Bytes, Device, Lba, Nanos, ReplaySettings, Request, RequestKind, Rng, TagSlab};
use esker_disk::{Disk, DiskSettings, MultiActuatorDisk, WaitLimit};
use esker_results::Report;

use crate::common::{Log, at, poisson, preset, round_numbers, run};

/// When the last request ended, and all that happened, with `depth` requests under way.
fn closed<D: Device>(disk: &mut D, depth: usize, arrivals: Vec<Arrival>) -> (Nanos, Log) {
    let (replay, log) = run(disk, &ReplaySettings::closed(depth), arrivals);
    (replay.last_event, log)
}

fn two(settings: &DiskSettings) -> MultiActuatorDisk {
    MultiActuatorDisk::new("disk", &DiskSettings { actuators: 2, ..settings.clone() }).unwrap()
}

/// Random reads of 4 KiB a second, as many under way as the drive's data sheet says.
fn random_reads<D: Device>(disk: &mut D, depth: usize) -> f64 {
    let count = 20_000;
    let reads = poisson(11, count, Nanos(1), disk.capacity().0 / 512, 8);
    let (end, _) = closed(disk, depth, reads);
    count as f64 / end.as_secs_f64()
}

/// The data sheet of Seagate's Exos 2X18 gives 304 random reads a second at a depth of 16, of one-armed drives of that
/// generation 168 to 170.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows the rates")]
fn two_arms_serve_1_7_times_the_random_reads_of_one() {
    let settings = preset("dual-actuator-7200-18t");
    for (scheduler, depth, least) in [("c-look", 16, 1.7), ("c-look", 32, 1.7), ("sptf", 32, 1.6), ("sptf", 16, 1.6)] {
        let settings = DiskSettings { scheduler: scheduler.to_string(), ..settings.clone() };
        let one = DiskSettings { actuators: 1, power: None, ..settings.clone() };
        let alone = random_reads(&mut Disk::new("disk", &one).unwrap(), depth);
        let both = random_reads(&mut two(&settings), depth);
        // Where each arm has as many requests as the one arm had.
        let queues = random_reads(&mut two(&DiskSettings { queue_depth: 64, ..settings.clone() }), 2 * depth);
        println!(
            "{scheduler}, depth {depth}: {alone:.0}/s by one arm, {both:.0}/s by two, {queues:.0}/s at twice the depth"
        );
        assert!(both > least * alone && both < 2.0 * alone, "{scheduler}, depth {depth}: {alone} and {both}");
        assert!(queues > 1.7 * alone && queues < 2.1 * alone, "{scheduler}, depth {depth}: {alone} and {queues}");
    }
    let published = 304.0;
    let ours = random_reads(&mut two(&settings), 16);
    assert!((ours / published - 1.0).abs() < 0.05, "{ours}/s, the data sheet has {published}/s");
}

#[test]
fn each_arm_serves_half_of_the_addresses_as_a_disk_with_half_of_the_surfaces() {
    let settings = round_numbers();
    let mut disk = two(&settings);
    let half = Disk::new("half", &DiskSettings { surfaces: 1, ..settings.clone() }).unwrap().capacity().0 / 512;
    assert_eq!(disk.capacity().0 / 512, half / 8 * 8 * 2);
    let share = half / 8 * 8;
    let reads = [Request::read(Lba(4_000), Bytes(512)), Request::read(Lba(share + 4_000), Bytes(512))];
    let (_, log) = closed(&mut disk, 2, reads.iter().map(|read| at(0, *read)).collect());
    let mut alone = Disk::new("alone", &DiskSettings { surfaces: 1, ..settings }).unwrap();
    let (end, _) = closed(&mut alone, 1, vec![at(0, reads[0])]);
    // Both at once, each as if it were alone.
    assert_eq!(log.0.iter().map(|(.., completion)| completion.at).collect::<Vec<_>>(), [end, end]);
}

#[test]
fn a_request_across_the_middle_ends_with_its_later_part_and_a_flush_with_the_slower_arm() {
    let settings = round_numbers();
    let mut disk = two(&settings);
    let middle = disk.capacity().0 / 512 / 2;
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    let requests = [Request::write(Lba(middle - 3), Bytes(6 * 512)), flush];
    let (end, log) = closed(&mut disk, 2, requests.iter().map(|request| at(0, *request)).collect());
    assert_eq!(log.0.len(), 2);
    let ends: Vec<Nanos> = log.0.iter().map(|(.., completion)| completion.at).collect();
    assert_eq!(ends, [end, end]);
    let report = Report::of(&disk).devices.remove("disk").unwrap();
    assert_eq!((report.requests, report.disk.unwrap().seeks), (2, 1));
}

#[test]
fn beyond_the_end_is_refused_and_uneven_shares_are_too() {
    let mut disk = two(&round_numbers());
    let capacity = disk.capacity();
    let beyond = Request::read(Lba(capacity.0 / 512 - 1), Bytes(1024));
    let empty = Request::read(Lba(capacity.0 / 512), Bytes::ZERO);
    let (_, log) = closed(&mut disk, 2, vec![at(0, beyond), at(0, empty)]);
    assert_eq!(log.0.iter().filter(|(.., completion)| completion.result.is_err()).count(), 1);
    for (surfaces, actuators) in [(2, 3), (3, 2), (2, 0)] {
        let settings = DiskSettings { surfaces, actuators, ..round_numbers() };
        let error = MultiActuatorDisk::new("disk", &settings).err().unwrap();
        assert_eq!(error.key(), "actuators", "{surfaces} surfaces, {actuators} arms");
    }
    // Arms for all of them would take all memory.
    for (surfaces, actuators) in [(128, 2), (0, 1), (u32::MAX, u32::MAX)] {
        let settings = DiskSettings { surfaces, actuators, ..round_numbers() };
        let error = MultiActuatorDisk::new("disk", &settings).err().unwrap();
        assert_eq!(error.key(), "surfaces", "{surfaces} surfaces, {actuators} arms");
    }
}

#[test]
fn it_takes_as_many_requests_as_its_queue_holds_and_none_waits_for_ever() {
    let settings = DiskSettings { wait_limit: WaitLimit::after(Nanos::from_millis(200)), ..round_numbers() };
    let mut disk = two(&DiskSettings { queue_depth: 3, scheduler: "sstf".to_string(), ..settings });
    let mut tags = TagSlab::default();
    for left in [3, 2, 1] {
        assert_eq!(disk.free_slots(), left);
        disk.submit(Nanos::ZERO, tags.insert(()), Request::read(Lba(left as u64 * 900), Bytes(512)));
    }
    assert_eq!((disk.free_slots(), disk.telemetry().queued), (0, 3));
    let mut done = Vec::new();
    while done.len() < 3 {
        disk.advance(disk.next_event(), &mut done);
    }
    assert_eq!(disk.free_slots(), 3);
    // Random requests of all kinds all end.
    let mut rng = Rng::new(3);
    let capacity = disk.capacity().0 / 512;
    let arrivals = (0..2_000).map(|index| {
        let (start, length) = (Lba(rng.below(capacity - 40)), Bytes(512 * (1 + rng.below(40))));
        at(
            0,
            match index % 5 {
                0 => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
                1 | 2 => Request::write(start, length),
                _ => Request::read(start, length),
            },
        )
    });
    let mut disk = two(&round_numbers());
    let (_, log) = closed(&mut disk, 8, arrivals.collect());
    assert!(log.0.len() == 2_000 && log.0.iter().all(|(.., completion)| completion.result.is_ok()));
}
