use std::collections::BTreeSet;

use esker_core::registry::{self, ParameterValue};
use esker_core::{Hint, Rng};
use proptest::prelude::*;

use super::*;

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(WRITE_MODE_POLICIES), Vec::<String>::new());
}

fn policy(name: &str, parameters: &[(&str, f64)]) -> Result<Box<dyn ModePolicy>, BuildError> {
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), ParameterValue::Number(*value)));
    build(&Choice { parameters: parameters.collect(), ..Choice::named(name) }, 1000)
}

/// The separator without false positives: sets instead of filters.
struct Exact {
    pairs: Vec<[BTreeSet<u32>; 2]>,
    period: u64,
    accesses: u64,
}

impl Exact {
    fn new(period: u64) -> Self {
        Self { pairs: vec![Default::default(); 4], period, accesses: 0 }
    }

    /// The pairs take turns in their initial order, and are emptied in the same order.
    fn record(&mut self, page: u32, write: bool) {
        self.pairs[(self.accesses % 4) as usize][usize::from(write)].insert(page);
        self.accesses += 1;
        if self.accesses.is_multiple_of(self.period) {
            self.pairs[((self.accesses / self.period - 1) % 4) as usize] = Default::default();
        }
    }

    fn hotness(&self, page: u32) -> Hotness {
        let emptied = self.accesses / self.period;
        let sum = |write: usize| {
            let weight = |age: u64| {
                let pair = ((emptied + age) % 4) as usize;
                if self.pairs[pair][write].contains(&page) { age as u32 + 1 } else { 0 }
            };
            (0..4).map(weight).sum()
        };
        Hotness { read: sum(0), write: sum(1) }
    }
}

proptest! {
    #[test]
    fn filters_that_are_large_enough_are_exact(
        accesses in prop::collection::vec((0u32..40, any::<bool>()), 1..400),
        period in 1u64..60,
    ) {
        // With a million bits, 40 pages of two bits each do not collide in this hash.
        let (mut filters, mut exact) = (Separator::new(1 << 20, period), Exact::new(period));
        for (page, write) in accesses {
            if write { filters.record_write(page) } else { filters.record_read(page) }
            exact.record(page, write);
            for page in 0..40 {
                prop_assert_eq!(filters.hotness(page), exact.hotness(page));
            }
        }
    }

    #[test]
    fn small_filters_never_make_a_page_colder(
        accesses in prop::collection::vec((0u32..300, any::<bool>()), 1..600),
        period in 1u64..200,
        bits in 64u32..300,
    ) {
        let (mut filters, mut exact) = (Separator::new(bits, period), Exact::new(period));
        for (page, write) in accesses {
            if write { filters.record_write(page) } else { filters.record_read(page) }
            exact.record(page, write);
        }
        for page in 0..300 {
            let (seen, is) = (filters.hotness(page), exact.hotness(page));
            prop_assert!(seen.read >= is.read && seen.write >= is.write);
        }
    }
}

/// With the paper's size and period, a filter reports a page that was never accessed with the probability of the closed
/// form: (1 - (1 - 1/M)^(K n))^K after n different pages.
#[test]
fn false_positives_are_within_the_closed_form() {
    for (accesses, bits, period) in [(400u32, 2048u32, 512u64), (512 * 3 + 200, 2048, 512), (900, 1024, 4000)] {
        let mut expected = 0.0;
        let mut exact = Exact::new(period);
        (0..accesses).for_each(|page| exact.record(page, true));
        let emptied = exact.accesses / period;
        for age in 0..4 {
            let inserted = exact.pairs[((emptied + age) % 4) as usize][1].len() as f64;
            let set = 1.0 - (1.0 - 1.0 / f64::from(bits)).powf(2.0 * inserted);
            expected += set.powi(2) * (age + 1) as f64;
        }
        let (mut sum, mut count) = (0.0, 0.0);
        for round in 0..20u32 {
            let first = round * 1_000_000;
            let mut filters = Separator::new(bits, period);
            (0..accesses).for_each(|page| filters.record_write(first + page));
            for other in 0..5_000 {
                let hotness = filters.hotness(first + 500_000 + other);
                assert_eq!(hotness.read, 0, "no page was read");
                sum += f64::from(hotness.write);
                count += 1.0;
            }
        }
        let mean = sum / count;
        assert!((mean / expected - 1.0).abs() < 0.05, "{accesses} of {bits}: {mean} against {expected}");
    }
}

/// Figure 19 of the paper: the pairs take turns, whatever the kind of access.
#[test]
fn the_pairs_take_turns() {
    let mut filters = Separator::new(2048, 512);
    filters.record_write(1);
    filters.record_write(2);
    filters.record_read(3);
    filters.record_read(4);
    let hotness = |page| (filters.hotness(page).read, filters.hotness(page).write);
    assert_eq!([hotness(1), hotness(2), hotness(3), hotness(4)], [(0, 1), (0, 2), (3, 0), (4, 0)]);
    assert_eq!(filters.memory_bits(), 8 * 2048, "2 KB (section 5.3.4)");
}

