//! How templates write numbers and words: `{{ value | micros }}` and so on. Numbers that are absent or not finite are
//! written as nothing, and in cells as a dash.

#![allow(unreachable_pub, reason = "the attribute makes a public type of each filter")]

use std::fmt;

use askama::filters::{HtmlSafe, Safe};
use askama::{Values, filter_fn};
use esker_core::words::{self, page};
use esker_results::study::Endurance;

use crate::markup::{self, escaped};

pub(crate) use crate::markup::DASH;

/// A number that may be absent.
pub(crate) trait Number {
    /// The number, where it is finite.
    fn number(&self) -> Option<f64>;
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Number for $type {
            fn number(&self) -> Option<f64> {
                Some(*self as f64).filter(|number| number.is_finite())
            }
        })*
    };
}

numbers!(f64, i64, u32, u64, usize);

impl<T: Number + ?Sized> Number for &T {
    fn number(&self) -> Option<f64> {
        (**self).number()
    }
}

impl<T: Number> Number for Option<T> {
    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }
}

/// A number as the page writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    /// What tables sort by.
    value: Option<f64>,
    markup: String,
}

impl Written {
    fn new(value: &impl Number, write: impl FnOnce(f64) -> String) -> askama::Result<Self> {
        let value = value.number();
        Ok(Self { value, markup: value.map_or_else(String::new, write) })
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.markup)
    }
}

impl HtmlSafe for Written {}

macro_rules! quantities {
    ($($name:ident: $format:expr;)*) => {
        $(
            #[filter_fn]
            pub(crate) fn $name(value: impl Number, _: &dyn Values) -> askama::Result<Written> {
                Written::new(&value, |number| markup::quantity(&($format)(number)))
            }
        )*
    };
}

quantities! {
    micros: page::micros;
    bytes: page::bytes;
    bytes_per_second: page::bytes_per_second;
    per_second: page::per_second;
    count: page::count;
    plain: page::plain;
    factor: page::factor;
    share: page::share;
    // Work counts where it begins, so that an interval can hold more of it than fits.
    busy: |share: f64| page::share(share.min(1.0));
    years: page::years;
    change: page::change;
    duration: |seconds: f64| page::micros(seconds * 1e6);
}

/// A moment of the run by the trace's clock, whose first arrival was at `first_ns`.
#[filter_fn]
pub(crate) fn moment(seconds: impl Number, _: &dyn Values, first_ns: u64) -> askama::Result<Written> {
    Written::new(&seconds, |seconds| words::moment(seconds, first_ns))
}

/// A number with the digits that papers print.
#[filter_fn]
pub(crate) fn published(value: impl Number, _: &dyn Values) -> askama::Result<Written> {
    Written::new(&value, words::published)
}

/// A quotient; none of nothing.
#[filter_fn]
pub(crate) fn over<D: Number>(value: impl Number, _: &dyn Values, divisor: D) -> askama::Result<Option<f64>> {
    Ok(value
        .number()
        .zip(divisor.number())
        .filter(|(_, divisor)| *divisor != 0.0)
        .map(|(value, divisor)| value / divisor))
}

/// A cell of a table with a number: what is written, and what it sorts by.
#[filter_fn]
pub(crate) fn cell(number: Written, _: &dyn Values) -> askama::Result<Safe<String>> {
    let sort = number.value.map_or_else(String::new, |value| value.to_string());
    let shown = if number.markup.is_empty() { DASH } else { &number.markup };
    Ok(Safe(format!("<td class=\"num\" data-sort=\"{sort}\">{shown}</td>")))
}

/// A cell with the lifetime of a design's flash.
#[filter_fn]
pub(crate) fn life_cell(endurance: Option<&Endurance>, _: &dyn Values) -> askama::Result<Safe<String>> {
    let cell =
        |class: &str, sort: &str, shown: &str| format!("<td class=\"{class}\" data-sort=\"{sort}\">{shown}</td>");
    let years = endurance.and_then(|endurance| endurance.lifetime_years.number());
    Ok(Safe(match (endurance, years) {
        (Some(endurance), _) if !endurance.judged => cell("num words", "", "too few writes to judge"),
        (Some(endurance), Some(years)) => {
            let more = if endurance.lifetime_is_lower_bound { "&gt;&nbsp;" } else { "" };
            cell("num", &years.to_string(), &format!("{more}{}", markup::quantity(&page::years(years))))
        }
        _ => cell("num", "", DASH),
    }))
}

/// A word with its explanation: hovered, focused or tapped; without scripts it leads to the list at the end.
#[filter_fn]
pub(crate) fn term(word: impl AsRef<str>, _: &dyn Values, key: &str) -> askama::Result<Safe<String>> {
    let word = escaped(word.as_ref());
    Ok(Safe(format!("<a class=\"term\" href=\"#term-{key}\" data-term=\"{key}\">{word}</a>")))
}

/// Head of a sortable column of numbers, explained by the term `key`; of words, with `words`.
#[filter_fn]
pub(crate) fn head(
    word: impl AsRef<str>,
    _: &dyn Values,
    key: &str,
    #[optional("num")] class: &str,
) -> askama::Result<Safe<String>> {
    let word = escaped(word.as_ref());
    Ok(Safe(format!(
        "<th scope=\"col\" class=\"{class}\"><button type=\"button\" data-term=\"{key}\">{word}</button></th>"
    )))
}

/// Text whose options (`--years`) and parts between backticks are code.
#[filter_fn]
pub(crate) fn marked(text: impl AsRef<str>, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(markup::marked(text.as_ref())))
}

/// Text whose numbers stay with their units where lines break.
#[filter_fn]
pub(crate) fn together(text: impl AsRef<str>, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(markup::together(text.as_ref())))
}
