//! The picture of the page: a row for each policy, a column for each quantity, a dot for each mix.

use plotters::prelude::*;

use super::page::ranks;
use super::{Measured, Mix};

pub(crate) const FILE: &str = "docs/images/cache-ranking.svg";

/// A column: its title, and the value of a policy.
type Column = (&'static str, fn(&Measured) -> f64);

const COLUMNS: [Column; 3] = [
    ("misses beyond Belady's, points", |measured| 100.0 * measured.regret),
    ("99th percentile, ms", |measured| measured.p99_ms),
    ("drive writes a day", |measured| measured.drive_writes_per_day),
];

/// Colours that people tell apart who see few.
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(230, 159, 0), RGBColor(0, 158, 115)];

pub(crate) fn of(mixes: &[Mix]) -> String {
    let mut svg = String::new();
    draw(mixes, &mut svg).unwrap();
    svg
}

fn draw(mixes: &[Mix], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let ranks = ranks(mixes);
    let rows = ranks.len() as i32;
    let height = 90 + 22 * rows as u32;
    let area = SVGBackend::with_string(svg, (1100, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let (left, rest) = area.split_horizontally(420);
    let (middle, right) = rest.split_horizontally(340);
    for (part, area) in [left, middle, right].iter().enumerate() {
        let (title, of) = COLUMNS[part];
        let values = mixes.iter().flat_map(|mix| &mix.policies).map(|policy| of(&policy.1));
        let most = values.fold(0.0, f64::max) * 1.05;
        // The first column has the names of the rows.
        let label = |row: &i32| match usize::try_from(rows - 1 - row).ok().and_then(|place| ranks.get(place)) {
            Some((policy, _)) if part == 0 => mixes[0].policies[*policy].0.clone(),
            _ => String::new(),
        };
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(if part == 0 { 92 } else { 8 })
            .build_cartesian_2d(0.0..most, -1..rows)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .y_labels(rows as usize + 2)
            .y_label_formatter(&label)
            .light_line_style(TRANSPARENT)
            .label_style(("sans-serif", 13))
            .draw()?;
        for (mix, colour) in mixes.iter().zip(COLOURS) {
            let dot = |(place, (policy, _)): (usize, &(usize, f64))| {
                Circle::new((of(&mix.policies[*policy].1), rows - 1 - place as i32), 5, colour.mix(0.8).filled())
            };
            let series = chart.draw_series(ranks.iter().enumerate().map(dot))?;
            if part == 0 {
                series
                    .label(format!("{} reads", mix.reads))
                    .legend(move |(x, y)| Circle::new((x + 8, y), 5, colour.mix(0.8).filled()));
            }
        }
        if part == 0 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .background_style(WHITE.mix(0.9))
                .border_style(BLACK.mix(0.3))
                .label_font(("sans-serif", 13))
                .draw()?;
        }
    }
    area.present()?;
    Ok(())
}
