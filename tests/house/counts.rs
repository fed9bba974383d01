//! How large the parts of the house are, and which files import each other in a circle.
//!
//! `cargo test --test house counts -- --nocapture` prints the numbers. They are read from the syntax of
//! the sources, without tests: an import counts for the file that defines what is imported, whatever
//! re-exports it on the way.

#![expect(clippy::print_stdout, reason = "the numbers are asked for by `--nocapture`")]
#![expect(clippy::wildcard_enum_match_arm, reason = "the syntax may grow: its enums are open")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use syn::spanned::Spanned as _;
use syn::visit::Visit;
use syn::{Item, UseTree};

use super::architecture::sources;

/// Types and files that are shown.
const SHOWN: usize = 10;

/// Circles of more than two files, by the first of them: the list may become shorter.
const CIRCLES: &[(&str, usize)] = &[("xios_ep/library/between.rs", 9)];
/// Circles of what lies beside one another in a folder, folders among them: this list, too.
const CIRCLES_OF_FOLDERS: &[&[&str]] = &[];

/// Files in which the functions of one type may stand.
const MOST_FILES: usize = 4;

/// Types whose functions stand in more files, by the file of the type: the list may become shorter.
const SPREAD: &[(&str, usize)] =
    &[("runtime/untimed.rs World", 11), ("xios_ep/library/thread.rs Endpoint", 9)];

/// A file as a module.
struct Module {
    file: String,
    syntax: syn::File,
}

/// The sources as modules, by their paths: `runtime::timed`.
struct House {
    modules: BTreeMap<Vec<String>, Module>,
    /// What a module defines or re-exports: the path that a name stands for.
    names: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
    /// Modules whose names another one re-exports as they are.
    globs: BTreeMap<Vec<String>, Vec<Vec<String>>>,
}

impl House {
    fn read() -> Self {
        let mut modules = BTreeMap::new();
        for source in sources().into_iter().filter(|source| !source.is_test()) {
            let syntax = syn::parse_file(&source.text).expect("a source file that compiles");
            modules.insert(module_of(&source.path), Module { file: source.path, syntax });
        }
        let mut house = Self { modules, names: BTreeMap::new(), globs: BTreeMap::new() };
        let paths: Vec<Vec<String>> = house.modules.keys().cloned().collect();
        for path in paths {
            house.define(&path);
        }
        house
    }

    fn define(&mut self, path: &[String]) {
        let mut names = BTreeMap::new();
        let mut globs = Vec::new();
        for item in self.modules[path].syntax.items.iter().filter(|item| !is_test(attributes(item)))
        {
            if let Some(name) = name_of(item) {
                names.insert(name.clone(), [path, &[name]].concat());
            }
            if let Item::Use(item) = item {
                flatten(&item.tree, &mut Vec::new(), &mut |segments, name| {
                    let full = self.from(path, segments);
                    match name {
                        Some(name) => drop(names.insert(name, full)),
                        None => globs.push(full),
                    }
                });
            }
        }
        self.names.insert(path.to_vec(), names);
        self.globs.insert(path.to_vec(), globs);
    }

