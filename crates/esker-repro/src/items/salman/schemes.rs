//! The three schemes, and how their thresholds were found: the thesis gives none.
//!
//! Both balancers get the same search: 27 settings of a threshold, a horizon and the size of a round, on one load,
//! src2, with a seed of its own. The best one has the least sum of two figures in the same unit: the standard
//! deviation of the servers' erases, and the erases of a mean server beyond those without balancing. What was found is
//! held for all loads and seeds.
//!
//! EDM-like moves any slice that fits (`round = "any"`), as far as the thesis tells of EDM; its default, which moves
//! only what pays, is this project's.
//!
//! Ranges were moved while the best lay at an edge. The first searches left the size of a round out; `order` and
//! `rho_c` are what they found best. EDM-like with unlimited rounds then wrote four times as many extra pages under
//! src2 as with five moves a round, and nearly all claims held. That was no equal tuning, so both searches were done
//! anew, after the first run of the claims, which were left as they are.
//!
//! EWO's search was done once more when drives told the engine their erases from the first one on: another setting, at
//! an edge of what were 18, was the best from then on, and the best of EDM-like stayed. Ranges were moved again then,
//! until neither best lay at an edge.

use super::cluster::{Case, Found, Runs, Scale, mean};
use crate::ReproduceError;

/// The load of the searches, a place in [`super::loads::TABLE`]: src2.
pub(super) const SEARCHED: usize = 4;
/// Added to the seed of a run for the searches.
pub(super) const SEED_OF_SEARCH: u64 = 1000;

/// Without balancing.
pub(super) const BASELINE: &str = "\"none\"";
/// The best of [`edm_settings`].
pub(super) const EDM: &str = "{ kind = \"edm-like\", lambda = \"2%\", horizon_epochs = 8, moves = 5, round = \"any\" }";
/// The best EDM-like whose rounds have no limit, by the search before this one.
pub(super) const EDM_WITHOUT_LIMIT: &str =
    "{ kind = \"edm-like\", lambda = \"20%\", horizon_epochs = 68, round = \"any\" }";
/// The best of [`ewo_settings`].
pub(super) const EWO: &str = "{ kind = \"ewo\", rho_c = \"200%\", sigma_c = 5, horizon_epochs = 4, steps = 5 }";
/// The schemes, in the order of the thesis's figures.
pub(super) const SCHEMES: [(&str, &str); 3] = [("Baseline", BASELINE), ("EDM-like", EDM), ("EWO", EWO)];

/// The settings of EDM-like that are searched.
pub(super) fn edm_settings() -> Vec<String> {
    let mut all = Vec::new();
    for lambda in [1, 2, 5] {
        for horizon in [4, 8, 16] {
            for moves in [3, 5, 10] {
                all.push(format!(
                    "{{ kind = \"edm-like\", lambda = \"{lambda}%\", horizon_epochs = {horizon}, moves = {moves}, \
                     round = \"any\" }}"
                ));
            }
        }
    }
    all
}

/// The settings of EWO that are searched.
pub(super) fn ewo_settings() -> Vec<String> {
    let mut all = Vec::new();
    for sigma in [2, 5, 10] {
        for horizon in [2, 4, 8] {
            for steps in [2, 5, 10] {
                all.push(format!(
                    "{{ kind = \"ewo\", rho_c = \"200%\", sigma_c = {sigma}, horizon_epochs = {horizon}, \
                     steps = {steps} }}"
                ));
            }
        }
    }
    all
}

/// Unevenness and its price, both in erases of a server.
pub(super) fn score(found: &Found, baseline: &Found) -> f64 {
    found.erases_sd() + mean(&found.erases) - mean(&baseline.erases)
}

/// Runs all of `settings` on the load of the searches, and returns their scores.
pub(super) fn search(runs: &mut Runs<'_>, settings: &[String], scale: Scale) -> Result<Vec<f64>, ReproduceError> {
    let scale = Scale { seed: scale.seed + SEED_OF_SEARCH, ..scale };
    let baseline = runs.run(&Case::of(SEARCHED, BASELINE, scale))?;
    settings.iter().map(|one| Ok(score(&runs.run(&Case::of(SEARCHED, one, scale))?, &baseline))).collect()
}
