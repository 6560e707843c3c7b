//! Catalogues as tables: one row for each product and capacity.

use std::collections::BTreeMap;
use std::str::FromStr;

use csv::StringRecord;
use esker_config::Position;
use esker_core::registry::NotFound;
use esker_core::{Bytes, Nanos, Power, Problem, Ratio};
use serde::de::DeserializeOwned;

use super::origin::References;
use super::raw::{
    Assumed, Brief, RawCapacities, RawDie, RawDies, RawEndurance, RawFailureRate, RawPower, RawPrice, RawProduct,
    RawRating,
};
use super::{Reading, finished};
use crate::money::Amount;
use crate::{Catalogue, CatalogueError, Date, Market, Rating, Running, capacity_in_words};

/// Every column. Those in [`NEEDED`] have to be there, and to have a value in every row.
const COLUMNS: [&str; 20] = [
    "name",
    "title",
    "year",
    "market",
    "class",
    "interface",
    "preset",
    "capacity",
    "dies",
    "die",
    "endurance",
    "warranty",
    "active_power",
    "idle_power",
    "annual_failure_rate",
    "price",
    "as_of",
    "source",
    "assumed",
    "price_source",
];
const NEEDED: [&str; 9] = ["name", "title", "year", "class", "interface", "preset", "capacity", "price", "as_of"];
/// The columns in which all rows of a product agree.
const COMMON: [&str; 13] = [
    "title",
    "year",
    "market",
    "class",
    "interface",
    "preset",
    "die",
    "warranty",
    "active_power",
    "idle_power",
    "annual_failure_rate",
    "as_of",
    "source",
];
/// What the column `assumed` may name, and the keys of a product that these stand for.
const FIGURES: [&str; 7] = ["capacities", "dies", "die", "endurance", "power", "annual_failure_rate", "price"];

/// Adds to `error` the place of the cell that it is about, if it names a product of the table.
pub(super) fn located(name: &str, text: &str, error: CatalogueError) -> CatalogueError {
    let table = Table { name, text };
    let Ok((heads, rows)) = table.rows() else { return error };
    let product = error.key.split('.').nth(1).map(str::to_string);
    let rows = rows.iter().map(|record| Row { table: &table, heads: &heads, record });
    match rows.into_iter().find(|row| row.get("name") == product.as_deref()) {
        Some(row) => row.located(error),
        None => error,
    }
}

/// Reads a catalogue from a table; `name` is its name in errors.
pub(super) fn csv(name: &str, text: &str) -> Result<Catalogue, CatalogueError> {
    let table = Table { name, text };
    let (heads, rows) = table.rows()?;
    let mut currency = None;
    let mut products: Vec<(String, Vec<Row<'_>>)> = Vec::new();
    for record in &rows {
        let row = Row { table: &table, heads: &heads, record };
        if let Some(column) = NEEDED.iter().find(|column| row.get(column).is_none()) {
            return Err(row.wrong(column, Problem::new("this has no value")));
        }
        let price: Amount = row.parse("price")?.expect("it has a value");
        currency.get_or_insert(price.currency);
        let name = row.get("name").expect("it has a value").to_string();
        match products.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => products.push((name, vec![row])),
        }
    }
    let reading = Reading {
        currency: currency.unwrap_or_else(|| "USD".to_string()),
        references: References(BTreeMap::new()),
        classes: BTreeMap::new(),
    };
    let mut read = Vec::new();
    for (name, rows) in &products {
        let product = reading.product(name, raw(rows)?);
        read.push(product.map_err(|error| rows[0].located(error))?);
    }
    finished(name, reading, read, Running::usual(5.0))
}