    /// A path as it is written in a module, from the root.
    fn from(&self, module: &[String], segments: &[String]) -> Vec<String> {
        let mut base: Vec<String> = module.to_vec();
        let mut rest = segments;
        match segments.first().map(String::as_str) {
            Some("crate") => {
                base.truncate(1);
                rest = &segments[1..];
            }
            Some("self") => rest = &segments[1..],
            Some("super") => {
                while rest.first().is_some_and(|first| first == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            Some(first) => {
                let child = [module, &[first.to_owned()]].concat();
                let is_layer = self.modules.contains_key(&vec![first.to_owned()]);
                if is_layer && !self.modules.contains_key(&child) {
                    base.clear();
                }
            }
            None => {}
        }
        base.extend_from_slice(rest);
        base
    }

    /// The file that defines what a path names; `None` where it is no part of the house.
    fn defining(&self, path: &[String], depth: usize) -> Option<&str> {
        let long = (1..=path.len()).rev().find(|end| self.modules.contains_key(&path[..*end]))?;
        let module = &path[..long];
        let Some(name) = path.get(long) else { return Some(&self.modules[module].file) };
        if depth == 0 {
            return None;
        }
        if let Some(to) = self.names[module].get(name) {
            if to[..] == path[..=long] {
                return Some(&self.modules[module].file);
            }
            return self.defining(&[&to[..], &path[long + 1..]].concat(), depth - 1);
        }
        let globs = self.globs[module].iter();
        let mut through =
            globs.filter_map(|glob| self.defining(&[&glob[..], &path[long..]].concat(), depth - 1));
        through.next()
    }

    /// Which files import which.
    fn imports(&self) -> BTreeSet<(&str, &str)> {
        let mut all = BTreeSet::new();
        for (path, module) in &self.modules {
            let mut used = Used::default();
            used.visit_file(&module.syntax);
            for segments in used.paths {
                let to = self.defining(&self.from(path, &segments), SHOWN);
                all.extend(to.filter(|to| *to != module.file).map(|to| (&*module.file, to)));
            }
        }
        all
    }
}

/// The module of a file below `src/`.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs");
    let path = path.trim_end_matches("/lib").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// Every path that code names, test modules left out.
#[derive(Default)]
struct Used {
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Used {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        flatten(&item.tree, &mut Vec::new(), &mut |segments, _| self.paths.push(segments.to_vec()));
    }

    // What may see an item is not imported by it.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|one| one.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }
}

/// Each path of a use with the name that it gets; none for all names of a module.
fn flatten(
    tree: &UseTree,
    before: &mut Vec<String>,
    each: &mut impl FnMut(&[String], Option<String>),
) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, each);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, each)),
        UseTree::Glob(_) => each(before, None),
        UseTree::Name(syn::UseName { ident }) | UseTree::Rename(syn::UseRename { ident, .. }) => {
            let name = if let UseTree::Rename(to) = tree { &to.rename } else { ident };
            if ident == "self" {
                let name = before.last().cloned();
                each(before, name);
            } else {
                before.push(ident.to_string());
                each(before, Some(name.to_string()));
                before.pop();
            }
        }
    }
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    };
    attributes.iter().any(is_test)
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Mod(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The circles of more than one file, the largest first.
fn circles<'a>(imports: &BTreeSet<(&'a str, &'a str)>) -> Vec<Vec<&'a str>> {
    let graph: DiGraphMap<&str, ()> = imports.iter().copied().collect();
    let mut all = tarjan_scc(&graph);
    all.retain(|circle| circle.len() > 1);
    for circle in &mut all {
        circle.sort_unstable();
    }
    all.sort_by_key(|circle| (usize::MAX - circle.len(), circle[0]));
    all
}

/// The circles among what lies in one folder, where a folder has a part in them.
fn circles_of_folders<'a>(imports: &BTreeSet<(&'a str, &'a str)>) -> Vec<Vec<String>> {
    let mut siblings: BTreeSet<(String, String)> = BTreeSet::new();
    for (from, to) in imports {
        let [from, to] = [module_of(from), module_of(to)];
        let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        if common < from.len() && common < to.len() {
            siblings.insert((from[..=common].join("/"), to[..=common].join("/")));
        }
    }
    let edges = siblings.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let is_folder =
        |path: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path).is_dir();
    let all = circles(&edges).into_iter();
    let with_folders = all.filter(|circle| circle.iter().any(|part| is_folder(part)));
    with_folders.map(|circle| circle.into_iter().map(str::to_owned).collect()).collect()
}

/// A type, what it has and where its functions stand.
#[derive(Default)]
struct Noun {
    fields: usize,
    files: BTreeSet<String>,
    functions: usize,
}

