//! How evenly the servers of a cluster wear, over the time of the run.

use esker_results::{ClusterEpoch, ClusterReport};

use super::{Axis, Chart, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;

/// Erases of the servers at the end of each epoch. `index` makes the chart's id unique in the page.
pub(crate) fn of_cluster(index: usize, name: &str, cluster: &ClusterReport, columns: &mut Columns) -> Option<Chart> {
    type Value = fn(&ClusterEpoch) -> f64;
    let lines: [(&str, Value); 3] = [
        ("most of any server", |epoch| epoch.erases_max),
        ("mean", |epoch| epoch.erases_mean),
        ("standard deviation", |epoch| epoch.erases_sd),
    ];
    let line = |(colour, (label, value)): (usize, (&str, Value))| {
        let (x, y) = cluster.epochs.iter().map(|epoch| (epoch.at_s, value(epoch))).unzip();
        Series::new(label, Colour::Category(colour), Shape::Line, x, y)
    };
    let series: Vec<Series> = lines.into_iter().enumerate().filter_map(line).collect();
    (!series.is_empty()).then_some(())?;
    let x = Axis::new("time since the start of the run", Unit::Elapsed, Scale::Linear);
    let y = Axis::new("erases", Unit::Count, Scale::Linear);
    let title = format!("How evenly do the servers of {name} wear?");
    let help = "Erases of a server at the end of each epoch. The closer the uppermost line is to the mean, the more \
                even is the wear.";
    let chart = Chart { wide: true, ..Chart::new(title, help.to_string(), x, y, series) };
    Some(chart.stored("run", &format!("cluster-{index}"), "cluster", columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wear_is_drawn_once_epochs_have_ended() {
        let epoch = |at_s| ClusterEpoch { at_s, erases_mean: at_s, erases_sd: 1.0, erases_max: at_s + 2.0 };
        let mut cluster = ClusterReport::default();
        let chart = |cluster: &ClusterReport| of_cluster(0, "servers", cluster, &mut Columns::default());
        assert!(chart(&cluster).is_none());
        cluster.epochs = vec![epoch(10.0), epoch(20.0)];
        let drawn = serde_json::to_value(chart(&cluster).unwrap()).unwrap().to_string();
        for words in ["most of any server", "mean", "standard deviation", "of servers wear"] {
            assert!(drawn.contains(words), "{words}: {drawn}");
        }
    }
}
