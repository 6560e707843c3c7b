//! Wu 2011, figure 2: times of reads and writes against their size, for the disk and two flash drives.

use esker_sim::Experiment;

use super::volume::{DISK, FAST, Part, SLOW};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-2",
    title: "Reads and writes of the three devices against their size",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.A (2.1), figure 2",
    sections: &["2.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const DEVICES: [(&str, &str); 3] = [("disk", DISK), ("Transcend", SLOW), ("MemoRight", FAST)];
const KIB: [u32; 6] = [4, 16, 64, 256, 1024, 4096];
const STAND_IN: &str = "one request at a time at random addresses, on stand-ins of the devices";

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let kinds = [("reads", "100%"), ("writes", "0%")];
    let runs = kinds.len() * DEVICES.len() * KIB.len();
    let (mut figures, mut claims) = (Vec::new(), Vec::new());
    for (which, (kind, reads)) in kinds.into_iter().enumerate() {
        let mut times: Vec<Vec<f64>> = Vec::new();
        for (_, device) in DEVICES {
            let mut of_device = Vec::new();
            for kib in KIB {
                let index = (which * DEVICES.len() + times.len()) * KIB.len() + of_device.len();
                let part = Part { item, context, index, runs, scale };
                of_device.push(mean_ms(&part, device, kib, reads)?);
            }
            times.push(of_device);
        }
        claims.extend(claims_of(item, kind, &times));
        let points = |of: &[f64]| KIB.into_iter().map(f64::from).zip(of.to_vec()).collect::<Vec<_>>();
        figures.push(Figure {
            title: format!("Wu's figure 2: {kind}"),
            note: "The paper's curves are not in the text; what it says of them is held as claims.".into(),
            x: Axis::logarithmic("size of a request, KiB"),
            y: Axis::logarithmic("mean time, ms"),
            curves: DEVICES.iter().zip(&times).map(|((name, _), times)| Curve::measured(name, points(times))).collect(),
        });
    }
    Ok(ItemOutcome { claims, figures })
}

/// Mean time of requests of one size, one at a time, after as many that fill the buffers.
fn mean_ms(part: &Part<'_>, device: &str, kib: u32, reads: &str) -> Result<f64, ReproduceError> {
    // At least 32 MiB, more than any buffer, and enough requests for a mean.
    let count = part.requests(u64::from((64 * 1024 / kib).clamp(400, 4_000)));
    let precondition = if device == DISK { "none" } else { "filled" };
    let text = format!(
        "[workload]\nqueue_depth = 1\nsynthetic = {{ requests = {}, read_fraction = \"{reads}\", size = \"{kib}KiB\", \
         footprint = \"8GiB\" }}\n[device.d]\npreset = \"{device}\"\nprecondition = \"{precondition}\"\n\
         [run]\ntarget = \"d\"\nwarm_up_requests = {count}\nseed = {}\n",
        2 * count,
        part.context.seed
    );
    let experiment = Experiment::from_str(&text, "the item's experiment").map_err(|fault| part.error(fault))?;
    Ok(part.run(&experiment)?.requests.all.response_time.mean_us / 1e3)
}

fn claims_of(item: &Item, kind: &str, times: &[Vec<f64>]) -> Vec<Claim> {
    let [disk, slow, fast] = [0, 1, 2].map(|device: usize| (DEVICES[device].0, &times[device]));
    let last = KIB.len() - 1;
    let order = |slower: (&str, &Vec<f64>), faster: (&str, &Vec<f64>), at: usize, reason: &str| {
        let claim = format!("{kind} of {} KiB: {} takes longer than {}, ms", KIB[at], slower.0, faster.0);
        let values = [(slower.0, slower.1[at]), (faster.0, faster.1[at])];
        Claim::descending(item.name, &claim, &values, reason).on_stand_in(STAND_IN)
    };
    if kind == "reads" {
        let small = "\"flash drive is much more efficient than the magnetic disk for small reads\"";
        let large = "\"at larger request sizes\" the disk \"surpasses the performance of the flash devices\"";
        vec![
            order(disk, slow, 0, small),
            order(disk, fast, 0, small),
            order(slow, disk, last, large),
            order(fast, disk, last, large),
        ]
    } else {
        let same = "\"small writes have nearly the same performance at both the devices\"; a factor of 2 for that";
        let large = "\"as the write request size grows, the magnetic disk provides considerably better performance\"";
        let near = |flash: (&str, &Vec<f64>)| {
            let claim = format!("writes of 4 KiB: time of {} over the disk's", flash.0);
            Claim::compared(item.name, &claim, 1.0, flash.1[0] / disk.1[0], same).on_stand_in(STAND_IN)
        };
        vec![near(slow), near(fast), order(slow, disk, last, large), order(fast, disk, last, large)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_and_size_is_measured() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (8, 2));
        assert!(outcome.figures.iter().all(|figure| figure.curves[0].points.len() == KIB.len()));
    }
}
