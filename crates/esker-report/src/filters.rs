//! How templates write numbers: `{{ value | micros }}` and so on. A value that is absent becomes a dash.

use minijinja::{Environment, Value};

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
    ("share", human::share),
    ("years", human::years),
    ("duration", |seconds| human::micros(seconds * 1e6)),
];

/// Adds all filters to `environment`.
pub(crate) fn register(environment: &mut Environment<'_>) {
    for (name, format) in QUANTITIES {
        environment.add_filter(*name, move |value: &Value| match number(value) {
            Some(number) => markup(&format(number)),
            None => absent(),
        });
    }
    environment.add_filter("moment", |value: &Value| number(value).map_or_else(absent, |at| human::moment(at).into()));
    environment
        .add_filter("exact", |value: &Value| number(value).map_or_else(String::new, |number| number.to_string()));
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

fn absent() -> Value {
    Value::from_safe_string("<span class=\"none\">–</span>".to_string())
}
