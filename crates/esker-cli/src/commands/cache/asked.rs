//! What the user asked for: policies, admission policies and sizes.

use esker_cache::{
    ADMISSIONS, AdmissionCapability, AdmissionEntry, BuildError, NO_ADMISSION, REPLACEMENTS, ReplacementCapability,
    ReplacementEntry,
};
use esker_core::Ratio;
use esker_core::registry::{self, Choice, Entry, Parameters};
use esker_curves::CurveObjects;
use esker_results::cache::CacheAdmission;

use crate::commands::sampled::Sampled;
use crate::commands::transfers::parse_cache_size;
use crate::failure::Failure;
use crate::values;

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

/// An admission policy that was asked for.
pub(super) struct AdmissionPolicy {
    pub(super) choice: Choice,
    pub(super) entry: &'static AdmissionEntry,
}

impl AdmissionPolicy {
    /// Whether every object that misses enters.
    pub(super) fn admits_all(&self) -> bool {
        self.entry.name == NO_ADMISSION
    }

    /// The policy as results have it.
    pub(super) fn described(&self) -> CacheAdmission {
        CacheAdmission { admission: self.choice.to_string(), summary: self.entry.summary.to_string() }
    }

    /// Whether it looks at the times of accesses.
    pub(super) fn needs_times(&self) -> bool {
        self.entry.can(AdmissionCapability::Time)
    }
}

/// A policy with the admission policy before it.
pub(super) struct Pair<'a> {
    pub(super) policy: &'a Policy,
    pub(super) admission: &'a AdmissionPolicy,
}

/// The word for everything that a registry has.
const ALL: &str = "all";

/// The policies of `--policy`; `all` of the registry; without any, those that are compared by default. Where objects
/// are `sized`, all are those that can deal with that, and they are the default.
pub(super) fn policies(asked: &[String], sized: bool) -> Result<Vec<Policy>, Failure> {
    let able = |capability| registry::names_with(REPLACEMENTS, capability).map(Choice::named).collect();
    let chosen = match sized && !are_named(asked) {
        true => chosen("--policy", "cache policy", REPLACEMENTS, &[], || able(ReplacementCapability::BySize))?,
        false => chosen("--policy", "cache policy", REPLACEMENTS, asked, || able(ReplacementCapability::Compared))?,
    };
    if let Some((_, entry)) = chosen.iter().find(|(_, entry)| sized && !entry.can(ReplacementCapability::BySize)) {
        return Err(BuildError::NotBySize { policy: entry.name }.into());
    }
    Ok(chosen.into_iter().map(|(choice, entry)| Policy { choice, entry }).collect())
}

/// The admission policies of `--admission`; `all` of the registry; without any, the one that admits everything.
pub(super) fn admissions(asked: &[String]) -> Result<Vec<AdmissionPolicy>, Failure> {
    let none = || vec![Choice::named(NO_ADMISSION)];
    let chosen = chosen("--admission", "admission policy", ADMISSIONS, asked, none)?;
    Ok(chosen.into_iter().map(|(choice, entry)| AdmissionPolicy { choice, entry }).collect())
}

