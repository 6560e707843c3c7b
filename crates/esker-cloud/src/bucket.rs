//! Token buckets in exact integers.

use esker_core::Nanos;

/// Parts of a token: rates are thousandths of a token per second and times nanoseconds, so that every refill is a whole
/// number of parts.
const PARTS: i128 = 1_000_000_000_000;

/// A bucket of tokens, full at time zero, filled at a constant rate up to its capacity.
///
/// A request that costs more than the capacity passes when the bucket is full, and leaves a debt that is filled up
/// first. So in the long run no more passes than the rate, whatever the costs.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// Thousandths of a token per second; at least one.
    rate: u64,
    /// All in parts of a token.
    capacity: i128,
    level: i128,
    /// When `level` was true.
    at: Nanos,
}

impl TokenBucket {
    /// A full bucket of `capacity` tokens with `rate` thousandths of a token per second (1 to 10^18; 0 is asserted).
    pub fn new(rate: u64, capacity: u64) -> Self {
        Self::with_parts(rate, i128::from(capacity) * PARTS)
    }

    /// A full bucket that holds what its rate fills in `time`, which is at most an hour.
    pub fn filled_in(time: Nanos, rate: u64) -> Self {
        Self::with_parts(rate, i128::from(rate) * i128::from(time.0))
    }

    fn with_parts(rate: u64, capacity: i128) -> Self {
        assert!(rate > 0, "a bucket that is never filled holds requests back for good");
        Self { rate, capacity, level: capacity, at: Nanos::ZERO }
    }

    /// When the bucket has the tokens for a request of `cost`, if nothing is spent before: `now` or later.
    #[inline]
    pub fn ready(&self, now: Nanos, cost: u64) -> Nanos {
        let missing = (i128::from(cost) * PARTS).min(self.capacity) - self.parts(now);
        if cost == 0 || missing <= 0 {
            return now;
        }
        let wait = (missing + i128::from(self.rate) - 1) / i128::from(self.rate);
        now + Nanos(u64::try_from(wait).unwrap_or(u64::MAX - 1))
    }

    /// Takes `cost` tokens at `now`, which is not before the last time (asserted in debug builds).
    #[inline]
    pub fn spend(&mut self, now: Nanos, cost: u64) {
        self.level = self.parts(now) - i128::from(cost) * PARTS;
        self.at = now;
    }

    /// Tokens at `now`; negative for a debt. For reports.
    pub fn tokens(&self, now: Nanos) -> f64 {
        self.parts(now) as f64 / PARTS as f64
    }

    /// Tokens in the full bucket. For reports.
    pub fn capacity(&self) -> f64 {
        self.capacity as f64 / PARTS as f64
    }

