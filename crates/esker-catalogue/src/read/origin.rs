//! Where a figure is from: its own source, the product's, or nowhere, since it is assumed.

use std::collections::BTreeMap;

use esker_core::Problem;
use esker_core::registry::NotFound;

use super::raw::Assumed;
use super::wrong_with_hint;
use crate::{Assumption, CatalogueError};

/// The table `[source]`: what `[key]` in a source stands for.
pub(super) struct References(pub(super) BTreeMap<String, String>);

/// Where a figure is from, as written beside it.
#[derive(Clone, Default)]
pub(super) struct Origin {
    source: Option<String>,
    assumed: Option<Option<String>>,
}

/// Where a figure is from: a source, or the reason of an assumption.
pub(super) struct Known {
    /// `None` if it is assumed.
    pub(super) source: Option<String>,
    pub(super) reason: Option<String>,
}

impl Known {
    /// The assumption that `figure` is, if it is one.
    pub(super) fn assumption(&self, figure: &str) -> Option<Assumption> {
        let assumed = self.source.is_none();
        assumed.then(|| Assumption { figure: figure.to_string(), reason: self.reason.clone() })
    }
}

impl Origin {
    pub(super) fn of(source: Option<String>, assumed: Option<Assumed>) -> Self {
        let assumed = match assumed {
            None | Some(Assumed::Plainly(false)) => None,
            Some(Assumed::Plainly(true)) => Some(None),
            Some(Assumed::Because(reason)) => Some(Some(reason)),
        };
        Self { source, assumed }
    }

    /// The source: its own, else the `product`'s. `key` is the dotted key of the figure.
    pub(super) fn resolve(
        &self,
        key: &str,
        product: Option<&str>,
        references: &References,
    ) -> Result<Known, CatalogueError> {
        match (&self.source, &self.assumed, product) {
            (Some(_), Some(_), _) => {
                let message = "it has a `source` and is `assumed`";
                Err(wrong_with_hint(key, message, "a figure has one or the other; leave one out"))
            }
            (_, Some(reason), _) => {
                let key = format!("{key}.assumed");
                let reason = reason.as_ref().map(|reason| references.expand(&key, reason)).transpose()?;
                Ok(Known { source: None, reason })
            }
            (Some(source), None, _) => {
                let key = format!("{key}.source");
                Ok(Known { source: Some(references.expand(&key, source)?), reason: None })
            }
            (None, None, Some(source)) => Ok(Known { source: Some(source.to_string()), reason: None }),
            (None, None, None) => {
                let hint = "give it or its product a `source`, or say `assumed = true` beside it";
                Err(wrong_with_hint(key, "this has no source, and is not marked as assumed", hint))
            }
        }
    }
}

impl References {
    /// `source` with every `[key]` replaced by what the table `[source]` has for it.
    pub(super) fn expand(&self, key: &str, source: &str) -> Result<String, CatalogueError> {
        if source.trim().is_empty() {
            return Err(wrong_with_hint(key, "this source is empty", "name a data sheet, a page, a list of prices"));
        }
        let mut text = String::new();
        let mut rest = source;
        while let Some((before, after)) = rest.split_once('[') {
            let Some((name, behind)) = after.split_once(']') else { break };
            let Some(meant) = self.0.get(name) else {
                let known = self.0.keys().map(String::as_str);
                return Err(CatalogueError::new(key, Problem::from(NotFound::new("key of [source]", name, known))));
            };
            text += before;
            text += meant;
            rest = behind;
        }
        Ok(text + rest)
    }
}
