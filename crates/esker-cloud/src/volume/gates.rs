//! The limits of a volume: a bucket each, and what went through it.

use std::collections::BTreeMap;

use esker_core::Nanos;
use esker_results::{CloudLimitReport, CreditReport};

use super::balance::Balance;
use crate::{Burst, Cost, Limit, Limits, TokenBucket};

/// What a limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokens {
    Operations,
    Bytes,
}

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The volume's rate; that of the burst if there are credits.
    Rate,
    /// The volume's credits.
    Credits,
    /// The instance's cap.
    Host,
}

/// All limits of a volume. A request passes when each of them has tokens for it.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    gates: Vec<Gate>,
    /// The limit that holds the first waiting request back for longest. If that one passes at once, the limit that held
    /// back the request before it.
    holds: usize,
    /// Time during which requests were held back.
    held: Nanos,
    since: Nanos,
}

#[derive(Clone, Debug)]
struct Gate {
    role: Role,
    tokens: Tokens,
    bucket: TokenBucket,
    /// Tokens when measuring started.
    saved: f64,
    /// Tokens spent.
    spent: u128,
    /// Those of them that were spent by requests which this limit had held back.
    spent_held: u128,
    /// Requests that it held back, and for how long.
    held_requests: u64,
    held: Nanos,
    /// Of credits alone.
    balance: Option<Balance>,
    least: f64,
    first_dry: Option<Nanos>,
}

impl Gate {
    fn new(role: Role, tokens: Tokens, bucket: TokenBucket) -> Self {
        let saved = bucket.capacity();
        Self {
            role,
            tokens,
            bucket,
            saved,
            spent: 0,
            spent_held: 0,
            held_requests: 0,
            held: Nanos::ZERO,
            balance: (role == Role::Credits).then(|| Balance::since(Nanos::ZERO)),
            least: saved,
            first_dry: None,
        }
    }

    fn name(&self) -> &'static str {
        match (self.role, self.tokens) {
            (Role::Rate, Tokens::Operations) => "operations",
            (Role::Rate, Tokens::Bytes) => "throughput",
            (Role::Credits, Tokens::Operations) => "operation-credits",
            (Role::Credits, Tokens::Bytes) => "throughput-credits",
            (Role::Host, Tokens::Operations) => "host-operations",
            (Role::Host, Tokens::Bytes) => "host-throughput",
        }
    }

    #[inline]
    fn cost(&self, cost: &Cost) -> u64 {
        match (self.tokens, self.role) {
            (Tokens::Operations, _) => cost.operations,
            (Tokens::Bytes, Role::Host) => cost.moved,
            (Tokens::Bytes, _) => cost.bytes,
        }
    }

    fn per_s(&self) -> f64 {
        self.bucket.rate() as f64 / 1e3
    }

    /// Share of what it would have let through since `since`.
    fn used(&self, since: Nanos, now: Nanos) -> f64 {
        let allowed = self.saved + self.per_s() * now.saturating_sub(since).as_secs_f64();
        // A single request may overdraw the bucket.
        if allowed > 0.0 { (self.spent as f64 / allowed).min(1.0) } else { 0.0 }
    }
}

