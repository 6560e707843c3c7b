//! The stand-ins for the devices of Wu 2011 (dissertation, Texas A&M University), against what is published of them.

use std::num::NonZeroU32;

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// Table V: MB/s with one process and with ten. The text below it says that its processes replay the NetApp traces;
/// its mean latencies say so, too: 0.2 ms an operation at 12.4 MB/s are 2.5 kB an operation, as tables III and IV have
/// it for these traces (dbench: 5.4 kB).
const TABLE_V: [(&str, &str, [f64; 2]); 2] =
    [("fujitsu-mba3073np-73g", "none", [12.3106, 25.9799]), ("intel-x25m-80g", "steady", [12.413, 23.6754])];

/// 20,000 requests, `depth` at a time, after 5,000 that fill the buffers.
fn closed_loop(workload: &str, device: &str, precondition: &str, depth: u32) -> RunResults {
    let text = format!(
        "[workload.synthetic]\n\
         preset = \"{workload}\"\n\
         requests = 25_000\n\
         [device.d]\n\
         preset = \"{device}\"\n\
         precondition = \"{precondition}\"\n\
         [run]\n\
         target = \"d\"\n\
         warm_up_requests = 5_000\n"
    );
    let mut experiment = Experiment::from_str(&text, "x.toml").unwrap();
    experiment.workload.queue_depth = NonZeroU32::new(depth);
    run(&experiment, &RunOptions::default()).unwrap()
}

fn mb_per_s(results: &RunResults) -> f64 {
    results.throughput.bytes_per_s / 1e6
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn each_device_alone_meets_table_v() {
    for (device, precondition, published) in TABLE_V {
        for (depth, published) in [1, 10].into_iter().zip(published) {
            let found = mb_per_s(&closed_loop("wu-netapp", device, precondition, depth));
            println!("{device}, {depth} processes: {found:.2} MB/s, published {published:.2}");
            assert!((found / published - 1.0).abs() < 0.05, "{device}, {depth}: {found} MB/s, not {published}");
        }
    }
}

/// Section II.D: writes of the slow drive are slower than those of a disk and its reads faster. The fast drive is
/// faster in both.
#[test]
fn the_slow_drive_and_the_fast_one_are_told_from_a_disk() {
    let [slow, disk, fast] = ["transcend-ts16gssd25s-16g", "samsung-sp2504c-250g", "memoright-gt-32g"]
        .map(|device| ["wu-iozone-4r0w", "wu-iozone-0r4w"].map(|mix| mb_per_s(&closed_loop(mix, device, "filled", 4))));
    let ([slow_reads, slow_writes], [disk_reads, disk_writes], [fast_reads, fast_writes]) = (slow, disk, fast);
    assert!(slow_reads > 2.0 * disk_reads && slow_writes < 0.8 * disk_writes, "slow {slow:?}, disk {disk:?}");
    assert!(fast_reads > 2.0 * disk_reads && fast_writes > 2.0 * disk_writes, "fast {fast:?}, disk {disk:?}");
}
