//! Lifetime of flash under a growing load.

use esker_core::Bytes;

/// Longest lifetime in years that is worth a forecast; beyond, it is reported as "more than" this.
pub const LIFETIME_LIMIT_YEARS: f64 = 100.0;

/// The wear of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wear {
    /// Bytes of the flash array, including spare space.
    pub raw: Bytes,
    /// Rated erases per block.
    pub rated_cycles: u64,
    /// Programs per page written by the host.
    pub write_amplification: f64,
    /// Bytes per day written by the host at first: today, as the trace has it. From then on, the load grows.
    pub host_bytes_per_day: f64,
    /// Growth of the load per year, as a fraction.
    pub growth_per_year: f64,
}

/// Returns the years until the mean block has reached its rated erases, at most [`LIFETIME_LIMIT_YEARS`], and whether
/// that limit applied.
///
/// The flash can take `raw * cycles / amplification` host bytes. With a load that grows continuously by the factor `1 +
/// g` per year, `w * ((1+g)^t - 1) / ln(1+g)` bytes are written in `t` years (`w` bytes a year at first).
pub fn lifetime_years(wear: &Wear) -> (f64, bool) {
    let endurable = wear.raw.0 as f64 * wear.rated_cycles as f64 / wear.write_amplification.max(f64::MIN_POSITIVE);
    let yearly = wear.host_bytes_per_day * 365.0;
    let years = if yearly <= 0.0 {
        f64::INFINITY
    } else if wear.growth_per_year.abs() < 1e-9 {
        endurable / yearly
    } else {
        let rate = wear.growth_per_year.ln_1p();
        // A shrinking load may never write as much as the flash can take.
        match 1.0 + endurable / yearly * rate {
            left if left <= 0.0 => f64::INFINITY,
            left => left.ln() / rate,
        }
    };
    if years >= LIFETIME_LIMIT_YEARS { (LIFETIME_LIMIT_YEARS, true) } else { (years, false) }
}

/// Returns for how many years the load of today would have to last to write what a growing one writes in `years` years.
/// The endurance that a drive needs is proportional to it.
pub(crate) fn load_of(years: f64, growth_per_year: f64) -> f64 {
    if growth_per_year.abs() < 1e-9 {
        return years;
    }
    let rate = growth_per_year.ln_1p();
    (rate * years).exp_m1() / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: Wear = Wear {
        raw: Bytes(1_000_000_000_000),
        rated_cycles: 3_650,
        write_amplification: 2.0,
        host_bytes_per_day: 500e9,
        growth_per_year: 0.0,
    };

    #[test]
    fn without_growth_it_is_a_division() {
        let (years, bounded) = lifetime_years(&DRIVE);
        assert!((years - 10.0).abs() < 1e-9 && !bounded, "{years}");
    }

    #[test]
    fn growth_shortens_it_as_the_sum_of_the_years_says() {
        let (years, _) = lifetime_years(&Wear { growth_per_year: 0.2, ..DRIVE });
        let written: f64 = (0..1_000_000).map(|step| 500e9 * 365.0 * 1.2f64.powf(years * f64::from(step) / 1e6)).sum();
        let endurable = 1e12 * 3_650.0 / 2.0;
        assert!((written * years / 1e6 / endurable - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_drive_enlarged_as_the_load_asks_lasts_as_long_as_asked() {
        for growth_per_year in [-0.02, 0.0, 0.2, 1.0] {
            let wear = Wear { growth_per_year, ..DRIVE };
            let (years, _) = lifetime_years(&wear);
            let ratio = load_of(years + 3.0, growth_per_year) / load_of(years, growth_per_year);
            let enlarged = Wear { raw: Bytes((wear.raw.0 as f64 * ratio) as u64), ..wear };
            assert!((lifetime_years(&enlarged).0 - years - 3.0).abs() < 1e-6, "{growth_per_year}");
        }
    }

    /// The trace is the load of today. One that doubles each year has written `1 / ln 2` years of today's load after a
    /// year, and three times that after two; twice the flash of one that lasts a year lasts `log2(3)` years.
    #[test]
    fn the_load_of_the_trace_is_that_of_the_beginning() {
        let of_year = 1.0 / std::f64::consts::LN_2;
        for (years, times) in [(1.0, 1.0), (2.0, 3.0), (3.0, 7.0)] {
            assert!((load_of(years, 1.0) - times * of_year).abs() < 1e-12, "{years}");
        }
        let doubling = |flash: f64| {
            let endured = DRIVE.host_bytes_per_day * 365.0 * DRIVE.write_amplification * of_year;
            let raw = Bytes((flash * endured / DRIVE.rated_cycles as f64).round() as u64);
            lifetime_years(&Wear { raw, growth_per_year: 1.0, ..DRIVE }).0
        };
        for (flash, years) in [(1.0, 1.0), (2.0, 3f64.log2()), (3.0, 2.0)] {
            assert!((doubling(flash) - years).abs() < 1e-9, "{flash}: {}", doubling(flash));
        }
        // Without growth, twice the flash is twice the life.
        let twice = Wear { raw: Bytes(2 * DRIVE.raw.0), ..DRIVE };
        assert_eq!(lifetime_years(&twice).0, 2.0 * lifetime_years(&DRIVE).0);
    }

    #[test]
    fn a_load_that_fades_may_never_wear_the_drive_out() {
        let (_, bounded) = lifetime_years(&Wear { growth_per_year: -0.5, ..DRIVE });
        assert!(bounded);
    }

    #[test]
    fn an_idle_drive_outlives_the_forecast() {
        assert_eq!(lifetime_years(&Wear { host_bytes_per_day: 0.0, ..DRIVE }), (LIFETIME_LIMIT_YEARS, true));
    }
}