#[test]
fn the_oldest_pair_is_forgotten_after_each_period() {
    let mut filters = Separator::new(2048, 8);
    (0..8).for_each(|_| filters.record_write(7));
    // The first pair was emptied, and is the newest now.
    assert_eq!(filters.hotness(7).write, 1 + 2 + 3);
    (0..24).for_each(|_| filters.record_read(9));
    assert_eq!(filters.hotness(7), Hotness::default());
}

#[test]
fn pages_that_are_only_written_are_programmed_at_low_cost() {
    let mut policy = policy("differentiated", &[]).unwrap();
    let mut kept = Choice::named("differentiated");
    kept.parameters.insert("idle".to_string(), ParameterValue::Text("normal".to_string()));
    assert_eq!(policy.choose(5), WriteMode::LowCost, "nothing is known of it");
    policy.record_write(5);
    assert_eq!(policy.choose(5), WriteMode::LowCost);
    assert_eq!(policy.re_encode(5, WriteMode::LowCost), None);
    policy.forget();
    assert_eq!(build(&kept, 1).unwrap().choose(5), WriteMode::Normal, "nothing is known of it");
    policy.record_read(5);
    policy.record_read(5);
    assert_eq!(policy.choose(5), WriteMode::Normal, "it is only read");
}

/// Reads and writes of one page until its hotness differs by the amounts that `m` and `n` ask for.
#[test]
fn pages_that_are_read_too_go_by_m_and_n() {
    // Weights 1 and 2 of the writes, 3 and 4 of the reads, in halves: the write hotness is 2 below the read hotness.
    let after = |m: f64, n: f64| {
        let mut policy = policy("differentiated", &[("m", m), ("n", n)]).unwrap();
        policy.record_write(5);
        policy.record_write(5);
        policy.record_read(5);
        policy.record_read(5);
        (policy.choose(5), policy.re_encode(5, WriteMode::LowCost))
    };
    let (low, normal) = (WriteMode::LowCost, WriteMode::Normal);
    assert_eq!(after(-3.0, 0.0), (low, Some(normal)));
    assert_eq!(after(-2.0, 1.0), (normal, Some(normal)));
    assert_eq!(after(-5.0, 2.0), (low, None));
    let mut policy = policy("differentiated", &[]).unwrap();
    (0..4).for_each(|_| policy.record_read(5));
    assert_eq!(policy.re_encode(5, low), Some(normal), "its read hotness is 5, above n = 3");
    assert_eq!(policy.re_encode(5, normal), None, "it is in the normal mode already");
}

#[test]
fn agcr_goes_by_the_last_two_accesses() {
    let mut policy = policy("agcr", &[]).unwrap();
    let (low, medium, high) = (WriteMode::LowCost, WriteMode::MediumCost, WriteMode::HighCost);
    assert_eq!((policy.usual(), policy.choose(1)), (medium, medium));
    policy.record_write(1);
    assert_eq!(policy.choose(1), low);
    policy.record_read(1);
    assert_eq!(policy.choose(1), medium);
    policy.record_read(1);
    assert_eq!((policy.choose(1), policy.re_encode(1, low)), (high, None));
    policy.record_write(1);
    assert_eq!(policy.choose(1), medium);
    policy.record_write(1);
    assert_eq!(policy.choose(1), low);
}

#[test]
fn policies_use_the_modes_that_their_entries_name() {
    let mut rng = Rng::new(7);
    for entry in WRITE_MODE_POLICIES {
        let mut policy = build(&Choice::named(entry.name), 50).unwrap();
        let (mut used, mut re_encodes) = (BTreeSet::from([policy.usual()]), false);
        for _ in 0..20_000 {
            let page = rng.below(50) as u32;
            if rng.below(2) == 0 && page < 40 {
                policy.record_read(page)
            } else {
                policy.record_write(page)
            }
            let mode = policy.choose(rng.below(50) as u32);
            used.insert(mode);
            let wanted = policy.re_encode(page, WriteMode::LowCost);
            used.extend(wanted);
            re_encodes |= wanted.is_some();
        }
        let named: BTreeSet<WriteMode> = entry.capabilities.iter().filter_map(|can| can.mode()).collect();
        assert_eq!(used, policy.modes().iter().copied().collect(), "{}", entry.name);
        used.remove(&WriteMode::Normal);
        assert_eq!(used, named, "{}", entry.name);
        assert_eq!(re_encodes, entry.can(ModeCapability::ReEncode), "{}", entry.name);
    }
}

#[test]
fn values_out_of_range_are_refused_with_their_place() {
    for (parameter, value, range) in [
        ("m", 6.0, "a whole number from -5 to 5"),
        ("m", -5.5, "a whole number from -5 to 5"),
        ("n", -1.0, "a whole number from 0 to 5"),
        ("n", 99.0, "a whole number from 0 to 5"),
    ] {
        let error = policy("differentiated", &[(parameter, value)]).unwrap_err();
        let key = format!("write_modes.policy.{parameter}");
        assert_eq!(error.to_string(), format!("`{key}` is {value}; expected {range}"));
        assert_eq!(error.keys(), std::slice::from_ref(&key));
        assert_eq!(error.hint().unwrap(), format!("leave `{key}` out for its default"));
    }
    let error = policy("diferentiated", &[]).unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean `differentiated`?");
    assert_eq!(error.keys(), ["write_modes.policy"]);
}
