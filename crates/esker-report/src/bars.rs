//! Bars, one for each design. The template draws them itself: without a script, and as sharp on paper as text.

use esker_core::words::page::{self, Quantity};
use esker_results::study::{Endurance, StudyReport, WorkloadStudy};

use crate::answer::life_between;

/// One comparison of all designs.
#[derive(Debug)]
pub(crate) struct Bars {
    pub(crate) title: &'static str,
    pub(crate) help: &'static str,
    /// Whether the scale is logarithmic.
    pub(crate) log: bool,
    pub(crate) rows: Vec<Row>,
    pub(crate) ticks: Vec<Tick>,
    /// The line of the budget, if there is one.
    pub(crate) budget: Option<Tick>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// Index of the design, which selects its colour.
    pub(crate) index: usize,
    /// Length in per cent; absent if there is no value.
    pub(crate) length: Option<f64>,
    pub(crate) value: String,
}

#[derive(Debug)]
pub(crate) struct Tick {
    /// Distance from the left or from the top, in per cent.
    pub(crate) at: f64,
    pub(crate) label: String,
    /// Which end of the label is at the mark: labels near the right end would stick out otherwise.
    pub(crate) anchor: &'static str,
}

/// A quantity to compare.
struct Measure {
    title: &'static str,
    help: &'static str,
    /// The value and its text, or the reason why there is none.
    value: fn(&Endurance) -> Result<(f64, String), String>,
    format: fn(f64) -> Quantity,
    budget: Option<(f64, &'static str)>,
}

/// The comparisons of a workload's flash designs. Comparisons without any value are left out.
pub(crate) fn lifetime(study: &StudyReport, workload: &WorkloadStudy) -> Vec<Bars> {
    let measures = [
        Measure {
            title: "How long will each design's flash live?",
            help: "Years until the mean block reaches its rated erases, growth of the load included.",
            value: life,
            format: page::years,
            budget: Some((study.budgets.years, "asked for")),
        },
        Measure {
            title: "How much more does the flash write than the host?",
            help: "Write amplification: flash pages programmed per page that the host wrote; 1 would be ideal.",
            value: |endurance| {
                let unknown = match endurance.host_bytes_per_day {
                    Some(bytes) if bytes > 0.0 => "too few writes to judge",
                    _ => "the host wrote nothing",
                };
                let value = endurance.write_amplification.filter(|value| value.is_finite()).ok_or(unknown)?;
                Ok((value, page::factor(value).text()))
            },
            format: page::plain,
            budget: None,
        },
    ];
    measures.iter().filter_map(|measure| compare(workload, measure)).collect()
}

fn life(endurance: &Endurance) -> Result<(f64, String), String> {
    // Of a range, the bar shows the shorter life.
    if let (None, Some([low, high])) = (endurance.lifetime_years, endurance.lifetime_range_years) {
        return Ok((low, life_between(low, high)));
    }
    let years = endurance.lifetime_years.filter(|years| endurance.judged && years.is_finite());
    let years = years.ok_or("too few writes to judge")?;
    let text = page::years(years).text();
    Ok((years, if endurance.lifetime_is_lower_bound { format!(">\u{a0}{text}") } else { text }))
}

fn compare(workload: &WorkloadStudy, measure: &Measure) -> Option<Bars> {
    let mut rows = Vec::new();
    for (index, candidate) in workload.candidates.iter().enumerate() {
        let Some(endurance) = &candidate.endurance else { continue };
        rows.push((index, candidate.title.clone(), (measure.value)(endurance)));
    }
    let values: Vec<f64> = rows
        .iter()
        .filter_map(|(_, _, value)| value.as_ref().ok().map(|(value, _)| *value))
        .chain(measure.budget.map(|(value, _)| value))
        .filter(|value| *value > 0.0)
        .collect();
    if rows.iter().all(|(_, _, value)| value.is_err()) || values.is_empty() {
        return None;
    }
    let scale = Scale::over(&values);
    let tick = |value: f64, label: String| {
        let at = scale.percent(value);
        Tick {
            at,
            label,
            anchor: if at > 90.0 {
                "end"
            } else if at < 5.0 {
                "start"
            } else {
                "middle"
            },
        }
    };
    Some(Bars {
        title: measure.title,
        help: measure.help,
        log: scale.log,
        ticks: scale.ticks().into_iter().map(|value| tick(value, (measure.format)(value).number)).collect(),
        budget: measure
            .budget
            .map(|(value, what)| tick(value, format!("{}\u{a0}{what}", (measure.format)(value).text()))),
        rows: rows
            .into_iter()
            .map(|(index, label, value)| match value {
                Ok((number, value)) => Row { label, index, length: Some(scale.percent(number)), value },
                Err(reason) => Row { label, index, length: None, value: reason },
            })
            .collect(),
    })
}

/// Ratio of the ends of the narrowest scale around values: two of its ticks are at most 2.5 times apart.
const AROUND_MIN: f64 = 8.0;

/// Maps values to positions.
pub(crate) struct Scale {
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale from zero, or a logarithmic one if the largest value would make the smallest invisible.
    pub(crate) fn over(values: &[f64]) -> Self {
        let (min, max) =
            values.iter().fold((f64::INFINITY, 0.0f64), |(min, max), &value| (min.min(value), max.max(value)));
        let log = max / min > 12.0;
        let from = if log { 10f64.powf((min / 2.0).log10().floor()) } else { 0.0 };
        Self { log, from, to: max * 1.05 }
    }

