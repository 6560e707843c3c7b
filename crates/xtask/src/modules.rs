//! The module tree of a crate, and which file imports from which.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

use crate::manifest::Package;
use crate::syntax::{attributes, is_for_tests};
use crate::workspace::Workspace;

/// The longest chain of re-exports that is followed. A circle would not compile.
const REEXPORTS_MAX: usize = 32;

/// A module in a file of its own, or inside a file.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) parent: Option<usize>,
    /// Whether it is only compiled for tests.
    pub(crate) is_test: bool,
    children: BTreeMap<String, usize>,
    /// Names declared in the module.
    items: BTreeSet<String>,
    /// Names that `use` brings in: from the local name to the path.
    names: BTreeMap<String, Vec<String>>,
    /// The modules of `use module::*`.
    globs: Vec<Vec<String>>,
    pub(crate) imports: Vec<Import>,
}

/// A path to something in the same crate, in code other than tests: from a private `use`, or written out.
#[derive(Debug)]
pub(crate) struct Import {
    path: Vec<String>,
    pub(crate) line: usize,
}

/// All modules of a crate; parents come before their children.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
}

/// The files of a crate's `src` that are only compiled for tests.
pub(crate) fn files_of_tests(workspace: &Workspace, package: &Package) -> BTreeSet<String> {
    let trees = trees(workspace, package);
    let files = |is_test: bool| {
        let modules = trees.iter().flat_map(|tree| &tree.modules).filter(move |module| module.is_test == is_test);
        modules.map(|module| module.file.clone()).collect::<BTreeSet<_>>()
    };
    files(true).difference(&files(false)).cloned().collect()
}

/// The module trees of a crate's library and program.
pub(crate) fn trees(workspace: &Workspace, package: &Package) -> Vec<Tree> {
    let roots = ["src/lib.rs", "src/main.rs"].map(|root| format!("{}/{root}", package.folder));
    roots.iter().filter_map(|root| Tree::of_root(workspace, root)).collect()
}

impl Tree {
    /// The tree with root file `root`, if that file exists.
    pub(crate) fn of_root(workspace: &Workspace, root: &str) -> Option<Self> {
        let syntax = workspace.files.get(root)?.syntax.as_ref()?;
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut tree = Self::default();
        tree.add("crate", root, folder, None, false, &syntax.items, workspace);
        Some(tree)
    }

    /// Adds a module whose child modules have their files in `folder`.
    #[expect(clippy::too_many_arguments, reason = "what a module is, once")]
    fn add(
        &mut self,
        name: &str,
        file: &str,
        folder: &str,
        parent: Option<usize>,
        is_test: bool,
        items: &[Item],
        workspace: &Workspace,
    ) -> usize {
        let at = self.modules.len();
        self.modules.push(Module {
            name: name.to_owned(),
            file: file.to_owned(),
            parent,
            is_test,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            names: BTreeMap::new(),
            globs: Vec::new(),
            imports: Vec::new(),
        });
        for item in items {
            if let Item::Mod(child) = item {
                let is_test = is_test || is_for_tests(&child.attrs);
                self.add_child(at, file, folder, is_test, child, workspace);
            } else {
                self.modules[at].read(item);
            }
        }
        at
    }

    fn add_child(
        &mut self,
        parent: usize,
        file: &str,
        folder: &str,
        is_test: bool,
        child: &syn::ItemMod,
        workspace: &Workspace,
    ) {
        let name = child.ident.to_string();
        let below = format!("{folder}/{name}");
        let added = if let Some((_, items)) = &child.content {
            self.add(&name, file, &below, Some(parent), is_test, items, workspace)
        } else {
            let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
            // A file that another module includes by `#[path]` is read there, if at all.
            let Some(found) = candidates.iter().find_map(|path| workspace.files.get(path)) else { return };
            let Some(syntax) = &found.syntax else { return };
            self.add(&name, &found.path, &below, Some(parent), is_test, &syntax.items, workspace)
        };
        self.modules[parent].children.insert(name, added);
    }

