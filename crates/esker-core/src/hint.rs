//! Hints: an error states what is wrong and where, its hint states what to do.

/// An error with an optional remedy. The command line prints it on a line of its own, after `hint:`.
pub trait Hint {
    /// What the user can do, as a sentence without a full stop.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Returns true if the work failed (such as on a full disk), false if the request itself was wrong: exit status 1
    /// or 2.
    fn work_failed(&self) -> bool {
        false
    }
}

/// The known name nearest to `found`, if one is near enough to be what the user meant. Capital letters and blanks
/// around `found` make no difference.
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.trim().to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&found, &name.to_lowercase()), name))
        .filter(|(distance, name)| {
            let length = name.len().max(found.len());
            // Names without a common letter, such as 5 and 0, are never near, however short they are.
            *distance <= length.div_ceil(3) && *distance < length
        })
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn a_near_miss_finds_its_name_and_a_far_one_nothing() {
        assert_eq!(did_you_mean("page_progam", ["page_read", "page_program"]), Some("page_program"));
        assert_eq!(did_you_mean("5", ["0"]), None);
        assert_eq!(did_you_mean(" LRU", ["fifo", "lru"]), Some("lru"));
        assert_eq!(did_you_mean("colour", ["page_read", "page_program"]), None);
    }
}
