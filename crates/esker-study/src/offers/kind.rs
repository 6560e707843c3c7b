//! The interface of the kinds of designs.

use std::fmt::Debug;
use std::sync::Arc;

use esker_catalogue::Product;
use esker_core::Nanos;
use esker_core::registry::{Capability, Entry};
use esker_results::study::{Candidate, Composition, Finding, Need, RunsDry};
use esker_sim::PreconditionedDrives;

use super::{Bounds, Offer, TouchedData};
use crate::busy::Stretch;
use crate::design::{Design, Judging};
use crate::load::StudyWorkload;
use crate::{Hooks, StudyError, StudySettings};

/// A kind of design in the registry. Its name is what several such designs are called.
pub(crate) type KindEntry = Entry<DesignKind, KindCapability>;

/// What a kind of design is before there are offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DesignKind {
    /// What one design is called: the class of designs of several products.
    pub(crate) class: &'static str,
    /// The families into which its designs fall, each design into one: results show the best of each beside those of
    /// other kinds.
    pub(crate) families: &'static [DesignFamily],
    /// What studies with such designs assume, and how to change it.
    pub(crate) assumption: Option<[&'static str; 2]>,
    /// Returns the offers that may be worth their price.
    pub(crate) offers: for<'a> fn(&OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError>,
}

/// Designs of a kind that are compared with those of other kinds as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DesignFamily {
    /// Its name in results: "all-flash".
    pub(crate) name: &'static str,
    /// Returns true if an offer of the kind belongs to it.
    pub(crate) has: fn(&Offer<'_>) -> bool,
}

/// What some kinds of designs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindCapability {
    /// Offered only if asked for.
    OnRequest,
}

impl Capability for KindCapability {
    const ALL: &'static [Self] = &[Self::OnRequest];

    fn name(self) -> &'static str {
        match self {
            Self::OnRequest => "on-request",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::OnRequest => {
                "is offered only if asked for, and searched after the others: found beside them, never instead of them"
            }
        }
    }
}

/// What decides which offers are made.
#[derive(Clone, Copy)]
pub(crate) struct OfferInputs<'a> {
    pub(crate) need: &'a Need,
    pub(crate) workload: &'a StudyWorkload,
    /// The stretch in which budgets hold; `None` if the trace has no times.
    pub(crate) stretch: Option<&'a Stretch>,
    /// The budget for the busiest resource.
    pub(crate) utilisation: f64,
    /// The budget for the 99th percentile, if there is one.
    pub(crate) p99_us: Option<f64>,
    pub(crate) settings: &'a StudySettings,
    pub(crate) hooks: &'a Hooks<'a>,
    /// The drives of all simulations of the workload.
    pub(crate) drives: &'a Arc<PreconditionedDrives>,
}

impl<'a> OfferInputs<'a> {
    pub(crate) fn products(&self) -> &'a [Product] {
        &self.settings.catalogue.products
    }

    pub(crate) fn copies(&self) -> u32 {
        self.need.copies.max(1)
    }

    /// Capacity on sale that one copy of the data needs, in bytes.
    pub(crate) fn capacity(&self) -> u64 {
        self.need.capacity_bytes.div_ceil(self.copies().into())
    }
}

/// The bound that rules out an offer, and the reason in words.
pub(crate) type RuledOutBy = (&'static str, String);

/// How the parts of an offer work together: what they are called, how they are simulated, and how that is judged.
pub(crate) trait Arrangement: Debug + Send + Sync {
    /// The way in which its designs are judged.
    fn judging(&self) -> &'static dyn Judging;

    /// Makes the design to simulate for the touched data.
    fn design(&self, offer: &Offer<'_>, data: TouchedData) -> Result<Design, StudyError>;

    /// What a simulated device of a part is called, by the place of the part in the offer. The names of several begin
    /// with it.
    fn device_name(&self, offer: &Offer<'_>, part: usize) -> String {
        offer.parts[part].device_name().to_string()
    }

    /// What follows the names of the parts in an offer's name. With it, names are unique.
    fn name_suffix(&self) -> String {
        String::new()
    }

    /// What follows the parts in an offer's title.
    fn in_title(&self, offer: &Offer<'_>) -> Option<String> {
        (offer.simulated_devices() > 1).then(|| "striped".to_string())
    }

    /// Tells arrangements of the same parts apart whose devices are not alike in use.
    fn variant(&self) -> &'static str {
        ""
    }

    /// What results say of how the parts work together.
    fn composition(&self, _offer: &Offer<'_>) -> Composition {
        Composition::Alike
    }

    /// Returns what rules out an offer by limits of its own.
    fn ruled_out(&self, _offer: &Offer<'_>, _bounds: &Bounds) -> Option<RuledOutBy> {
        None
    }

    /// Returns by how much an offer misses limits of its own, each as the logarithm of value over limit.
    fn missed_limits(&self, _offer: &Offer<'_>, _bounds: &Bounds) -> Vec<f64> {
        Vec::new()
    }

    /// Returns how the load empties the credits of an offer, although its simulation may end before it shows.
    fn runs_dry(&self, _offer: &Offer<'_>, _bounds: &Bounds) -> Option<RunsDry> {
        None
    }

    /// The most operations and bytes that a device of the offer ever lets through, in thousandths per second, if that
    /// is what was ordered.
    fn peaks(&self, _offer: &Offer<'_>) -> Option<(u64, u64)> {
        None
    }

    /// Returns the design of volumes that save up unused limits for `time`; `None` for whatever saves up no limits, or
    /// saves up as long already.
    fn design_saving_up(&self, _offer: &Offer<'_>, _time: Nanos) -> Result<Option<Design>, StudyError> {
        Ok(None)
    }

    /// What to doubt of the results: sentences. Evidence with doubts is one grade lower.
    fn doubts(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// What the verdict says of a recommended design.
    fn findings(&self, _recommended: &Candidate) -> Vec<Finding> {
        Vec::new()
    }
}
