//! Filters with which templates write numbers and words: `{{ value | micros }}` and so on. A number that is absent or
//! not finite is written as nothing, and in table cells as a dash.

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
    /// The number, if it is finite.
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
pub(crate) struct PageNumber {
    /// The value that tables sort by.
    value: Option<f64>,
    markup: String,
}

impl PageNumber {
    fn new(value: &impl Number, write: impl FnOnce(f64) -> String) -> askama::Result<Self> {
        let value = value.number();
        Ok(Self { value, markup: value.map_or_else(String::new, write) })
    }
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.markup)
    }
}

impl HtmlSafe for PageNumber {}

macro_rules! quantities {
    ($($name:ident: $format:expr;)*) => {
        $(
            #[filter_fn]
            pub(crate) fn $name(value: impl Number, _: &dyn Values) -> askama::Result<PageNumber> {
                PageNumber::new(&value, |number| markup::quantity(&($format)(number)))
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
    // Work counts in full when it begins, so an interval can hold more of it than its length.
    busy: |share: f64| page::share(share.min(1.0));
    years: page::years;
    change: page::change;
    duration: |seconds: f64| page::micros(seconds * 1e6);
}

/// A moment of the run by the clock of the trace, whose first arrival was at `first_ns`.
#[filter_fn]
pub(crate) fn moment(seconds: impl Number, _: &dyn Values, first_ns: u64) -> askama::Result<PageNumber> {
    PageNumber::new(&seconds, |seconds| words::moment(seconds, first_ns))
}

/// A number with as many digits as papers print.
#[filter_fn]
pub(crate) fn published(value: impl Number, _: &dyn Values) -> askama::Result<PageNumber> {
    PageNumber::new(&value, words::published)
}

/// A quotient; nothing if a number is absent, or the divisor is zero.
#[filter_fn]
pub(crate) fn over<D: Number>(value: impl Number, _: &dyn Values, divisor: D) -> askama::Result<Option<f64>> {
    Ok(value
        .number()
        .zip(divisor.number())
        .filter(|(_, divisor)| *divisor != 0.0)
        .map(|(value, divisor)| value / divisor))
}

/// A table cell with a number: the text, and the value for sorting.
#[filter_fn]
pub(crate) fn cell(number: PageNumber, _: &dyn Values) -> askama::Result<Safe<String>> {
    let sort = number.value.map_or_else(String::new, |value| value.to_string());
    let shown = if number.markup.is_empty() { DASH } else { &number.markup };
    Ok(Safe(format!("<td class=\"num\" data-sort=\"{sort}\">{shown}</td>")))
}

/// A table cell with the lifetime of a design's flash.
#[filter_fn]
pub(crate) fn life_cell(endurance: Option<&Endurance>, _: &dyn Values) -> askama::Result<Safe<String>> {
    let cell =
        |class: &str, sort: &str, shown: &str| format!("<td class=\"{class}\" data-sort=\"{sort}\">{shown}</td>");
    let known = |endurance: &&Endurance| endurance.judged || endurance.lifetime_is_lower_bound;
    let years = endurance.filter(known).and_then(|endurance| endurance.lifetime_years.number());
    let range = endurance.and_then(|endurance| endurance.lifetime_range_years);
    Ok(Safe(match (endurance, years) {
        (Some(_), None) if let Some([low, high]) = range => {
            cell("num words", &low.to_string(), &crate::answer::life_between(low, high))
        }
        (Some(endurance), _) if !known(&endurance) => cell("num words", "", "too few writes to judge"),
        (Some(endurance), Some(years)) => {
            let more = if endurance.lifetime_is_lower_bound { "&gt;&nbsp;" } else { "" };
            cell("num", &years.to_string(), &format!("{more}{}", markup::quantity(&page::years(years))))
        }
        _ => cell("num", "", DASH),
    }))
}

/// A word with its explanation, shown when it is hovered, focused or tapped. Without scripts it links to the list at
/// the end.
#[filter_fn]
pub(crate) fn term(word: impl AsRef<str>, _: &dyn Values, key: &str) -> askama::Result<Safe<String>> {
    let word = escaped(word.as_ref());
    Ok(Safe(format!("<a class=\"term\" href=\"#term-{key}\" data-term=\"{key}\">{word}</a>")))
}

/// The head of a sortable column of numbers, explained by the term `key`; with `words`, of a column of words.
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

/// Text in which options (`--years`) and parts between backticks are marked as code.
#[filter_fn]
pub(crate) fn marked(text: impl AsRef<str>, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(markup::marked(text.as_ref())))
}

/// Text in which numbers stay on one line with their units.
#[filter_fn]
pub(crate) fn together(text: impl AsRef<str>, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(markup::together(text.as_ref())))
}
