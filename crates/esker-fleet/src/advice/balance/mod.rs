//! What should move in a Ceph cluster: placement groups are slices, OSDs are servers, and the policy `life` chooses.

mod pg;
mod rule;
mod scripts;
mod state;
mod upmap;
mod verdict;
mod view;
mod worth;

use std::collections::BTreeMap;

use esker_core::Bytes;
use esker_results::advice::{AdviceVerdict, Advised, ClusterAdvice, PgMove};

use super::AdviceSettings;
use super::collect::AdviceInputs;
use super::judged::JudgedDrive;

pub use scripts::UpmapScripts;

use state::ClusterState;

/// The drives of each OSD, and how many OSDs share each of them; `None` for a drive that cannot be judged.
pub(super) type OsdDrives = BTreeMap<u64, Vec<(usize, Option<JudgedDrive>)>>;

/// What comes of a cluster.
pub(super) struct Balanced {
    pub(super) advice: Option<ClusterAdvice>,
    pub(super) verdict: AdviceVerdict,
    pub(super) scripts: Option<UpmapScripts>,
}

/// Returns what should move, or why that cannot be judged.
pub(super) fn advise(inputs: &AdviceInputs, drives: OsdDrives, settings: &AdviceSettings) -> Balanced {
    let not_judged = |reason: String| Balanced {
        advice: None,
        verdict: AdviceVerdict { advised: Advised::NotJudged, reasons: vec![reason] },
        scripts: None,
    };
    let mut state = match ClusterState::new(inputs, drives) {
        Ok(state) => state,
        Err(reason) => return not_judged(reason),
    };
    let before = state.clone();
    // Damaged dumps say anything: their sums must not wrap to something small.
    let shards = state.pgs.iter().map(|pg| pg.shard_bytes.saturating_mul(pg.homes.len() as u64));
    let stored = shards.fold(0, u64::saturating_add);
    let budget = settings.budget.unwrap_or(Bytes(stored / 20));
    let moves = plan(&before, &mut state, budget, settings.horizon_years);
    let worth = match worth::of(&before, &state, &moves, settings.horizon_years) {
        Ok(worth) => worth,
        Err(reason) => return not_judged(reason),
    };
    let verdict = verdict::of(&worth, &moves, settings.horizon_years);
    let moves = if verdict.advised == Advised::Balance { moves } else { Vec::new() };
    let scripts = (!moves.is_empty()).then(|| scripts::write(&before, &state));
    let advice = ClusterAdvice {
        fsid: state.map.fsid.clone(),
        epoch: state.map.epoch,
        budget_bytes: budget.0,
        written_per_client_byte: Some(state.factor),
        copied_bytes: copied(&moves),
        first_worn_out_unix_s: worth.first,
        first_worn_out_after_unix_s: Some(worth.first_after).filter(|_| !moves.is_empty()).flatten(),
        drives_saved: (!moves.is_empty()).then_some(worth.saved),
        money_saved: (!moves.is_empty()).then_some(worth.money_saved),
        money_spent: (!moves.is_empty()).then_some(worth.money_spent),
        moves,
        left_out: state.left_out,
    };
    Balanced { advice: Some(advice), verdict, scripts }
}

/// More rounds than any plan needs.
const ROUNDS_MOST: usize = 64;

/// Plans pool by pool, those that are written most for each byte that they hold first, since they relieve drives for
/// the fewest copies; and again, until nothing more is wanted. Makes the moves in `state`.
fn plan(before: &ClusterState, state: &mut ClusterState, budget: Bytes, horizon_years: f64) -> Vec<PgMove> {
    for pool in state.pools_by_heat() {
        for _ in 0..ROUNDS_MOST {
            let left = Bytes(budget.0.saturating_sub(copied(&state.moves_since(before))));
            let wanted = view::plan_pool(state, pool, left, horizon_years);
            // What no pairs can express stays where it is from now on.
            if wanted.into_iter().filter(|one| state.make(*one)).count() == 0 {
                break;
            }
        }
    }
    state.moves_since(before)
}

fn copied(moves: &[PgMove]) -> u64 {
    moves.iter().map(|one| one.copied_bytes).fold(0, u64::saturating_add)
}
