//! The catalogues that come with the program.

use esker_core::registry::{self, Entry, NotFound, ParameterSource};

use crate::Catalogue;

/// A catalogue that comes with the program: a name, and the texts that together are the catalogue.
pub type BuiltinEntry = Entry<&'static [Part]>;

/// One text of a catalogue: its name in errors, and its content.
pub(crate) type Part = (&'static str, &'static str);

/// The text of `catalogues/NAME.toml`.
macro_rules! part {
    ($name:literal) => {
        (concat!($name, ".toml"), include_str!(concat!("../catalogues/", $name, ".toml")))
    };
}

/// Every catalogue that comes with the program.
pub static BUILTIN: &[BuiltinEntry] = &[
    BuiltinEntry {
        name: "current",
        summary: "drives, disks and cloud volumes on sale in 2026, with prices of early 2026",
        source: "data sheets, press and price lists, named beside each figure",
        parameters: ParameterSource::NONE,
        capabilities: &[],
        build: &[part!("current"), part!("current-cloud")],
    },
    BuiltinEntry {
        name: "kim-2009",
        summary: "the drive and the two disks of Kim 2009, table 4.4",
        source: "Kim 2009, table 4.4",
        parameters: ParameterSource::NONE,
        capabilities: &[],
        build: &[part!("kim-2009")],
    },
];

impl Catalogue {
    /// The catalogue called `name` that comes with the program: one of [`BUILTIN`].
    pub fn builtin(name: &str) -> Result<Self, NotFound> {
        let entry = registry::find(BUILTIN, "catalogue", name)?;
        let read = |(origin, text): &Part| {
            Self::read(origin, text).unwrap_or_else(|error| panic!("a catalogue of the program: {error}"))
        };
        let mut parts = entry.build.iter().map(read);
        let first = parts.next().expect("a catalogue has a text");
        let all = parts.fold(first, |all, part| {
            all.extended(part).unwrap_or_else(|error| panic!("a catalogue of the program: {error}"))
        });
        Ok(Self { name: name.to_string(), ..all })
    }
}
