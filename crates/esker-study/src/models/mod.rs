//! The devices that model the products of a catalogue. A catalogue knows nothing of simulated devices; here, each
//! product gets the settings of its own, and it is checked that the device can be built.

#[cfg(test)]
mod mutated_tests;
#[cfg(test)]
mod tests;
mod whole_drive;

use esker_catalogue::{Catalogue, CatalogueError, CatalogueText, Product, capacity_in_words};
use esker_core::registry::NotFound;
use esker_core::{Bytes, Problem};
use esker_sim::{DeviceFault, NamedPreset};

pub(crate) use whole_drive::{WholeDrive, disk_settings};

/// The keys of a product's `device` table that are no settings.
const ORIGIN: &[&str] = &["source", "assumed"];

/// Reads the text of a catalogue file as [`Catalogue::read_file`] does, and fills in the settings of the devices that
/// model its products. `name` is its name in errors; the paths of presets start from its folder.
///
/// # Errors
/// Those of the catalogue itself; and a preset is not known, a setting is wrong, or a device cannot be built.
pub fn read_catalogue(name: &str, text: &str) -> Result<Catalogue, CatalogueError> {
    modelled(&CatalogueText::of_file(name, text)?)
}

/// The catalogue called `name` that comes with the program, with the settings of the devices that model its products.
pub fn builtin_catalogue(name: &str) -> Result<Catalogue, NotFound> {
    Catalogue::builtin_by(name, modelled)
}

fn modelled(text: &CatalogueText) -> Result<Catalogue, CatalogueError> {
    let mut catalogue = text.catalogue()?;
    for product in &mut catalogue.products {
        product.settings = Some(settings(text, product)?);
        // The smallest is the one whose dies may be too few.
        let smallest = product.capacities.first().map_or(Bytes::ZERO, |capacity| capacity.bytes);
        whole_drive::try_to_build(product, smallest)
            .map_err(|fault| text.located(not_built(product, smallest, fault)))?;
    }
    Ok(catalogue)
}

/// The settings of the product's preset with its own laid over them.
fn settings(text: &CatalogueText, product: &Product) -> Result<serde_json::Value, CatalogueError> {
    let key = |key: &str| format!("product.{}.{key}", product.name);
    let preset = NamedPreset::find(&product.preset, Some(&product.kind), &text.folder())
        .map_err(|problem| text.located(CatalogueError::new(key("preset"), problem)))?;
    let named_at = text.span(&key("preset")).cloned().unwrap_or_default();
    let settings = preset.with_settings(text.device_table(product), &key("device"), ORIGIN, &named_at);
    Ok(settings.map_err(|finding| text.error(finding))?.resolved())
}

fn not_built(product: &Product, capacity: Bytes, fault: DeviceFault) -> CatalogueError {
    let within = fault.keys.first().map_or_else(String::new, |key| format!(".{key}"));
    let key = format!("product.{}.device{within}", product.name);
    let message = format!("of {} it cannot be built: {}", capacity_in_words(capacity), fault.message);
    CatalogueError::new(key, Problem::Other { message, hint: fault.hint })
}
