//! Where the arm of a disk was: its cylinder over time, as far as the disk has recorded it.

use esker_results::{DiskAccess, DiskTimeline};

use super::{Axis, Chart, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;

/// The paths of a disk's arms. `index` makes the chart's id unique in the page.
pub(crate) fn of_disk(index: usize, name: &str, timeline: &DiskTimeline, columns: &mut Columns) -> Option<Chart> {
    let arms = timeline.accesses.iter().map(|access| access.arm).max()? + 1;
    let line = |arm: u32| {
        let label = if arms == 1 { "arm".to_string() } else { format!("arm {}", arm + 1) };
        let (x, y) = path(timeline.accesses.iter().filter(|access| access.arm == arm));
        Series::new(label, Colour::Category(arm as usize % 7), Shape::Line, x, y)
    };
    let series: Vec<Series> = (0..arms).filter_map(line).collect();
    (!series.is_empty()).then_some(())?;
    let x = Axis::new("milliseconds since the start of the run", Unit::Plain, Scale::Linear);
    let y = Axis::new("cylinder, from the outer edge", Unit::Count, Scale::Linear);
    let title = format!("Where was the arm of {name}?");
    let help = "Slopes are seeks, level lines rotation and transfer. Cylinder 0 is at the outer edge.";
    let chart = Chart { wide: true, ..Chart::new(title, help.to_string(), x, y, series) };
    Some(chart.stored("run", &format!("arm-{index}"), "arm", columns))
}

/// Corners of the path: where each seek began and where it ended, and the end of the last access.
fn path<'a>(accesses: impl Iterator<Item = &'a DiskAccess>) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut corner = |time_ns: u64, cylinder: f64| {
        // Two corners at one time would be no line.
        let time = time_ns as f64 / 1e6;
        if x.last().is_none_or(|&before| before < time) {
            x.push(time);
            y.push(cylinder);
        }
    };
    let mut at: Option<f64> = None;
    let mut free = 0;
    for access in accesses {
        let Some(cylinder) = access.cylinder.map(f64::from) else { continue };
        if let Some(before) = at {
            corner(access.start_ns, before);
        }
        corner(access.start_ns + access.seek_ns, cylinder);
        free = access.start_ns + access.seek_ns + access.rotation_ns + access.transfer_ns;
        at = Some(cylinder);
    }
    if let Some(cylinder) = at {
        corner(free, cylinder);
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_corner_where_a_seek_begins_and_where_it_ends() {
        let access = |start_ns, seek_ns, cylinder| DiskAccess {
            start_ns,
            seek_ns,
            rotation_ns: 2_000_000,
            transfer_ns: 1_000_000,
            cylinder,
            ..DiskAccess::default()
        };
        let accesses =
            [access(0, 1_000_000, Some(50)), access(2_000_000, 0, None), access(5_000_000, 4_000_000, Some(10))];
        let (x, y) = path(accesses.iter());
        assert_eq!(x, [1.0, 5.0, 9.0, 12.0]);
        assert_eq!(y, [50.0, 50.0, 10.0, 10.0]);
    }
}