/// The product of these rows, one for each capacity.
fn raw(rows: &[Row<'_>]) -> Result<RawProduct, CatalogueError> {
    let first = &rows[0];
    for row in rows {
        if let Some(column) = COMMON.iter().find(|column| row.get(column) != first.get(column)) {
            let message = format!("this is `{}` in the product's first row", first.get(column).unwrap_or_default());
            let hint = "all rows of a product agree, but for capacity, dies, endurance and price";
            return Err(row.wrong(column, Problem::with_hint(message, hint)));
        }
    }
    let assumed = first.assumed()?;
    let mut sizes = Vec::new();
    let (mut dies, mut ratings, mut prices) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for row in rows {
        let capacity: Bytes = row.parse("capacity")?.expect("it has a value");
        if sizes.contains(&capacity) {
            let message =
                format!("`{}` of {} is there twice", row.get("name").unwrap_or_default(), capacity_in_words(capacity));
            return Err(row.wrong("capacity", Problem::new(message)));
        }
        sizes.push(capacity);
        row.parse("dies")?.map(|count: u32| dies.insert(capacity, count));
        row.parse("endurance")?.map(|rating: Rating| ratings.insert(capacity, rating));
        row.parse("price")?.map(|price: Amount| prices.insert(capacity, price));
    }
    let power: (Option<Power>, Option<Power>) = (first.parse("active_power")?, first.parse("idle_power")?);
    let power = match power {
        (Some(active), Some(idle)) => {
            Some(RawPower { active, idle, supplement: None, source: None, assumed: assumed.of("power") })
        }
        (None, None) => None,
        (Some(_), None) => {
            return Err(first.wrong("idle_power", Problem::new("this has no value, and `active_power` has")));
        }
        (None, Some(_)) => {
            return Err(first.wrong("active_power", Problem::new("this has no value, and `idle_power` has")));
        }
    };
    let die = first.parse("die")?.map(|size| RawDie { size, source: None, assumed: assumed.of("die") });
    let rate: Option<Ratio> = first.parse("annual_failure_rate")?;
    Ok(RawProduct {
        title: first.parse("title")?.unwrap_or_default(),
        year: first.parse("year")?.expect("it has a value"),
        market: first.choice("market")?.unwrap_or(Market::OnPremises),
        class: first.choice("class")?.expect("it has a value"),
        interface: first.parse("interface")?.unwrap_or_default(),
        kind: None,
        preset: first.parse("preset")?.unwrap_or_default(),
        device: None,
        capacities: Some(Brief::Table(RawCapacities { sizes, source: None, assumed: assumed.of("capacities") })),
        size: None,
        die: die.map(Brief::Table),
        dies: (!dies.is_empty()).then(|| RawDies { counts: dies, source: None, assumed: assumed.of("dies") }),
        endurance: (!ratings.is_empty()).then(|| {
            let rating = RawRating::Each(ratings);
            Brief::Table(RawEndurance { rating, source: None, assumed: assumed.of("endurance") })
        }),
        warranty: first.parse::<Nanos>("warranty")?,
        power,
        annual_failure_rate: rate.map(|rate| {
            Brief::Table(RawFailureRate { rate, source: None, assumed: assumed.of("annual_failure_rate") })
        }),
        performance: None,
        price: Some(RawPrice {
            each: Some(prices),
            as_of: first.parse::<Date>("as_of")?.expect("it has a value"),
            source: first.get("price_source").map(str::to_string),
            assumed: assumed.of("price"),
            per_unit: None,
            per_gb: None,
            per_tb: None,
            per_gib_month: None,
            per_operation_month: None,
            per_mib_month: None,
            free: None,
            size_class: None,
        }),
        discontinued: None,
        shared_limits: None,
        source: first.get("source").map(str::to_string),
    })
}

/// The figures of a product that its rows mark as assumed.
struct AssumedFigures(Vec<String>);

impl AssumedFigures {
    fn of(&self, figure: &str) -> Option<Assumed> {
        self.0.iter().any(|assumed| assumed == figure).then_some(Assumed::Plainly(true))
    }
}

/// The whole text, for places of errors.
struct Table<'a> {
    name: &'a str,
    text: &'a str,
}

/// A row and its cells by the heads of their columns.
struct Row<'a> {
    table: &'a Table<'a>,
    heads: &'a [String],
    record: &'a StringRecord,
}

