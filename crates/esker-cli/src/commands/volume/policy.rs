//! Which policies volumes take.

use esker_core::registry::names;
use esker_sim::{HYBRID_POLICIES, PUBLISHED_PLACEMENTS};

use crate::failure::Failure;

/// Refuses the policy of a hybrid in `table` if it only reproduces others' work: volumes do not know it.
pub(super) fn refuse_simulated(table: &toml::Table) -> Result<(), Failure> {
    let policy = table.get("policy");
    let name = policy.and_then(|policy| policy.as_str().or_else(|| policy.get("kind")?.as_str())).unwrap_or_default();
    let is_simulated = |name: &str| names(PUBLISHED_PLACEMENTS).any(|other| other == name);
    if !is_simulated(name) {
        return Ok(());
    }
    let others: Vec<&str> = names(&HYBRID_POLICIES).filter(|name| !is_simulated(name)).collect();
    Err(Failure::input(format!("the policy `{name}` is for simulations only, to compare with others' work"))
        .with_hint(format!("volumes take {}", others.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reproduces_the_work_of_others_is_refused() {
        let said = |text: &str| refuse_simulated(&text.parse().unwrap()).map_err(|failure| format!("{failure:?}"));
        for policy in ["'colloid'", "{ kind = 'most', tolerance = '5%' }", "'wardrop-published'"] {
            let error = said(&format!("policy = {policy}")).unwrap_err();
            assert!(error.contains("for simulations only") && error.contains("static-split, fast-first"), "{error}");
        }
        for settings in ["", "policy = 'wardrop'", "policy = 'wardorp'", "policy = { rest = 'colloid' }", "policy = 5"]
        {
            assert_eq!(said(settings), Ok(()), "{settings}");
        }
    }
}