fn nouns(house: &House) -> BTreeMap<String, Noun> {
    let mut all: BTreeMap<String, Noun> = BTreeMap::new();
    for (path, module) in &house.modules {
        let items = module.syntax.items.iter().filter(|item| !is_test(attributes(item)));
        for item in items {
            let home = |name: &syn::Ident| {
                let found = house.defining(&house.from(path, &[name.to_string()]), SHOWN);
                format!("{} {name}", found.unwrap_or(&module.file))
            };
            match item {
                Item::Struct(item) => {
                    all.entry(home(&item.ident)).or_default().fields = item.fields.len();
                }
                Item::Impl(item) if item.trait_.is_none() => {
                    let syn::Type::Path(of) = &*item.self_ty else { continue };
                    let Some(name) = of.path.segments.last() else { continue };
                    let noun = all.entry(home(&name.ident)).or_default();
                    noun.files.insert(module.file.clone());
                    let is_fn = |item: &&syn::ImplItem| matches!(item, syn::ImplItem::Fn(_));
                    noun.functions += item.items.iter().filter(is_fn).count();
                }
                _ => {}
            }
        }
    }
    all
}

/// The lines of every function.
#[derive(Default)]
struct Functions {
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.lines.push(lines_of(item.span()));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.lines.push(lines_of(item.span()));
    }
}

fn lines_of(span: proc_macro2::Span) -> usize {
    span.end().line + 1 - span.start().line
}

/// The middle and the greatest of some numbers.
fn spread(mut all: Vec<usize>) -> String {
    all.sort_unstable();
    let at = |part: usize| all[(all.len() - 1) * part / 100];
    format!("{} of them, median {}, 90 % up to {}, greatest {}", all.len(), at(50), at(90), at(100))
}

#[test]
fn files_import_each_other_in_the_known_circles_only() {
    let house = House::read();
    let imports = house.imports();
    let all = circles(&imports);
    for circle in &all {
        println!("circle of {} files: {}", circle.len(), circle.join(", "));
    }
    let large = all.iter().filter(|circle| circle.len() > 2);
    let large: Vec<(&str, usize)> = large.map(|circle| (circle[0], circle.len())).collect();
    assert_eq!(large, CIRCLES, "the first file of each circle of more than two, and its files");
    let of_folders = circles_of_folders(&imports);
    for circle in &of_folders {
        println!("circle of folders: {}", circle.join(", "));
    }
    assert_eq!(of_folders, CIRCLES_OF_FOLDERS);
}

#[test]
fn a_type_stands_in_few_files() {
    let house = House::read();
    let all = nouns(&house);
    let files = all.iter().map(|(name, noun)| (name.as_str(), noun.files.len()));
    let spread: Vec<(&str, usize)> = files.filter(|(_, files)| *files > MOST_FILES).collect();
    assert_eq!(spread, SPREAD, "each type with functions in more than {MOST_FILES} files");
}

#[test]
fn the_counts_of_the_house() {
    let house = House::read();
    let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut functions = Functions::default();
    let all = sources();
    for source in all.iter().filter(|source| !source.is_test()) {
        let count = source.text_before_tests().lines().count();
        lines.entry(source.layer()).or_default().push(count);
    }
    for module in house.modules.values() {
        functions.visit_file(&module.syntax);
    }
    for (layer, files) in &lines {
        println!(
            "{layer:<12} {:>6} lines in {:>3} files",
            files.iter().sum::<usize>(),
            files.len()
        );
    }
    let files: Vec<usize> = lines.into_values().flatten().collect();
    println!("src          {:>6} lines without tests", files.iter().sum::<usize>());
    println!("files: {}", spread(files));
    println!("functions: {}", spread(functions.lines));
    let mut nouns: Vec<(String, Noun)> = nouns(&house).into_iter().collect();
    nouns.sort_by_key(|(name, noun)| {
        (usize::MAX - noun.files.len(), usize::MAX - noun.functions, name.clone())
    });
    for (name, noun) in nouns.iter().take(SHOWN) {
        println!(
            "{name}: {} fields, {} functions in {} files",
            noun.fields,
            noun.functions,
            noun.files.len()
        );
    }
    let most = nouns.first().expect("there are types").1.files.len();
    assert!(most > 1 && nouns.len() > 500, "types and what they do are found");
}
