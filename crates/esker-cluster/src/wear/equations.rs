//! Thesis, equations 4.3-4.5: erases from pages written.

/// The greatest utilisation of a victim that counts. At one, cleaning would gain nothing.
const VICTIM_MOST: f64 = 1.0 - 1e-6;

/// Equation 4.3, `E = W / (B_p * (1 - mu))`: erases that `pages` written by the host cause, if blocks that are cleaned
/// hold valid pages for a share `victim` of all. The thesis calls `B_p` blocks per page once, and pages per block once;
/// only the latter has the right unit.
pub fn erases_of_writes(pages: f64, pages_per_block: u32, victim: f64) -> f64 {
    pages / (f64::from(pages_per_block) * (1.0 - victim.clamp(0.0, VICTIM_MOST)))
}

/// Equation 4.4, `mu_avg = (mu - 1) / ln(mu) + offset`: the share of a drive's pages that are valid, from that of the
/// blocks that it cleans. The offset is printed as 20, which can only mean 0.20.
pub fn utilisation_of_drive(victim: f64, offset: f64) -> f64 {
    let victim = victim.clamp(f64::MIN_POSITIVE, VICTIM_MOST);
    (victim - 1.0) / victim.ln() + offset
}

/// `F`, the inverse of equation 4.4: the share of valid pages in blocks that are cleaned. The thesis says that the
/// relation holds for utilisations below 85 %.
pub fn utilisation_of_victims(drive: f64, offset: f64) -> f64 {
    let (mut low, mut high) = (0.0, VICTIM_MOST);
    if drive <= utilisation_of_drive(low, offset) {
        return 0.0;
    }
    // 60 halvings leave less than the precision of the result.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if utilisation_of_drive(middle, offset) < drive { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Equation 4.5, `E = W / (B_p * (1 - F(mu_avg)))`.
pub fn erases_at_utilisation(pages: f64, pages_per_block: u32, drive: f64, offset: f64) -> f64 {
    erases_of_writes(pages, pages_per_block, utilisation_of_victims(drive, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_victim_costs_one_erase_a_block() {
        assert_eq!(erases_of_writes(6400.0, 64, 0.0), 100.0);
        assert_eq!(erases_of_writes(6400.0, 64, 0.5), 200.0);
        assert!(erases_of_writes(1.0, 64, 1.0).is_finite());
    }

    #[test]
    fn the_inverse_is_one() {
        for offset in [0.0, 0.2, -0.1] {
            for step in 1..100 {
                let victim = f64::from(step) / 100.0;
                let back = utilisation_of_victims(utilisation_of_drive(victim, offset), offset);
                assert!((back - victim).abs() < 1e-9, "{victim}: {back}");
            }
        }
        assert_eq!(utilisation_of_victims(0.1, 0.2), 0.0, "below the offset");
        assert!(utilisation_of_victims(2.0, 0.0) < 1.0);
    }

    /// Without the offset this is the known fixed point of cleaning the oldest or emptiest block under uniform writes
    /// (Menon 1995; Bux and Iliadis 2010): with utilisation `u`, `victim = exp((victim - 1) / u)`. Near one it costs
    /// `1 / (2 (1 - u))` writes for each write.
    #[test]
    fn offset_zero_is_the_known_fixed_point() {
        for drive in [0.3, 0.5, 0.7, 0.85, 0.93] {
            let victim = utilisation_of_victims(drive, 0.0);
            assert!((victim - ((victim - 1.0) / drive).exp()).abs() < 1e-9);
        }
        let amplification = 1.0 / (1.0 - utilisation_of_victims(0.99, 0.0));
        assert!((amplification * 2.0 * 0.01 - 1.0).abs() < 0.02, "{amplification}");
        assert!(erases_at_utilisation(1.0, 64, 0.8, 0.2) < erases_at_utilisation(1.0, 64, 0.8, 0.0));
    }
}
