//! What hosts write to each slice.

use esker_core::{Nanos, Ratio, Rng};

use super::draws::Draws;
use super::place::HostWrites;
use super::settings::{DataSettings, LoadSettings, RequestSettings};
use super::{DAY, PAGE, YEAR};

/// Epochs after which a decayed sum of the same numbers has come to its limit in 32 bits, whatever it was before: it
/// halves the distance each time, numbers are at most 2^24 apart, and have 24 bits.
const EPOCHS_TO_SETTLE: u32 = 64;

/// The load, and what balancers are told of it.
#[derive(Debug)]
pub(super) struct Load {
    settings: LoadSettings,
    rng: Rng,
    next_turnover: Nanos,
    /// Pages of an epoch of the first day, over all slices.
    pages: f64,
    writes: HostWrites,
    /// The decayed writes to all slices.
    popularity: f64,
    /// What was drawn for this epoch, if requests are.
    draws: Option<Draws>,
    /// Epochs since popularity has changed by more than its own decay.
    steady: u32,
}

impl Load {
    /// The load, and the pages that it writes to each slice in an epoch of the first day. Ranks of Zipf's law are
    /// drawn.
    pub(super) fn new(settings: &LoadSettings, data: &DataSettings, epoch: Nanos, seed: u64) -> (Self, Vec<f32>) {
        let mut rng = Rng::derive(seed, "fleet load");
        let bytes = settings.bytes_per_day.0 as f64 * settings.write_share.as_f64();
        let pages = bytes * epoch.0 as f64 / DAY.0 as f64 / PAGE.0 as f64;
        let rank = |rank: u32| f64::from(rank + 1).powf(-settings.zipf);
        let all: f64 = (0..data.slices).map(rank).sum();
        let mut weights: Vec<f32> = (0..data.slices).map(|at| (rank(at) / all * pages) as f32).collect();
        shuffle(&mut weights, &mut rng);
        // A larger write goes to several objects.
        let write = settings.write.unwrap_or(data.object).min(data.object);
        let (write, object) = (write.0 as f64, data.object.0 as f64);
        let writes = HostWrites { growth: 1.0, pages: write / PAGE.0 as f64, rest: object - write };
        let next_turnover = settings.turnover.map_or(Nanos::NEVER, |turnover| turnover.every);
        let draws = (settings.requests == RequestSettings::Drawn).then(|| Draws::new(seed, writes.pages));
        let settings = settings.clone();
        (Self { settings, rng, next_turnover, pages, writes, popularity: 0.0, draws, steady: 0 }, weights)
    }

    /// Begins an epoch. Returns whether slices change places in popularity.
    pub(super) fn begin_epoch(&mut self, at: Nanos) -> bool {
        let years = at.0 as f64 / YEAR.0 as f64;
        let growth = (1.0 + self.settings.growth.as_f64()).powf(years);
        let turns = at >= self.next_turnover;
        if turns || growth != self.writes.growth {
            self.steady = 0;
        }
        self.writes.growth = growth;
        turns
    }

    /// Lets slices change places.
    pub(super) fn turn_over(&mut self, weights: &mut [f32]) {
        let Some(turnover) = self.settings.turnover else { return };
        self.next_turnover += turnover.every;
        if turnover.share == Ratio::ONE {
            return shuffle(weights, &mut self.rng);
        }
        let share = turnover.share.as_f64();
        let chosen: Vec<usize> = (0..weights.len()).filter(|_| self.rng.unit() < share).collect();
        let mut values: Vec<f32> = chosen.iter().map(|at| weights[*at]).collect();
        shuffle(&mut values, &mut self.rng);
        chosen.iter().zip(values).for_each(|(at, value)| weights[*at] = value);
    }

    /// Draws what this epoch writes to each slice, if requests are drawn.
    pub(super) fn draw(&mut self, weights: &[f32]) {
        if let Some(draws) = &mut self.draws {
            draws.begin_epoch(weights, self.writes.growth);
        }
    }

    /// Pages that this epoch writes to each slice, if they were drawn. Otherwise they are the weights times growth.
    pub(super) fn drawn(&self) -> Option<&[f32]> {
        self.draws.as_ref().map(Draws::pages)
    }

    pub(super) fn writes(&self) -> HostWrites {
        self.writes
    }

