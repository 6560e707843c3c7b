//! Averages of what slices are written.

use super::super::averages::Averages;
use super::{Cluster, server, slice};
use crate::id::SliceId;

/// Two servers, and slices that are written these pages and have a replica on the second one.
fn cluster(pages: &[f32]) -> Cluster {
    let slices = pages.iter().map(|pages| slice([1, 0, 0], *pages)).collect();
    Cluster::new((0..2).map(|at| server(at, 0.0)).collect(), slices, 1)
}

#[test]
fn averages_are_even_at_first_and_then_forget() {
    let mut averages = Averages::over(4);
    let mut expected = 0.0f64;
    for (epoch, pages) in [7.0, 1.0, 4.0, 0.0, 8.0, 8.0, 2.0].into_iter().enumerate() {
        expected += (pages - expected) / (epoch + 1).min(4) as f64;
        let written = averages.take(&cluster(&[pages as f32, 2.0]).view());
        assert!((f64::from(averages.of(SliceId(0))) - expected).abs() < 1e-6, "epoch {epoch}");
        assert_eq!(written[0], 0.0);
        assert!((written[1] - expected - 2.0).abs() < 1e-6, "epoch {epoch}");
    }
}

#[test]
fn the_average_over_one_epoch_is_what_it_wrote() {
    let mut averages = Averages::over(1);
    for pages in [1e7f32, 0.1, 3.3e-5, 7e6, 0.3] {
        averages.take(&cluster(&[pages]).view());
        assert_eq!(averages.of(SliceId(0)), pages);
    }
}

/// So does one that was without replicas: what it was written before was written to other data.
#[test]
fn a_new_slice_begins_with_what_it_was_written() {
    let mut averages = Averages::over(100);
    for _ in 0..50 {
        averages.take(&cluster(&[5.0]).view());
    }
    assert_eq!(averages.take(&cluster(&[5.0, 40.0]).view())[1], 45.0);
    let mut gone = cluster(&[5.0, 0.0]);
    gone.slices[1].replicas = 0;
    assert_eq!(averages.take(&gone.view())[1], 5.0);
    assert_eq!(averages.take(&cluster(&[5.0, 9.0]).view())[1], 14.0);
}
