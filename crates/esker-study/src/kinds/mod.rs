//! The kinds of designs: one file or folder each, and one line each in [`KINDS`].

mod cache;
mod devices;
mod hybrid;
mod pairs;
mod volumes;

use std::collections::BTreeMap;

use esker_core::registry;
use esker_results::study::Assumption;

use crate::offers::{KindCapability, KindEntry, Offer, OfferInputs};
use crate::{StudyError, StudySettings};

#[cfg(test)]
pub(crate) use devices::offer as devices_alone;
pub(crate) use devices::offer_of_parts as devices_of_parts;

/// The kinds of designs. Those on request are searched in this order.
pub(crate) static KINDS: &[KindEntry] = &[devices::ENTRY, volumes::ENTRY, hybrid::ENTRY, cache::ENTRY];

/// Returns the kinds of designs that the settings ask for beside those that are always offered.
pub(crate) fn asked_for(settings: &StudySettings) -> impl Iterator<Item = &'static KindEntry> {
    on_request().filter(|kind| settings.kinds.iter().any(|asked| asked == kind.name))
}

/// Returns the kinds of designs that are offered only if asked for.
pub(crate) fn on_request() -> impl Iterator<Item = &'static KindEntry> {
    KINDS.iter().filter(|kind| kind.can(KindCapability::OnRequest))
}

/// Checks that every kind that the settings ask for is offered on request.
pub(crate) fn check(settings: &StudySettings) -> Result<(), StudyError> {
    let known = || on_request().map(|kind| kind.name);
    let unknown = settings.kinds.iter().find(|asked| !known().any(|name| name == **asked));
    unknown.map_or(Ok(()), |asked| {
        let error = registry::NotFound::new("kind of design on request", asked, known());
        Err(StudyError::Settings { message: error.to_string() })
    })
}

/// Returns what studies with the kinds of designs assume that the settings ask for.
pub(crate) fn assumptions(settings: &StudySettings) -> impl Iterator<Item = Assumption> {
    let stated = asked_for(settings).filter_map(|kind| kind.build.assumption);
    stated.map(|[text, change]| Assumption { text: text.into(), change: change.into() })
}

/// Returns every offer that holds the data: devices in use, then those of one product in the order of the catalogue,
/// then those of several products.
pub(crate) fn offers<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError> {
    let always = KINDS.iter().filter(|kind| !kind.can(KindCapability::OnRequest));
    // Without times, nothing is judged, so that designs on request would be compared with nothing.
    let asked_for = asked_for(inputs.settings).filter(|_| inputs.stretch.is_some());
    let mut offers = Vec::new();
    for kind in always.chain(asked_for) {
        offers.extend((kind.build.offers)(inputs)?);
    }
    let products = inputs.products().iter().enumerate();
    let places: BTreeMap<&str, usize> = products.map(|(place, product)| (product.name.as_str(), place)).collect();
    offers.sort_by_key(|offer| match offer.only() {
        Some(_) if offer.is_in_use() => (0, 0),
        Some(part) => (1, places[part.product.name.as_str()]),
        None => (2, 0),
    });
    Ok(offers)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::path::Path;

    use esker_catalogue::Market;
    use esker_results::study::Budgets;

    use super::*;
    use crate::brute_force_tests::settings;
    use crate::hybrid_tests::{HOT, SyntheticWorkload, asked, offered};

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(registry::check(KINDS), Vec::<String>::new());
    }

    /// Results name a family without its kind, and each design belongs to one of its kind.
    #[test]
    fn families_have_names_of_their_own_and_each_design_has_one() {
        let families: Vec<&str> = KINDS.iter().flat_map(|kind| kind.build.families).map(|family| family.name).collect();
        let names: BTreeSet<&str> = families.iter().copied().collect();
        assert_eq!(names.len(), families.len(), "{families:?}");
        let folder = tempfile::tempdir().unwrap();
        let brief = SyntheticWorkload { seconds: 62, ..HOT };
        let asked = asked(&brief.write(folder.path()), crate::builtin_catalogue("current").unwrap());
        let kinds = on_request().map(|kind| kind.name.to_string()).collect();
        let seen = RefCell::new(BTreeSet::new());
        offered(&StudySettings { kinds, ..asked }, |offers| {
            for offer in offers {
                let of: Vec<_> = offer.kind.build.families.iter().filter(|family| (family.has)(offer)).collect();
                assert_eq!(
                    of.iter().map(|family| family.name).collect::<Vec<_>>(),
                    [offer.family()],
                    "{}",
                    offer.name()
                );
                seen.borrow_mut().insert(offer.family());
            }
        });
        assert_eq!(seen.into_inner(), names, "all are offered for this trace");
    }

    #[test]
    fn a_kind_is_asked_for_by_its_name_if_it_is_offered_on_request() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let usual = settings(Path::new("any.spc"), catalogue, Market::OnPremises, Budgets::default());
        let asking = |name: &str| StudySettings { kinds: vec![name.to_string()], ..usual.clone() };
        for kind in KINDS {
            let settings = asking(kind.name);
            assert_eq!(check(&settings).is_ok(), kind.can(KindCapability::OnRequest), "{}", kind.name);
            assert_eq!(asked_for(&settings).count(), usize::from(check(&settings).is_ok()), "{}", kind.name);
        }
        let error = check(&asking("hybrid")).unwrap_err().to_string();
        assert_eq!(error, "`hybrid` is no kind of design on request; did you mean `hybrids`?");
        assert_eq!((asked_for(&usual).count(), assumptions(&usual).count()), (0, 0));
    }

    /// General assumptions hold of every study, so they do not speak of designs that are offered on request.
    #[test]
    fn what_is_assumed_of_a_kind_is_said_where_it_is_asked_for() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let usual = settings(Path::new("any.spc"), catalogue, Market::OnPremises, Budgets::default());
        for kind in KINDS.iter().filter(|kind| kind.can(KindCapability::OnRequest)) {
            let about = |settings: &StudySettings| {
                let all = crate::assumptions::assumptions(settings).into_iter();
                all.filter(|one| one.text.contains(kind.build.class)).map(|one| one.text).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(about(&usual), "", "{}", kind.name);
        }
        for kind in ["hybrids", "caches"] {
            let asked = StudySettings { kinds: vec![kind.into()], ..usual.clone() };
            let said = assumptions(&asked).filter(|one| one.text.contains("touched areas lie side by side"));
            assert_eq!(said.count(), 1, "{kind}");
        }
    }
}
