//! How long do burst credits last?

use esker_results::CreditReport;
use esker_results::study::Candidate;

use super::{Axis, Chart, ChartEntry, Clock, Colour, Series, Shape, Source};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "burst-credits", section: "performance", build };

/// Credits that never fall below this share are not worth a chart.
const SHARE_LEFT: f64 = 0.75;

fn build(source: &Source<'_>) -> Option<Chart> {
    let line = |(index, candidate): (usize, &Candidate)| {
        let (what, credits) = scarcest(candidate)?;
        let (x, y): (Vec<f64>, Vec<f64>) =
            credits.series.iter().map(|point| (point.at_s, share(credits, point.credits))).unzip();
        let label = format!("{}: {what}", candidate.title);
        let series = Series::new(&label, Colour::Category(index), Shape::Line, x, y)?;
        Some((label, series.keyed(&candidate.name)))
    };
    let (labels, series): (Vec<String>, Vec<Series>) =
        source.workload.candidates.iter().enumerate().filter_map(line).unzip();
    // A single line has no legend.
    let of = match labels.as_slice() {
        [] => return None,
        [only] => format!("{only}. "),
        _ => String::new(),
    };
    let help = format!(
        "{of}Credits in the bucket of each volume, of several volumes of that with fewest. Once they are gone, a \
         volume does no more than it is sold for, and requests wait."
    );
    let y = Axis::shares("credits left");
    let chart = Chart::over_time(source, Clock::Run, "How long do burst credits last?", help, y, series);
    Some(Chart { wide: true, ..chart })
}

/// Returns the credits that a design comes closest to using up, and what they are for.
fn scarcest(candidate: &Candidate) -> Option<(&str, &CreditReport)> {
    let volumes = candidate.devices.values().filter_map(|device| device.cloud_volume.as_ref());
    let credits = volumes.flat_map(|volume| volume.credits.iter().map(|(what, credits)| (what.as_str(), credits)));
    let least = credits.min_by(|(_, one), (_, other)| share(one, one.least).total_cmp(&share(other, other.least)));
    least.filter(|(_, credits)| share(credits, credits.least) < SHARE_LEFT)
}

/// A balance as a share of the bucket; a debt counts as none.
fn share(credits: &CreditReport, balance: f64) -> f64 {
    (balance / credits.capacity.max(1.0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use esker_results::{CloudVolumeReport, CreditPoint, DeviceReport};

    use super::*;

    #[test]
    fn the_bucket_with_least_left_is_drawn_if_any_falls_low() {
        let credits = |least: f64| CreditReport {
            capacity: 1000.0,
            least,
            series: vec![CreditPoint { at_s: 0.0, credits: 1000.0 }, CreditPoint { at_s: 60.0, credits: least }],
            ..CreditReport::default()
        };
        let candidate = |least: [f64; 2]| {
            let volume = |least: f64| CloudVolumeReport {
                credits: [("operations".to_string(), credits(least))].into(),
                ..CloudVolumeReport::default()
            };
            let device = |least: f64| DeviceReport { cloud_volume: Some(volume(least)), ..DeviceReport::default() };
            let devices = [("a".to_string(), device(least[0])), ("b".to_string(), device(least[1]))];
            Candidate { devices: devices.into(), ..Candidate::new("x", "x", "array", 2) }
        };
        let found = candidate([900.0, -20.0]);
        let (what, scarce) = scarcest(&found).unwrap();
        assert_eq!((what, scarce.least, share(scarce, scarce.least)), ("operations", -20.0, 0.0));
        assert!(scarcest(&candidate([900.0, 751.0])).is_none());
        assert!(scarcest(&Candidate::new("x", "x", "ssd", 1)).is_none());
    }
}
