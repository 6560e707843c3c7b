//! What a design is made of, step by step.

use esker_core::words;
use esker_results::study::{
    CachedVolume, Candidate, Composition, DesignPart, Hybrid, JudgedState, PartRole, SettledState, WarmState,
};

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
            Composition::Alike => {}
            Composition::Hybrid(hybrid) => self.hybrid(hybrid, &candidate.judged),
            Composition::Cache(cache) => self.cache(cache, &candidate.judged),
        }
    }

    fn hybrid(&mut self, hybrid: &Hybrid, judged: &JudgedState) {
        let Some(compared) = &hybrid.compared else { return };
        self.section("Placement policy");
        self.step(&format!("extents of {}", words::bytes(hybrid.extent_bytes as f64)));
        self.step(&format!("{} ({})", hybrid.policy, hybrid.because.trim_end_matches('.')));
        self.step(&format!(
            "compared on {}, in the last quarter of {} requests:",
            compared.on,
            words::count(compared.requests)
        ));
        for other in &compared.policies {
            let p99 = other.p99_us.map_or("cannot keep up".to_string(), |p99| format!("p99 {}", words::time(p99)));
            let [written, moved] = [other.flash_bytes, other.moved_bytes].map(|bytes| words::bytes(bytes as f64));
            let judged = if other.may_be_judged { "" } else { "; had not settled" };
            self.step(&format!("  {}: {p99}, {written} written to flash, {moved} moved{judged}", other.policy));
        }
        if let JudgedState::Settled(state) = judged {
            self.settled(state);
        }
    }

    fn settled(&mut self, state: &SettledState) {
        let Some(settled) = &state.settled else { return };
        let verdict = match (settled.settled, settled.steady) {
            (true, _) => "settled",
            (false, true) => "it goes on as it does, and is judged with its moves",
            (false, false) => "not settled",
        };
        self.step(&format!(
            "extents moved in the third quarter of the trace: {}, in the last: {} ({} may; {} more on flash): \
             {verdict}",
            words::count(settled.third_moves),
            words::count(settled.late_moves),
            words::count(settled.late_moves_max),
            settled.late_growth
        ));
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
