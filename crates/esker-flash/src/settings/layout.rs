//! What the wiring of the array comes to: which array the translation layer sees, and which
//! combinations exclude each other.

use std::fmt;

use esker_core::{Bytes, Nanos};

use crate::{
    ArrayLevel, ArraySettings, CopyBack, Gang, GangControl, GangData, GeometrySettings, MultiPlane, PoolScope, Rewrite,
    Scheduling, SsdError, SsdSettings, WriteFrontiers,
};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);

impl ArraySettings {
    /// Whether dies work one after the other, first in, first out, on pages of one die: what can be decided in runs.
    pub(crate) fn is_simple(&self) -> bool {
        self.gang != Gang::SharedControl
            && self.multi_plane == MultiPlane::Off
            && self.scheduling == Scheduling::Fifo
            && self.span.is_empty()
            && self.logical_page.is_none()
            && self.rewrite == Rewrite::Controller
    }
}

impl SsdSettings {
    /// The array that is scheduled: packages that work in synchrony are one.
    fn scheduled(&self) -> GeometrySettings {
        let array = self.geometry;
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

    /// Flash pages of one page of the array that is scheduled which cross the bus one after the other.
    pub(crate) fn pages_in_turn(&self) -> u64 {
        match (self.array.gang, self.array.gang_data) {
            (Gang::Synchronous, GangData::Shared) => u64::from(self.geometry.packages_per_channel),
            _ => 1,
        }
    }

    /// The array that is scheduled, the levels that logical pages span, and how many of its pages they are deep on each
    /// part.
    pub(crate) fn layout(&self) -> (GeometrySettings, Vec<ArrayLevel>, u32) {
        let array = self.scheduled();
        let part = array.page_size.0.saturating_mul(self.width());
        let depth = self.array.logical_page.map_or(1, |page| page.0 / part.max(1));
        (array, self.array.span.clone(), depth as u32)
    }

    /// Units that a logical page spans.
    fn width(&self) -> u64 {
        let array = self.scheduled();
        self.array.span.iter().map(|level| u64::from(*count(&mut array.clone(), *level))).product()
    }

    /// The array as the translation layer sees it: its pages are logical ones, its blocks
    /// those that are erased together.
    pub(crate) fn seen(&self) -> GeometrySettings {
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

    /// Refuses what excludes each other in [`Self::array`].
    pub(crate) fn check_array(&self) -> Result<(), SsdError> {
        self.check_span()?;
        self.array.energy.map_or(Ok(()), |energy| energy.check())?;
        let array = &self.array;
        let contradiction = |keys: [&'static str; 2], first: String, second: String, reason: String, remedy: &str| {
            Err(SsdError::Contradiction { keys: keys.into(), first, second, reason, remedy: remedy.to_string() })
        };
        // What leaves the register of a plane only for the cells of the same plane.
        let inside = if array.copy_back != CopyBack::Off {
            Some(("array.copy_back", format!("`array.copy_back` = {}", name(&array.copy_back))))
        } else if array.rewrite != Rewrite::Controller {
            Some(("array.rewrite", format!("`array.rewrite` = {}", name(&array.rewrite))))
        } else {
            None
        };
        if let Some(ecc) = &self.ecc {
            let remedy = "leave one of them out";
            if let Some((key, first)) = &inside {
                let reason = "what is copied inside a plane goes past the decoder and keeps its errors, and their sum over copies is \
                              not modelled";
                return contradiction([key, "ecc"], first.clone(), "`ecc`".to_string(), reason.to_string(), remedy);
            }
            let several = match (array.span.is_empty(), array.logical_page) {
                (false, _) => Some("array.span"),
                (true, Some(_)) => Some("array.logical_page"),
                (true, None) => None,
            };
            if let (Some(share), Some(several)) = (ecc.refresh_above, several) {
                let reason = "a read of some of these flash pages does not bring the others, which would have to be written again too";
                let first = "`array.span` or `array.logical_page`".to_string();
                let keys = [several, "ecc.refresh_above"];
                return contradiction(
                    keys,
                    first,
                    format!("`ecc.refresh_above` = {share}"),
                    reason.to_string(),
                    remedy,
                );
            }
        }
        let planes = self.seen().planes_per_die;
        let in_plane = match self.write_frontiers {
            WriteFrontiers::Plane => true,
            WriteFrontiers::Die => planes == 1 || self.pool == PoolScope::Plane,
            WriteFrontiers::Pool => self.pool == PoolScope::Plane || planes == 1 && self.pool == PoolScope::Die,
        };
        if let (Some((key, first)), false) = (&inside, in_plane) {
            return contradiction(
                [key, "write_frontiers"],
                first.clone(),
                format!("`write_frontiers` = {}", name(&self.write_frontiers)),
                format!(
                    "a page can be copied inside a plane only, and a frontier serves several ({planes} planes a die)"
                ),
                "write_frontiers = \"plane\" would work",
            );
        }
        if array.multi_plane != MultiPlane::Off && self.geometry.planes_per_die == 1 {
            return contradiction(
                ["array.multi_plane", "geometry.planes_per_die"],
                format!("`array.multi_plane` = {}", name(&array.multi_plane)),
                "`geometry.planes_per_die` = 1".to_string(),
                "no two planes of a die can work at once".to_string(),
                "leave `array.multi_plane` out",
            );
        }
        if array.gang_control != GangControl::default() && array.gang != Gang::SharedControl {
            return contradiction(
                ["array.gang_control", "array.gang"],
                format!("`array.gang_control` = {}", name(&array.gang_control)),
                format!("`array.gang` = {}", name(&array.gang)),
                "packages that share no control lines alone do not hold them".to_string(),
                "leave `array.gang_control` out, or gang = \"shared-control\"",
            );
        }
        if array.gang_data != GangData::default() && array.gang != Gang::Synchronous {
            return contradiction(
                ["array.gang_data", "array.gang"],
                format!("`array.gang_data` = {}", name(&array.gang_data)),
                format!("`array.gang` = {}", name(&array.gang)),
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
                format!("`array.rewrite` = {}", name(&array.rewrite)),
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
            return Err(SsdError::Zero { key: "array.suspend.limit" });
        }
        for (key, found) in [("array.suspend.suspend", suspend.suspend), ("array.suspend.resume", suspend.resume)] {
            if found > LONGEST {
                return Err(SsdError::TooLong { key, found, limit: LONGEST });
            }
        }
        Ok(())
    }

    fn check_span(&self) -> Result<(), SsdError> {
        let array = &self.array;
        let contradiction = |keys: [&'static str; 2], first: String, second: String, reason: String, remedy: String| {
            Err(SsdError::Contradiction { keys: keys.into(), first, second, reason, remedy })
        };
        let mut levels = array.span.clone();
        levels.sort_unstable();
        levels.dedup();
        if levels.len() < array.span.len() {
            return Err(SsdError::SpanTwice { found: array.span.clone() });
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

/// A value as configurations have it.
fn name(value: &impl fmt::Debug) -> String {
    let mut name = String::from("\"");
    for letter in format!("{value:?}").chars() {
        if letter.is_uppercase() && name.len() > 1 {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name + "\""
}
