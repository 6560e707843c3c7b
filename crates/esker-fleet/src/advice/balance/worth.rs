//! What moves are worth: drives that need not be bought within the horizon, against what the copies use up.

use std::collections::BTreeMap;

use esker_results::advice::{FigureRange, PgMove};

use super::state::{ClusterState, OsdState};
use crate::advice::figures::{Stretch, YEAR_DAYS, moment, range, replacements};
use crate::advice::judged::JudgedDrive;

/// What moves are worth.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Worth {
    /// When the first drive is worn out without them, and with them.
    pub(super) first: Option<i64>,
    pub(super) first_after: Option<i64>,
    /// Drives that need not be bought.
    pub(super) saved: FigureRange,
    pub(super) money_saved: f64,
    pub(super) money_spent: f64,
    /// Drives that have to be bought whatever moves, by the best estimates.
    pub(super) bought: f64,
    /// OSDs that could not be judged.
    pub(super) not_judged: usize,
}

/// Compares the cluster before and after the moves. Fails if a drive has no price.
pub(super) fn of(
    before: &ClusterState,
    after: &ClusterState,
    moves: &[PgMove],
    horizon_years: f64,
) -> Result<Worth, String> {
    let mut copied: BTreeMap<u64, f64> = BTreeMap::new();
    moves.iter().for_each(|one| *copied.entry(one.to).or_default() += one.copied_bytes as f64);
    let rates = before.bytes_per_day().into_iter().zip(after.bytes_per_day());
    let mut worth = Worth {
        first: None,
        first_after: None,
        saved: range(0.0, []),
        money_saved: 0.0,
        money_spent: 0.0,
        bought: 0.0,
        not_judged: before.osds.iter().filter(|osd| osd.drive.is_none()).count(),
    };
    for (osd, (then, now)) in before.osds.iter().zip(rates) {
        let Some(drive) = &osd.drive else { continue };
        // Copies cost what other writes do, at least as much as they are.
        let cost = copied.get(&osd.id).copied().unwrap_or(0.0) * before.factor.max(1.0);
        add(&mut worth, osd, drive, Change { then, now, factor: before.factor, cost }, horizon_years)?;
    }
    Ok(worth)
}

/// What moves change for a drive: client bytes a day before and after, what a client byte costs, and the copies.
struct Change {
    then: f64,
    now: f64,
    factor: f64,
    cost: f64,
}

fn add(
    worth: &mut Worth,
    osd: &OsdState,
    drive: &JudgedDrive,
    change: Change,
    horizon_years: f64,
) -> Result<(), String> {
    let days = horizon_years * YEAR_DAYS;
    let delta = (change.now - change.then) * change.factor;
    // At the ends of the range of its rate, what comes or goes is as far from the best estimate as the rest.
    let rates = |rate: f64| (rate, (rate + delta * rate / drive.per_day.likely.max(f64::MIN_POSITIVE)).max(0.0));
    let saved = |endurance: f64, rate: f64| {
        let (then, now) = rates(rate);
        let bought = |left, per_day| replacements(left, endurance, &[Stretch { days, per_day }]);
        let left = drive.left(endurance);
        (bought(left, then), bought(left - change.cost, now))
    };
    let ends = [
        saved(drive.endurance.high, drive.per_day.low),
        saved(drive.endurance.likely, drive.per_day.likely),
        saved(drive.endurance.low, drive.per_day.high),
    ];
    let differences = ends.map(|(then, now)| then - now);
    let is_concerned = change.cost > 0.0 || delta != 0.0;
    let price = match drive.price {
        Some(price) => price,
        None if is_concerned => {
            return Err(format!("osd.{}: nothing says what its drive costs: give --price MODEL=AMOUNT", osd.id));
        }
        None => 0.0,
    };
    let own = range(differences[1], differences);
    worth.saved = FigureRange {
        low: worth.saved.low + own.low,
        likely: worth.saved.likely + own.likely,
        high: worth.saved.high + own.high,
    };
    worth.money_saved += own.likely * price;
    worth.money_spent += change.cost / drive.endurance.likely.max(1.0) * price;
    worth.bought += ends[1].0;
    let (then, now) = rates(drive.per_day.likely);
    let left = drive.left(drive.endurance.likely);
    let worn_out = |left: f64, rate: f64| moment(drive.last_unix_s, left.max(0.0) / rate.max(f64::MIN_POSITIVE));
    worth.first = earlier(worth.first, worn_out(left, then));
    worth.first_after = earlier(worth.first_after, worn_out(left - change.cost, now));
    Ok(())
}

fn earlier(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}
