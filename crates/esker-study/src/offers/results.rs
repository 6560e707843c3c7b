//! What results say of offers.

use std::collections::BTreeMap;

use esker_catalogue::{Product, Running, cloud_cost};
use esker_results::study::{DesignPart, PartRole, ProductSummary, RuledOut};

use super::{Offer, Part, Terms};

impl Part<'_> {
    fn summary(&self) -> ProductSummary {
        let product = self.product;
        ProductSummary {
            name: product.name.clone(),
            title: product.title.clone(),
            year: product.year,
            market: product.market.name().into(),
            class: product.class.name().into(),
            source: product.source.clone(),
            assumed: self.assumed(),
            simulated_over_published: over_published(product),
        }
    }

    /// Returns the names of the product's figures that are assumed.
    fn assumed(&self) -> Vec<String> {
        let stated = self.product.assumed.iter().map(|assumption| assumption.figure.as_str());
        let without_price = stated.clone().filter(|figure| !figure.starts_with("price"));
        match &self.terms {
            Terms::Bought => stated.map(Into::into).collect(),
            // The price of a device in use does not matter.
            Terms::InUse => without_price.map(Into::into).collect(),
            Terms::Rented(volume) => {
                // Of the price list, only what this volume is billed by counts. No provider publishes a distribution
                // of response times.
                let price = cloud_cost(self.product, volume, 1, 1.0).assumed.then_some("price");
                without_price.chain(price).chain(["response times"]).map(Into::into).collect()
            }
        }
    }
}

impl Offer<'_> {
    /// The product, or all products as one. Then assumed figures name their product.
    pub(crate) fn summary(&self) -> ProductSummary {
        let parts: Vec<ProductSummary> = self.parts.iter().map(Part::summary).collect();
        if let [only] = parts.as_slice() {
            return only.clone();
        }
        let joined = |of: fn(&ProductSummary) -> &str| parts.iter().map(of).collect::<Vec<_>>().join(" + ");
        let assumed = |product: &ProductSummary| -> Vec<String> {
            product.assumed.iter().map(|figure| format!("{figure} of the {}", product.title)).collect()
        };
        let source = parts.iter().filter_map(|part| part.source.as_deref()).collect::<Vec<_>>().join("; ");
        ProductSummary {
            name: joined(|part| &part.name),
            title: joined(|part| &part.title),
            year: parts.iter().map(|part| part.year).max().unwrap_or_default(),
            market: self.market().name().into(),
            class: self.kind.build.class.into(),
            source: (!source.is_empty()).then_some(source),
            assumed: parts.iter().flat_map(assumed).collect(),
            simulated_over_published: parts[0].simulated_over_published.clone(),
        }
    }

    /// Returns the parts, which are at work for `shares` of the time; none if all devices are of one product.
    pub(crate) fn design_parts(&self, shares: &[f64], running: &Running) -> Vec<DesignPart> {
        if self.only().is_some() {
            return Vec::new();
        }
        let part = |(part, &busy): (&Part<'_>, &f64)| {
            let cost = part.cost(self.copies, busy, running);
            DesignPart {
                name: part.name.into(),
                role: part.role,
                product: part.summary(),
                capacity_on_sale_bytes: part.capacity.bytes.0,
                count: part.devices(self.copies),
                purchase: cost.purchase.as_f64(),
                power: cost.power.as_f64(),
            }
        };
        self.parts.iter().zip(shares).map(part).collect()
    }

    /// Capacity of one copy's volume as it is sold; `None` if all devices are of one product.
    pub(crate) fn volume_bytes(&self) -> Option<u64> {
        let parts = self.parts.iter().filter(|part| part.role == PartRole::Capacity);
        self.only().is_none().then(|| parts.map(Part::bytes).fold(0, u64::saturating_add))
    }

    /// Describes this offer as ruled out or not simulated.
    pub(crate) fn ruled_out(&self, by: &str, reason: String, total: Option<f64>) -> RuledOut {
        RuledOut {
            name: self.name(),
            title: self.title(),
            market: self.market().name().into(),
            total,
            by: by.into(),
            reason,
        }
    }
}

/// Returns the ratios of simulated to published throughput of a product, by figure.
fn over_published(product: &Product) -> BTreeMap<String, f64> {
    let rounded = |ratio: f64| (ratio * 1_000.0).round() / 1_000.0;
    product.beside_published().iter().map(|one| (one.figure.to_string(), rounded(one.ratio()))).collect()
}
