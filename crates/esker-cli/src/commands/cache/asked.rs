//! What the user asked for: policies and sizes.

use esker_cache::{REPLACEMENTS, ReplacementCapability, ReplacementEntry};
use esker_core::registry::{self, Choice, Parameters};
use esker_core::{Ratio, words};
use esker_tier::mrc::CurveObjects;

use crate::commands::transfers::parse_cache_size;
use crate::failure::Failure;

/// A policy that was asked for.
pub(super) struct Policy {
    pub(super) choice: Choice,
    pub(super) entry: &'static ReplacementEntry,
}

impl Policy {
    /// Whether the policy looks at the accesses that follow.
    pub(super) fn is_bound(&self) -> bool {
        self.entry.can(ReplacementCapability::Future)
    }
}

/// The policies of `--policy`; `all` of the registry; without any, those that are compared by default.
pub(super) fn policies(asked: &[String]) -> Result<Vec<Policy>, Failure> {
    let choices = match asked {
        [] => registry::names_with(REPLACEMENTS, ReplacementCapability::Compared).map(Choice::named).collect(),
        [all] if all == "all" => registry::names(REPLACEMENTS).map(Choice::named).collect(),
        asked => {
            let mut choices = Vec::new();
            for text in asked {
                choices.extend(Choice::parse_list(text)?);
            }
            choices
        }
    };
    let mut policies: Vec<Policy> = Vec::new();
    for choice in choices {
        let entry = registry::find(REPLACEMENTS, "cache policy", &choice.kind)?;
        Parameters::new(&choice, &entry.parameters)?;
        if policies.iter().any(|policy| policy.choice == choice) {
            return Err(Failure::input(format!("--policy has `{choice}` twice"))
                .with_hint("give each policy once; with other parameters it is another policy"));
        }
        policies.push(Policy { choice, entry });
    }
    Ok(policies)
}

/// The sizes of `--size`, some of which depend on how many objects there are.
pub(super) struct Sizes {
    asked: Vec<Size>,
    /// Whether nobody asked for these: those that make no sense are left out.
    by_default: bool,
}

#[derive(Clone, Copy)]
enum Size {
    Objects(u64),
    /// A share of the distinct objects.
    Share(Ratio),
}

/// Shares of the distinct objects for which a curve shows its shape.
const DEFAULTS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// A cache of fewer objects says nothing about one that is larger by 1/rate: each object is a tenth of it.
const SAMPLED_OBJECTS_MIN: u64 = 10;

/// Reads the sizes of `--size`.
pub(super) fn sizes(asked: &[String], objects: CurveObjects) -> Result<Sizes, Failure> {
    if asked.is_empty() {
        let asked = DEFAULTS.map(|percent| Size::Share(Ratio::percent(percent.into()))).to_vec();
        return Ok(Sizes { asked, by_default: true });
    }
    let asked = asked.iter().map(|text| parse_size(text, objects)).collect::<Result<_, _>>()?;
    Ok(Sizes { asked, by_default: false })
}

fn parse_size(text: &str, objects: CurveObjects) -> Result<Size, Failure> {
    let text = text.trim();
    let size = if text.ends_with('%') {
        let share: Ratio = text.parse().map_err(|error| {
            Failure::input(format!("--size {text}: {error}")).with_hint("give a share of the objects such as 10%")
        })?;
        if share > Ratio::ONE {
            return Err(Failure::input(format!("--size {text} is more than all objects"))
                .with_hint("give at most 100%, or a number of objects"));
        }
        Size::Share(share)
    } else {
        Size::Objects(parse_cache_size("--size", text, objects)?)
    };
    match size {
        Size::Objects(0) | Size::Share(Ratio::ZERO) => {
            Err(Failure::input(format!("--size {text}: a cache of no objects holds nothing"))
                .with_hint("give at least one object"))
        }
        size => Ok(size),
    }
}

impl Sizes {
    /// The sizes in objects, of `distinct` ones: rising, each once.
    pub(super) fn resolve(&self, distinct: u64, sample: Option<Ratio>) -> Result<Vec<u64>, Failure> {
        let mut sizes: Vec<u64> = self.asked.iter().map(|size| size.in_objects(distinct)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let Some(rate) = sample else { return Ok(sizes) };
        let too_small = |size: &u64| scaled(*size, rate) < SAMPLED_OBJECTS_MIN;
        if self.by_default && !sizes.iter().all(too_small) {
            sizes.retain(|size| !too_small(size));
        }
        match sizes.first() {
            Some(size) if too_small(size) => {
                let least = (SAMPLED_OBJECTS_MIN as f64 / rate.as_f64()).ceil() as u64;
                Err(Failure::input(format!(
                    "a sample of {rate} has room for {} of {} objects: too few to tell, {SAMPLED_OBJECTS_MIN} at least",
                    scaled(*size, rate),
                    words::count(*size),
                ))
                .with_hint(format!(
                    "sample more, or ask for {} objects or more; {} distinct ones are accessed",
                    words::count(least),
                    words::count(distinct)
                )))
            }
            _ => Ok(sizes),
        }
    }
}

impl Size {
    fn in_objects(self, distinct: u64) -> u64 {
        match self {
            Self::Objects(objects) => objects,
            Self::Share(share) => ((distinct as f64 * share.as_f64()).round() as u64).max(1),
        }
    }
}

/// The size of a cache for a sample.
pub(super) fn scaled(size: u64, rate: Ratio) -> u64 {
    (size as f64 * rate.as_f64()).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_sorted_and_told_once() {
        let texts = ["10%", "490", "1%", "4_897", "40KiB"].map(String::from);
        let sizes = sizes(&texts, CurveObjects::Pages).unwrap();
        assert_eq!(sizes.resolve(48_974, None).unwrap(), [10, 490, 4_897]);
        assert_eq!(sizes.resolve(3, None).unwrap(), [1, 10, 490, 4_897]);
    }

    #[test]
    fn a_sample_needs_some_objects_in_the_cache() {
        let resolve = |texts: &[&str], distinct, percent| {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            let sample = Some(Ratio::percent(percent));
            sizes(&texts, CurveObjects::StartBlock).unwrap().resolve(distinct, sample)
        };
        assert_eq!(resolve(&["1000", "1%"], 200_000, 1).unwrap(), [1_000, 2_000]);
        let error = resolve(&["900", "1%"], 200_000, 1).unwrap_err();
        assert_eq!(error.message(), "a sample of 1% has room for 9 of 900 objects: too few to tell, 10 at least");
        assert_eq!(
            error.hint().unwrap(),
            "sample more, or ask for 1 000 objects or more; 200 000 distinct ones are accessed"
        );
        // Sizes that nobody asked for are left out, unless all of them would be.
        assert_eq!(resolve(&[], 10_000, 1).unwrap(), [1_000, 2_000, 5_000]);
        assert!(resolve(&[], 100, 1).is_err());
    }

    #[test]
    fn some_policies_are_compared_by_default_and_all_if_asked_for() {
        let names = |asked: &[String]| -> Vec<String> {
            policies(asked).unwrap().iter().map(|policy| policy.choice.to_string()).collect()
        };
        let compared = registry::names_with(REPLACEMENTS, ReplacementCapability::Compared);
        assert_eq!(names(&[]), compared.collect::<Vec<_>>());
        assert_eq!(names(&["all".to_string()]), registry::names(REPLACEMENTS).collect::<Vec<_>>());
    }
}
