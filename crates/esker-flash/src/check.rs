//! Checks of settings that cannot be combined.

use esker_ftl::WriteFrontiers;
use esker_nand::state::WriteMode;
use esker_nand::{PoolScope, ValueError, setting_name};

use crate::{SsdError, SsdSettings};

impl SsdSettings {
    /// Refuses settings of [`Self::array`] that cannot be combined with each other or with other settings.
    pub fn check_array(&self) -> Result<(), SsdError> {
        self.wiring().check_pages()?;
        self.check_erases()?;
        let array = &self.array;
        let contradiction = |keys: [&'static str; 2], first: String, second: String, reason: String, remedy: &str| {
            Err(ValueError::Contradiction { keys: keys.into(), first, second, reason, remedy: remedy.to_string() }
                .into())
        };
        let inside = self.wiring().copies_inside();
        if let Some(ecc) = &self.ecc {
            let remedy = "leave one of them out";
            if let Some((key, first)) = &inside {
                let reason = "what is copied inside a plane goes past the decoder and keeps its errors, and their sum \
                              over copies is not modelled";
                return contradiction([key, "ecc"], first.clone(), "`ecc`".to_string(), reason.to_string(), remedy);
            }
            let several = match (array.span.is_empty(), array.logical_page) {
                (false, _) => Some("array.span"),
                (true, Some(_)) => Some("array.logical_page"),
                (true, None) => None,
            };
            if let (Some(share), Some(several)) = (ecc.refresh_above, several) {
                let reason = "a read of some of these flash pages does not bring the others, which would have to be \
                              written again too";
                let first = "`array.span` or `array.logical_page`".to_string();
                let (keys, second) = ([several, "ecc.refresh_above"], format!("`ecc.refresh_above` = {share}"));
                return contradiction(keys, first, second, reason.to_string(), remedy);
            }
        }
        self.check_write_modes(&inside)?;
        let planes = self.wiring().seen().planes_per_die;
        let in_plane = match self.write_frontiers {
            WriteFrontiers::Plane => true,
            WriteFrontiers::Die => planes == 1 || self.pool == PoolScope::Plane,
            WriteFrontiers::Pool => self.pool == PoolScope::Plane || planes == 1 && self.pool == PoolScope::Die,
        };
        if let (Some((key, first)), false) = (&inside, in_plane) {
            return contradiction(
                [key, "write_frontiers"],
                first.clone(),
                format!("`write_frontiers` = {}", setting_name(&self.write_frontiers)),
                format!(
                    "a page can be copied inside a plane only, and a frontier serves several ({planes} planes a die)"
                ),
                "write_frontiers = \"plane\" would work",
            );
        }
        Ok(self.wiring().check_parts()?)
    }

    /// Refuses a power failure if some erases take no time, since recovery depends on which erases were performed.
    fn check_erases(&self) -> Result<(), SsdError> {
        if self.timing.blocks_per_erase == 1 || self.power_failure.is_none() {
            return Ok(());
        }
        let reason = "an erase that takes no time is never interrupted, and recovery depends on which erases were";
        Err(ValueError::Contradiction {
            keys: ["timing.blocks_per_erase", "power_failure"].into(),
            first: format!("`timing.blocks_per_erase` = {}", self.timing.blocks_per_erase),
            second: "`power_failure`".to_string(),
            reason: reason.to_string(),
            remedy: "leave one of them out".to_string(),
        }
        .into())
    }

    /// Refuses write modes if the policy needs one that is not given, or if another setting cannot be combined with
    /// programs of several modes. `inside` is the setting that copies inside planes, if there is one.
    fn check_write_modes(&self, inside: &Option<(&'static str, String)>) -> Result<(), SsdError> {
        let Some(modes) = &self.write_modes else { return Ok(()) };
        let policy = esker_ftl::modes::find(&modes.policy)?;
        let contradiction = |keys: [&'static str; 2], first: &str, second: String, reason: &str, remedy: String| {
            let (first, reason) = (first.to_string(), reason.to_string());
            Err(ValueError::Contradiction { keys: keys.into(), first, second, reason, remedy }.into())
        };
        let named = format!("`write_modes.policy` = \"{}\"", policy.name);
        for (mode, key, example) in [
            (WriteMode::LowCost, "write_modes.low_cost", "page_program = \"650us\", page_read = \"145us\""),
            (WriteMode::MediumCost, "write_modes.medium_cost", "page_program = \"1300us\", page_read = \"110us\""),
            (WriteMode::HighCost, "write_modes.high_cost", "page_program = \"2600us\", page_read = \"75us\""),
        ] {
            let needed = policy.capabilities.iter().any(|can| can.mode() == Some(mode));
            if needed && modes.of(mode).is_none() {
                let reason = "the policy programs pages in this mode, whose times have to be known";
                let (second, remedy) = (format!("no `{key}`"), format!("{key} = {{ {example} }} would work"));
                return contradiction(["write_modes.policy", key], &named, second, reason, remedy);
            }
        }
        if let Some((key, first)) = inside {
            let reason = "a page that is copied inside its plane keeps the code of its mode";
            let remedy = "leave one of them out".to_string();
            return contradiction([*key, "write_modes"], first, "`write_modes`".to_string(), reason, remedy);
        }
        let several = match (self.array.span.is_empty(), self.array.logical_page) {
            (false, _) => Some("array.span"),
            (true, Some(_)) => Some("array.logical_page"),
            (true, None) => None,
        };
        if let (true, Some(several)) = (self.re_encodes(), several) {
            let reason = "a read of some of these flash pages does not bring the others, which would have to be \
                          programmed again too";
            let (first, remedy) = ("`array.span` or `array.logical_page`", "leave one of them out".to_string());
            return contradiction([several, "write_modes.policy"], first, named, reason, remedy);
        }
        Ok(())
    }
}
