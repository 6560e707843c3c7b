//! The answer of a study in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MarketAnswer;

/// The answer in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// One sentence.
    pub headline: String,
    /// Name of the recommended candidate; null if none keeps the budgets.
    pub recommended: Option<String>,
    /// The market that the headline is about.
    pub market: String,
    /// Names of candidates of that market that cannot be told from the recommended one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub equals: Vec<String>,
    /// Names of cheaper candidates of that market that miss a budget by so little that chance decides.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub close: Vec<String>,
    /// Why this one: a sentence.
    pub because: String,
    /// Where none keeps every budget: the candidate that comes nearest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
    /// The answers for the other markets.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_markets: Vec<MarketAnswer>,
    /// Further sentences for an architect, most important first.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The answers of all markets, that of the headline first.
    pub fn answers(&self) -> Vec<MarketAnswer> {
        let first = MarketAnswer {
            market: self.market.clone(),
            recommended: self.recommended.clone(),
            equals: self.equals.clone(),
            close: self.close.clone(),
            nearest: self.nearest.clone(),
            because: self.because.clone(),
        };
        std::iter::once(first).chain(self.other_markets.iter().cloned()).collect()
    }
}

/// One sentence of the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// How to take the finding.
    pub level: Level,
    /// Which question it answers: "workload", "performance", "market", "lifetime", "cache", "confidence".
    pub topic: String,
    /// The sentence.
    pub text: String,
}

/// How to take a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Keeps its budget.
    Good,
    /// Worth knowing.
    Info,
    /// Needs attention.
    Warning,
    /// Breaks a budget.
    Bad,
}
