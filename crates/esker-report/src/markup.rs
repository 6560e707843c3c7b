//! Pieces of markup: numbers with their units, text with code in it.

use askama::filters::{Escaper, Html};
use esker_core::words::page::{Quantity, UNIT_SPACE};

/// Content of a cell without a value.
pub(crate) const DASH: &str = "<span class=\"none\">–</span>";

/// A number with its unit in an element of its own: tables give the unit a fixed width, so that numbers align.
pub(crate) fn quantity(quantity: &Quantity) -> String {
    let Quantity { number, unit } = quantity;
    if unit.is_empty() {
        return format!("<span class=\"n\">{number}</span>");
    }
    format!("<span class=\"n\">{number}</span>{UNIT_SPACE}<span class=\"u\">{unit}</span>")
}

/// Text in which numbers stay on one line with their units.
pub(crate) fn together(text: &str) -> String {
    let mut words = text.split(' ').peekable();
    let mut pieces = Vec::new();
    while let Some(word) = words.next() {
        let number = word.starts_with(|first: char| first.is_ascii_digit());
        let unit = words.next_if(|next| number && UNITS.contains(&next.trim_end_matches([',', '.', ';', ':'])));
        pieces.push(match unit {
            Some(unit) => format!("<span class=\"q\">{} {}</span>", escaped(word), escaped(unit)),
            None => escaped(word),
        });
    }
    pieces.join(" ")
}

/// Units as the sentences of the verdict write them.
const UNITS: &[&str] = &[
    "%", "µs", "us", "ms", "s", "minutes", "hours", "B", "KiB", "MiB", "GiB", "TiB", "bytes", "days", "months",
    "years", "rpm", "times", "requests",
];

/// Text in which options (`--years`) and parts between backticks are marked as code.
pub(crate) fn marked(text: &str) -> String {
    let code = |part: &str| format!("<code>{}</code>", escaped(part));
    let word = |word: &str| {
        let option = word.trim_end_matches([',', ';', '.']);
        let rest = escaped(&word[option.len()..]);
        if option.starts_with("--") { code(option) + &rest } else { escaped(word) }
    };
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => part.split(' ').map(word).collect::<Vec<_>>().join(" "),
        _ => code(part),
    });
    parts.collect()
}

/// Text with markup escaped, for use between tags and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    Html.write_escaped_str(&mut safe, text).expect("a string takes whatever is written to it");
    safe
}

#[cfg(test)]
mod tests {
    use esker_core::words::page;

    use super::*;

    #[test]
    fn options_and_quoted_parts_become_code() {
        let text = marked("`queue_depth` <in> a file; or --p99, --years");
        assert_eq!(text, "<code>queue_depth</code> &#60;in&#62; a file; or <code>--p99</code>, <code>--years</code>");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        let text = together("99 % of 12 <b> in 5 ms, then 7");
        assert_eq!(text, "<span class=\"q\">99 %</span> of 12 &#60;b&#62; in <span class=\"q\">5 ms,</span> then 7");
    }

    #[test]
    fn a_unit_stands_apart_from_its_number() {
        assert_eq!(quantity(&page::bytes(4096.0)), "<span class=\"n\">4</span>\u{a0}<span class=\"u\">KiB</span>");
        assert_eq!(quantity(&page::count(4096.0)), "<span class=\"n\">4\u{202f}096</span>");
    }
}
