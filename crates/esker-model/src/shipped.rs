//! The models that come with esker, each with the runs that it was trained on and others that it had not seen.

use crate::model::Model;
use crate::run::Run;
use crate::table::read_table;

/// A model that comes with esker.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// The drive that it describes.
    pub summary: &'static str,
    model: &'static str,
    runs: &'static str,
    unseen: &'static str,
}

/// Every shipped model.
pub static SHIPPED: &[Shipped] = &[Shipped {
    name: "kim-slc",
    summary: "the drive `kim-slc-32g`, one plane of SLC behind one channel, with 256 MiB of flash",
    model: include_str!("../models/kim-slc.json"),
    runs: include_str!("../models/kim-slc.csv"),
    unseen: include_str!("../models/kim-slc-unseen.csv"),
}];

impl Shipped {
    /// The model.
    pub fn model(&self) -> Model {
        Model::from_json(self.model).expect("a test reads every shipped model")
    }

    /// The runs that it was trained on: those of `examples/ssd-model.toml` in which the drive did not saturate.
    pub fn runs(&self) -> Vec<Run> {
        read_table(self.runs).expect("a test reads every shipped table")
    }

    /// Runs that it was not trained on: 300 points of the same file, with another seed of the sample.
    pub fn unseen(&self) -> Vec<Run> {
        read_table(self.unseen).expect("a test reads every shipped table")
    }
}
