//! Limits of what moves in a volume, in all (`100GiB`) and to and from a device (`flash=80%`, `disk=9min`).

use esker_core::Ratio;
use esker_serve::{AsleepAfter, MoveBudget};

use super::{BadValue, share, size, time};

/// A number of bytes that may move in a day: a size, or `none`.
pub(crate) fn move_budget(text: &str) -> Result<MoveBudget, BadValue> {
    match text.trim() {
        "none" => Ok(MoveBudget::Unlimited),
        text => size(text).map(|size| MoveBudget::Bytes(size.0)),
    }
}

/// Splits `NAME=VALUE`.
fn of_device<'a>(text: &'a str, example: &str) -> Result<(String, &'a str), BadValue> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_string(), value)),
        _ => Err(BadValue::with_hint("that is no device and its limit", format!("write {example}"))),
    }
}

/// A device, and the share of its extents above which they leave it: `flash=80%`.
pub(crate) fn leave_above(text: &str) -> Result<(String, Ratio), BadValue> {
    let (name, value) = of_device(text, "flash=80%")?;
    Ok((name, share(value)?))
}

/// A device, and after which time without requests it is left asleep: `disk=9min`, `disk=never`.
pub(crate) fn asleep_after(text: &str) -> Result<(String, AsleepAfter), BadValue> {
    let (name, value) = of_device(text, "disk=9min, or disk=never")?;
    Ok((name, if value.trim() == "never" { AsleepAfter::Never } else { AsleepAfter::Time(time(value)?) }))
}

#[cfg(test)]
mod tests {
    use esker_core::Nanos;

    use super::*;

    #[test]
    fn a_limit_names_its_device() {
        assert_eq!(leave_above("flash=80%").unwrap(), ("flash".to_string(), Ratio::percent(80)));
        let after = |text: &str| asleep_after(text).unwrap();
        assert_eq!(after("disk=9min"), ("disk".to_string(), AsleepAfter::Time(Nanos::from_secs(540))));
        assert_eq!(after("disk=never"), ("disk".to_string(), AsleepAfter::Never));
        for (text, hint) in [("80%", "write flash=80%"), ("=80%", "write flash=80%"), ("flash=80", "write 80%")] {
            let said = format!("{:?}", leave_above(text).unwrap_err());
            assert!(said.contains(hint), "{text}: {said}");
        }
        assert!(asleep_after("disk=9").is_err());
    }
}
