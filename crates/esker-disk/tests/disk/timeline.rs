//! Timelines: accesses one by one.

use esker_core::{Arrival, Bytes, Control, Device, Lba, Nanos, ReplaySettings, Request, Stretch};
use esker_disk::{Disk, DiskSettings};
use esker_results::{DiskAccess, DiskAccessKind, DiskTimeline};

use crate::common::{at, plain_preset, poisson, report, round_numbers, run};

/// Runs `arrivals` with a timeline of the first `most` accesses.
fn recorded(settings: &DiskSettings, most: u32, arrivals: &[Arrival]) -> (DiskTimeline, Vec<Nanos>) {
    let mut disk = Disk::new("disk", settings).unwrap();
    disk.control(Nanos::ZERO, Control::RecordTimeline(Stretch::First(most))).unwrap();
    disk.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
    let (_, log) = run(&mut disk, &ReplaySettings::OPEN, arrivals.to_vec());
    (report(&disk).timeline.unwrap(), log.0.iter().map(|(_, _, completion)| completion.at).collect())
}

/// 10 ms per turn, 0.1 ms per sector; 1 ms to the next cylinder.
#[test]
fn parts_are_those_of_the_access() {
    let arrivals = [at(0, Request::read(Lba(50), Bytes(512))), at(1_000, Request::write(Lba(200), Bytes(1_024)))];
    let (timeline, ends) = recorded(&round_numbers(), 10, &arrivals);
    let [first, second] = timeline.accesses[..] else { panic!("{timeline:?}") };
    // Sector 50 begins half a turn from where the platters stand, and takes 0.1 ms.
    let expected = DiskAccess {
        kind: DiskAccessKind::Read,
        length_bytes: 512,
        rotation_ns: 5_000_000,
        transfer_ns: 100_000,
        end_ns: 5_100_000,
        cylinder: Some(0),
        ..DiskAccess::default()
    };
    assert_eq!(first, expected);
    assert_eq!((second.kind, second.arrival_ns, second.start_ns), (DiskAccessKind::Write, 1_000_000, 5_100_000));
    assert_eq!(
        (second.seek_ns, second.transfer_ns, second.cylinder),
        (1_200_000, 200_000, Some(1)),
        "seek and settling"
    );
    assert_eq!(second.end_ns, second.start_ns + second.seek_ns + second.rotation_ns + second.transfer_ns);
    assert_eq!(ends, [Nanos(first.end_ns), Nanos(second.end_ns)]);
}

#[test]
fn reads_from_the_buffer_and_early_writes_are_told_apart() {
    let settings = plain_preset("nearline-7200-20t");
    let arrivals = [
        at(0, Request::read(Lba(0), Bytes::kib(4))),
        at(50_000, Request::read(Lba(64), Bytes::kib(4))),
        at(60_000, Request::write(Lba(1 << 30), Bytes::kib(4))),
    ];
    let (timeline, ends) = recorded(&settings, 10, &arrivals);
    let kinds: Vec<DiskAccessKind> = timeline.accesses.iter().map(|access| access.kind).collect();
    assert_eq!(kinds, [DiskAccessKind::Read, DiskAccessKind::BufferedRead, DiskAccessKind::EarlyWrite]);
    assert_eq!((timeline.accesses[1].cylinder, timeline.accesses[1].seek_ns), (None, 0));
    assert_eq!(timeline.accesses[1].end_ns, ends[1].0);
    assert!(timeline.accesses[2].end_ns > ends[2].0, "it was on the medium later");
}

/// Recording changes nothing, and stops where it was told to.
#[test]
fn a_recorded_run_is_the_same_run() {
    for name in ["nearline-7200-20t", "fujitsu-mba3073np-73g"] {
        let settings = plain_preset(name);
        let arrivals = poisson(3, 600, Nanos::from_millis(9), 1 << 26, 16);
        let mut disk = Disk::new("disk", &settings).unwrap();
        let (_, log) = run(&mut disk, &ReplaySettings::OPEN, arrivals.clone());
        assert_eq!(report(&disk).timeline, None);
        let (timeline, ends) = recorded(&settings, 100, &arrivals);
        assert_eq!(ends, log.0.iter().map(|(_, _, completion)| completion.at).collect::<Vec<_>>());
        assert_eq!(timeline.accesses.len(), 100);
        for access in &timeline.accesses {
            let medium = access.start_ns + access.seek_ns + access.rotation_ns + access.transfer_ns;
            assert!(access.arrival_ns <= access.start_ns && medium <= access.end_ns, "{access:?}");
        }
        // The arm does one thing after another.
        let on_medium = timeline.accesses.iter().filter(|access| access.cylinder.is_some()).collect::<Vec<_>>();
        for pair in on_medium.windows(2) {
            let free = pair[0].start_ns + pair[0].seek_ns + pair[0].rotation_ns + pair[0].transfer_ns;
            assert!(free <= pair[1].start_ns, "{pair:?}");
        }
    }
}
