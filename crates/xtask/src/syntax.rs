//! Questions about Rust syntax that several rules ask.

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

/// Whether an item with these attributes is only compiled for tests: by `#[test]`, or by a `#[cfg(...)]` that is only
/// true in tests.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|meta| needs_test(&meta))
    })
}

fn needs_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else { return condition.path().is_ident("test") };
    let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else { return false };
    if list.path.is_ident("all") {
        parts.iter().any(needs_test)
    } else {
        list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test)
    }
}

/// The attributes of an item; empty if it has none.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether a file is not part of what a crate builds for its users.
pub(crate) fn is_test_file(path: &str) -> bool {
    ["/tests/", "/benches/", "/examples/"].iter().any(|folder| path.contains(folder) && !path.contains("/src/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_code_that_is_built_without_them() {
        let verdict = |text: &str| is_for_tests(attributes(&syn::parse_str::<Item>(text).unwrap()));
        for test in ["#[cfg(test)] mod a;", "#[test] fn a() {}", "#[cfg(all(unix, test))] fn a() {}"] {
            assert!(verdict(test), "{test}");
        }
        for code in ["#[cfg(not(test))] mod a;", "#[cfg(any(test, debug_assertions))] fn a() {}", "fn a() {}"] {
            assert!(!verdict(code), "{code}");
        }
    }
}
