//! Parses values of options. A value that makes no sense is refused, with an example of a valid one.

pub(crate) mod drive_model;
mod export;
mod move_limits;
#[cfg(test)]
mod tests;
mod threads;
mod volume_device;

use std::error::Error;
use std::fmt;

use esker_catalogue::{CurrencyChange, Market, PriceChange};
use esker_core::{Bytes, Hint, Nanos, Power, Ratio, did_you_mean, words};
use esker_serve::{Address, AddressError};
use esker_study::InUse;

pub(crate) use export::{Export, device_export, volume_export, volume_file, volume_place};
pub(crate) use move_limits::{asleep_after, leave_above, move_budget};
pub(crate) use threads::{threads, threads_or_one};
pub(crate) use volume_device::{DevicePlace, VolumeDevice, volume_device};

/// A value that an option does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    message: String,
    pub(crate) hint: Option<String>,
}

impl BadValue {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for BadValue {}

/// Letters after a count, and their multiples.
const MULTIPLES: &[(&str, u64)] = &[("", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// Parses a whole number: `5000`, `5_000`, `5k`, `1.5M`, `1e6`.
fn whole(text: &str) -> Result<u64, BadValue> {
    let text = text.trim();
    let wrong = || BadValue::with_hint("that is no whole number", "write 5000, 5k, 2M or 1.5G");
    let too_large = || BadValue::new(format!("the largest number is {}", u64::MAX));
    if text.starts_with('-') {
        return Err(BadValue::new("it has to be zero or more"));
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<u32>().map_err(|_| wrong())?),
        None => (text, 0),
    };
    let digits = mantissa.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &mantissa[digits.len()..];
    let Some((_, scale)) = MULTIPLES.iter().find(|(name, _)| *name == unit) else {
        let alike = MULTIPLES.iter().find(|(name, _)| !name.is_empty() && name.eq_ignore_ascii_case(unit));
        return Err(match alike {
            Some((name, _)) => BadValue::with_hint("that is no whole number", format!("did you mean {digits}{name}?")),
            None => wrong(),
        });
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let clean = |part: &str| part.replace('_', "");
    let (whole, fraction) = (clean(whole), clean(fraction).trim_end_matches('0').to_string());
    let all_digits = whole.chars().chain(fraction.chars()).all(|c| c.is_ascii_digit());
    if whole.is_empty() || !all_digits {
        return Err(wrong());
    }
    let scale = 10u128.checked_pow(exponent).and_then(|power| power.checked_mul(u128::from(*scale)));
    let (scale, whole) = (scale.ok_or_else(too_large)?, whole.parse::<u128>().map_err(|_| too_large())?);
    let denominator = 10u128.checked_pow(fraction.len() as u32).ok_or_else(wrong)?;
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| wrong())? };
    let scaled = fraction.checked_mul(scale).ok_or_else(too_large)?;
    if scaled % denominator != 0 {
        return Err(wrong());
    }
    let sum = whole.checked_mul(scale).and_then(|whole| whole.checked_add(scaled / denominator));
    sum.and_then(|sum| u64::try_from(sum).ok()).ok_or_else(too_large)
}

/// Parses a whole number of zero or more.
pub(crate) fn count<T: TryFrom<u64>>(text: &str) -> Result<T, BadValue> {
    T::try_from(whole(text)?).map_err(|_| BadValue::new("that number is too large"))
}

/// Parses a whole number of one or more.
pub(crate) fn at_least_one<T: TryFrom<u64> + PartialOrd + From<u8>>(text: &str) -> Result<T, BadValue> {
    let count: T = count(text)?;
    if count < T::from(1) { Err(BadValue::new("it has to be at least 1")) } else { Ok(count) }
}

/// Parses the number of devices that a design may use.
pub(crate) fn devices(text: &str) -> Result<u32, BadValue> {
    match count(text)? {
        0 => Err(BadValue::with_hint("no design has 0 devices", "leave --devices out for any number of them")),
        count => Ok(count),
    }
}

/// Parses the number of copies of the data.
pub(crate) fn copies(text: &str) -> Result<u32, BadValue> {
    match count(text)? {
        0 => Err(BadValue::with_hint("with 0 copies there are no data", "leave --copies out for one")),
        count => Ok(count),
    }
}

/// Parses a load as a multiple of the trace's: `1.3`, `2`, `2x`.
pub(crate) fn headroom(text: &str) -> Result<f64, BadValue> {
    let example = "write --headroom 1.3 for 30 % more load";
    let number = text.trim().trim_end_matches(['x', 'X']);
    match number.parse::<f64>().ok().filter(|value| value.is_finite()) {
        None => Err(BadValue::with_hint("that is no number", example)),
        Some(value) if value < 1.0 => {
            Err(BadValue::with_hint("it has to be at least 1, the load of the trace", example))
        }
        Some(value) if value > 1_000.0 => Err(BadValue::with_hint("it can be at most 1000", example)),
        Some(value) => Ok(value),
    }
}

/// Parses the name of a market.
pub(crate) fn market(text: &str) -> Result<Market, BadValue> {
    let names = Market::ALL.iter().map(|market| market.name());
    Market::ALL.iter().copied().find(|market| market.name() == text.trim().to_lowercase()).ok_or_else(|| {
        let hint = match did_you_mean(text, names.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it is one of {}", names.collect::<Vec<_>>().join(", ")),
        };
        BadValue::with_hint(format!("no market is called `{text}`"), hint)
    })
}

/// Parses devices that are in use: `micron-7450-pro:3.84TB`, `4xmicron-7450-pro:3.84TB`.
pub(crate) fn in_use(text: &str) -> Result<InUse, BadValue> {
    let wrong = || {
        BadValue::with_hint(
            "that is no product with its capacity",
            "write micron-7450-pro:3.84TB, or 4xmicron-7450-pro:3.84TB for four of them",
        )
    };
    let (name, capacity) = text.trim().split_once(':').ok_or_else(wrong)?;
    let (count, product) = match name.split_once('x').map(|(count, rest)| (count.parse::<u32>(), rest)) {
        Some((Ok(count), rest)) => (count, rest.trim_start_matches('-')),
        _ => (1, name),
    };
    if product.is_empty() || !(1..=1024).contains(&count) {
        return Err(wrong());
    }
    let capacity = with_unit(capacity, "a capacity").map_err(|error| match error.hint {
        Some(_) => BadValue::with_hint(error.message, "write micron-7450-pro:3.84TB, with the unit of the size"),
        None => error,
    })?;
    Ok(InUse { product: product.to_string(), capacity, count })
}

/// Parses years: `5`, `2.5`, `5y`, `5 years`.
pub(crate) fn years(text: &str) -> Result<f64, BadValue> {
    let number = text.trim();
    let unit_at = number.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(number.len());
    let (number, unit) = (number[..unit_at].trim(), &number[unit_at..]);
    let example = "write --years 5, or --years 0.5 for half a year";
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
    let value = match (value, unit) {
        (Some(value), "" | "y" | "year" | "years" | "yr" | "yrs") => value,
        _ => return Err(BadValue::with_hint("that is no number of years", example)),
    };
    match value {
        value if value <= 0.0 => Err(BadValue::with_hint("it has to be more than no time at all", example)),
        value if value > 100.0 => Err(BadValue::with_hint("it can be at most 100 years", example)),
        value => Ok(value),
    }
}

/// The highest growth per year; a larger number is taken for a mistake.
const GROWTH_MAX: Ratio = Ratio::percent(300);

/// Parses growth per year: `20%` or `0.2`.
pub(crate) fn growth(text: &str) -> Result<Ratio, BadValue> {
    let ratio = ratio(text, "20%")?;
    if ratio <= GROWTH_MAX {
        return Ok(ratio);
    }
    let message =
        format!("that is {} a year, and at most {} a year are studied", in_percent(ratio), in_percent(GROWTH_MAX));
    Err(match without_percent(text) {
        Some(number) => BadValue::with_hint(message, format!("for {number} percent write --growth {number}%")),
        None => BadValue::new(message),
    })
}

/// Parses a share of a whole: `85%` or `0.85`.
pub(crate) fn share(text: &str) -> Result<Ratio, BadValue> {
    let ratio = ratio(text, "85%")?;
    if ratio <= Ratio::ONE {
        return Ok(ratio);
    }
    let message = format!("that is {}, and a share is at most 100 %", in_percent(ratio));
    Err(match without_percent(text) {
        Some(number) => BadValue::with_hint(message, format!("for {number} percent write {number}%")),
        None => BadValue::new(message),
    })
}

fn ratio(text: &str, example: &str) -> Result<Ratio, BadValue> {
    let hint = || format!("write {example}, or {} as a fraction", fraction_of(example));
    text.trim().parse().map_err(|_| BadValue::with_hint("that is no share", hint()))
}

fn fraction_of(example: &str) -> String {
    example.parse::<Ratio>().map_or_else(|_| String::new(), |ratio| ratio.as_f64().to_string())
}

fn in_percent(ratio: Ratio) -> String {
    ratio.to_string().replace('%', " %")
}

/// The text without its percent sign, if the mistake was a missing sign.
fn without_percent(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.ends_with('%') && text.parse::<f64>().is_ok_and(|value| value <= 100.0)).then_some(text)
}