    /// A scale from zero, or a logarithmic one around values that are spread too widely for that.
    pub(crate) fn of_spread(values: &[f64]) -> Self {
        let scale = Self::over(values);
        if scale.log { Self::around(values) } else { scale }
    }

    /// A logarithmic scale around values above zero, wide enough that two ticks or more are in it.
    pub(crate) fn around(values: &[f64]) -> Self {
        let (min, max) =
            values.iter().fold((f64::INFINITY, 0.0f64), |(min, max), &value| (min.min(value), max.max(value)));
        let wider = (AROUND_MIN / (max / min)).sqrt().max(1.4);
        Self { log: true, from: min / wider, to: max * wider }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    pub(crate) fn percent(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            value / self.to
        };
        // Two decimals are a thirtieth of a pixel, and keep the page small.
        (part.clamp(0.0, 1.0) * 1e4).round() / 1e2
    }

    /// Round values within the scale.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.to / self.from).log10();
            let digits: &[f64] = if decades > 2.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let first = self.from.log10().floor() as i32;
            return (first..first + decades.ceil() as i32 + 1)
                .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
                .filter(|value| *value >= self.from && *value <= self.to)
                .collect();
        }
        let rough = self.to / 5.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|digit| digit * magnitude).find(|step| *step >= rough);
        let step = step.unwrap_or(self.to);
        (0..=(self.to / step) as u32).map(|index| f64::from(index) * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use esker_results::study::Candidate;

    use crate::samples;

    use super::*;

    #[test]
    fn lifetimes_stand_against_their_budget() {
        let ssd = |years: f64, judged: bool| {
            let endurance = Endurance { lifetime_years: Some(years), judged, ..samples::endurance() };
            Candidate { endurance: Some(endurance), ..Candidate::new("x", "x", "ssd", 1) }
        };
        let mut study = samples::study();
        study.budgets.years = 5.0;
        let mut workload = study.workloads.remove(0);
        workload.candidates = vec![ssd(10.0, true), Candidate::new("disk", "disk", "hdd", 1), ssd(2.0, false)];
        let bars = lifetime(&study, &workload);
        assert_eq!(bars.len(), 1, "nobody's write amplification is known");
        let rows: Vec<_> = bars[0].rows.iter().map(|row| (row.index, row.length, row.value.as_str())).collect();
        assert_eq!(rows, [(0, Some(95.24), "10\u{a0}years"), (2, None, "too few writes to judge")]);
        assert_eq!(bars[0].budget.as_ref().unwrap().at, 47.62);

        let range = Endurance {
            lifetime_range_years: Some([6.0, 18.0]),
            host_bytes_per_day: Some(1e9),
            ..samples::endurance()
        };
        assert_eq!(life(&range).unwrap().1, "6 to 18\u{a0}years");
        workload.candidates = vec![Candidate { endurance: Some(range), ..ssd(10.0, true) }];
        workload.candidates.push(Candidate {
            endurance: Some(Endurance { write_amplification: Some(1.5), ..samples::endurance() }),
            ..ssd(10.0, true)
        });
        let amplification = &lifetime(&study, &workload)[1].rows;
        assert_eq!(amplification[0].value, "too few writes to judge", "it wrote something");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Scale::over(&[3.9, 11.4]).ticks(), [0.0, 5.0, 10.0]);
        let wide = Scale::over(&[3.9, 91.0]);
        assert_eq!((wide.log, wide.ticks()), (true, vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0]));
    }

    #[test]
    fn a_scale_around_values_has_ticks_however_close_they_are() {
        let close = Scale::around(&[90.0, 90.0]);
        assert_eq!(close.ticks(), [50.0, 100.0, 200.0]);
        assert_eq!(close.percent(90.0), 50.0);
        let spread = Scale::around(&[30.0, 33_000.0]);
        assert_eq!(spread.ticks(), [100.0, 1_000.0, 10_000.0]);
        assert!(spread.percent(30.0) > 2.0 && spread.percent(33_000.0) < 98.0);
        assert!(!Scale::of_spread(&[64.0, 547.0]).is_log() && Scale::of_spread(&[64.0, 1_093.0]).is_log());
    }
}
