//! Addresses of zones with spares, slips and space of their own, against a list of all sectors that is counted off.

use esker_disk::{DiskSettings, LayoutSettings, Mechanics, Rotation, SpareUnit, ZoneSettings};
use proptest::prelude::*;

use crate::common::{round_numbers, zone};

/// The sectors of `zone` that have addresses, in order: those left when spares, slips and the front are struck out.
fn counted_off(zone: &ZoneSettings, layout: &LayoutSettings, surfaces: u32) -> Vec<u64> {
    let track = u64::from(zone.sectors_per_track);
    let cylinder = track * u64::from(surfaces);
    let all = cylinder * u64::from(zone.cylinders);
    let unit = match layout.spare_unit {
        SpareUnit::Zone => all,
        SpareUnit::Range => cylinder * u64::from(layout.spare_range.min(zone.cylinders)),
        SpareUnit::Cylinder => cylinder,
        SpareUnit::Track => track,
    };
    let spare = u64::from(zone.spare_sectors);
    let slipped = |sector| zone.slips.iter().any(|&(first, count)| (first..first + u64::from(count)).contains(&sector));
    let mut sectors = Vec::new();
    for start in (0..all).step_by(unit as usize) {
        let end = (start + unit).min(all);
        // As many addresses as without slips: these take their place among the spares.
        let addresses = (unit - spare).min(end - start) as usize;
        let front = if layout.spares_first { start + spare } else { start };
        sectors.extend((front..start + unit).filter(|sector| !slipped(*sector)).take(addresses));
    }
    sectors.split_off(zone.front_sectors as usize)
}

proptest! {
    #[test]
    fn addresses_are_the_sectors_that_are_left(
        (cylinders, track, surfaces) in (1..9u32, 1..12u32, 1..4u32),
        unit in prop::sample::select(vec![SpareUnit::Zone, SpareUnit::Range, SpareUnit::Cylinder, SpareUnit::Track]),
        spare_range in 1..4u32,
        (spare, front_sectors, first_sector_offset) in (0..6u32, 0..5u32, 0..12u32),
        slips in prop::collection::btree_set(0..400u64, 0..8),
        (slips_shift_tracks, alternate_surfaces) in any::<(bool, bool)>(),
    ) {
        let layout = LayoutSettings {
            spare_unit: unit, spare_range, slips_shift_tracks, alternate_surfaces, ..LayoutSettings::default()
        };
        let all = u64::from(cylinders * track * surfaces);
        let slips = slips.into_iter().filter(|&slip| slip < all).map(|slip| (slip, 1)).collect();
        let own = ZoneSettings {
            spare_sectors: spare, front_sectors, first_sector_offset, slips, ..zone(cylinders, track)
        };
        let settings = DiskSettings { zones: vec![own.clone()], surfaces, layout, ..round_numbers() };
        // More slips in a unit than spares, or nothing left, is refused.
        let Ok(mechanics) = Mechanics::new(&settings) else { return Ok(()) };
        let geometry = mechanics.geometry();
        // Cylinders behind the last whole range have no spares to take the place of their slips.
        let left = counted_off(&own, &layout, surfaces);
        let whole = geometry.sectors().min(left.len() as u64);
        prop_assert!(unit == SpareUnit::Range || geometry.sectors() == left.len() as u64);
        for address in 0..whole {
            let place = geometry.locate(address);
            let sector = left[address as usize];
            let (cylinder, of_cylinder) = (sector / u64::from(track * surfaces), sector % u64::from(track * surfaces));
            let position = (of_cylinder / u64::from(track)) as u32;
            let surface = if alternate_surfaces && cylinder % 2 == 1 { surfaces - 1 - position } else { position };
            let found = (u64::from(place.cylinder), place.surface, u64::from(place.sector));
            prop_assert_eq!(found, (cylinder, surface, sector % u64::from(track)), "address {}", address);
            // All that `run` promises follows without a gap.
            for ahead in 1..u64::from(place.run) {
                let next = geometry.locate(address + ahead);
                prop_assert_eq!((next.cylinder, next.surface), (place.cylinder, place.surface));
                prop_assert_eq!(next.angle, (place.angle + ahead * place.sector_angle) % Rotation::TURN);
            }
        }
        let first = geometry.locate(0);
        let expected = u64::from(first_sector_offset % track) + u64::from(first.sector);
        if (first.cylinder, first.surface) == (0, 0) {
            prop_assert_eq!(first.angle, expected * first.sector_angle % Rotation::TURN);
        }
    }
}
