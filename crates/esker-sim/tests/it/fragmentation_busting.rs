//! Fragmentation busting of `mixdyn`: what it moves, and what the devices are told.

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// 256 writes of 4 KiB in no order, which the devices take in turns; a pause of three seconds; a read of each. The
/// slow device holds `slow` KiB.
fn written_and_read(busting: &str, slow: u32) -> RunResults {
    // No write begins where another one has ended.
    let blocks = (0..256).map(|index| 101 * index % 256).collect();
    let at = |start: f64, kind: char, order: Vec<u32>| {
        let line = move |(index, block): (usize, u32)| {
            format!("0,{},4096,{kind},{:.6}\n", 8 * block, start + 0.01 * index as f64)
        };
        order.into_iter().enumerate().map(line).collect::<String>()
    };
    let folder = tempfile::tempdir().unwrap();
    let trace = at(0.0, 'w', blocks) + &at(6.0, 'r', (0..256).collect());
    std::fs::write(folder.path().join("pause.spc"), trace).unwrap();
    let text = format!(
        "[workload]\n\
         trace = \"pause.spc\"\n\
         [device.fast]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"1MiB\"\n\
         [device.slow]\n\
         kind = \"constant\"\n\
         service_time = \"1ms\"\n\
         capacity = \"{slow}KiB\"\n\
         [device.volume]\n\
         kind = \"hybrid\"\n\
         children = [\"fast\", \"slow\"]\n\
         extent = \"4KiB\"\n\
         capacity = \"1MiB\"\n\
         allocate = \"on-write\"\n\
         policy = {{ kind = \"mixdyn\"{busting} }}\n\
         [run]\n\
         target = \"volume\"\n"
    );
    let experiment = Experiment::from_str(&text, "x.toml").unwrap().in_folder(folder.path());
    run(&experiment, &RunOptions::default()).unwrap()
}

/// Requests to both devices, and extents moved.
fn counts(results: &RunResults) -> (u64, u64, u64) {
    let volume = &results.devices["volume"];
    let sent = |child: &str| volume.children[child].requests;
    (sent("fast"), sent("slow"), volume.placement.as_ref().unwrap().moved_extents)
}

/// Each move reads the flash and trims it, and writes the disk, which has the reads of the host from then on.
#[test]
fn pieces_move_to_the_disk_and_leave_nothing_on_the_flash() {
    assert_eq!(counts(&written_and_read("", 2048)), (128 + 128, 128 + 128, 0));
    let all = ", busting = { share = \"100%\" }";
    assert_eq!(counts(&written_and_read(all, 2048)), (128 + 2 * 128, 128 + 128 + 256, 128));
    let quarter = counts(&written_and_read(", busting = {}", 2048));
    assert_eq!(quarter, (128 + 2 * 32 + 96, 128 + 32 + 160, 32));
}

/// The host is back after less than the idle time, and what is written in large pieces stays.
#[test]
fn a_host_that_does_not_pause_and_one_that_writes_large_pieces_move_nothing() {
    for settings in ["idle = \"10s\"", "small = \"1KiB\""] {
        let busting = format!(", busting = {{ share = \"100%\", {settings} }}");
        assert_eq!(counts(&written_and_read(&busting, 2048)).2, 0, "{settings}");
    }
}

#[test]
fn a_disk_that_is_full_takes_no_more() {
    let results = written_and_read(", busting = { share = \"100%\" }", 128 * 4 + 160);
    let placement = results.devices["volume"].placement.as_ref().unwrap();
    assert_eq!((placement.moved_extents, placement.moves_without_room), (40, 1));
}
