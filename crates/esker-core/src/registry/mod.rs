//! Registries: things that can be chosen by name. A registry is one visible array of [`Entry`], with one line per
//! entry.
//!
//! ```
//! use esker_core::Hint;
//! use esker_core::registry::{self, Entry, ParameterSource};
//!
//! static SUMS: &[Entry<fn(&[u64]) -> u64>] = &[Entry {
//!     name: "total",
//!     summary: "all values together",
//!     source: "none: an example",
//!     parameters: ParameterSource::NONE,
//!     capabilities: &[],
//!     build: |values| values.iter().sum(),
//! }];
//!
//! assert!(registry::check(SUMS).is_empty());
//! assert_eq!((registry::find(SUMS, "sum", "total").unwrap().build)(&[1, 2]), 3);
//! let error = registry::find(SUMS, "sum", "totla").unwrap_err();
//! assert_eq!(error.to_string(), "`totla` is no sum; did you mean `total`?");
//! assert_eq!(error.hint().unwrap(), "there is: total");
//! ```

mod check;
mod choice;
mod parameter;
mod schema;
mod text;

use std::convert::Infallible;
use std::fmt;

use thiserror::Error;

use crate::{Hint, did_you_mean};

pub use check::check;
pub use choice::{Choice, ChoiceError, ParameterValue, Parameters};
pub use parameter::{Accepted, Fallback, Parameter, ParameterSource};
pub use schema::{Described, LEAST, MOST, described, plain};
pub use text::ChoiceTextError;

/// Something that can be chosen by name. `B` holds what its registry needs to build it, usually a function. `C` lists
/// capabilities that only some entries of the registry have.
#[derive(Clone, Copy, Debug)]
pub struct Entry<B, C: 'static = Infallible> {
    /// The name in configurations and on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where the component is described: a paper, a standard.
    pub source: &'static str,
    /// The parameters that can be set.
    pub parameters: ParameterSource,
    /// What this entry can do that not every entry of the registry can.
    pub capabilities: &'static [C],
    /// How to make the component.
    pub build: B,
}

impl<B, C: Capability> Entry<B, C> {
    /// Whether the entry has `capability`.
    pub fn can(&self, capability: C) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// What some entries of a registry can do and others cannot. Messages and pages use it to name the entries that can.
pub trait Capability: Copy + Eq + fmt::Debug + 'static {
    /// All capabilities, in the order in which lists show them.
    const ALL: &'static [Self];

    /// A name for lists.
    fn name(self) -> &'static str;

    /// What an entry with this capability does, in one line.
    fn meaning(self) -> &'static str;
}

/// For registries whose entries all can do the same.
impl Capability for Infallible {
    const ALL: &'static [Self] = &[];

    fn name(self) -> &'static str {
        match self {}
    }

    fn meaning(self) -> &'static str {
        match self {}
    }
}

/// Finds the entry called `name`. `what` names the kind of entry, for the error message.
pub fn find<'a, B, C>(entries: &'a [Entry<B, C>], what: &'static str, name: &str) -> Result<&'a Entry<B, C>, NotFound> {
    let found = entries.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| NotFound::new(what, name, names(entries)))
}

/// The names of the entries, in their order.
pub fn names<B, C>(entries: &[Entry<B, C>]) -> impl Iterator<Item = &'static str> + Clone {
    entries.iter().map(|entry| entry.name)
}

/// The names of the entries that have a capability.
pub fn names_with<B, C: Capability>(entries: &[Entry<B, C>], capability: C) -> impl Iterator<Item = &'static str> {
    entries.iter().filter(move |entry| entry.can(capability)).map(|entry| entry.name)
}

/// No entry of a registry has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{found}` is no {what}{}", self.suggestion())]
pub struct NotFound {
    /// The kind of thing that was asked for.
    pub what: &'static str,
    /// The name as given.
    pub found: String,
    /// Every name that exists.
    pub choices: Vec<String>,
    /// The nearest existing name, if one is near enough to be what the user meant.
    pub nearest: Option<String>,
}

impl NotFound {
    /// An error for `found`, which is none of `choices`.
    pub fn new<'a>(what: &'static str, found: &str, choices: impl IntoIterator<Item = &'a str>) -> Self {
        let choices: Vec<String> = choices.into_iter().map(str::to_string).collect();
        let nearest = did_you_mean(found, choices.iter().map(String::as_str)).map(str::to_string);
        Self { what, found: found.to_string(), choices, nearest }
    }

    /// Every name, separated by commas.
    pub fn list(&self) -> String {
        self.choices.join(", ")
    }

    /// "did you mean `name`?", if a name is near.
    pub fn question(&self) -> Option<String> {
        self.nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
    }

    fn suggestion(&self) -> String {
        self.question().map_or_else(String::new, |question| format!("; {question}"))
    }
}

impl Hint for NotFound {
    fn hint(&self) -> Option<String> {
        (!self.choices.is_empty()).then(|| format!("there is: {}", self.list()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Skill {
        Swims,
        Flies,
    }

    impl Capability for Skill {
        const ALL: &'static [Self] = &[Self::Swims, Self::Flies];
        fn name(self) -> &'static str {
            if self == Self::Swims { "swim" } else { "fly" }
        }
        fn meaning(self) -> &'static str {
            "moves"
        }
    }

    const fn bird(name: &'static str, capabilities: &'static [Skill]) -> Entry<u8, Skill> {
        Entry { name, summary: "a bird", source: "nature", parameters: ParameterSource::NONE, capabilities, build: 2 }
    }

    const BIRDS: &[Entry<u8, Skill>] = &[
        bird("duck", &[Skill::Swims, Skill::Flies]),
        bird("swift", &[Skill::Flies]),
        bird("penguin", &[Skill::Swims]),
    ];

    #[test]
    fn a_name_finds_its_entry_or_says_what_there_is() {
        assert_eq!(find(BIRDS, "bird", "swift").unwrap().name, "swift");
        let near = find(BIRDS, "bird", "dukc").unwrap_err();
        assert_eq!(near.nearest.as_deref(), Some("duck"));
        assert_eq!(near.to_string(), "`dukc` is no bird; did you mean `duck`?");
        let far = find(BIRDS, "bird", "Duck and cover").unwrap_err();
        assert_eq!(far.to_string(), "`Duck and cover` is no bird");
        assert_eq!(far.hint().unwrap(), "there is: duck, swift, penguin");
        assert_eq!(NotFound::new("bird", "x", []).hint(), None);
    }

    #[test]
    fn those_that_can_are_named_in_order() {
        assert_eq!(names_with(BIRDS, Skill::Swims).collect::<Vec<_>>(), ["duck", "penguin"]);
        assert!(BIRDS[0].can(Skill::Flies) && !BIRDS[2].can(Skill::Flies));
    }
}