    /// The module in which the target of `import` is declared, or which is the target; `None` if it is in another
    /// crate.
    pub(crate) fn target(&self, from: usize, import: &Import) -> Option<usize> {
        self.resolve(from, &import.path, REEXPORTS_MAX)
    }

    fn resolve(&self, from: usize, path: &[String], limit: usize) -> Option<usize> {
        let (mut at, mut rest) = self.start(from, path)?;
        while let [name, further @ ..] = rest {
            let module = &self.modules[at];
            if let Some(&child) = module.children.get(name) {
                (at, rest) = (child, further);
            } else if module.items.contains(name) || limit == 0 {
                break;
            } else if let Some(reexported) = module.names.get(name) {
                let whole = [reexported, further].concat();
                return self.resolve(at, &whole, limit - 1);
            } else {
                let globs = module.globs.iter().filter_map(|glob| self.resolve(at, glob, limit - 1));
                let declares = |&glob: &usize| {
                    let glob = &self.modules[glob];
                    glob.items.contains(name) || glob.children.contains_key(name) || glob.names.contains_key(name)
                };
                match globs.into_iter().find(declares) {
                    Some(glob) => at = glob,
                    None => break,
                }
            }
        }
        Some(at)
    }

    /// The module where `path` begins, and the rest of the path.
    fn start<'p>(&self, from: usize, path: &'p [String]) -> Option<(usize, &'p [String])> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent?,
            _ if self.modules[from].children.contains_key(first) => return Some((from, path)),
            _ => return None,
        };
        while let [name, further @ ..] = rest
            && name == "super"
        {
            (at, rest) = (self.modules[at].parent?, further);
        }
        Some((at, rest))
    }
}

impl Module {
    /// Adds the names that an item declares, and those that it imports.
    fn read(&mut self, item: &Item) {
        if let Some(name) = declared(item) {
            self.items.insert(name);
        }
        let in_test = self.is_test || is_for_tests(attributes(item));
        if let Item::Use(import) = item {
            let is_private = matches!(import.vis, Visibility::Inherited);
            let mut leaves = Vec::new();
            flatten(&import.tree, &mut Vec::new(), &mut leaves);
            for leaf in leaves {
                if is_private && !in_test {
                    self.imports.push(Import { path: leaf.path.clone(), line: leaf.line });
                }
                match leaf.name {
                    Some(name) => _ = self.names.insert(name, leaf.path),
                    None => self.globs.push(leaf.path),
                }
            }
        } else if !in_test {
            Paths { imports: &mut self.imports }.visit_item(item);
        }
    }
}

fn declared(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// One name in a `use`.
struct Leaf {
    path: Vec<String>,
    /// `None` for `*`.
    name: Option<String>,
    line: usize,
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    let line = tree.span().start().line;
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, leaves);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, leaves)),
        UseTree::Glob(_) => leaves.push(Leaf { path: before.clone(), name: None, line }),
        UseTree::Name(name) => leaves.push(leaf(before, &name.ident, &name.ident, line)),
        UseTree::Rename(name) => leaves.push(leaf(before, &name.ident, &name.rename, line)),
    }
}

fn leaf(before: &[String], ident: &syn::Ident, name: &syn::Ident, line: usize) -> Leaf {
    let mut path = before.to_vec();
    // `use a::{self}` is `use a`.
    if ident != "self" || before.is_empty() {
        path.push(ident.to_string());
    }
    let name = if name == "self" { path.last().cloned() } else { Some(name.to_string()) };
    Leaf { path, name, line }
}

/// Collects paths into this crate, from code other than tests.
struct Paths<'a> {
    imports: &'a mut Vec<Import>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.imports.push(Import { path: names, line: path.span().start().line });
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        self.imports.extend(leaves.into_iter().map(|leaf| Import { path: leaf.path, line: leaf.line }));
    }

    // `pub(super)` and `pub(in path)` are not imports.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}
