//! What it costs in life that a design itself writes data to its flash: extents that a placement policy moves there, or
//! lines that fill a cache.

use esker_results::study::Promotions;

use crate::lifetime::{Wear, lifetime_years};

/// Returns what `bytes_per_day` cost of those that wear the flash. If the trace is too short to tell how much is
/// written a day (`is_short`), no life is a number.
pub(crate) fn promotions(bytes_per_day: f64, wear: &Wear, is_short: bool) -> Promotions {
    let all = wear.host_bytes_per_day;
    let bytes_per_day = bytes_per_day.min(all);
    let endurable = wear.raw.0 as f64 * wear.rated_cycles as f64;
    let (years, is_cut_off) = lifetime_years(&Wear { host_bytes_per_day: all - bytes_per_day, ..*wear });
    Promotions {
        bytes_per_day,
        share_of_writes: if all > 0.0 { bytes_per_day / all } else { 0.0 },
        life_share_per_day: bytes_per_day * wear.write_amplification / endurable.max(1.0),
        lifetime_years_without: (!is_short).then_some(years),
        without_is_cut_off: !is_short && is_cut_off,
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Bytes;

    use super::*;

    /// 1 TB of flash that endures 3,650 TB of programs, of which each byte written takes two: 500 GB a day wear it out
    /// in ten years.
    const WEAR: Wear = Wear {
        raw: Bytes(1_000_000_000_000),
        rated_cycles: 3_650,
        write_amplification: 2.0,
        host_bytes_per_day: 500e9,
        growth_per_year: 0.0,
    };

    fn years(wear: &Wear) -> f64 {
        lifetime_years(wear).0
    }

    /// 100 GB a day of the 500 are promoted. Without them the flash would last 12.5 years.
    #[test]
    fn promotions_cost_the_years_by_which_the_flash_would_last_longer() {
        let found = promotions(100e9, &WEAR, false);
        assert!((found.lifetime_years_without.unwrap() - 12.5).abs() < 1e-9, "{found:?}");
        assert!((found.share_of_writes - 0.2).abs() < 1e-12 && !found.without_is_cut_off);
        // 200 GB are programmed a day, of 3,650 TB; over ten years of 365 days they are a fifth of all.
        assert!((found.life_share_per_day - 200e9 / 3_650e12).abs() < 1e-15);
        assert!((found.life_share_per_day * 3_650.0 - found.share_of_writes).abs() < 1e-9);
        let short = promotions(100e9, &WEAR, true);
        assert_eq!(Promotions { lifetime_years_without: None, ..found }, short);
    }

    #[test]
    fn what_moves_nothing_costs_nothing() {
        let found = promotions(0.0, &WEAR, false);
        assert_eq!(found.lifetime_years_without, Some(years(&WEAR)));
        assert_eq!((found.bytes_per_day, found.share_of_writes, found.life_share_per_day), (0.0, 0.0, 0.0));
        let idle = promotions(0.0, &Wear { host_bytes_per_day: 0.0, ..WEAR }, false);
        assert!(idle.share_of_writes == 0.0 && idle.without_is_cut_off, "{idle:?}");
    }

    #[test]
    fn on_twice_the_flash_promotions_cost_half_a_day_and_it_lasts_no_shorter_without_them() {
        for growth_per_year in [-0.02, 0.0, 0.3] {
            for share in [0.0, 0.1, 0.7, 1.0] {
                let wear = Wear { growth_per_year, ..WEAR };
                let twice = Wear { raw: Bytes(2 * wear.raw.0), ..wear };
                let [one, two] = [&wear, &twice].map(|wear| promotions(share * 500e9, wear, false));
                assert!((one.life_share_per_day - 2.0 * two.life_share_per_day).abs() < 1e-15, "{one:?} {two:?}");
                for (wear, found) in [(&wear, one), (&twice, two)] {
                    let without = found.lifetime_years_without.unwrap();
                    assert!(without >= years(wear) && (share == 0.0 || without > years(wear)), "{found:?}");
                }
            }
        }
    }

    /// The flash takes no more than all that is written to it.
    #[test]
    fn promotions_are_a_part_of_what_the_flash_takes() {
        let found = promotions(600e9, &WEAR, false);
        assert_eq!((found.bytes_per_day, found.share_of_writes), (500e9, 1.0));
        assert!(found.without_is_cut_off, "nothing else wears it");
    }
}
