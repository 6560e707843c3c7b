//! Broken, cut and foreign files: an error with its place, or "cannot be judged", and never a plan.

use esker_fleet::advice::{AdviceInputs, advise};
use esker_results::advice::Advised;
use proptest::prelude::*;

use super::{catalogue, files, judge, settings};

/// Reads what can be read. Never a plan from less than two samples of drives and placement groups.
fn check(files: &[(String, Vec<u8>)]) {
    let mut inputs = AdviceInputs::default();
    for (name, bytes) in files {
        if let Err(error) = inputs.read(name, bytes) {
            let text = error.to_string();
            assert!(text.starts_with(name.as_str()) && text.lines().count() == 1 && text.len() < 1_000, "{text}");
            return;
        }
    }
    let Ok(advice) = advise(&inputs, &settings(), catalogue()) else { return };
    for drive in &advice.drives {
        assert!(
            drive.worn_out.is_none() || (drive.samples >= 2 && drive.last_sample_unix_s > drive.first_sample_unix_s)
        );
        assert_eq!(drive.worn_out.is_none(), drive.not_judged.is_some(), "{drive:?}");
    }
    let Some(scripts) = advice.scripts else { return };
    assert_eq!(advice.verdict.advised, Advised::Balance);
    let cluster = advice.cluster.unwrap();
    for one in &cluster.moves {
        for osd in [one.from, one.to] {
            let drive = advice.drives.iter().find(|drive| drive.name == format!("osd.{osd}"));
            assert!(drive.is_some_and(|drive| drive.not_judged.is_none()), "osd.{osd}");
        }
    }
    assert!(cluster.copied_bytes <= cluster.budget_bytes);
    assert!(scripts.apply.lines().all(|line| line.is_ascii()));
}

#[test]
fn dumps_that_are_cut_off_say_where() {
    for (name, bytes) in files("ceph") {
        for part in [1, 3, 7] {
            let cut = bytes[..bytes.len() * part / 8].to_vec();
            let error = AdviceInputs::default().read(&name, &cut).unwrap_err();
            assert!(error.message.contains("cut off") && error.message.starts_with("line "), "{error}");
        }
    }
}

#[test]
fn each_missing_dump_is_named() {
    for (left_out, says) in [
        ("osd-dump", "`ceph osd dump"),
        ("osd-df-tree", "`ceph osd df tree"),
        ("device-ls", "`ceph device ls"),
        ("pg-dump-1", "one `ceph pg dump` only"),
        ("pg-dump", "`ceph pg dump"),
        ("health-metrics", "no OSD has both a drive"),
    ] {
        let some: Vec<_> = files("ceph").into_iter().filter(|(name, _)| !name.starts_with(left_out)).collect();
        let mut settings = settings();
        if left_out == "health-metrics" {
            (settings.ratings, settings.prices) = (Vec::new(), Vec::new());
        }
        let advice = judge(&some, &settings).unwrap();
        assert_eq!((advice.verdict.advised, advice.scripts), (Advised::NotJudged, None), "{left_out}");
        assert!(advice.verdict.reasons.join("; ").contains(says), "{left_out}: {:?}", advice.verdict);
    }
}

/// Edits of good dumps that make them unfit: the file, what is replaced, by what, and what is said.
const UNFIT: &[(&str, &str, &str, &str)] = &[
    ("pg-dump-2", "active+clean", "active+undersized+degraded", "wait until all are active+clean"),
    ("pg-dump-2", "\"up\":[4,1,2]", "\"up\":[4,1]", "wait until"),
    ("pg-dump-2", "\"pgid\":\"2.1f\"", "\"pgid\":\"9.1f\"", "has 32 placement groups, 31"),
    ("pg-dump-2", "2026-11-27T15", "2026-10-28T20", "hours apart"),
    ("pg-dump-1", "\"pgid\":\"2.1f\"", "\"pgid\":\"2.2f\"", "was it split?"),
    ("pg-dump-1", "\"num_write_kb\":", "\"num_write_kb\":9", "goes backwards"),
    ("osd-dump", "\"require_min_compat_client\":\"luminous\"", "\"require_min_compat_client\":\"jewel\"", "Luminous"),
    ("osd-dump", "\"flags\":\"sortbitwise", "\"flags\":\"norebalance,sortbitwise", "somebody is at work"),
    ("osd-dump", "\"nearfull_ratio\":", "\"other_ratio\":", "nearfull_ratio"),
    ("osd-df-tree", "\"id\":4,", "\"id\":44,", "foreign or old dumps?"),
];

#[test]
fn dumps_that_do_not_fit_make_no_plan() {
    for (file, from, to, says) in UNFIT {
        let mut files = files("ceph");
        for (_, bytes) in files.iter_mut().filter(|(name, _)| name.starts_with(file)) {
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(text.contains(from), "{file} has {from}");
            *bytes = text.replace(from, to).into_bytes();
        }
        let advice = judge(&files, &settings()).unwrap();
        assert_eq!((advice.verdict.advised, advice.scripts), (Advised::NotJudged, None), "{from}");
        assert!(advice.verdict.reasons.join("; ").contains(says), "{from}: {:?}", advice.verdict);
    }
}

/// A piece of a file, by shares of its length, and what becomes of it.
#[derive(Clone, Debug)]
struct Damage {
    file: usize,
    from: f64,
    length: usize,
    with: Vec<u8>,
}

fn damage() -> impl Strategy<Value = Damage> {
    let pieces = prop_oneof![
        Just(b"0".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"18446744073709551615".to_vec()),
        Just(b"1e308".to_vec()),
        Just(b"null".to_vec()),
        Just(b"[]".to_vec()),
        Just(b"\"\"".to_vec()),
        Just(b"{}".to_vec()),
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 1..8),
    ];
    (0..16usize, 0.0..1.0f64, 0..40usize, pieces).prop_map(|(file, from, length, with)| Damage {
        file,
        from,
        length,
        with,
    })
}

/// Replaces a whole number of the JSON where there is one, so that most damaged files are still read.
fn damaged(bytes: &[u8], damage: &Damage) -> Vec<u8> {
    let start = (bytes.len() as f64 * damage.from) as usize;
    let digit =
        |at: &usize| bytes[*at].is_ascii_digit() && at.checked_sub(1).is_some_and(|before| bytes[before] == b':');
    let (start, end) = match (start..bytes.len()).find(digit) {
        Some(at) if damage.length < 30 => {
            let end = (at..bytes.len()).find(|end| !bytes[*end].is_ascii_digit() && bytes[*end] != b'.');
            (at, end.unwrap_or(bytes.len()))
        }
        _ => (start, (start + damage.length).min(bytes.len())),
    };
    [&bytes[..start], &damage.with, &bytes[end..]].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_dumps_never_panic_and_never_make_a_plan_of_too_little(
        damages in proptest::collection::vec(damage(), 1..4), left_out in proptest::option::of(0..16usize),
    ) {
        let mut files = files("ceph");
        for damage in &damages {
            let at = damage.file % files.len();
            files[at].1 = damaged(&files[at].1, damage);
        }
        if let Some(left_out) = left_out {
            files.remove(left_out % files.len());
        }
        check(&files);
    }
}