/// A choice with its entry.
type Chosen<B, C> = (Choice, &'static Entry<B, C>);

/// The entries of a registry that `option` asks for, each once.
fn chosen<B, C>(
    option: &str,
    what: &'static str,
    entries: &'static [Entry<B, C>],
    asked: &[String],
    by_default: impl FnOnce() -> Vec<Choice>,
) -> Result<Vec<Chosen<B, C>>, Failure> {
    let choices = match asked {
        [] => by_default(),
        [all] if all == ALL => registry::names(entries).map(Choice::named).collect(),
        asked => {
            let mut choices = Vec::new();
            for text in asked {
                choices.extend(Choice::parse_list(text)?);
            }
            choices
        }
    };
    let mut chosen: Vec<Chosen<B, C>> = Vec::new();
    for mut choice in choices {
        // "LRU" is `lru`.
        if let Some(name) = registry::names(entries).find(|name| name.eq_ignore_ascii_case(&choice.kind)) {
            choice.kind = name.to_string();
        }
        let entry = registry::find(entries, what, &choice.kind)?;
        Parameters::new(&choice, &entry.parameters)?;
        if chosen.iter().any(|(earlier, _)| *earlier == choice) {
            return Err(Failure::input(format!("{option} has `{choice}` twice"))
                .with_hint("give each policy once; with other parameters it is another policy"));
        }
        chosen.push((choice, entry));
    }
    Ok(chosen)
}

/// Each policy with each admission policy: admission policies in their order, and in these policies. A bound takes in
/// every miss: it goes with the admission policy that admits everything, and is left out of the others. `by_name` is
/// whether the user named the policies.
pub(super) fn pairs<'a>(
    policies: &'a [Policy],
    admissions: &'a [AdmissionPolicy],
    by_name: bool,
) -> Result<Vec<Pair<'a>>, Failure> {
    let bound = policies.iter().find(|policy| policy.is_bound());
    if let (Some(bound), true, false) = (bound, by_name, admissions.iter().any(AdmissionPolicy::admits_all)) {
        let name = bound.entry.name;
        return Err(Failure::input(format!(
            "`{name}` knows which accesses follow, and takes in every miss: no admission policy goes with it"
        ))
        .with_hint(format!("add `{NO_ADMISSION}` to --admission, or leave `{name}` out of --policy")));
    }
    let of = |admission: &'a AdmissionPolicy| {
        let goes = move |policy: &&Policy| !policy.is_bound() || admission.admits_all();
        policies.iter().filter(goes).map(move |policy| Pair { policy, admission })
    };
    Ok(admissions.iter().flat_map(of).collect())
}

/// Whether the policies of `--policy` were named one by one.
pub(super) fn are_named(asked: &[String]) -> bool {
    !asked.is_empty() && asked != [ALL]
}

/// The sizes of `--size`, some of which depend on how many objects there are.
pub(super) struct Sizes {
    asked: Vec<Size>,
    /// Whether nobody asked for these: those that make no sense are left out.
    by_default: bool,
}

#[derive(Clone, Copy)]
enum Size {
    /// In objects, or in bytes if objects have sizes of their own.
    Given(u64),
    /// A share of the distinct objects, or of their bytes.
    Share(Ratio),
}

/// Shares of the distinct objects for which a curve shows its shape.
const DEFAULTS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// Reads the sizes of `--size`.
pub(super) fn sizes(asked: &[String], objects: CurveObjects, sized: bool) -> Result<Sizes, Failure> {
    if asked.is_empty() {
        let asked = DEFAULTS.map(|percent| Size::Share(Ratio::percent(percent.into()))).to_vec();
        return Ok(Sizes { asked, by_default: true });
    }
    let asked = asked.iter().map(|text| parse_size(text, objects, sized)).collect::<Result<_, _>>()?;
    Ok(Sizes { asked, by_default: false })
}

fn parse_size(text: &str, objects: CurveObjects, sized: bool) -> Result<Size, Failure> {
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
    } else if sized {
        Size::Given(parse_room(text)?)
    } else {
        Size::Given(parse_cache_size("--size", text, objects)?)
    };
    match size {
        Size::Given(0) | Size::Share(Ratio::ZERO) => {
            Err(Failure::input(format!("--size {text}: a cache of no objects holds nothing"))
                .with_hint("give at least one object"))
        }
        size => Ok(size),
    }
}

/// The size of a cache in bytes.
fn parse_room(text: &str) -> Result<u64, Failure> {
    let room = values::with_unit(text, "a cache of objects with sizes of their own");
    room.map(|bytes| bytes.0).map_err(|fault| {
        Failure::input(format!("--size {text}: {fault}")).with_hint("give bytes such as 64MiB, or a share such as 10%")
    })
}

