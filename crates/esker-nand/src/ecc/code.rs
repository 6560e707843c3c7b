//! The error-correcting code: which errors it corrects, and with which probability it fails.

use esker_core::{Bytes, Nanos, Ratio};

use crate::array::{Decoding, DecodingStep, STEPS_MAX, Timing};
use crate::{EccCode, EccSettings, ErrorCount, Geometry, ValueError};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);
/// Upper bound of sensings and of transfers of one step, for the same reason.
const MOST_REPEATS: u32 = 64;

/// A code: the codewords of a page, and how many errors each step corrects in a codeword.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// Bits of a codeword, including parity.
    bits: u64,
    /// Data bits of a codeword.
    data_bits: u64,
    /// Codewords of a page.
    codewords: u32,
    /// Number of errors that each step corrects. If pages are refreshed, the limit above which that happens comes last.
    corrects: Vec<u32>,
    steps: usize,
    errors: ErrorCount,
    table: Table,
}

/// The result of decoding a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeOutcome {
    /// Corrected by this step, counted from zero.
    Decoded(u8),
    /// Not corrected by any step.
    Failed,
}

impl Code {
    pub(crate) fn new(settings: &EccSettings, geometry: &Geometry) -> Result<Self, ValueError> {
        let page = geometry.page_size();
        let spare = geometry.raw_page_size().0 - page.0;
        if settings.codeword.0 == 0 || !page.0.is_multiple_of(settings.codeword.0) {
            return Err(ValueError::Parameter {
                key: "ecc.codeword".to_string(),
                expected: format!("a whole part of a page of {page}"),
                found: settings.codeword.to_string(),
            });
        }
        let codewords = page.0 / settings.codeword.0;
        let steps = &settings.steps;
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(ValueError::Parameter {
                key: "ecc.steps".to_string(),
                expected: format!("1 to {STEPS_MAX} steps"),
                found: steps.len().to_string(),
            });
        }
        for pair in steps.windows(2) {
            if pair[1].corrects <= pair[0].corrects {
                return Err(ValueError::Parameter {
                    key: "ecc.steps.corrects".to_string(),
                    expected: format!("more than the step before, which corrects {}", pair[0].corrects),
                    found: pair[1].corrects.to_string(),
                });
            }
        }
        let share = spare / codewords;
        let needed = match settings.code {
            EccCode::Bch => bch_parity(settings.codeword, steps[0].corrects),
            EccCode::Ldpc => settings.parity.unwrap_or(Bytes(share)),
        };
        let parity = settings.parity.unwrap_or(needed);
        if parity < needed {
            return Err(ValueError::Contradiction {
                keys: vec!["ecc.parity", "ecc.steps"],
                first: format!("`ecc.parity` = {parity}"),
                second: format!("`ecc.steps` with {} errors in {}", steps[0].corrects, settings.codeword),
                reason: format!("a BCH code takes {needed} of parity for them"),
                remedy: format!("parity = \"{needed}\" would work, or fewer errors to correct"),
            });
        }
        if parity.0 > share {
            return Err(ValueError::Contradiction {
                keys: vec!["geometry.spare_size", "ecc"],
                first: format!("`geometry.spare_size` = {}", Bytes(spare)),
                second: format!("{codewords} codewords with {parity} of parity each (`ecc`)"),
                reason: "the parity of a page lies in its spare bytes".to_string(),
                remedy: format!("spare_size = \"{}\" would work, or a weaker code", Bytes(parity.0 * codewords)),
            });
        }
        let (bits, data_bits) = (8 * (settings.codeword.0 + parity.0), 8 * settings.codeword.0);
        let last = steps[steps.len() - 1].corrects;
        if u64::from(last) >= bits {
            let limit = bits - 1;
            return Err(ValueError::TooLarge { key: "ecc.steps.corrects", found: u64::from(last), limit });
        }
        if settings.code == EccCode::Ldpc {
            let most = (hard_limit(data_bits as f64 / bits as f64) * bits as f64) as u32;
            if steps[0].corrects > most {
                return Err(ValueError::Contradiction {
                    keys: vec!["ecc.steps", "ecc.parity"],
                    first: format!("`ecc.steps` with {} errors in the first", steps[0].corrects),
                    second: format!("{parity} of parity for {}", settings.codeword),
                    reason: format!("no code corrects more than {most} errors by hard decisions (Shannon's limit)"),
                    remedy: format!("corrects = {} in the first step would work, or more parity", most * 3 / 4),
                });
            }
        }
        let mut corrects: Vec<u32> = steps.iter().map(|step| step.corrects).collect();
        let refresh = settings.refresh_above;
        if refresh.is_some_and(|share| share > Ratio::ONE) {
            return Err(ValueError::Parameter {
                key: "ecc.refresh_above".to_string(),
                expected: "a share up to 100%".to_string(),
                found: refresh.unwrap_or_default().to_string(),
            });
        }
        corrects.extend(refresh.map(|share| share.of(u64::from(last)) as u32));
        Ok(Self {
            bits,
            data_bits,
            codewords: codewords as u32,
            table: Table::new(corrects.len()),
            corrects,
            steps: steps.len(),
            errors: settings.errors,
        })
    }

    /// Decodes a page with bit-error rate `rate`; `draw` is uniform in `[0, 1)`.
    pub(crate) fn decode(&mut self, rate: f64, draw: f64) -> DecodeOutcome {
        let failed = (0..self.steps).take_while(|step| self.exceeds(*step, rate, draw)).count();
        if failed == self.steps { DecodeOutcome::Failed } else { DecodeOutcome::Decoded(failed as u8) }
    }

    /// Returns true if a codeword of the page has more errors than `corrects[limit]`.
    fn exceeds(&mut self, limit: usize, rate: f64, draw: f64) -> bool {
        match self.errors {
            ErrorCount::Drawn => draw < self.page_failure(limit, rate),
            ErrorCount::Expected => rate * self.bits as f64 > f64::from(self.corrects[limit]),
        }
    }

    /// Returns true if the page has enough errors to be rewritten.
    pub(crate) fn is_stale(&mut self, rate: f64, draw: f64) -> bool {
        self.corrects.len() > self.steps && self.exceeds(self.steps, rate, draw)
    }

    /// Returns true if [`Self::decode`] needs a draw.
    pub(crate) fn draws(&self) -> bool {
        self.errors == ErrorCount::Drawn
    }

    /// Returns the number of decoding steps.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the data bits of a page.
    pub(crate) fn data_bits_of_page(&self) -> u64 {
        self.data_bits * u64::from(self.codewords)
    }

    /// Returns the probability that a codeword has more errors than `step` and the steps before it correct, at
    /// bit-error rate `rate`. Interpolated between exact values; see [`Table`].
    fn codeword_failure(&mut self, step: usize, rate: f64) -> f64 {
        let Self { bits, corrects, table, .. } = self;
        table.at(step, rate, |rate| ln_tail(*bits, corrects[step], rate))
    }

    /// Returns the probability that at least one codeword of a page has more errors than `step` corrects.
    pub(crate) fn page_failure(&mut self, step: usize, rate: f64) -> f64 {
        let codeword = self.codeword_failure(step, rate);
        -(f64::from(self.codewords) * (-codeword).ln_1p()).exp_m1()
    }

    /// Returns the uncorrectable bit-error rate of pages with bit-error rate `rate`: codewords that the last step
    /// cannot decode, per bit of data (Mielke et al., "Bit error rate in NAND flash memories", IRPS 2008).
    pub(crate) fn uncorrectable_bit_error_rate(&mut self, rate: f64) -> f64 {
        self.codeword_failure(self.steps - 1, rate) / self.data_bits as f64
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.table.rows)
    }
}

