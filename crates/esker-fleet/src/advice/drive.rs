//! A drive over time: how fast it is written, and what of that cannot be said.

use esker_results::advice::FigureRange;

use super::figures::{DAY_S, range};
use super::smart::DriveSample;

/// Rates over less time are noise.
const SHORTEST_S: i64 = 86_400;
/// The average since a drive was new is an estimate from this age on.
const GROWN_UP_HOURS: f64 = 30.0 * 24.0;
/// Where there is one estimate only, the rate may be off by this factor.
const ALONE: f64 = 1.5;

/// All samples of one drive, by time.
#[derive(Clone, Debug)]
pub(super) struct DriveHistory {
    pub(super) samples: Vec<DriveSample>,
}

impl DriveHistory {
    /// Sorts samples by drive and time. Those that are the same are one.
    pub(super) fn of_all(samples: &[DriveSample]) -> Vec<Self> {
        let mut sorted = samples.to_vec();
        let key = |sample: &DriveSample| (sample.model.clone(), sample.serial.clone());
        sorted.sort_by_key(|sample| (key(sample), sample.unix_s));
        sorted.dedup();
        sorted.chunk_by(|one, next| key(one) == key(next)).map(|same| Self { samples: same.to_vec() }).collect()
    }

    pub(super) fn first(&self) -> &DriveSample {
        &self.samples[0]
    }

    pub(super) fn last(&self) -> &DriveSample {
        &self.samples[self.samples.len() - 1]
    }

    /// Bytes that the host writes in a day, or why that cannot be said.
    pub(super) fn bytes_per_day(&self) -> Result<FigureRange, String> {
        let mut points = Vec::new();
        for sample in &self.samples {
            let missing = || sample.not_counted.clone().unwrap_or_else(|| "it does not say what was written".into());
            points.push((sample.unix_s, sample.written_bytes.ok_or_else(missing)?));
        }
        self.check_counters(&points)?;
        let (first, last) = (points[0], points[points.len() - 1]);
        if self.samples.len() < 2 {
            return Err("there is one sample only; take another one in a week or more".into());
        }
        if last.0 - first.0 < SHORTEST_S {
            let hours = (last.0 - first.0) as f64 / 3_600.0;
            return Err(format!("its samples are {hours:.1} hours apart; a day is the least, weeks are better"));
        }
        let rate = |from: (i64, u64), to: (i64, u64)| (to.1 - from.1) as f64 / ((to.0 - from.0) as f64 / DAY_S);
        let mut estimates: Vec<f64> = points
            .windows(2)
            .filter(|pair| pair[1].0 - pair[0].0 >= SHORTEST_S)
            .map(|pair| rate(pair[0], pair[1]))
            .collect();
        if points.len() == 2 {
            estimates.clear();
        }
        let hours = self.last().power_on_hours.map(|hours| hours as f64).filter(|hours| *hours >= GROWN_UP_HOURS);
        estimates.extend(hours.map(|hours| last.1 as f64 / (hours / 24.0)));
        let likely = rate(first, last);
        if estimates.is_empty() {
            estimates = vec![likely / ALONE, likely * ALONE];
        }
        Ok(range(likely, estimates))
    }

    /// Refuses counts that go backwards, and two different ones of the same time.
    fn check_counters(&self, points: &[(i64, u64)]) -> Result<(), String> {
        for (pair, counts) in self.samples.windows(2).zip(points.windows(2)) {
            let (one, next) = (&pair[0], &pair[1]);
            let went_back = |what: &str| {
                format!("{what} goes backwards between its samples: was it reset, or are two drives one here?")
            };
            if one.unix_s == next.unix_s {
                return Err("two samples of the same time differ".into());
            }
            if counts[1].1 < counts[0].1 {
                return Err(went_back("what was written"));
            }
            if matches!((one.power_on_hours, next.power_on_hours), (Some(one), Some(next)) if next < one) {
                return Err(went_back("its time under power"));
            }
            if matches!((one.used_percent, next.used_percent), (Some(one), Some(next)) if next < one) {
                return Err(went_back("the share of its life used"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(day: i64, written: u64, hours: Option<u64>) -> DriveSample {
        DriveSample {
            model: "m".into(),
            serial: "s".into(),
            unix_s: 1_700_000_000 + day * 86_400,
            written_bytes: Some(written),
            power_on_hours: hours,
            ..DriveSample::default()
        }
    }

    fn rate(samples: &[DriveSample]) -> Result<FigureRange, String> {
        DriveHistory::of_all(samples)[0].bytes_per_day()
    }

    #[test]
    fn a_rate_has_the_range_of_its_stretches_and_of_the_whole_life() {
        let range = |low, likely, high| Ok(FigureRange { low, likely, high });
        let stretches = [sample(20, 3_000, None), sample(0, 1_000, None), sample(10, 1_500, None)];
        assert_eq!(rate(&stretches), range(50.0, 100.0, 150.0));
        // A thousand days, four bytes a day: less than of late.
        assert_eq!(rate(&[sample(0, 3_000, None), sample(10, 4_000, Some(24_000))]), range(4.0, 100.0, 100.0));
        assert_eq!(rate(&[sample(0, 100, None), sample(10, 1_600, None)]), range(100.0, 150.0, 225.0));
    }

    #[test]
    fn what_is_no_rate_is_none() {
        for (samples, reason) in [
            (vec![sample(0, 5, None)], "one sample only"),
            (vec![sample(0, 5, None), sample(0, 5, None)], "one sample only"),
            (vec![sample(0, 5, None), sample(0, 6, None)], "same time"),
            (vec![sample(0, 6, None), sample(9, 5, None)], "what was written goes backwards"),
            (vec![sample(0, 5, Some(9_000)), sample(9, 6, Some(8_000))], "under power goes backwards"),
        ] {
            let error = rate(&samples).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let silent = DriveSample { written_bytes: None, ..sample(5, 0, None) };
        assert!(rate(&[sample(0, 5, None), silent]).is_err());
        let mut soon = sample(0, 9, None);
        soon.unix_s += 7_200;
        assert!(rate(&[sample(0, 5, None), soon]).unwrap_err().contains("2.0 hours"));
    }
}