impl Sizes {
    /// The sizes as they were given, in objects or in bytes, of `distinct` ones: rising, each once.
    pub(super) fn resolve(&self, distinct: u64, sample: Option<Sampled>) -> Result<Vec<u64>, Failure> {
        let mut sizes: Vec<u64> = self.asked.iter().map(|size| size.of(distinct)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let Some(sample) = sample else { return Ok(sizes) };
        let too_small = |size: &u64| sample.is_too_small(*size);
        if self.by_default && !sizes.iter().all(too_small) {
            sizes.retain(|size| !too_small(size));
        }
        if let Some(smallest) = sizes.first() {
            sample.check(*smallest, distinct)?;
        }
        Ok(sizes)
    }
}

impl Size {
    fn of(self, distinct: u64) -> u64 {
        match self {
            Self::Given(size) => size,
            Self::Share(share) => ((distinct as f64 * share.as_f64()).round() as u64).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::sampled::ObjectBytes;

    #[test]
    fn sizes_are_rounded_sorted_and_told_once() {
        let texts = ["10%", "490", "1%", "4_897", "40KiB"].map(String::from);
        let sizes = sizes(&texts, CurveObjects::Pages, false).unwrap();
        assert_eq!(sizes.resolve(48_974, None).unwrap(), [10, 490, 4_897]);
        assert_eq!(sizes.resolve(3, None).unwrap(), [1, 10, 490, 4_897]);
    }

    #[test]
    fn a_sample_needs_some_objects_in_the_cache() {
        let resolve = |texts: &[&str], distinct, percent| {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            let sample = Some(Sampled { rate: Ratio::percent(percent), bytes: None });
            sizes(&texts, CurveObjects::StartBlock, false).unwrap().resolve(distinct, sample)
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

    /// A cache in bytes has room for ten objects of the mean size, and for the largest one.
    #[test]
    fn a_sample_of_objects_with_sizes_needs_room_for_some() {
        let resolve = |texts: &[&str], percent, largest| {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            let bytes = Some(ObjectBytes { mean: 1_048_576.0, largest });
            let sample = Some(Sampled { rate: Ratio::percent(percent), bytes });
            sizes(&texts, CurveObjects::StartBlock, true).unwrap().resolve(3_000 << 20, sample)
        };
        assert_eq!(resolve(&["1001MiB", "50%"], 1, 1 << 20).unwrap(), [1_001 << 20, 1_500 << 20]);
        let error = resolve(&["90MiB"], 1, 1 << 20).unwrap_err();
        let expected = "a sample of 1% has room for 922 KiB of 90 MiB: too little to tell, as 10 objects take 10 MiB \
                        and the largest one 1 MiB";
        assert_eq!((error.message(), error.hint().unwrap()), (expected, "sample more, or ask for 1000MiB or more"));
        assert!(resolve(&["1001MiB"], 1, 11 << 20).is_err(), "the largest one does not fit");
        assert_eq!(resolve(&["20MiB"], 100, 30 << 20).unwrap(), [20 << 20], "neither does it in the whole cache");
        assert_eq!(resolve(&[], 10, 1 << 20).unwrap(), [5, 10, 20, 50].map(|percent| (30 * percent) << 20));
    }

    #[test]
    fn some_policies_are_compared_by_default_and_all_if_asked_for() {
        let names = |asked: &[String]| -> Vec<String> {
            policies(asked, false).unwrap().iter().map(|policy| policy.choice.to_string()).collect()
        };
        let compared = registry::names_with(REPLACEMENTS, ReplacementCapability::Compared);
        assert_eq!(names(&[]), compared.collect::<Vec<_>>());
        assert_eq!(names(&["LRU,S3-FIFO(threshold=1)".to_string()]), ["lru", "s3-fifo(threshold=1)"]);
        assert_eq!(names(&["all".to_string()]), registry::names(REPLACEMENTS).collect::<Vec<_>>());
    }

    #[test]
    fn a_bound_goes_without_admission_alone() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let both = policies(&texts(&["lru,belady"]), false).unwrap();
        let names = |asked: &[&str], by_name| -> Result<Vec<String>, Failure> {
            let admissions = admissions(&texts(asked)).unwrap();
            let pairs = pairs(&both, &admissions, by_name)?;
            Ok(pairs.iter().map(|pair| format!("{} {}", pair.policy.choice, pair.admission.choice)).collect())
        };
        assert_eq!(names(&["none,larc"], true).unwrap(), ["lru none", "belady none", "lru larc"]);
        assert_eq!(names(&["larc"], false).unwrap(), ["lru larc"]);
        assert!(names(&["larc"], true).unwrap_err().message().contains("`belady` knows"));
        assert!(admissions(&texts(&["larc,larc"])).err().unwrap().message().contains("--admission has `larc` twice"));
        assert_eq!(admissions(&texts(&["all"])).unwrap().len(), ADMISSIONS.len());
    }
}