/// Returns the times of the decoding steps of `settings`, and checks the settings.
pub fn decoding(settings: &EccSettings, timing: &Timing) -> Result<Decoding, ValueError> {
    let mut decoding = Decoding::default();
    for (index, step) in settings.steps.iter().take(STEPS_MAX).enumerate() {
        if step.decode > LONGEST {
            return Err(ValueError::TooLong { key: "ecc.steps.decode", found: step.decode, limit: LONGEST });
        }
        for (key, found) in [("ecc.steps.sensings", step.sensings), ("ecc.steps.transfers", step.transfers)] {
            if found == 0 {
                return Err(ValueError::Zero { key });
            }
            let limit = if index == 0 { 1 } else { MOST_REPEATS };
            if found > limit {
                return Err(ValueError::TooLarge { key, found: u64::from(found), limit: u64::from(limit) });
            }
        }
        decoding.steps[index] = DecodingStep {
            sense: u64::from(step.sensings) * timing.page_read.0,
            transfer: u64::from(step.transfers) * timing.page_transfer.0,
            decode: step.decode.0,
        };
    }
    decoding.is_on = true;
    Ok(decoding)
}

/// Returns the parity of a BCH code that corrects `errors` in a codeword with `data`: m bits per error if the codeword
/// has at most 2^m - 1 bits.
fn bch_parity(data: Bytes, errors: u32) -> Bytes {
    let bits = |m: u64| m * u64::from(errors);
    let m = (1..64).find(|m| 8 * data.0 + bits(*m) < 1 << m).unwrap_or(63);
    Bytes(bits(m).div_ceil(8))
}

