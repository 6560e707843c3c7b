//! What balancers are worth on an unlike fleet, an even one, and under a load that turns over. Tolerances were
//! fixed before the first run.

use super::{read, run};
use crate::fleet::FleetSettings;

/// Sixty servers: sizes from 1 to 4; 0.3, 1 or 3 drive writes a day; up to four fifths of their life used. Slices are
/// written by Zipf's law with exponent 0.9, so that all life would be used up after 400 days or so.
fn unlike(more: &str) -> FleetSettings {
    let mut text = format!(
        "[data]\nslices = 3000\nobjects_per_slice = 16\n[load]\nbytes_per_day = \"110GB\"\nzipf = 0.9\n{more}\
         [run]\nduration = \"500d\"\nuntil = \"first-worn-out\"\n"
    );
    for size in 1..=4 {
        for (at, rating) in [0.3, 1.0, 3.0].into_iter().enumerate() {
            text += &format!(
                "[[group]]\nname = \"{size}-{at}\"\ncount = 5\ncapacity = \"{}MiB\"\ndrive_writes_per_day = {rating}\n\
                 life_used = [\"0%\", \"80%\"]\n",
                size * 180
            );
        }
    }
    read(&text)
}

/// Sixty servers that are alike and new, and slices that are written alike within a tenth.
fn even(more: &str) -> FleetSettings {
    read(&format!(
        "[data]\nslices = 3000\nobjects_per_slice = 16\n[load]\nbytes_per_day = \"130GB\"\nzipf = 0.1\n{more}\
         [[group]]\nname = \"a\"\ncount = 60\ncapacity = \"500MiB\"\ndrive_writes_per_day = 1\n\
         [run]\nduration = \"500d\"\nuntil = \"first-worn-out\"\n"
    ))
}

/// Least, median and greatest of ten seeds: share of the bound, and extra writes.
fn over_seeds(settings: &FleetSettings, balancer: &str) -> ([f64; 3], [f64; 3]) {
    let runs: Vec<_> = (0..10).map(|seed| run(settings, seed, balancer)).collect();
    let spread = |values: Vec<f64>| {
        let mut values = values;
        values.sort_by(f64::total_cmp);
        [values[0], (values[4] + values[5]) / 2.0, values[9]]
    };
    let share = |run: &esker_results::fleet::FleetRun| {
        run.share_of_bound.unwrap_or_else(|| panic!("no server is worn out: {run:?}"))
    };
    let shares = spread(runs.iter().map(share).collect());
    let extra = spread(runs.iter().map(|run| run.written.extra_share).collect());
    print(&format!("{balancer:<10} {shares:.3?} {extra:.5?}"));
    (shares, extra)
}

#[expect(clippy::print_stdout, reason = "measured figures, asked for by ESKER_PRINT")]
fn print(line: &str) {
    if std::env::var_os("ESKER_PRINT").is_some() {
        println!("{line}");
    }
}

#[test]
fn life_comes_near_the_bound_on_an_unlike_fleet() {
    let settings = unlike("");
    let (life, extra) = over_seeds(&settings, "life");
    assert!(life[1] >= 0.8, "{life:?}");
    assert!(extra[2] <= 0.005, "{extra:?}");
    for other in ["none", "edm-like", "ewo"] {
        let (share, _) = over_seeds(&settings, other);
        assert!(share[1] <= 0.2 && share[1] < life[1] / 4.0, "{other}: {share:?}");
    }
}

#[test]
fn life_leaves_an_even_fleet_alone() {
    let settings = even("");
    let ((life, extra), (none, _)) = (over_seeds(&settings, "life"), over_seeds(&settings, "none"));
    assert!(extra[2] <= 0.001 && life[1] >= none[1], "{extra:?}, {life:?}, {none:?}");
}

#[test]
fn life_does_no_harm_under_a_load_that_turns_over() {
    for settings in [even("turnover = { every = \"7d\" }\n"), unlike("turnover = { every = \"7d\" }\n")] {
        for seed in 0..10 {
            let share = |balancer: &str| run(&settings, seed, balancer).share_of_bound.unwrap();
            let (life, none) = (share("life"), share("none"));
            assert!(life >= 0.95 * none, "seed {seed}: {life} and {none}");
        }
    }
}
