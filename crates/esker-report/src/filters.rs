//! How templates write numbers: `{{ value | micros }}` and so on. Of a value that is absent, all of them make an
//! undefined one: the template then leaves out what would show it.

use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, HtmlEscape, Value};

use crate::human::{self, Quantity};

/// A filter that writes a quantity.
type Format = fn(f64) -> Quantity;

/// The filters for numbers, by name.
static QUANTITIES: &[(&str, Format)] = &[
    ("micros", human::micros),
    ("bytes", human::bytes),
    ("bytes_per_second", human::bytes_per_second),
    ("per_second", human::per_second),
    ("count", human::count),
    ("plain", human::plain),
    ("factor", human::factor),
    ("share", human::share),
    // Work counts where it begins, so that an interval can hold more of it than fits.
    ("busy", |share| human::share(share.min(1.0))),
    ("years", human::years),
    ("change", human::change),
    ("duration", |seconds| human::micros(seconds * 1e6)),
];

/// Adds all filters to `environment`.
pub(crate) fn register(environment: &mut Environment<'_>) {
    for (name, format) in QUANTITIES {
        environment.add_filter(*name, move |value: &Value| match number(value) {
            Some(number) => markup(&format(number)),
            None => Value::UNDEFINED,
        });
    }
    environment.add_function("line", line);
    environment.add_filter("over", |value: &Value, divisor: &Value| {
        both(value, divisor).filter(|(_, divisor)| *divisor != 0.0).map(|(value, divisor)| value / divisor)
    });
    environment.add_filter("plus", |value: &Value, more: &Value| both(value, more).map(|(value, more)| value + more));
    environment.add_filter("listed", |value: &Value| match value.kind() {
        ValueKind::Seq => value.clone(),
        _ => Value::from(Vec::<Value>::new()),
    });
    environment.add_filter("moment", |seconds: &Value, first_ns: &Value| match number(seconds) {
        Some(seconds) => human::moment(seconds, number(first_ns).unwrap_or(0.0)).into(),
        None => Value::UNDEFINED,
    });
    environment.add_filter("is_clock", |first_ns: &Value| number(first_ns).is_some_and(human::is_clock));
    environment.add_filter("published", |value: &Value| {
        number(value).map_or(Value::UNDEFINED, |number| esker_core::words::published(number).into())
    });
    environment.add_filter("marked", |text: &Value| text.as_str().map(marked));
    environment.add_filter("together", |text: &Value| text.as_str().map(together));
    environment
        .add_filter("exact", |value: &Value| number(value).map_or_else(String::new, |number| number.to_string()));
}

/// Text whose numbers stay with their units where lines break.
fn together(text: &str) -> Value {
    let mut words = text.split(' ').peekable();
    let mut pieces = Vec::new();
    while let Some(word) = words.next() {
        let number = word.starts_with(|first: char| first.is_ascii_digit());
        let unit = words.next_if(|next| number && UNITS.contains(&next.trim_end_matches([',', '.', ';', ':'])));
        pieces.push(match unit {
            Some(unit) => format!("<span class=\"q\">{} {}</span>", HtmlEscape(word), HtmlEscape(unit)),
            None => HtmlEscape(word).to_string(),
        });
    }
    Value::from_safe_string(pieces.join(" "))
}

/// Units as the verdict's sentences have them.
const UNITS: &[&str] = &[
    "%", "µs", "us", "ms", "s", "minutes", "hours", "B", "KiB", "MiB", "GiB", "TiB", "bytes", "days", "months",
    "years", "rpm", "times", "requests",
];

/// Text whose options (`--years`) and parts between backticks are code.
fn marked(text: &str) -> Value {
    let code = |part: &str| format!("<code>{}</code>", HtmlEscape(part));
    let word = |word: &str| {
        let option = word.trim_end_matches([',', ';', '.']);
        let rest = HtmlEscape(&word[option.len()..]).to_string();
        if option.starts_with("--") { code(option) + &rest } else { HtmlEscape(word).to_string() }
    };
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => part.split(' ').map(word).collect::<Vec<_>>().join(" "),
        _ => code(part),
    });
    Value::from_safe_string(parts.collect())
}

/// Pieces in one line: `{{ line(size | bytes, " of ", name) }}`; undefined where a piece is. Operator `~` would
/// escape what the filters wrote.
fn line(pieces: Rest<Value>) -> Value {
    let mut text = String::new();
    for piece in pieces.iter() {
        if piece.is_undefined() {
            return Value::UNDEFINED;
        }
        if piece.is_safe() {
            text.push_str(&piece.to_string());
        } else {
            text.push_str(&HtmlEscape(&piece.to_string()).to_string());
        }
    }
    Value::from_safe_string(text)
}

fn both(left: &Value, right: &Value) -> Option<(f64, f64)> {
    number(left).zip(number(right))
}

fn number(value: &Value) -> Option<f64> {
    f64::try_from(value.clone()).ok().filter(|number| number.is_finite())
}

/// The unit stands in an element of its own: tables give it a fixed width, so that numbers end at one line.
fn markup(quantity: &Quantity) -> Value {
    let number = &quantity.number;
    Value::from_safe_string(match quantity.unit {
        "" => format!("<span class=\"n\">{number}</span>"),
        unit => format!("<span class=\"n\">{number}</span>\u{a0}<span class=\"u\">{unit}</span>"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_quoted_parts_become_code() {
        let text = marked("`queue_depth` <in> a file; or --p99, --years").to_string();
        assert_eq!(text, "<code>queue_depth</code> &lt;in&gt; a file; or <code>--p99</code>, <code>--years</code>");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        let text = together("99 % of 12 <b> in 5 ms, then 7").to_string();
        assert_eq!(text, "<span class=\"q\">99 %</span> of 12 &lt;b&gt; in <span class=\"q\">5 ms,</span> then 7");
    }

    #[test]
    fn a_line_escapes_names_and_keeps_what_filters_wrote() {
        let size = markup(&human::bytes(4096.0));
        let text = line(Rest(vec![size, Value::from(" of <b>")])).to_string();
        assert_eq!(text, "<span class=\"n\">4</span>\u{a0}<span class=\"u\">KiB</span> of &lt;b&gt;");
        assert!(line(Rest(vec![Value::from("from "), Value::UNDEFINED])).is_undefined());
    }
}