/// Returns the largest bit-error rate that codes of `code_rate` can correct with hard decisions: the one at which the
/// capacity of a binary symmetric channel equals `code_rate` (Shannon 1948).
fn hard_limit(code_rate: f64) -> f64 {
    let entropy = |p: f64| -p * p.log2() - (1.0 - p) * (1.0 - p).log2();
    let (mut low, mut high) = (1e-12, 0.5);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if 1.0 - entropy(middle) > code_rate { low = middle } else { high = middle }
    }
    low
}

/// Returns the logarithm of the probability that more than `corrects` of `bits` are wrong, each with probability
/// `rate`.
fn ln_tail(bits: u64, corrects: u32, rate: f64) -> f64 {
    let (n, t) = (bits as f64, f64::from(corrects));
    if rate <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let ln_binomial = |k: u32| (1..=k).map(|i| ((n - f64::from(k) + f64::from(i)) / f64::from(i)).ln()).sum::<f64>();
    let ln_term = |k: u32| ln_binomial(k) + f64::from(k) * rate.ln() + (n - f64::from(k)) * (-rate).ln_1p();
    let odds = rate / (1.0 - rate);
    if t + 1.0 > n * rate {
        // Terms decrease from the first one on.
        let (mut sum, mut term, mut k) = (1.0, 1.0, t + 1.0);
        while term > 1e-17 * sum && k < n {
            term *= (n - k) / (k + 1.0) * odds;
            sum += term;
            k += 1.0;
        }
        ln_term(corrects + 1) + f64::ln(sum)
    } else {
        // Terms decrease from `corrects` downwards. The tail is one minus their sum.
        let (mut sum, mut term, mut k) = (1.0, 1.0, t);
        while term > 1e-17 * sum && k > 0.0 {
            term *= k / (n - k + 1.0) / odds;
            sum += term;
            k -= 1.0;
        }
        (-(ln_term(corrects) + f64::ln(sum)).exp()).ln_1p()
    }
}

/// Logarithms of failure probabilities at bit-error rates that grow by 1/128 from row to row, computed when first
/// needed. Values in between are interpolated, which changes no probability by more than a thousandth.
#[derive(Clone, Debug)]
struct Table {
    steps: usize,
    rows: Vec<f64>,
}

/// The smallest bit-error rate in the table. Below it, nothing fails.
const LEAST: f64 = 1e-9;
const ROWS_PER_E: f64 = 128.0;

impl Table {
    fn new(steps: usize) -> Self {
        let rows = ((0.5f64 / LEAST).ln() * ROWS_PER_E) as usize + 3;
        Self { steps, rows: vec![f64::NAN; rows * steps] }
    }

    fn at(&mut self, step: usize, rate: f64, exact: impl Fn(f64) -> f64) -> f64 {
        if rate < LEAST {
            return 0.0;
        }
        let place = (rate.min(0.5) / LEAST).ln() * ROWS_PER_E;
        let row = place as usize;
        let mut value = |row: usize| {
            let cell = &mut self.rows[row * self.steps + step];
            if cell.is_nan() {
                *cell = exact((LEAST * (row as f64 / ROWS_PER_E).exp()).min(0.5));
            }
            *cell
        };
        let (below, above) = (value(row), value(row + 1));
        (below + (above - below) * (place - row as f64)).exp()
    }
}

#[cfg(test)]
mod tests;
