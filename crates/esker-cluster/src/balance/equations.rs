//! Thesis, equations 4.1, 4.2, 4.6, 4.10 and 4.11: how much to move, and what it costs. 4.3-4.5 are in
//! [`crate::wear::equations`], 4.7-4.9 in [`crate::popularity`].

use crate::wear::equations::erases_of_writes;

/// Equation 4.1: pages that migrating objects writes in vain.
pub fn pages_of_migration(objects: f64, pages_per_object: f64) -> f64 {
    objects * pages_per_object
}

/// Equation 4.2: erases that migrating objects costs.
pub fn erases_of_migration(objects: f64, pages_per_object: f64, pages_per_block: u32, victim: f64) -> f64 {
    erases_of_writes(pages_of_migration(objects, pages_per_object), pages_per_block, victim)
}

/// Equation 4.6, first line: erases by which the most worn server is above what it may be.
pub fn excess_erases(most: f64, mean: f64, eta: f64) -> f64 {
    most - mean - mean * eta
}

/// Equation 4.6, second line: pages whose writes cost these erases. Algorithm 1 calls it "Eq. 4".
pub fn pages_of_erases(erases: f64, pages_per_block: u32, victim: f64) -> f64 {
    erases * f64::from(pages_per_block) * (1.0 - victim)
}

/// Equation 4.10: pages that off-loading slices writes in vain, if a share `cold` of their objects has to be copied.
pub fn pages_of_offloading(slices: f64, objects_per_slice: f64, pages_per_object: f64, cold: f64) -> f64 {
    slices * objects_per_slice * pages_per_object * cold
}

/// Equation 4.11: erases that off-loading slices costs.
pub fn erases_of_offloading(pages: f64, pages_per_block: u32, victim: f64) -> f64 {
    erases_of_writes(pages, pages_per_block, victim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migration_costs_every_object_and_offloading_the_cold_ones() {
        assert_eq!(pages_of_migration(3.0, 64.0), 192.0);
        assert_eq!(erases_of_migration(3.0, 64.0, 64, 0.5), 6.0);
        assert_eq!(pages_of_offloading(3.0, 4.0, 64.0, 0.25), 192.0);
        assert_eq!(erases_of_offloading(192.0, 64, 0.5), 6.0);
        // Section 4.3: a slice of one object that is hot costs nothing.
        assert_eq!(pages_of_offloading(3.0, 1.0, 64.0, 0.0), 0.0);
    }

    #[test]
    fn what_is_too_much_is_above_the_threshold() {
        assert_eq!(excess_erases(130.0, 100.0, 0.1), 20.0);
        assert!((erases_of_writes(pages_of_erases(20.0, 64, 0.3), 64, 0.3) - 20.0).abs() < 1e-9);
    }
}
