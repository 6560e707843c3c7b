//! Draws how busy each die of each flash design was. The template draws it itself.

use esker_core::words::page;
use esker_results::study::{Candidate, WorkloadStudy};

/// With more dies than this, bars would be thinner than a pixel.
const DIES_MAX: usize = 512;

/// The dies of one design.
#[derive(Debug)]
pub(crate) struct Dies {
    pub(crate) label: String,
    /// Index of the design, which selects its colour.
    pub(crate) index: usize,
    pub(crate) channels: Vec<Channel>,
    pub(crate) value: String,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) tip: String,
    /// Left edge and width in per cent.
    pub(crate) x: f64,
    pub(crate) width: f64,
    pub(crate) dies: Vec<Bar>,
}

#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) x: f64,
    pub(crate) width: f64,
    /// Per cent of the busiest die of the design.
    pub(crate) height: f64,
}

/// The dies of a workload's flash designs.
pub(crate) fn dies(workload: &WorkloadStudy) -> Vec<Dies> {
    let candidates = workload.candidates.iter().enumerate();
    candidates.filter_map(|(index, candidate)| of_design(index, candidate)).collect()
}

fn of_design(index: usize, candidate: &Candidate) -> Option<Dies> {
    let array = candidate.devices.values().find_map(|device| device.flash.as_ref()?.array.as_ref())?;
    let (dies, buses) = (&array.die_utilisation, &array.bus_utilisation);
    let (least, most) =
        dies.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &share| (least.min(share), most.max(share)));
    // Dies are numbered channel by channel.
    let per_channel = dies.len().checked_div(buses.len())?;
    if most <= 0.0 || dies.len() > DIES_MAX || per_channel * buses.len() != dies.len() {
        return None;
    }
    // The gap between channels is as wide as a die.
    let unit = 100.0 / (dies.len() + buses.len() - 1) as f64;
    let share = |share: f64| page::share(share).text();
    let channels = dies.chunks(per_channel).zip(buses).enumerate().map(|(channel, (dies, bus))| {
        let first = (channel * (per_channel + 1)) as f64 * unit;
        let (low, high) =
            dies.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &busy| (low.min(busy), high.max(busy)));
        Channel {
            tip: format!("Channel {}: dies {} to {} busy, bus {}.", channel + 1, share(low), share(high), share(*bus)),
            x: round(first),
            width: round(per_channel as f64 * unit),
            dies: dies
                .iter()
                .enumerate()
                .map(|(die, busy)| Bar {
                    x: round(first + die as f64 * unit),
                    width: round(unit * 0.8),
                    height: round(100.0 * busy / most),
                })
                .collect(),
        }
    });
    Some(Dies {
        label: candidate.title.clone(),
        index,
        channels: channels.collect(),
        value: if share(least) == share(most) { share(most) } else { format!("{} to {}", share(least), share(most)) },
    })
}

fn round(percent: f64) -> f64 {
    (percent * 1e2).round() / 1e2
}

#[cfg(test)]
mod tests {
    use esker_results::{ArrayReport, DeviceReport, FlashReport};

    use super::*;
    use crate::samples;

    #[test]
    fn dies_stand_by_channel_against_the_busiest() {
        let design = |dies: &[f64], buses: &[f64]| {
            let array = ArrayReport {
                die_utilisation: dies.to_vec(),
                bus_utilisation: buses.to_vec(),
                ..ArrayReport::default()
            };
            let flash = Some(FlashReport { array: Some(array), ..FlashReport::default() });
            let mut design = Candidate::new("x", "x", "ssd", 1);
            design.devices.insert("ssd".into(), DeviceReport { flash, ..DeviceReport::default() });
            design
        };
        let mut workload = samples::workload();
        workload.candidates = vec![
            Candidate::new("disk", "disk", "hdd", 1),
            design(&[0.1, 0.2, 0.4, 0.3], &[0.5, 0.6]),
            design(&[0.0], &[0.0]),
        ];
        let dies = dies(&workload);
        assert_eq!(dies.len(), 1, "one has no flash, the other one did nothing");
        assert_eq!((dies[0].index, dies[0].value.as_str()), (1, "10\u{a0}% to 40\u{a0}%"));
        let bars: Vec<_> =
            dies[0].channels.iter().flat_map(|channel| &channel.dies).map(|bar| (bar.x, bar.height)).collect();
        assert_eq!(bars, [(0.0, 25.0), (20.0, 50.0), (60.0, 100.0), (80.0, 75.0)]);
        assert_eq!(dies[0].channels[1].tip, "Channel 2: dies 30\u{a0}% to 40\u{a0}% busy, bus 60\u{a0}%.");
    }
}
