//! The children of composite devices, as tables show them.

use std::collections::BTreeMap;

use esker_results::{ChildReport, RunResults, SeriesChild};

/// A composite device and its children.
pub(crate) struct Family<'a> {
    pub(crate) name: &'a str,
    pub(crate) members: Vec<Member<'a>>,
    /// Whether the device places extents, so that its children hold some.
    pub(crate) places: bool,
}

/// One child.
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) report: &'a ChildReport,
    /// What it was like at the end of the series.
    pub(crate) last: Option<&'a SeriesChild>,
}

impl Family<'_> {
    /// Whether a child was drained.
    pub(crate) fn has_drained(&self) -> bool {
        self.members.iter().any(|member| member.report.drained_at_s.is_some())
    }
}

impl Member<'_> {
    pub(crate) fn target_share(&self) -> Option<f64> {
        self.last?.target_share
    }

    pub(crate) fn held_bytes(&self) -> Option<u64> {
        self.last?.held_bytes
    }
}

/// All composite devices of a run, the target first.
pub(crate) fn families<'a>(results: &'a RunResults, target: &str) -> Vec<Family<'a>> {
    let composite = results.devices.iter().filter(|(_, device)| !device.children.is_empty());
    let mut families: Vec<Family<'a>> = composite
        .map(|(name, device)| {
            let last = results.series.last().filter(|_| name == target).map(|point| &point.children);
            let member = |child: &'a str| Member {
                name: child,
                report: &device.children[child],
                last: last.and_then(|children| children.get(child)),
            };
            let places = last.is_some_and(|children| children.values().any(|child| child.held_extents.is_some()));
            Family { name, members: ordered(results, &device.children).into_iter().map(member).collect(), places }
        })
        .collect();
    families.sort_by_key(|family| family.name != target);
    families
}

/// Names of the target's children, in the order that decides their colours.
pub(crate) fn names<'a>(results: &'a RunResults, target: &str) -> Vec<&'a str> {
    results.devices.get(target).map_or_else(Vec::new, |device| ordered(results, &device.children))
}

/// Names of children in the order of the map, or else so that `disk.10` comes behind `disk.2`.
pub(super) fn ordered<'a>(results: &'a RunResults, children: &'a BTreeMap<String, ChildReport>) -> Vec<&'a str> {
    let known = results.placement_map.as_ref().map_or(&[][..], |map| &map.children);
    let place = |name: &str| known.iter().position(|one| one == name);
    let mut names: Vec<&str> = children.keys().map(String::as_str).collect();
    names.sort_by_key(|name| {
        let (table, number) = name.rsplit_once('.').unwrap_or((name, ""));
        (place(name).unwrap_or(known.len()), table, number.parse::<u64>().unwrap_or(0))
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn children_are_in_the_order_of_the_map_or_of_their_numbers() {
        let mut results = samples::run();
        assert_eq!(names(&results, "volume"), ["flash", "disk"], "the map has them so");
        results.placement_map = None;
        assert_eq!(names(&results, "volume"), ["disk", "flash"]);
        let volume = results.devices.get_mut("volume").unwrap();
        volume.children = ["disk.2", "disk.10", "disk.0"].map(|name| (name.to_string(), ChildReport::default())).into();
        assert_eq!(names(&results, "volume"), ["disk.0", "disk.2", "disk.10"]);
        assert_eq!(names(&results, "nothing"), Vec::<&str>::new());
    }
}
