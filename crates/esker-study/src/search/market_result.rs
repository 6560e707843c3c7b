//! The result of the search in one market.

use esker_catalogue::Market;
use esker_results::study::{Candidate, FamilyAnswer, MarketAnswer, RuledOut};

use super::SimulatedOffer;
use crate::choose::Choice;

/// The result of the search in one market.
pub(crate) struct MarketResult {
    pub(crate) market: Market,
    /// Simulated designs, the cheapest first.
    pub(crate) tried: Vec<SimulatedOffer>,
    pub(crate) ruled_out: Vec<RuledOut>,
    /// The best of each family.
    pub(crate) families: Vec<FamilyAnswer>,
    pub(crate) choice: Choice,
    /// A design that would keep every budget if its volumes saved up more, and costs less than the recommended one, if
    /// there is one.
    pub(crate) keeps_if_saving: Option<usize>,
    /// Number of offers that are cheaper than the best and that no bound rules out, but that were not simulated.
    pub(crate) not_reached: usize,
}

impl MarketResult {
    /// Returns the recommended design.
    pub(crate) fn recommended(&self) -> Option<&Candidate> {
        self.recommended_offer().map(|tried| &tried.candidate)
    }

    /// Returns the recommended design with what is known of its offer.
    pub(crate) fn recommended_offer(&self) -> Option<&SimulatedOffer> {
        Some(&self.tried[self.choice.recommended?])
    }

    /// The answer for results; `because` says why.
    pub(crate) fn answer(&self, because: String) -> MarketAnswer {
        let name = |n: &usize| self.tried[*n].candidate.name.clone();
        MarketAnswer {
            market: self.market.name().into(),
            recommended: self.choice.recommended.as_ref().map(name),
            equals: self.choice.equals.iter().map(name).collect(),
            close: self.choice.close.iter().map(name).collect(),
            nearest: self.choice.nearest.as_ref().map(name),
            because,
        }
    }
}