impl Gates {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut gates = Vec::new();
        for (tokens, limit) in [(Tokens::Operations, limits.operations), (Tokens::Bytes, limits.throughput)] {
            let Limit { sustained, burst } = limit;
            gates.push(Gate::new(Role::Rate, tokens, TokenBucket::filled_in(limits.saves_up, limit.peak())));
            if let Some(Burst { credits, .. }) = burst {
                gates.push(Gate::new(Role::Credits, tokens, TokenBucket::new(sustained, credits)));
            }
        }
        let host = [(Tokens::Operations, limits.host_operations), (Tokens::Bytes, limits.host_throughput)];
        for (tokens, rate) in host {
            let bucket = |rate| TokenBucket::filled_in(limits.saves_up, rate);
            gates.extend(rate.map(|rate| Gate::new(Role::Host, tokens, bucket(rate))));
        }
        Self { gates, holds: 0, held: Nanos::ZERO, since: Nanos::ZERO }
    }

    /// When all limits have the tokens for a request of `cost`: `now` or later.
    #[inline]
    pub(super) fn ready(&mut self, now: Nanos, cost: &Cost) -> Nanos {
        let mut passes = now;
        for (index, gate) in self.gates.iter_mut().enumerate() {
            let ready = gate.bucket.ready(now, gate.cost(cost));
            if ready > now && gate.role == Role::Credits && gate.first_dry.is_none() {
                gate.first_dry = Some(now);
            }
            if ready > passes {
                passes = ready;
                self.holds = index;
            }
        }
        passes
    }

    /// Takes the tokens of a request that was the first in the line for `waited`.
    #[inline]
    pub(super) fn spend(&mut self, now: Nanos, cost: &Cost, waited: Nanos) {
        for (index, gate) in self.gates.iter_mut().enumerate() {
            let tokens = gate.cost(cost);
            gate.bucket.spend(now, tokens);
            gate.spent += u128::from(tokens);
            if gate.role == Role::Credits {
                gate.least = gate.least.min(gate.bucket.tokens(now));
                if waited > Nanos::ZERO && self.holds == index {
                    gate.spent_held += u128::from(tokens);
                }
            }
        }
        self.gates[self.holds].held += waited;
        self.held += waited;
    }

    /// Counts a request that was held back.
    #[inline]
    pub(super) fn held_back(&mut self) {
        self.gates[self.holds].held_requests += 1;
    }

    /// Time during which requests were held back.
    pub(super) fn held(&self) -> Nanos {
        self.held
    }

    /// Notes that it is `now`, before anything is spent.
    #[inline]
    pub(super) fn clock(&mut self, now: Nanos) {
        for Gate { balance, bucket, .. } in &mut self.gates {
            if let Some(balance) = balance {
                balance.follow(now, |at| bucket.tokens(at));
            }
        }
    }

    /// Forgets what went through; what is saved up stays.
    pub(super) fn start_measuring(&mut self, now: Nanos) {
        self.since = now;
        self.held = Nanos::ZERO;
        for gate in &mut self.gates {
            let saved = gate.bucket.tokens(now);
            let balance = gate.balance.is_some().then(|| Balance::since(now));
            let fresh = Gate { balance, saved, least: saved, ..Gate::new(gate.role, gate.tokens, gate.bucket.clone()) };
            *gate = fresh;
        }
    }

    /// The time in which the limits on `tokens` fill what was spent; the longest of volume and instance. What had to
    /// wait for credits counts with the rate at which these come.
    pub(super) fn busy(&self, tokens: Tokens) -> Nanos {
        let of = |role| self.gates.iter().find(move |gate| gate.tokens == tokens && gate.role == role);
        let time = |spent: u128, gate: &Gate| spent.saturating_mul(1_000_000_000_000) / u128::from(gate.bucket.rate());
        let volume = of(Role::Rate).map_or(0, |gate| match of(Role::Credits) {
            Some(credits) => time(gate.spent - credits.spent_held, gate) + time(credits.spent_held, credits),
            None => time(gate.spent, gate),
        });
        let host = of(Role::Host).map_or(0, |gate| time(gate.spent, gate));
        Nanos(u64::try_from(volume.max(host)).unwrap_or(u64::MAX - 1))
    }

    /// The largest used share of the limits on `tokens`.
    pub(super) fn used(&self, tokens: Tokens, now: Nanos) -> f64 {
        let of_them = self.gates.iter().filter(|gate| gate.tokens == tokens);
        of_them.map(|gate| gate.used(self.since, now)).fold(0.0, f64::max)
    }

    pub(super) fn report(&self, now: Nanos) -> BTreeMap<String, CloudLimitReport> {
        let each = self.gates.iter().map(|gate| {
            let report = CloudLimitReport {
                tokens_per_s: gate.per_s(),
                bucket_tokens: gate.bucket.capacity(),
                used: gate.used(self.since, now),
                throttled_requests: gate.held_requests,
                throttled_s: gate.held.as_secs_f64(),
            };
            (gate.name().to_string(), report)
        });
        each.collect()
    }

    pub(super) fn credits(&self, now: Nanos) -> BTreeMap<String, CreditReport> {
        let each = self.gates.iter().filter_map(|gate| {
            let balance = gate.balance.as_ref()?;
            let end = gate.bucket.tokens(now);
            let rate = self.gates.iter().find(|other| other.tokens == gate.tokens && other.role == Role::Rate);
            let report = CreditReport {
                capacity: gate.bucket.capacity(),
                refill_per_s: gate.per_s(),
                burst_per_s: rate.map_or(0.0, Gate::per_s),
                least: gate.least,
                first_dry_s: gate.first_dry.map(Nanos::as_secs_f64),
                end,
                series: balance.points(now, end),
            };
            let name = if gate.tokens == Tokens::Operations { "operations" } else { "throughput" };
            Some((name.to_string(), report))
        });
        each.collect()
    }
}