/// Parses a share taken off prices: `20%`.
pub(crate) fn discount(text: &str) -> Result<Ratio, BadValue> {
    match share(text)? {
        Ratio::ONE => Err(BadValue::with_hint(
            "that is the whole price: everything would cost nothing, and no design would be cheaper than another",
            "write less than 100%; a product that you have already is named with --have",
        )),
        discount => Ok(discount),
    }
}

/// Parses a budget for response times.
pub(crate) fn p99(text: &str) -> Result<Nanos, BadValue> {
    match time(text)? {
        Nanos::ZERO => Err(BadValue::with_hint("no device answers in no time", "write 5ms, or 200us")),
        limit => Ok(limit),
    }
}

/// Parses a time with its unit: `5ms`.
pub(crate) fn time(text: &str) -> Result<Nanos, BadValue> {
    let text = text.trim();
    text.parse().map_err(|error: esker_core::QuantityError| match text.parse::<f64>() {
        Ok(value) if value >= 0.0 => BadValue::with_hint(
            "a time needs its unit",
            format!("write {text}ms, or another of: ns, µs (or us), ms, s, min, h, d, y"),
        ),
        _ if text.starts_with('-') => BadValue::new("a time is zero or more"),
        _ => BadValue::new(error.to_string()),
    })
}

