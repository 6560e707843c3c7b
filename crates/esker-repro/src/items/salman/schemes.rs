//! The three schemes, and how their thresholds were found: the thesis gives none.
//!
//! Both balancers get the same search: 18 settings of three parameters, on one load, src2, with a seed of its own. The
//! best one has the least sum of two figures in the same unit: the standard deviation of the servers' erases, and the
//! erases of a mean server beyond those without balancing. What was found is held for all loads and seeds. The ranges
//! of EDM-like were moved twice, because its best lay at their edge; 68 epochs are the run.

use super::cluster::{Case, Found, Runs, Scale, mean};
use crate::ReproduceError;

/// The load of the searches, a place in [`super::loads::TABLE`]: src2.
pub(super) const SEARCHED: usize = 4;
/// Added to the seed of a run for the searches.
pub(super) const SEED_OF_SEARCH: u64 = 1000;

/// Without balancing.
pub(super) const BASELINE: &str = "\"none\"";
/// The best of [`edm_settings`].
pub(super) const EDM: &str = "{ kind = \"edm-like\", lambda = \"20%\", horizon_epochs = 68, order = \"hottest\" }";
/// The best of [`ewo_settings`].
pub(super) const EWO: &str = "{ kind = \"ewo\", sigma_c = 20, horizon_epochs = 8, rho_c = \"200%\" }";
/// The schemes, in the order of the thesis's figures.
pub(super) const SCHEMES: [(&str, &str); 3] = [("Baseline", BASELINE), ("EDM-like", EDM), ("EWO", EWO)];

/// The settings of EDM-like that are searched.
pub(super) fn edm_settings() -> Vec<String> {
    let mut all = Vec::new();
    for lambda in [10, 20, 40] {
        for horizon in [8, 24, 68] {
            for order in ["hottest", "coldest"] {
                all.push(format!(
                    "{{ kind = \"edm-like\", lambda = \"{lambda}%\", horizon_epochs = {horizon}, order = \"{order}\" }}"
                ));
            }
        }
    }
    all
}

/// The settings of EWO that are searched.
pub(super) fn ewo_settings() -> Vec<String> {
    let mut all = Vec::new();
    for sigma in [5, 20] {
        for horizon in [4, 8, 24] {
            for rho in [100, 200, 400] {
                all.push(format!(
                    "{{ kind = \"ewo\", sigma_c = {sigma}, horizon_epochs = {horizon}, rho_c = \"{rho}%\" }}"
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
