//! What a design is made of, step by step.

use esker_core::words;
use esker_results::study::{CachedVolume, Candidate, Composition, DesignPart, JudgedState, PartRole, WarmState};

use super::Page;

impl Page {
    /// Adds the capacity of each part of a design of several products.
    pub(super) fn parts(&mut self, candidate: &Candidate) {
        let of_role = |role: PartRole| candidate.parts.iter().filter(move |part| part.role == role);
        for DesignPart { name, capacity_on_sale_bytes: each, count, .. } in of_role(PartRole::Capacity) {
            let all = each.saturating_mul(u64::from(*count));
            self.step(&format!(
                "{count} x {} = {}, or {}, on {name}",
                words::on_sale(*each),
                words::on_sale(all),
                words::bytes(all as f64)
            ));
        }
        let why = match &candidate.composition {
            Composition::Alike => "for speed, which adds no capacity",
            Composition::Hybrid(_) => "as much of all devices stays free, so that extents can move",
            Composition::Cache(cache) if cache.mirrored => "a mirrored cache, which adds no capacity",
            Composition::Cache(_) => "a cache, which adds no capacity",
        };
        for DesignPart { name, capacity_on_sale_bytes: each, count, .. } in of_role(PartRole::OnTop) {
            self.step(&format!("{count} x {} of {name} on top: {why}", words::on_sale(*each)));
        }
    }

    /// Adds a section on how the parts work together, if there is more to say than what they are.
    pub(super) fn composition(&mut self, candidate: &Candidate) {
        match &candidate.composition {
            Composition::Alike | Composition::Hybrid(_) => {}
            Composition::Cache(cache) => self.cache(cache, &candidate.judged),
        }
    }

    fn cache(&mut self, cache: &CachedVolume, judged: &JudgedState) {
        self.section("Cache");
        let bytes = |bytes: u64| words::bytes(bytes as f64);
        self.step(&format!(
            "{} of lines of {}; its tables take {} of memory",
            bytes(cache.cache_bytes),
            bytes(cache.line_bytes),
            bytes(cache.memory_bytes)
        ));
        self.step(&format!("{} ({})", cache.policy, cache.because.trim_end_matches('.')));
        for other in &cache.compared {
            self.step(&format!("  {}: {} of accesses miss", other.policy, words::percent(other.miss_ratio)));
        }
        self.step(&format!("admission {} ({})", cache.admission, cache.admission_because.trim_end_matches('.')));
        for other in &cache.admissions_compared {
            let written = words::bytes(other.written_bytes_per_access);
            let slow = words::percent(other.slow_ratio);
            self.step(&format!(
                "  {}: {slow} of accesses wait for disks, {written} written per access",
                other.admission
            ));
        }
        self.step(match (cache.write.as_str(), cache.mirrored) {
            ("write-back", true) => {
                "write-back: what was written is on two flash drives until it is copied to the disks"
            }
            ("write-back", false) => "write-back: each copy of the data has what was written in a cache of its own",
            _ => "write-through: the disks have all that was written, so that a flash drive may fail",
        });
        if let JudgedState::Warm(state) = judged {
            self.warm(state);
        }
    }

    fn warm(&mut self, state: &WarmState) {
        if let Some(hits) = state.hit_ratio {
            self.step(&format!("warm, it misses {} of accesses to lines", words::percent(1.0 - hits)));
        }
        if let Some(warmed) = &state.warmed {
            let free = if warmed.full { "; it was full" } else { "" };
            self.step(&format!(
                "new lines in the last {} requests before the busiest stretch: {} ({} may{free}): {}",
                words::count(warmed.late_requests),
                words::count(warmed.late_lines),
                words::count(warmed.late_lines_max),
                if warmed.warm { "warm" } else { "not warm" }
            ));
        }
    }
}
