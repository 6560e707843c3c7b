//! The catalogues that come with the program.

use esker_core::registry::{self, Entry, NotFound, ParameterSource};
use esker_core::{ByteRate, Bytes};

use crate::{Catalogue, CatalogueError, CatalogueText, Performance, Simulated};

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
        Self::builtin_by(name, CatalogueText::catalogue)
    }

    /// The catalogue called `name` that comes with the program, each of whose texts `read` reads: for those who need
    /// more of a product than a catalogue knows.
    pub fn builtin_by(
        name: &str,
        read: impl Fn(&CatalogueText) -> Result<Self, CatalogueError>,
    ) -> Result<Self, NotFound> {
        let entry = registry::find(BUILTIN, "catalogue", name)?;
        let read = |(origin, text): &Part| {
            let catalogue = CatalogueText::toml(origin, text).and_then(|text| read(&text));
            catalogue.unwrap_or_else(|error| panic!("a catalogue of the program: {error}"))
        };
        let mut parts = entry.build.iter().map(read);
        let first = parts.next().expect("a catalogue has a text");
        let all = parts.fold(first, |all, part| {
            all.extended(part).unwrap_or_else(|error| panic!("a catalogue of the program: {error}"))
        });
        let mut all = Self { name: name.to_string(), ..all };
        all.products.iter_mut().for_each(|product| product.simulated = simulated(&product.name));
        Ok(all)
    }
}

/// What the drives of these catalogues do when they are simulated at the conditions of data sheets. A test of
/// esker-study measures it again; `ESKER_UPDATE_DOCS=1` has it written.
const SIMULATED: &str = include_str!("../catalogues/current-simulated.csv");

/// The line of [`SIMULATED`] about a product.
fn simulated(product: &str) -> Option<Simulated> {
    let line = SIMULATED.lines().find(|line| line.split(',').next() == Some(product))?;
    let figures: Vec<u64> = line.split(',').skip(1).map(|figure| figure.parse().expect("whole numbers")).collect();
    let &[capacity, random_read, random_write, sequential_read, sequential_write] = figures.as_slice() else {
        panic!("a line of simulated throughput has five figures: {line}");
    };
    let performance = Performance {
        random_read: Some(random_read),
        random_write: Some(random_write),
        sequential_read: Some(ByteRate(sequential_read)),
        sequential_write: Some(ByteRate(sequential_write)),
        ..Performance::default()
    };
    Some(Simulated { capacity: Bytes(capacity), performance })
}
