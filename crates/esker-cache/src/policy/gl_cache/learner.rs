//! The model that predicts the utility of a group, behind an interface that hides which library grows its trees.

use std::fmt::{self, Debug};

use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::xgboost::{XGRegressor, XGRegressorParameters};

/// What is known of a group: its age in accesses, the accesses to its objects since it was formed, how many of its
/// objects were used since they were written, the misses for each access while it was filled, and their mean bytes.
pub(crate) type Features = [f64; 5];

/// Learns to order groups by their utility.
pub(crate) trait Learner: Debug + Send {
    /// Learns from `rows`, of which each had the utility at the same place of `utilities`; forgets what it had learnt.
    fn train(&mut self, rows: &[Features], utilities: &[f64]);

    /// Whether it has learnt enough to predict.
    fn is_trained(&self) -> bool;

    /// For each row a number that grows with the utility it expects; all the same before it is trained.
    fn predict(&self, rows: &[Features]) -> Vec<f64>;

    /// Bytes of memory in use, or a bound.
    fn memory_bytes(&self) -> usize;
}

/// Fewer rows than this teach nothing.
pub(crate) const ROWS_LEAST: usize = 16;

const TREES: usize = 20;
const DEPTH: u16 = 6;

type Trees = XGRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// Boosted regression trees for squared errors (Chen and Guestrin 2016), 20 of six levels as in the authors' program.
/// They learn the square root of the utility, which is a matter of this implementation: a few groups with an object
/// that is used at once have by far the greatest utilities, and would be all that counts. Nothing is drawn at random,
/// and arithmetic is exact to the last bit on every machine: the same rows always give the same trees.
#[derive(Default)]
pub(crate) struct BoostedTrees {
    trees: Option<Trees>,
    /// Rows of the last training: a tree has no more leaves.
    rows: usize,
}

/// The trees would fill pages.
impl Debug for BoostedTrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoostedTrees").field("trained", &self.is_trained()).field("rows", &self.rows).finish()
    }
}

fn matrix(rows: &[Features]) -> Option<DenseMatrix<f64>> {
    DenseMatrix::new(rows.len(), size_of::<Features>() / size_of::<f64>(), rows.as_flattened().to_vec(), false).ok()
}

impl Learner for BoostedTrees {
    fn train(&mut self, rows: &[Features], utilities: &[f64]) {
        if rows.len() < ROWS_LEAST {
            return;
        }
        let roots: Vec<f64> = utilities.iter().map(|utility| utility.sqrt()).collect();
        let mean = roots.iter().sum::<f64>() / roots.len() as f64;
        let parameters =
            XGRegressorParameters::default().with_n_estimators(TREES).with_max_depth(DEPTH).with_base_score(mean);
        let trained = matrix(rows).and_then(|rows| Trees::fit(&rows, &roots, parameters).ok());
        // Rows with features cannot be refused; if they were, the trees before would be better than none.
        if let Some(trees) = trained {
            (self.trees, self.rows) = (Some(trees), rows.len());
        }
    }

    fn is_trained(&self) -> bool {
        self.trees.is_some()
    }

    fn predict(&self, rows: &[Features]) -> Vec<f64> {
        let predicted = self.trees.as_ref().and_then(|trees| trees.predict(&matrix(rows)?).ok());
        predicted.unwrap_or_else(|| vec![0.0; rows.len()])
    }

    fn memory_bytes(&self) -> usize {
        /// Two children, a value, a threshold, a feature and a score.
        const NODE_BYTES: usize = 48;
        let leaves = self.rows.min(1 << DEPTH);
        TREES * (2 * leaves).saturating_sub(1) * NODE_BYTES
    }
}
