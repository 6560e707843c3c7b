//! Products that are in use already.

use esker_catalogue::{Catalogue, Product};
use esker_core::Bytes;

use crate::StudyError;

/// Devices that the user already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// The product's name in the catalogue.
    pub product: String,
    /// Capacity of each device.
    pub capacity: Bytes,
    /// Number of devices, for all copies of the data together.
    pub count: u32,
}

impl InUse {
    /// All of them with each product and capacity once, however many entries name it: copies of the data share out its
    /// devices, and not those of one entry.
    pub(crate) fn together(all: &[Self]) -> Vec<Self> {
        let mut together: Vec<Self> = Vec::new();
        for one in all {
            match together.iter_mut().find(|known| (&known.product, known.capacity) == (&one.product, one.capacity)) {
                Some(known) => known.count = known.count.saturating_add(one.count),
                None => together.push(one.clone()),
            }
        }
        together
    }

    /// Returns the product, if it can be in use and there are enough devices for `copies` copies of the data.
    pub(crate) fn product<'a>(&self, catalogue: &'a Catalogue, copies: u32) -> Result<&'a Product, StudyError> {
        let error = |message: String| StudyError::Settings { message };
        let product = catalogue.product(&self.product).map_err(|fault| error(fault.to_string()))?;
        if product.is_cloud_volume() {
            return Err(error(format!("{} is rented: only devices can be in use already", product.name)));
        }
        if self.count < copies {
            return Err(error(format!("{} x {} cannot hold {copies} copies of the data", self.count, product.name)));
        }
        Ok(product)
    }
}
