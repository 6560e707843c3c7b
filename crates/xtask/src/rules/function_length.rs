//! Checks that functions fit on a screen. Lines are counted from `fn` to the closing brace, without documentation.
//! Functions inside a macro call (`proptest!`) are not checked: they are no Rust code before the macro has run.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::workspace::Workspace;

const LINES_MAX: usize = 60;

pub(super) const RULE: Rule =
    Rule { name: "function-length", demands: "at most 60 lines in a function, or a reason", check };

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, syntax) in workspace.rust() {
        let mut functions = Functions { path: &file.path, owner: String::new(), findings: &mut findings };
        functions.visit_file(syntax);
    }
    findings
}

struct Functions<'a> {
    path: &'a str,
    /// `Type::` inside an `impl` of a type.
    owner: String,
    findings: &'a mut Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line + 1 - first;
        if lines > LINES_MAX {
            let name = format!("{}{}", self.owner, signature.ident);
            let message =
                format!("`{name}` has {lines} lines, over {LINES_MAX}; give its steps functions of their own");
            self.findings.push(Finding::new(self.path, first, message).about(&name));
        }
    }

    fn within(&mut self, owner: String, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = before;
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| format!("{}::", segment.ident)),
            _ => None,
        };
        self.within(owner.unwrap_or_default(), |functions| visit::visit_item_impl(functions, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.within(format!("{}::", item.ident), |functions| visit::visit_item_trait(functions, item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, Option<String>)> {
        let workspace = Workspace::of_files(&[("a.rs", text)]);
        check(&workspace, &Settings::default()).into_iter().map(|finding| (finding.line, finding.item)).collect()
    }

    #[test]
    fn a_function_may_have_60_lines_its_documentation_apart() {
        let body = |lines: usize| format!("/// A.\n///\n#[inline]\nfn f() {{\n{}}}\n", "g();\n".repeat(lines));
        assert_eq!(found(&body(58)), []);
        assert_eq!(found(&body(59)), [(4, Some("f".to_owned()))]);
    }

    #[test]
    fn methods_are_named_with_their_type() {
        let body = "g();\n".repeat(60);
        let text =
            format!("impl<T> Display for Long<T> {{ fn fmt(&self) {{ {body} }} }}\ntrait T {{ fn f() {{ {body} }} }}");
        assert_eq!(found(&text), [(1, Some("Long::fmt".to_owned())), (62, Some("T::f".to_owned()))]);
    }

    #[test]
    fn braces_in_strings_and_comments_are_none() {
        assert_eq!(found("fn f() {\n    // {\n    g(\"{{{\");\n}\n"), []);
    }
}
