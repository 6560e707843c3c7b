//! What options accept and refuse.

use super::*;

fn refused<T: fmt::Debug>(result: Result<T, BadValue>) -> String {
    let error = result.expect_err("it is refused");
    format!("{error}; {}", error.hint.clone().unwrap_or_default())
}

#[test]
fn counts_are_understood_as_people_write_them() {
    let cases = [("0", 0), ("5000", 5_000), ("5_000", 5_000), ("5k", 5_000), ("5K", 5_000), ("1.5M", 1_500_000)];
    for (text, value) in cases.into_iter().chain([("2G", 2_000_000_000), ("1e6", 1_000_000), ("2.5e3", 2_500)]) {
        assert_eq!(count::<u64>(text), Ok(value), "{text}");
    }
    assert_eq!(count::<u64>("18446744073709551615"), Ok(u64::MAX));
    for text in ["", "abc", "5.5", "1.2345k", "k", "5 million", "1e", "1e-3", "e", ".", "..", "5.5.5", "0x10", "٣"] {
        assert!(refused(count::<u64>(text)).starts_with("that is no whole number; "), "{text}");
    }
    for text in ["18446744073709551616", "1e400", "999999999999999999999999999999999999999999", "1e20", "1e38"] {
        assert!(refused(count::<u64>(text)).starts_with("the largest number is"), "{text}");
    }
    assert_eq!(refused(count::<u64>("5m")), "that is no whole number; did you mean 5M?");
    assert_eq!(refused(count::<u32>("5G")), "that number is too large; ");
    assert_eq!(refused(count::<u32>("-5")), "it has to be zero or more; ");
    assert_eq!(refused(at_least_one::<u32>("0")), "it has to be at least 1; ");
}

#[test]
fn amounts_are_more_than_nothing() {
    assert_eq!(amount("0.1"), Ok(0.1));
    for text in ["0", "-1"] {
        assert_eq!(refused(amount(text)), "it has to be more than nothing; ");
    }
    assert_eq!(refused(amount("1 USD")), "that is no number; write 0.1, without a currency");
}

#[test]
fn years_and_growth() {
    for text in ["5", "5y", "5 y", "5 years", "5.0"] {
        assert_eq!(years(text), Ok(5.0), "{text}");
    }
    for text in ["", "five", "5m", "NaN", "inf", "0", "-1", "1e9", "101y"] {
        assert!(refused(years(text)).ends_with("write --years 5, or --years 0.5 for half a year"), "{text}");
    }
    assert_eq!(growth("20%"), Ok(Ratio::percent(20)));
    assert_eq!(growth("0.2"), Ok(Ratio::percent(20)));
    assert_eq!(growth("300%"), Ok(Ratio::percent(300)));
    assert_eq!(
        refused(growth("20")),
        "that is 2000 % a year, and at most 300 % a year are studied; for 20 percent write --growth 20%"
    );
    assert_eq!(refused(growth("900%")), "that is 900 % a year, and at most 300 % a year are studied; ");
    assert_eq!(refused(growth("twice")), "that is no share; write 20%, or 0.2 as a fraction");
}

#[test]
fn shares_sizes_and_times() {
    assert_eq!(share("0.85"), Ok(Ratio::percent(85)));
    assert_eq!(refused(share("85")), "that is 8500 %, and a share is at most 100 %; for 85 percent write 85%");
    assert_eq!(size("4KiB"), Ok(Bytes(4096)));
    assert_eq!(size("4096"), Ok(Bytes(4096)));
    assert_eq!(shift("-4KiB"), Ok(-4096));
    assert_eq!(shift("512"), Ok(512));
    assert_eq!(refused(size("-1")), "a size is zero or more; ");
    assert!(refused(size("20tb")).contains("did you mean `20TB`?"));
    assert_eq!(refused(discount("20")), "that is 2000 %, and a share is at most 100 %; for 20 percent write 20%");
    assert!(refused(discount("100%")).starts_with("that is the whole price"));
    assert_eq!(discount("99%"), Ok(Ratio::percent(99)));
    assert!(refused(p99("0ms")).starts_with("no device answers in no time"));
    assert_eq!(name(" micron-7450-pro "), Ok("micron-7450-pro".to_string()));
    assert!(refused(name(" ")).starts_with("a name is missing"));
    assert_eq!(currency("eur=0.9").map(|change| change.currency), Ok("EUR".to_string()));
}

#[test]
fn capacities_have_a_unit_and_are_plausible() {
    assert_eq!(capacity("20TB"), Ok(Bytes(20_000_000_000_000)));
    for text in ["20", "0", "20000000000000", "3.84"] {
        assert!(refused(capacity(text)).starts_with("a capacity needs its unit; write "), "{text}");
    }
    assert!(refused(capacity("20")).contains("write 20TB, or another of: B, kB"));
    for text in ["20B", "0TB", "999kB"] {
        assert!(refused(capacity(text)).starts_with("that is less than 1MB"), "{text}");
    }
    assert!(refused(capacity("900PB")).starts_with("that is too large: designs are made for at most 20000 TB"));
    assert!(refused(in_use("samsung-pm893:960")).ends_with("with the unit of the size"));
    assert!(refused(in_use("samsung-pm893:20tb")).contains("did you mean `20TB`?"));
    assert_eq!(time("5ms"), Ok(Nanos::from_millis(5)));
    assert!(refused(time("5")).starts_with("a time needs its unit; write 5ms"));
    assert_eq!(refused(time("-5ms")), "a time is zero or more; ");
    assert_eq!(factor("2x"), Ok(2.0));
    assert!(refused(threads("0")).starts_with("there has to be at least 1 thread; "));
    assert!(refused(devices("0")).starts_with("no design has 0 devices; "));
}