impl Table<'_> {
    fn rows(&self) -> Result<(Vec<String>, Vec<StringRecord>), CatalogueError> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(self.text.as_bytes());
        let fault = |error: csv::Error| {
            let byte = error.position().map_or(0, csv::Position::byte);
            self.error(self.start(byte), "", Problem::new(format!("this is no table: {}", in_words(&error))))
        };
        let heads = reader.headers().map_err(fault)?.clone();
        let byte = heads.position().map_or(0, csv::Position::byte);
        let names: Vec<String> = heads.iter().map(str::to_string).collect();
        for (index, name) in names.iter().enumerate() {
            let at = self.cell(self.start(byte), index);
            if name.contains('\n') {
                return Err(self.error(at, "", broken_cell()));
            }
            if !COLUMNS.contains(&name.as_str()) {
                return Err(self.error(at, name, NotFound::new("column of a catalogue", name, COLUMNS).into()));
            }
            if names[..index].contains(name) {
                return Err(self.error(at, name, Problem::new("this column is there twice")));
            }
        }
        if let Some(missing) = NEEDED.iter().find(|needed| !names.iter().any(|name| name == *needed)) {
            let hint = format!("these are needed: {}", NEEDED.join(", "));
            let problem = Problem::with_hint(format!("the column `{missing}` is missing"), hint);
            return Err(self.error(self.start(byte), "", problem));
        }
        let rows = reader.records().collect::<Result<Vec<_>, _>>().map_err(fault)?;
        for row in &rows {
            if let Some(index) = row.iter().position(|cell| cell.contains('\n')) {
                let start = self.start(row.position().map_or(0, csv::Position::byte));
                return Err(self.error(self.cell(start, index), "", broken_cell()));
            }
        }
        Ok((names, rows))
    }

    fn error(&self, byte: usize, key: &str, problem: Problem) -> CatalogueError {
        let before = self.text.get(..byte).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let position =
            Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 };
        CatalogueError { origin: self.name.to_string(), position: Some(position), ..CatalogueError::new(key, problem) }
    }

    /// The byte at which a row begins whose position is `byte`: behind blank lines and comments.
    fn start(&self, byte: u64) -> usize {
        let mut at = usize::try_from(byte).unwrap_or(usize::MAX).min(self.text.len());
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let blank = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
            at += blank;
            match rest[blank..].strip_prefix('#') {
                Some(comment) => at += 1 + comment.find('\n').unwrap_or(comment.len()),
                None => return at,
            }
        }
    }

    /// The byte at which the cell of this number begins in the row that begins at `start`.
    fn cell(&self, start: usize, number: usize) -> usize {
        let rest = self.text.get(start..).unwrap_or_default();
        let (mut quoted, mut left) = (false, number);
        for (at, letter) in rest.char_indices() {
            if left == 0 {
                return start + at;
            }
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => left -= 1,
                '\n' if !quoted => break,
                _ => {}
            }
        }
        start + rest.find('\n').unwrap_or(rest.len())
    }
}

impl Row<'_> {
    /// The cell in `column`; `None` if it is empty, or there is no such column.
    fn get(&self, column: &str) -> Option<&str> {
        let index = self.heads.iter().position(|head| head == column)?;
        self.record.get(index).filter(|cell| !cell.is_empty())
    }

    fn wrong(&self, column: &str, problem: Problem) -> CatalogueError {
        let start = self.table.start(self.record.position().map_or(0, csv::Position::byte));
        let index = self.heads.iter().position(|head| head == column).unwrap_or(0);
        self.table.error(self.table.cell(start, index), column, problem)
    }

    /// `error` of the product's keys, at the column that they came from.
    fn located(&self, error: CatalogueError) -> CatalogueError {
        let key = error.key.clone();
        let figure = key.split('.').nth(2).unwrap_or_default();
        let column = match figure {
            "capacities" => "capacity",
            "power" => "active_power",
            "device" => "preset",
            other => COLUMNS.iter().find(|column| **column == other).copied().unwrap_or("name"),
        };
        self.wrong(column, *error.problem)
    }

    fn parse<T: FromStr<Err: std::fmt::Display>>(&self, column: &str) -> Result<Option<T>, CatalogueError> {
        let parse =
            |cell: &str| cell.parse().map_err(|error: T::Err| self.wrong(column, Problem::new(error.to_string())));
        self.get(column).map(parse).transpose()
    }

    /// One of the names of `T`.
    fn choice<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, CatalogueError> {
        let Some(cell) = self.get(column) else { return Ok(None) };
        let read = esker_core::read(&serde_json::Value::from(cell));
        read.map(Some).map_err(|error| self.wrong(column, error.problem))
    }

    /// The cell `assumed`: names of figures with `;` between them.
    fn assumed(&self) -> Result<AssumedFigures, CatalogueError> {
        let names = self.get("assumed").unwrap_or_default().split(';').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_string).collect();
        match names.iter().find(|name| !FIGURES.contains(&name.as_str())) {
            Some(name) => Err(self.wrong("assumed", NotFound::new("figure that can be assumed", name, FIGURES).into())),
            None => Ok(AssumedFigures(names)),
        }
    }
}

/// A cell that goes on in the next line, which is nearly always a missing quote.
fn broken_cell() -> Problem {
    Problem::with_hint("this cell has a line break in it", "perhaps a quote at its end is missing")
}

fn in_words(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("this row has {len} cells, and the head {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is no UTF-8".to_string(),
        _ => error.to_string(),
    }
}