    /// Ends an epoch: shows what was written to each slice. Objects that are written at all are written alike; they are
    /// hot above `threshold` times the mean of all objects.
    pub(super) fn show(
        &mut self,
        (slices, weights): (&mut [esker_cluster::SliceView], &[f32]),
        objects_per_slice: u32,
        threshold: f64,
    ) {
        let growth = self.writes.growth as f32;
        let by_request = (1.0 / self.writes.pages) as f32;
        let drawn = self.draws.as_ref().map(Draws::pages);
        let pages = match drawn {
            Some(drawn) => drawn.iter().map(|pages| f64::from(*pages)).sum(),
            None => self.pages * self.writes.growth,
        };
        self.popularity = self.popularity / 2.0 + pages / self.writes.pages;
        if self.steady > EPOCHS_TO_SETTLE && drawn.is_none() {
            return;
        }
        self.steady = self.steady.saturating_add(1);
        let objects = f64::from(objects_per_slice);
        let written = (objects * self.settings.written_objects.as_f64()).max(1.0).min(objects);
        let mean = self.popularity / (objects * slices.len() as f64);
        let (limit, hot) = ((mean * threshold * written) as f32, written as u32);
        for (at, (slice, weight)) in slices.iter_mut().zip(weights).enumerate() {
            slice.pages = drawn.map_or(weight * growth, |drawn| drawn[at]);
            slice.popularity = slice.popularity / 2.0 + slice.pages * by_request;
            slice.hot = if slice.popularity > limit { hot } else { 0 };
        }
    }
}

/// Fisher and Yates.
fn shuffle(values: &mut [f32], rng: &mut Rng) {
    for at in (1..values.len()).rev() {
        values.swap(at, rng.below(at as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetSettings;

    fn settings(load: &str) -> FleetSettings {
        let text = format!(
            "[data]\nslices = 400\n[[group]]\nname = \"a\"\ncount = 1\ncapacity = \"1TB\"\nendurance = \"1PB\"\n\
             [load]\nbytes_per_day = \"1GiB\"\n{load}\n[run]\nduration = \"1d\"\n"
        );
        FleetSettings::read(&text, "test", &[]).unwrap()
    }

    fn made(load: &str) -> (Load, Vec<f32>) {
        let settings = settings(load);
        Load::new(&settings.load, &settings.data, DAY, 7)
    }

    #[test]
    fn slices_are_written_by_zipfs_law_and_all_of_it() {
        let (_, mut weights) = made("zipf = 1.0\nwrite_share = \"25%\"");
        let all: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        assert!((all - 65_536.0).abs() < 0.1, "a quarter of 2^18 pages, not {all}");
        let drawn = weights.clone();
        weights.sort_by(|one, two| two.total_cmp(one));
        assert_ne!(drawn, weights, "ranks are drawn");
        assert!((weights[0] / weights[9] - 10.0).abs() < 1e-4);
    }

    #[test]
    fn turnover_keeps_what_is_written_and_its_share() {
        for (share, least, most) in [("100%", 390, 400), ("25%", 60, 140)] {
            let (mut load, weights) = made(&format!("zipf = 1\nturnover = {{ every = \"7d\", share = \"{share}\" }}"));
            let days: Vec<u64> = (0..30)
                .filter(|day| {
                    let turns = load.begin_epoch(DAY * *day);
                    turns.then(|| load.turn_over(&mut weights.clone()));
                    turns
                })
                .collect();
            assert_eq!(days, [7, 14, 21, 28]);
            let mut now = weights.clone();
            load.turn_over(&mut now);
            let changed = now.iter().zip(&weights).filter(|(one, two)| one != two).count();
            assert!((least..=most).contains(&changed), "{share}: {changed}");
            let sorted = |mut all: Vec<f32>| {
                all.sort_by(f32::total_cmp);
                all
            };
            assert_eq!(sorted(now), sorted(weights));
        }
    }

    /// What is skipped once nothing changes is what would be shown: also after a turnover.
    #[test]
    fn popularity_is_the_decayed_sum_and_stays_at_its_limit() {
        let (mut load, mut weights) = made("zipf = 1.2\nwritten_objects = \"40%\"");
        let view = esker_cluster::SliceView {
            homes: [esker_cluster::ServerId(0); 3],
            popularity: 0.0,
            pages: 0.0,
            hot: 0,
            replicas: 2,
            in_motion: false,
        };
        let mut slices = vec![view; weights.len()];
        let mut plain = vec![0.0f32; weights.len()];
        for epoch in 0..400 {
            load.begin_epoch(DAY * epoch);
            if epoch == 200 {
                weights.reverse();
                load.steady = 0;
            }
            load.show((&mut slices, &weights), 1000, 1.0);
            plain.iter_mut().zip(&weights).for_each(|(all, weight)| *all = *all / 2.0 + weight / 64.0);
            assert!(slices.iter().zip(&plain).all(|(slice, plain)| slice.popularity == *plain), "epoch {epoch}");
        }
        assert!(load.steady > EPOCHS_TO_SETTLE);
        let mean = plain.iter().sum::<f32>() / (plain.len() as f32);
        let hot = |plain: f32| if plain / 400.0 > mean / 1000.0 { 400 } else { 0 };
        assert!(slices.iter().zip(&plain).all(|(slice, plain)| slice.hot == hot(*plain)));
    }
}
