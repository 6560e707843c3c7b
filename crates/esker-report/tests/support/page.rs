//! Parts of pages.

/// The part of the page that a reader sees: without data, styles and scripts.
pub(crate) fn visible(page: &str) -> String {
    let mut rest = page;
    let mut seen = String::new();
    for (begin, end) in [("<style", "</style>"), ("<script type=\"application/json\" id=\"data\"", "</body>")] {
        let (before, after) = rest.split_once(begin).unwrap();
        seen.push_str(before);
        rest = after.split_once(end).unwrap().1;
    }
    seen + rest
}
