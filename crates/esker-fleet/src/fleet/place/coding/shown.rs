//! What balancers are told of slices that are kept as an erasure code.

use esker_cluster::CodeGroups;

use super::Placement;

impl Placement {
    /// Shows what is written to parity: what is written to the slices that it covers. As many of its objects are hot as
    /// of the hottest of them.
    pub(in crate::fleet) fn show_parity(&mut self) {
        let Some(coding) = &self.coding else { return };
        let (slices, parity) = self.slices.split_at_mut(self.shape.slices as usize);
        for (shown, group) in parity.iter_mut().zip(&coding.groups) {
            let members = || group.members.iter().map(|member| &slices[member.index()]);
            shown.pages = members().map(|member| member.pages).sum();
            shown.popularity = members().map(|member| member.popularity).sum();
            shown.hot = members().map(|member| member.hot).max().unwrap_or(0);
        }
    }

    /// Returns the groups of slices that share parity. Those that slices join, or of which parity has yet to be
    /// written, are to stay where they are.
    pub(in crate::fleet) fn code_groups(&self) -> CodeGroups {
        let mut codes = CodeGroups::default();
        let Some(coding) = &self.coding else { return codes };
        let is_used = |group: &u32| coding.group(*group).all().next().is_some();
        for group in (0..coding.groups.len() as u32).filter(is_used) {
            let this = coding.group(group);
            let homes = coding.pieces(group).flat_map(|piece| self.ends(piece)).flatten().collect();
            let slices = this.all().chain([coding.parity_of(group)]);
            codes.add(slices, homes, this.joining.is_empty() && this.is_written());
        }
        codes
    }
}
