//! The wiring of the array: the array that the translation layer sees, and the settings that exclude each other.

use esker_core::{Bytes, Nanos};
use serde::Serialize;

use crate::{
    ArrayLevel, CopyBack, FlashArraySettings, Gang, GangControl, GangData, GeometrySettings, MultiPlane, NandError,
    PoolScope, Rewrite, Scheduling, ValueError,
};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);

impl FlashArraySettings {
    /// Returns true if each die does its operations one at a time, first in, first out, and logical pages lie on one
    /// die: the case that the fast scheduler supports.
    pub(crate) fn is_simple(&self) -> bool {
        self.gang != Gang::SharedControl
            && self.multi_plane == MultiPlane::Off
            && self.scheduling == Scheduling::Fifo
            && self.span.is_empty()
            && self.logical_page.is_none()
            && self.rewrite == Rewrite::Controller
    }
}

/// The parts of an array, and how they are connected.
#[derive(Clone, Copy, Debug)]
pub struct Wiring<'a> {
    /// The parts of the array.
    pub geometry: &'a GeometrySettings,
    /// How they are connected and driven.
    pub array: &'a FlashArraySettings,
    /// Which part of the array forms a pool. Cleaning copies within a pool.
    pub pool: PoolScope,
}

impl Wiring<'_> {
    /// Returns the geometry that the scheduler sees. Packages of a synchronous gang count as one.
    fn scheduled(&self) -> GeometrySettings {
        let array = *self.geometry;
        match self.array.gang {
            Gang::Synchronous => GeometrySettings {
                packages_per_channel: 1,
                page_size: Bytes(array.page_size.0.saturating_mul(u64::from(array.packages_per_channel))),
                spare_size: Bytes(array.spare_size.0.saturating_mul(u64::from(array.packages_per_channel))),
                ..array
            },
            _ => array,
        }
    }

    /// Returns the number of flash pages of a scheduled page that cross the bus one after another.
    pub fn pages_in_turn(&self) -> u64 {
        match (self.array.gang, self.array.gang_data) {
            (Gang::Synchronous, GangData::Shared) => u64::from(self.geometry.packages_per_channel),
            _ => 1,
        }
    }

    /// Returns the scheduled geometry, the levels that a logical page spans, and the number of flash pages of a logical
    /// page on each unit.
    pub fn layout(&self) -> (GeometrySettings, Vec<ArrayLevel>, u32) {
        let array = self.scheduled();
        let part = array.page_size.0.saturating_mul(self.width());
        let depth = self.array.logical_page.map_or(1, |page| page.0 / part.max(1));
        (array, self.array.span.clone(), depth as u32)
    }

    /// Returns the number of units of the array that a logical page spans.
    fn width(&self) -> u64 {
        let array = self.scheduled();
        self.array.span.iter().map(|level| u64::from(*count(&mut array.clone(), *level))).product()
    }

    /// Returns the geometry that the translation layer sees: its pages are logical pages, and its blocks are the blocks
    /// that are erased together.
    pub fn seen(&self) -> GeometrySettings {
        let (mut seen, span, depth) = self.layout();
        let width = self.width();
        for level in span {
            *count(&mut seen, level) = 1;
        }
        let pages = width.saturating_mul(u64::from(depth));
        seen.page_size = Bytes(seen.page_size.0.saturating_mul(pages));
        seen.spare_size = Bytes(seen.spare_size.0.saturating_mul(pages));
        seen.pages_per_block /= depth.max(1);
        seen
    }

    /// If a setting needs data in a plane's register to be programmed in that plane, returns the key of the setting,
    /// and the key with its value.
    pub fn copies_inside(&self) -> Option<(&'static str, String)> {
        let array = self.array;
        if array.copy_back != CopyBack::Off {
            Some(("array.copy_back", format!("`array.copy_back` = {}", setting_name(&array.copy_back))))
        } else if array.rewrite != Rewrite::Controller {
            Some(("array.rewrite", format!("`array.rewrite` = {}", setting_name(&array.rewrite))))
        } else {
            None
        }
    }

    /// Refuses invalid geometries, and energies whose sums would overflow.
    pub fn check_pages(&self) -> Result<(), NandError> {
        self.check_span()?;
        Ok(self.array.energy.map_or(Ok(()), |energy| energy.check())?)
    }

    /// Refuses settings of the array that exclude each other.
    pub fn check_parts(&self) -> Result<(), ValueError> {
        let (array, inside) = (self.array, self.copies_inside());
        let contradiction = |keys: [&'static str; 2], first: String, second: String, reason: String, remedy: &str| {
            Err(ValueError::Contradiction { keys: keys.into(), first, second, reason, remedy: remedy.to_string() })
        };
        if array.multi_plane != MultiPlane::Off && self.geometry.planes_per_die == 1 {
            return contradiction(
                ["array.multi_plane", "geometry.planes_per_die"],
                format!("`array.multi_plane` = {}", setting_name(&array.multi_plane)),
                "`geometry.planes_per_die` = 1".to_string(),
                "no two planes of a die can work at once".to_string(),
                "leave `array.multi_plane` out",
            );
        }
        if array.gang_control != GangControl::default() && array.gang != Gang::SharedControl {
            return contradiction(
                ["array.gang_control", "array.gang"],
                format!("`array.gang_control` = {}", setting_name(&array.gang_control)),
                format!("`array.gang` = {}", setting_name(&array.gang)),
                "packages that share no control lines alone do not hold them".to_string(),
                "leave `array.gang_control` out, or gang = \"shared-control\"",
            );
        }
        if array.gang_data != GangData::default() && array.gang != Gang::Synchronous {
            return contradiction(
                ["array.gang_data", "array.gang"],
                format!("`array.gang_data` = {}", setting_name(&array.gang_data)),
                format!("`array.gang` = {}", setting_name(&array.gang)),
                "only packages in synchrony have one wide page that crosses in pieces".to_string(),
                "leave `array.gang_data` out, or gang = \"synchronous\"",
            );
        }
        let depth = self.layout().2;
        let units = self.geometry.units_per_page;
        if units > 1 && (inside.is_some() || array.logical_page.is_some()) {
            let (key, first) = inside.unwrap_or_else(|| ("array.logical_page", "`array.logical_page`".to_string()));
            return contradiction(
                [key, "geometry.units_per_page"],
                first,
                format!("`geometry.units_per_page` = {units}"),
                "the register of a plane holds all units of a flash page, and these are mapped one by one".to_string(),
                "leave one of the two out",
            );
        }
        if array.rewrite != Rewrite::Controller && depth > 1 {
            return contradiction(
                ["array.rewrite", "array.logical_page"],
                format!("`array.rewrite` = {}", setting_name(&array.rewrite)),
                format!("`array.logical_page` of {depth} flash pages one after the other"),
                "the register of a plane holds one flash page".to_string(),
                "leave one of the two out",
            );
        }
        let Some(suspend) = array.suspend else { return Ok(()) };
        if array.scheduling == Scheduling::Fifo {
            return contradiction(
                ["array.suspend", "array.scheduling"],
                "`array.suspend`".to_string(),
                "`array.scheduling` = \"fifo\"".to_string(),
                "nothing goes ahead of what came first".to_string(),
                "scheduling = \"reads-first\" would work",
            );
        }
        if array.gang_control == GangControl::Rounds {
            return contradiction(
                ["array.suspend", "array.gang_control"],
                "`array.suspend`".to_string(),
                "`array.gang_control` = \"rounds\"".to_string(),
                "nothing begins in a gang before all of a round have ended".to_string(),
                "gang_control = \"strobes\" would work",
            );
        }
        if suspend.limit == 0 {
            return Err(ValueError::Zero { key: "array.suspend.limit" });
        }
        for (key, found) in [("array.suspend.suspend", suspend.suspend), ("array.suspend.resume", suspend.resume)] {
            if found > LONGEST {
                return Err(ValueError::TooLong { key, found, limit: LONGEST });
            }
        }
        Ok(())
    }

    fn check_span(&self) -> Result<(), NandError> {
        let array = self.array;
        let contradiction = |keys: [&'static str; 2], first: String, second: String, reason: String, remedy: String| {
            Err(ValueError::Contradiction { keys: keys.into(), first, second, reason, remedy }.into())
        };
        let mut levels = array.span.clone();
        levels.sort_unstable();
        levels.dedup();
        if levels.len() < array.span.len() {
            return Err(NandError::SpanTwice { found: array.span.clone() });
        }
        if array.gang == Gang::Synchronous && array.span.contains(&ArrayLevel::Package) {
            return contradiction(
                ["array.gang", "array.span"],
                "`array.gang` = \"synchronous\"".to_string(),
                "\"package\" in `array.span`".to_string(),
                "pages span all packages of a synchronous gang as it is".to_string(),
                "take \"package\" out of `array.span`".to_string(),
            );
        }
        let part = self.scheduled().page_size;
        let width = self.width();
        if part.0 != 0 && !part.0.saturating_mul(width).is_power_of_two() && self.geometry.page_size.0.is_power_of_two()
        {
            return contradiction(
                ["array.span", "array.gang"],
                format!("`array.span` or `array.gang` over {width} x {part}"),
                "logical pages".to_string(),
                "their size has to be a power of two".to_string(),
                "span levels with 2, 4, 8... units".to_string(),
            );
        }
        let Some(page) = array.logical_page else { return Ok(()) };
        let unit = Bytes(part.0.saturating_mul(width));
        let depth = page.0.checked_div(unit.0).unwrap_or(0);
        let pages = u64::from(self.geometry.pages_per_block);
        if !page.0.is_power_of_two() || depth == 0 || depth > pages || !pages.is_multiple_of(depth) {
            let most = unit.0.saturating_mul(1 << pages.trailing_zeros().min(31));
            return contradiction(
                ["array.logical_page", "geometry.pages_per_block"],
                format!("`array.logical_page` = {page}"),
                format!("{width} x {part} with {pages} pages a block"),
                "a logical page is a power of two of those, and a block holds a whole number of them".to_string(),
                format!("logical_page = \"{unit}\" to \"{}\" would work", Bytes(most)),
            );
        }
        Ok(())
    }
}

fn count(geometry: &mut GeometrySettings, level: ArrayLevel) -> &mut u32 {
    match level {
        ArrayLevel::Channel => &mut geometry.channels,
        ArrayLevel::Package => &mut geometry.packages_per_channel,
        ArrayLevel::Die => &mut geometry.dies_per_package,
        ArrayLevel::Plane => &mut geometry.planes_per_die,
    }
}

/// A value as configurations write it, in quotes.
pub fn setting_name(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("settings are plain data")
}