/// Parses a size with its unit, or a number of bytes.
pub(crate) fn size(text: &str) -> Result<Bytes, BadValue> {
    let text = text.trim();
    if let Ok(bytes) = text.parse() {
        return Ok(Bytes(bytes));
    }
    text.parse().map_err(|error: esker_core::QuantityError| match text.strip_prefix('-') {
        Some(_) => BadValue::new("a size is zero or more"),
        None => BadValue::new(error.to_string()),
    })
}

/// Parses a size that something has to have.
pub(crate) fn size_of_some(text: &str) -> Result<Bytes, BadValue> {
    let size = size(text)?;
    if size == Bytes(0) { Err(BadValue::new("it has to be at least 1B")) } else { Ok(size) }
}

/// The least and the most data that designs are made for. Less is a unit that was left out or mistaken; more needs more
/// devices than a design can have.
const CAPACITY_MIN: Bytes = Bytes(1_000_000);
const CAPACITY_MAX: Bytes = Bytes(20_000_000_000_000_000);

/// Parses the capacity of data to store: `20TB`.
pub(crate) fn capacity(text: &str) -> Result<Bytes, BadValue> {
    match with_unit(text, "a capacity")? {
        capacity if capacity < CAPACITY_MIN => Err(BadValue::with_hint(
            format!("that is less than {CAPACITY_MIN}, which no product is bought for"),
            "write 500GB or 20TB; without --capacity, the span of addresses in the trace counts",
        )),
        capacity if capacity > CAPACITY_MAX => Err(BadValue::with_hint(
            format!("that is too large: designs are made for at most {}", words::on_sale(CAPACITY_MAX.0)),
            "study a part of the data, with the part of the load that it has",
        )),
        capacity => Ok(capacity),
    }
}

