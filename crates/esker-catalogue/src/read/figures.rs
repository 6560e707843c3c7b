//! Figures of products: endurance, power, failure rate, performance.

use esker_core::{Bytes, Problem, Ratio};

use super::origin::Origin;
use super::products::Draft;
use super::raw::{Brief, RawProduct, RawRating};
use super::{Reading, wrong, wrong_with_hint};
use crate::{Capacity, CatalogueError, Endurance, Figure, Performance, PowerDraw, Rating, capacity_in_words};

impl Reading {
    pub(super) fn endurance(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
        capacities: &[Capacity],
    ) -> Result<Option<Figure<Endurance>>, CatalogueError> {
        let key = draft.key("endurance");
        let (rating, origin) = match raw.endurance.take() {
            None => return Ok(None),
            Some(Brief::Alone(rating)) => (RawRating::All(rating), Origin::default()),
            Some(Brief::Table(table)) => (table.rating, Origin::of(table.source, table.assumed)),
        };
        let known = self.resolve(&key, &origin, draft.source)?;
        draft.assumed.extend(known.assumption("endurance"));
        let sizes = || capacities.iter().map(|capacity| capacity.bytes);
        let ratings: Vec<(Bytes, Rating)> = match rating {
            RawRating::All(Rating::Written(_)) if capacities.len() != 1 => {
                let hint = "give one for each: rating = { \"1TB\" = \"600TBW\", \"2TB\" = \"1200TBW\" }";
                return Err(wrong_with_hint(key, "bytes written are the rating of one capacity", hint));
            }
            RawRating::All(rating) => sizes().map(|size| (size, rating)).collect(),
            RawRating::Each(ratings) => {
                if let Some(size) = ratings.keys().find(|size| !sizes().any(|known| known == **size)) {
                    return Err(wrong(key, format!("{} is none of the capacities on sale", capacity_in_words(*size))));
                }
                if let Some(size) = sizes().find(|size| !ratings.contains_key(size)) {
                    return Err(wrong(key, format!("the rating of {} is missing", capacity_in_words(size))));
                }
                ratings.into_iter().collect()
            }
        };
        let by_time = |(_, rating): &(Bytes, Rating)| matches!(rating, Rating::DriveWritesPerDay(_));
        if ratings.iter().any(by_time) && raw.warranty.is_none_or(|warranty| warranty.0 == 0) {
            let hint = Some("drive writes per day hold over the warranty, such as warranty = \"5y\"".to_string());
            let problem = Problem::MissingKey { key: "warranty".to_string(), hint };
            return Err(CatalogueError::new(draft.path.clone(), problem));
        }
        Ok(Some(Figure { value: Endurance { ratings }, source: known.source }))
    }

    /// Why the product is no longer sold, with references spelt out.
    pub(super) fn discontinued(
        &self,
        draft: &Draft<'_>,
        raw: Option<String>,
    ) -> Result<Option<String>, CatalogueError> {
        let key = draft.key("discontinued");
        match raw.as_deref().map(str::trim) {
            None => Ok(None),
            Some("") => Err(wrong_with_hint(key, "this is empty", "say since when or why it is no longer sold")),
            Some(reason) => self.references.expand(&key, reason).map(Some),
        }
    }

    /// Who says that all volumes of the type at an instance share the limits of one, with references spelt out.
    pub(super) fn shared_limits(
        &self,
        draft: &Draft<'_>,
        raw: Option<String>,
        volume: bool,
    ) -> Result<Option<String>, CatalogueError> {
        let key = draft.key("shared_limits");
        match raw.as_deref().map(str::trim) {
            None => Ok(None),
            Some(_) if !volume => Err(wrong_with_hint(key, "only cloud volumes have it", "leave it out")),
            Some("") => Err(wrong_with_hint(key, "this is empty", "say who says that all volumes share their limits")),
            Some(said) => self.references.expand(&key, said).map(Some),
        }
    }

    pub(super) fn power(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
    ) -> Result<Option<Figure<PowerDraw>>, CatalogueError> {
        let Some(power) = raw.power.take() else { return Ok(None) };
        let key = draft.key("power");
        if power.idle > power.active {
            return Err(wrong(key, format!("it idles at {}, and works at only {}", power.idle, power.active)));
        }
        let known = self.resolve(&key, &Origin::of(power.source, power.assumed), draft.source)?;
        draft.assumed.extend(known.assumption("power"));
        let supplement = power.supplement.unwrap_or_default();
        let value = PowerDraw { active: power.active, idle: power.idle, supplement };
        Ok(Some(Figure { value, source: known.source }))
    }

    pub(super) fn failure_rate(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
    ) -> Result<Option<Figure<Ratio>>, CatalogueError> {
        let key = draft.key("annual_failure_rate");
        let (value, origin) = match raw.annual_failure_rate.take() {
            None => return Ok(None),
            Some(Brief::Alone(rate)) => (rate, Origin::default()),
            Some(Brief::Table(table)) => (table.rate, Origin::of(table.source, table.assumed)),
        };
        if value > Ratio::ONE {
            return Err(wrong(key, format!("{value} of them cannot fail: at most 100%")));
        }
        let known = self.resolve(&key, &origin, draft.source)?;
        draft.assumed.extend(known.assumption("annual_failure_rate"));
        Ok(Some(Figure { value, source: known.source }))
    }

    pub(super) fn performance(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
    ) -> Result<Option<Figure<Performance>>, CatalogueError> {
        let Some(figures) = raw.performance.take() else { return Ok(None) };
        let origin = Origin::of(figures.source, figures.assumed);
        let known = self.resolve(&draft.key("performance"), &origin, draft.source)?;
        draft.assumed.extend(known.assumption("performance"));
        let value = Performance {
            sequential_read: figures.sequential_read,
            sequential_write: figures.sequential_write,
            random_read: figures.random_read,
            random_write: figures.random_write,
            read_latency: figures.read_latency,
            write_latency: figures.write_latency,
        };
        Ok(Some(Figure { value, source: known.source }))
    }
}