    /// Thousandths of a token per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    #[inline]
    fn parts(&self, now: Nanos) -> i128 {
        debug_assert!(now >= self.at, "a bucket does not go back in time");
        // Rates have at most 10^18 thousandths (checked with the settings) and times 2^64 ns: a ninth of the type.
        let filled = i128::from(self.rate) * i128::from(now.saturating_sub(self.at).0);
        (self.level + filled).min(self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Something that lets requests pass: the time at which a request that comes at `now` does.
    trait Limiter {
        fn pass(&mut self, now: Nanos, cost: u64) -> Nanos;
    }

    impl Limiter for TokenBucket {
        fn pass(&mut self, now: Nanos, cost: u64) -> Nanos {
            let at = self.ready(now, cost);
            self.spend(at, cost);
            at
        }
    }

    /// The definition by sums over all of history, without a level: in each stretch from an earlier pass on (or from
    /// the start, with a full bucket) no more is spent than the capacity and what the stretch fills.
    struct Sums {
        rate: u64,
        capacity_nanos: i128,
        passed: Vec<(Nanos, u64)>,
    }

    impl Limiter for Sums {
        fn pass(&mut self, now: Nanos, cost: u64) -> Nanos {
            let mut at = now;
            let capacity = self.capacity_nanos * i128::from(self.rate);
            let need = (i128::from(cost) * PARTS).min(capacity);
            let mut spent = 0;
            for &(since, earlier) in self.passed.iter().rev() {
                spent += i128::from(earlier) * PARTS;
                // rate * (t - since) >= spent + need - capacity
                let filled = (spent + need - capacity).max(0);
                let long = (filled + i128::from(self.rate) - 1) / i128::from(self.rate);
                if cost > 0 {
                    at = at.max(since + Nanos(u64::try_from(long).unwrap()));
                }
            }
            self.passed.push((at, cost));
            at
        }
    }

    /// Faulty: forgets the fraction of a token at every request.
    struct Forgetful(TokenBucket);

    impl Limiter for Forgetful {
        fn pass(&mut self, now: Nanos, cost: u64) -> Nanos {
            let at = self.0.pass(now, cost);
            self.0.level -= self.0.level.rem_euclid(PARTS);
            at
        }
    }

    /// Faulty: a request above the capacity leaves no debt.
    struct Forgiving(TokenBucket);

    impl Limiter for Forgiving {
        fn pass(&mut self, now: Nanos, cost: u64) -> Nanos {
            let at = self.0.pass(now, cost);
            self.0.level = self.0.level.max(0);
            at
        }
    }

    fn passes(limiter: &mut dyn Limiter, requests: &[(u64, u64)]) -> Vec<Nanos> {
        let (mut arrival, mut last) = (Nanos::ZERO, Nanos::ZERO);
        let each = requests.iter().map(|&(gap, cost)| {
            arrival += Nanos(gap);
            last = limiter.pass(arrival.max(last), cost);
            last
        });
        each.collect()
    }

    fn sums(rate: u64, time: Nanos) -> Sums {
        Sums { rate, capacity_nanos: time.0.into(), passed: Vec::new() }
    }

    const SECOND: Nanos = Nanos::from_secs(1);

    fn requests() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let gap = prop_oneof![3 => Just(0), 2 => 0u64..10_000_000, 1 => 0u64..3_000_000_000];
        let cost = prop_oneof![4 => Just(1u64), 2 => 0u64..20, 1 => 0u64..5_000];
        prop::collection::vec((gap, cost), 1..200)
    }

    proptest! {
        #[test]
        fn a_bucket_lets_pass_what_the_sums_allow(
            rate in 1u64..3_000_000, time in 0u64..2_000_000_000, requests in requests(),
        ) {
            let bucket = passes(&mut TokenBucket::filled_in(Nanos(time), rate), &requests);
            prop_assert_eq!(bucket, passes(&mut sums(rate, Nanos(time)), &requests));
        }

        /// Over any stretch no more passes than the rate fills, the bucket holds, and one request may overdraw.
        #[test]
        fn no_stretch_gets_more_than_its_share(rate in 1u64..3_000_000, requests in requests()) {
            let mut bucket = TokenBucket::filled_in(SECOND, rate);
            let times = passes(&mut bucket, &requests);
            for (first, &from) in times.iter().enumerate() {
                let mut spent = 0i128;
                for (&to, &(_, cost)) in times[first..].iter().zip(&requests[first..]) {
                    let overdraft = (i128::from(cost) * PARTS - bucket.capacity).max(0);
                    spent += i128::from(cost) * PARTS;
                    let filled = i128::from(rate) * i128::from((to - from).0);
                    prop_assert!(cost == 0 || spent <= filled + bucket.capacity + overdraft);
                }
            }
        }
    }

    #[test]
    fn faulty_buckets_are_found_out() {
        let requests: Vec<(u64, u64)> = (0..40).map(|index| (index % 3 * 100_000, 1 + index % 7 * 400)).collect();
        let expected = passes(&mut sums(1_000_300, SECOND), &requests);
        let bucket = || TokenBucket::filled_in(SECOND, 1_000_300);
        assert_eq!(passes(&mut bucket(), &requests), expected);
        assert_ne!(passes(&mut Forgetful(bucket()), &requests), expected);
        assert_ne!(passes(&mut Forgiving(bucket()), &requests), expected);
    }

    #[test]
    fn centuries_do_no_harm() {
        let mut bucket = TokenBucket::new(1_000_000_000_000_000_000, u64::MAX);
        bucket.spend(Nanos::ZERO, u64::MAX);
        assert_eq!(bucket.tokens(Nanos::LAST), bucket.capacity());
        let mut slow = TokenBucket::new(1, u64::MAX);
        slow.spend(Nanos::ZERO, u64::MAX);
        assert!(slow.ready(Nanos::ZERO, u64::MAX) > Nanos::LAST);
    }
}