/// Parses a size that has to have a unit. `what` it is begins the error: "a capacity".
pub(crate) fn with_unit(text: &str, what: &str) -> Result<Bytes, BadValue> {
    let text = text.trim();
    if text.parse::<f64>().is_ok_and(|value| value >= 0.0) {
        return Err(BadValue::with_hint(
            format!("{what} needs its unit"),
            format!("write {text}TB, or another of: B, kB, MB, GB, TB, PB (powers of 1000), KiB, MiB, GiB, TiB, PiB"),
        ));
    }
    size(text)
}

/// Parses a power above nothing.
pub(crate) fn power(text: &str) -> Result<Power, BadValue> {
    match text.trim().parse() {
        Ok(Power(0)) => Err(BadValue::new("no device works without power")),
        Ok(power) => Ok(power),
        Err(_) if text.trim().parse::<f64>().is_ok_and(|value| value >= 0.0) => {
            Err(BadValue::with_hint("a power needs its unit", format!("write {text}W, or another of: uW, mW")))
        }
        Err(error) => Err(BadValue::with_hint(error.to_string(), "write 200W")),
    }
}

/// Parses bytes to add to addresses: `512`, `-512`, `-4KiB`.
pub(crate) fn shift(text: &str) -> Result<i64, BadValue> {
    let (negative, amount) = match text.trim().strip_prefix('-') {
        Some(amount) => (true, amount),
        None => (false, text.trim()),
    };
    let bytes = i64::try_from(size(amount)?.0).map_err(|_| BadValue::new("that is more than 8 EiB"))?;
    Ok(if negative { -bytes } else { bytes })
}

/// Parses a factor of speed: `2`, `0.5`, `2x`.
pub(crate) fn factor(text: &str) -> Result<f64, BadValue> {
    let number = text.trim().trim_end_matches(['x', '×']);
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| BadValue::with_hint("that is no number", "write 2 for twice as fast, 0.5 for half as fast"))
}

/// Parses an amount of money: `0.1`.
pub(crate) fn amount(text: &str) -> Result<f64, BadValue> {
    match text.trim().parse::<f64>().ok().filter(|value| value.is_finite()) {
        Some(value) if value > 0.0 => Ok(value),
        Some(_) => Err(BadValue::new("it has to be more than nothing")),
        None => Err(BadValue::with_hint("that is no number", "write 0.1, without a currency")),
    }
}

/// Parses a price of a product: `micron-7450-pro=0.08USD/GB`.
pub(crate) fn price(text: &str) -> Result<PriceChange, BadValue> {
    text.parse().map_err(|message: String| BadValue::new(message))
}

/// Parses a currency and its rate: `EUR=0.92`.
pub(crate) fn currency(text: &str) -> Result<CurrencyChange, BadValue> {
    // Codes of currencies are in capital letters, and people write them as they like.
    let text = match text.split_once('=') {
        Some((code, rate)) => format!("{}={rate}", code.trim().to_uppercase()),
        None => text.to_string(),
    };
    text.parse().map_err(|message: String| BadValue::new(message))
}

/// Parses the name of a product. Blanks around it are no part of it, as in `--only "a, b"`.
pub(crate) fn name(text: &str) -> Result<String, BadValue> {
    match text.trim() {
        "" => Err(BadValue::with_hint("a name is missing", "`esker devices` lists the products")),
        name => Ok(name.to_string()),
    }
}

/// Parses an address to listen at.
pub(crate) fn address(text: &str) -> Result<Address, BadValue> {
    text.parse().map_err(|error: AddressError| BadValue::with_hint(error.to_string(), error.hint().unwrap_or_default()))
}

/// Parses how many times as slow a device becomes.
pub(crate) fn slowdown(text: &str) -> Result<Ratio, BadValue> {
    match text.parse::<Ratio>() {
        Ok(Ratio::ZERO) | Err(_) => {
            Err(BadValue::with_hint("that is no factor", "10 makes it ten times slower, 1 restores its speed"))
        }
        Ok(factor) => Ok(factor),
    }
}
