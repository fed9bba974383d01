//! The topology that hwloc found, as numbers of a machine.
//!
//! ```text
//!   <topology> ─ <object type="Machine"> ─ Package ─ NUMANode, L3Cache ─ L2Cache ─ L1Cache ─ Core ─ PU
//!                                        └ Bridge ─ PCIDev ─ OSDev
//! ```
//!
//! A file has counts, sizes and places; how fast a part is, it does not say, but for the bus of
//! the adapter. All other numbers stay those of the machine that the fit begins with.
//!
//! Source: hwloc 2 and 3, `hwloc2.dtd`. Left out: NUMA nodes below a package, memory-side caches; packages, cores
//! and caches that differ from each other. Noticeable as remarks: of what the file does not have it says nothing,
//! and no object stands for others that are unlike it without one.

use std::collections::BTreeSet;
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

use experiment::library;
use experiment::shipped::Shipped;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, quote};
use form::machine::{Confidence, KnownNumber, Machine};
use hardware::profile::{Parameter, ProfileBuilder, Value};
use units::Bytes;

/// The most bytes and the most nodes of a file.
const MAX_BYTES: u64 = 16 << 20;
const MAX_NODES: u32 = 500_000;
/// PCI classes of network adapters: Ethernet and InfiniBand; of displays and accelerators.
const NETWORK: [&str; 2] = ["0200", "0207"];
const GPU: [&str; 3] = ["0300", "0302", "1200"];
/// The name of hwloc 2 for an RDMA device among `OSDev`, and the bit of hwloc 3.
const OPEN_FABRICS: &str = "3";
const OPEN_FABRICS_BIT: u32 = 32;

/// The topology that a file describes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Path, value, and where it was seen.
    pub numbers: Vec<(&'static str, Value, String)>,
    /// Facts that the numbers of a machine cannot express.
    pub remarks: Vec<String>,
}

/// Reads a file; `None` after a report.
pub fn read(diagnostics: &mut Diagnostics, shipped: Shipped, path: &Path) -> Option<Topology> {
    let bytes = library::read(diagnostics, shipped, path, MAX_BYTES)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let source = diagnostics.add_source(path.display().to_string(), text.clone());
    match parse(&text) {
        Ok(topology) => Some(topology),
        Err(wrong) => {
            diagnostics.push(wrong.diagnostic(source));
            None
        }
    }
}

/// A mistake in a file, and its place.
#[derive(Debug)]
struct Wrong {
    at: usize,
    found: String,
    allowed: &'static str,
}

impl Wrong {
    fn diagnostic(self, source: SourceId) -> Diagnostic {
        let at = u32::try_from(self.at).expect("a file has at most 16 MiB");
        let span = Span { source, start: at, end: at + 1 };
        Diagnostic::error(&codes::TOPOLOGY_FILE, span, "", self.found, self.allowed)
    }
}

fn parse(text: &str) -> Result<Topology, Wrong> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..Default::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| Wrong {
        at: offset(text, error.pos()),
        found: quote(&error.to_string()),
        allowed: "XML as `lstopo --of xml` writes it is needed",
    })?;
    let root = document.root_element();
    let wrong = |node: Node<'_, '_>, found: String, allowed| {
        Err(Wrong { at: node.range().start, found, allowed })
    };
    if root.tag_name().name() != "topology" {
        let found = format!("an element `{}`", quote(root.tag_name().name()));
        return wrong(root, found, "`topology` is needed: `lstopo --of xml FILE` writes it");
    }
    if root.attribute("version").is_some_and(|version| version.starts_with('1')) {
        let found = "a topology of hwloc 1".to_owned();
        return wrong(
            root,
            found,
            "one of hwloc 2 is needed: `lstopo --of xml` of today writes it",
        );
    }
    let objects =
        Objects { all: root.descendants().filter(|n| n.has_tag_name("object")).collect() };
    if objects.of("Core").is_empty() || objects.of("PU").is_empty() {
        let found = "no object of type `Core` with one of type `PU`".to_owned();
        return wrong(root, found, "cores and their hardware threads are needed");
    }
    let mut topology = Topology::default();
    let in_bits = root.attribute("version").is_some_and(|version| !version.starts_with('2'));
    cores(&objects, &mut topology)?;
    caches(&objects, &mut topology)?;
    memory(&objects, &mut topology)?;
    devices(&objects, in_bits, &mut topology);
    Ok(topology)
}

/// The byte of a position.
fn offset(text: &str, at: roxmltree::TextPos) -> usize {
    let row = usize::try_from(at.row.saturating_sub(1)).unwrap_or(0);
    let column = usize::try_from(at.col.saturating_sub(1)).unwrap_or(0);
    let before: usize = text.split_inclusive('\n').take(row).map(str::len).sum();
    let line = &text[before.min(text.len())..];
    let place = line.char_indices().nth(column).map_or(line.len(), |(place, _)| place);
    (before + place).min(text.len().saturating_sub(1))
}

/// Every object of a file.
struct Objects<'a, 'input> {
    all: Vec<Node<'a, 'input>>,
}

impl<'a, 'input> Objects<'a, 'input> {
    fn of(&self, kind: &str) -> Vec<Node<'a, 'input>> {
        self.all.iter().filter(|node| is(**node, kind)).copied().collect()
    }
}

fn is(node: Node<'_, '_>, kind: &str) -> bool {
    node.attribute("type") == Some(kind)
}

/// Objects of a kind inside another one.
fn inside(node: Node<'_, '_>, kind: &str) -> usize {
    node.descendants().filter(|below| is(*below, kind)).count()
}

impl Topology {
    fn put(&mut self, path: &'static str, text: &str, seen: &str) {
        let kind = Parameter::find(path).expect("a parameter of the table").kind;
        let value = kind.parse(text).expect("counts and sizes that were read are values");
        self.numbers.push((path, value, seen.to_owned()));
    }
}

/// A whole number of an attribute, with a limit that keeps sums in their range.
fn whole(node: Node<'_, '_>, attribute: &str) -> Result<Option<u64>, Wrong> {
    let Some(text) = node.attribute(attribute) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number <= 1_u64 << 50);
    number.map(Some).ok_or_else(|| Wrong {
        at: node.range().start,
        found: format!("`{attribute}` is `{}`", quote(text)),
        allowed: "a whole number of bytes up to 1 PiB is needed",
    })
}

fn cores(objects: &Objects<'_, '_>, topology: &mut Topology) -> Result<(), Wrong> {
    let (packages, cores) = (objects.of("Package"), objects.of("Core"));
    let sockets = packages.len().max(1);
    let each: Vec<usize> = packages.iter().map(|package| inside(*package, "Core")).collect();
    let most = each.iter().copied().max().unwrap_or(cores.len());
    let threads = cores.iter().map(|core| inside(*core, "PU")).max().unwrap_or(1).max(1);
    if most == 0 {
        let package = packages[0].range().start;
        let found = "packages without cores".to_owned();
        return Err(Wrong { at: package, found, allowed: "cores inside packages are needed" });
    }
    topology.put("cpu.sockets", &sockets.to_string(), "objects `Package`");
    topology.put("cpu.cores_per_socket", &most.to_string(), "objects `Core` of a package");
    topology.put("cpu.smt", &threads.to_string(), "objects `PU` of a core");
    if each.iter().any(|count| *count != most) {
        topology.remarks.push("packages differ in their cores; the largest one counts".to_owned());
    }
    let fewer = cores.iter().filter(|core| inside(**core, "PU").max(1) < threads).count();
    if fewer > 0 {
        let (all, there) = (most * sockets * threads, objects.of("PU").len());
        topology.remarks.push(format!(
            "cores differ in their hardware threads: {fewer} of {} have fewer than {threads}; the largest one counts, \
             which makes {all} of {there}",
            cores.len()
        ));
    }
    Ok(())
}

fn caches(objects: &Objects<'_, '_>, topology: &mut Topology) -> Result<(), Wrong> {
    let levels =
        [("L1Cache", "cache.l1d_size"), ("L2Cache", "cache.l2_size"), ("L3Cache", "cache.l3_size")];
    let mut shared = 1;
    let packages = objects.of("Package").len().max(1);
    let is_told = |kind: &str| !objects.of(kind).is_empty();
    for (kind, path) in levels {
        let all = objects.of(kind);
        let Some(cache) = all.first() else {
            if kind == "L3Cache" && is_told("L1Cache") && is_told("L2Cache") {
                topology.put(path, "0 B", "no object `L3Cache` beside those of both other levels");
            } else {
                topology.remarks.push(format!("no object `{kind}`: that of the start stays"));
            }
            continue;
        };
        let Some(size) = whole(*cache, "cache_size")?.filter(|size| *size > 0) else {
            topology.remarks.push(format!("the size of the {kind} is not told"));
            continue;
        };
        topology.put(path, &format!("{size} B"), &format!("`cache_size` of the first `{kind}`"));
        let mut others = BTreeSet::new();
        for other in &all {
            others.extend(whole(*other, "cache_size")?.filter(|other| *other != size));
        }
        if !others.is_empty() {
            let sizes = others.iter().map(|size| Bytes::new(*size).to_string());
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            topology.remarks.push(format!(
                "caches of the kind `{kind}` differ: the first one counts, of {}, and others have {sizes}",
                Bytes::new(size)
            ));
        }
        if kind == "L3Cache" && all.len() > packages {
            topology.remarks.push(format!(
                "{} caches of the kind `{kind}` in {packages} packages: the size is that of one, which a core reaches",
                all.len()
            ));
        }
        let line = whole(*cache, "cache_linesize")?.filter(|line| *line > 0);
        if kind == "L1Cache"
            && let Some(line) = line
        {
            topology.put("cache.line", &format!("{line} B"), "`cache_linesize` of `L1Cache`");
        }
        let users = inside(*cache, "Core");
        // A cache of some cores of a package makes them a tile.
        if kind != "L1Cache" && users > 1 && all.len() > packages && shared == 1 {
            shared = users;
        }
    }
    if !is_told("L2Cache") && !is_told("L3Cache") {
        // Which cores share one, nothing says.
        return Ok(());
    }
    let band = Parameter::find("cpu.cores_per_tile").expect("a parameter").plausible();
    if u64::try_from(shared).is_ok_and(|shared| shared <= band.1.steps()) {
        topology.put("cpu.cores_per_tile", &shared.to_string(), "cores of one shared cache");
    } else {
        topology.remarks.push(format!("{shared} cores share a cache: no tile is that large"));
    }
    Ok(())
}

fn memory(objects: &Objects<'_, '_>, topology: &mut Topology) -> Result<(), Wrong> {
    let nodes = objects.of("NUMANode");
    let mut bytes = 0_u64;
    for node in &nodes {
        bytes = bytes.saturating_add(whole(*node, "local_memory")?.unwrap_or(0));
    }
    if bytes > 0 {
        topology.put("mem.capacity", &format!("{bytes} B"), "`local_memory` of all `NUMANode`");
    }
    let pages = nodes.iter().flat_map(Node::children);
    let pages = pages.filter(|child| child.has_tag_name("page_type"));
    let mut smallest: Option<u64> = None;
    for page in pages {
        let size = whole(page, "size")?.filter(|size| *size > 0);
        smallest = smallest.into_iter().chain(size).min();
    }
    if let Some(size) = smallest {
        topology.put("os.page_size", &format!("{size} B"), "smallest `page_type`");
    }
    let packages = objects.of("Package").len().max(1);
    if nodes.len() > packages {
        let count = nodes.len();
        topology
            .remarks
            .push(format!("{count} NUMA nodes in {packages} packages count as one each"));
    }
    Ok(())
}

/// Whether an object of the system is an RDMA device: a number in hwloc 2, a set of bits in hwloc 3.
fn is_fabric(device: Node<'_, '_>, in_bits: bool) -> bool {
    let Some(kind) = device.attribute("osdev_type").filter(|_| is(device, "OSDev")) else {
        return false;
    };
    if !in_bits {
        return kind == OPEN_FABRICS;
    }
    let bits = match kind.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => kind.parse(),
    };
    bits.is_ok_and(|bits| bits & OPEN_FABRICS_BIT != 0)
}

/// The network adapter with the fastest link, and how many GPUs there are; `in_bits` as [`is_fabric`] has it.
fn devices(objects: &Objects<'_, '_>, in_bits: bool, topology: &mut Topology) {
    let class = |node: &Node<'_, '_>| {
        node.attribute("pci_type").and_then(|t| t.get(..4)).map(str::to_owned)
    };
    let of = |classes: &[&str]| -> Vec<Node<'_, '_>> {
        let has = |node: &Node<'_, '_>| class(node).is_some_and(|c| classes.contains(&c.as_str()));
        objects.of("PCIDev").into_iter().filter(has).collect()
    };
    let rdma = |node: &Node<'_, '_>| node.descendants().any(|below| is_fabric(below, in_bits));
    let (mut adapters, others): (Vec<_>, Vec<_>) =
        of(&NETWORK).into_iter().partition(|node| rdma(node));
    let speed = |node: &Node<'_, '_>| -> f64 {
        let text = node.attribute("pci_link_speed").unwrap_or("0");
        text.parse().ok().filter(|speed: &f64| speed.is_finite()).unwrap_or(0.0)
    };
    adapters.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
    match adapters.first() {
        None if others.is_empty() => {
            topology.remarks.push("no adapter with RDMA: that of the start stays".to_owned());
        }
        None => topology.remarks.push(format!(
            "no adapter with a device of OpenFabrics (RDMA), as those of Slingshot and EFA have none either: that of \
             the start stays, and none of {} adapters for a network",
            others.len()
        )),
        Some(adapter) => {
            let name = adapter.attribute("pci_busid").unwrap_or("an adapter");
            // In megabytes: a text with more digits than a rate holds is refused.
            let rate = format!("{:.0} MB/s", speed(adapter) * 1000.0);
            if (0.05..1000.0).contains(&speed(adapter)) {
                topology.put("pcie.raw_bw", &rate, &format!("`pci_link_speed` of {}", quote(name)));
            }
            topology.put(
                "hca.socket",
                &socket(*adapter, objects).to_string(),
                "where its bridge hangs",
            );
        }
    }
    let gpus = of(&GPU).len();
    if gpus > 0 {
        topology.remarks.push(format!("{gpus} GPUs: see `gpu.*` of the start, and its `per_node`"));
    }
}

/// The package that a device hangs below; those of the machine as a whole count for the first.
fn socket(device: Node<'_, '_>, objects: &Objects<'_, '_>) -> usize {
    let package = device.ancestors().find(|above| is(*above, "Package"));
    let place =
        package.and_then(|package| objects.of("Package").iter().position(|p| *p == package));
    place.unwrap_or(0)
}

/// The machine with these numbers; the others stay, and are assumed. Else why they make no machine.
///
/// # Errors
///
/// Which numbers contradict each other.
pub fn applied(start: &Machine, topology: &Topology, file: &str) -> Result<Machine, String> {
    let mut machine = start.clone();
    for number in &mut machine.numbers {
        let told = topology.numbers.iter().find(|(path, ..)| *path == number.path);
        if let Some((path, value, seen)) = told {
            *number = KnownNumber {
                path,
                value: Some(*value),
                low: None,
                high: None,
                confidence: Confidence::Measured,
                source: format!("hwloc: {file}"),
                note: Some(seen.clone()),
                file: file.to_owned(),
            };
        } else if number.is_given() && number.confidence != Confidence::Assumed {
            let why = format!("kept from {}, {} there", start.name, number.confidence.word());
            number.confidence = Confidence::Assumed;
            number.note =
                Some(number.note.take().map_or(why.clone(), |note| format!("{why}; {note}")));
        }
    }
    let mut builder = ProfileBuilder::new();
    for number in machine.numbers.iter().filter(|number| number.is_given()) {
        if let Some(value) = number.value {
            builder.set(number.path, value).map_err(|error| error.to_string())?;
        }
    }
    let errors = |errors: Vec<hardware::profile::ProfileError>| {
        errors.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ")
    };
    machine.profile = builder.build().map_err(errors)?;
    Ok(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(topology: &Topology, path: &str) -> Option<String> {
        topology
            .numbers
            .iter()
            .find(|(known, ..)| *known == path)
            .map(|(_, value, _)| value.to_string())
    }

    fn core(threads: usize) -> String {
        format!("<object type=\"Core\">{}</object>", "<object type=\"PU\"/>".repeat(threads))
    }

    #[test]
    fn a_shared_second_level_makes_a_tile() {
        let tile = format!(
            "<object type=\"L2Cache\" cache_size=\"1048576\">{}</object>",
            format!(
                "<object type=\"L1Cache\" cache_size=\"32768\" cache_linesize=\"64\">{}</object>",
                core(4)
            )
            .repeat(2)
        );
        let text = format!(
            "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\">{}</object></object></topology>",
            tile.repeat(3)
        );
        let topology = parse(&text).unwrap();
        for (path, expected) in [
            ("cpu.sockets", "1"),
            ("cpu.cores_per_socket", "6"),
            ("cpu.smt", "4"),
            ("cpu.cores_per_tile", "2"),
            ("cache.l1d_size", "32 KiB"),
            ("cache.l2_size", "1 MiB"),
            ("cache.l3_size", "0 B"),
            ("cache.line", "64 B"),
        ] {
            assert_eq!(value(&topology, path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn what_is_no_topology_is_refused_with_its_place() {
        let wrong = |text: &str, says: &str, at: usize| {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.found.contains(says), "{}", wrong.found);
            assert_eq!(wrong.at, at, "{}", wrong.found);
        };
        wrong("<topology>\n<object>\n</topology>", "expected 'object' tag", 20);
        wrong("<html/>", "an element `html`", 0);
        wrong("<topology version=\"1.11\"/>", "hwloc 1", 0);
        wrong("<topology version=\"2.0\"/>", "no object of type `Core`", 0);
        let cache = "<topology><object type=\"L1Cache\" cache_size=\"-5\">";
        let cache = format!("{cache}{}</object></topology>", core(1));
        wrong(&cache, "`cache_size` is `-5`", 10);
    }

    const TWO_KINDS: &str = include_str!("../../tests/data/topologies/two_kinds_of_cores.xml");
    const NO_CACHES: &str = include_str!("../../tests/data/topologies/no_caches.xml");
    const ADAPTER: [&str; 2] = [
        include_str!("../../tests/data/topologies/adapter_hwloc2.xml"),
        include_str!("../../tests/data/topologies/adapter_hwloc3.xml"),
    ];

    #[track_caller]
    fn remarks(topology: &Topology, says: &str) {
        let found = topology.remarks.iter().any(|remark| remark.contains(says));
        assert!(found, "{says}: {:?}", topology.remarks);
    }

    #[test]
    fn no_object_stands_for_others_that_are_unlike_it_without_a_remark() {
        let topology = parse(TWO_KINDS).unwrap();
        assert_eq!(value(&topology, "cpu.smt").as_deref(), Some("2"));
        remarks(&topology, "4 of 5 have fewer than 2; the largest one counts, which makes 10 of 6");
        remarks(
            &topology,
            "`L1Cache` differ: the first one counts, of 48 KiB, and others have 32 KiB",
        );
        remarks(
            &topology,
            "`L2Cache` differ: the first one counts, of 1280 KiB, and others have 2 MiB",
        );
        let alike = parse(ADAPTER[0]).unwrap();
        assert!(!alike.remarks.iter().any(|remark| remark.contains("differ")), "{alike:?}");
    }

    #[test]
    fn what_a_file_does_not_have_is_not_told() {
        let topology = parse(NO_CACHES).unwrap();
        for path in ["cache.l1d_size", "cache.l2_size", "cache.l3_size", "cpu.cores_per_tile"] {
            assert_eq!(value(&topology, path), None, "{path}");
        }
        for level in 1..=3 {
            remarks(&topology, &format!("no object `L{level}Cache`: that of the start stays"));
        }
        // A chip without a last level says so by the levels that it has.
        let core = format!("<object type=\"L1Cache\" cache_size=\"32768\">{}</object>", core(1));
        let wrapped = |inner: &str| {
            format!(
                "<topology version=\"2.0\"><object type=\"Machine\">{inner}</object></topology>"
            )
        };
        assert_eq!(value(&parse(&wrapped(&core)).unwrap(), "cache.l3_size"), None);
        let both = format!("<object type=\"L2Cache\" cache_size=\"1048576\">{core}</object>");
        let both = parse(&wrapped(&both)).unwrap();
        assert_eq!(value(&both, "cache.l3_size").as_deref(), Some("0 B"));
    }

    #[test]
    fn an_adapter_is_found_in_the_forms_of_hwloc_2_and_3() {
        for text in ADAPTER {
            let topology = parse(text).unwrap();
            assert_eq!(value(&topology, "pcie.raw_bw").as_deref(), Some("31.508 GB/s"));
            assert_eq!(value(&topology, "hca.socket").as_deref(), Some("1"));
        }
        // Memory of hwloc 3 has the number of the adapter of hwloc 2; several bits may be set.
        let memory = ADAPTER[1].replace("osdev_type=\"32\"", "osdev_type=\"3\"");
        remarks(&parse(&memory).unwrap(), "none of 1 adapters for a network");
        let both = ADAPTER[1].replace("osdev_type=\"32\"", "osdev_type=\"0x30\"");
        assert!(value(&parse(&both).unwrap(), "hca.socket").is_some());
    }

    #[test]
    fn a_package_with_several_last_levels_says_which_size_it_is() {
        let chiplet = |cores: usize| {
            let first = "<object type=\"L2Cache\" cache_size=\"1048576\"><object type=\"L1Cache\" cache_size=\"32768\">";
            let core = format!("{first}{}</object></object>", core(1));
            format!(
                "<object type=\"L3Cache\" cache_size=\"33554432\">{}</object>",
                core.repeat(cores)
            )
        };
        let text = format!(
            "<topology version=\"2.0\"><object type=\"Package\">{}</object></topology>",
            chiplet(8).repeat(12)
        );
        let topology = parse(&text).unwrap();
        assert_eq!(value(&topology, "cache.l3_size").as_deref(), Some("32 MiB"));
        remarks(
            &topology,
            "12 caches of the kind `L3Cache` in 1 packages: the size is that of one",
        );
    }

    /// Whatever is cut off or left out, the file is a topology or it is refused.
    #[test]
    fn a_topology_of_which_something_is_missing_is_one_or_is_refused() {
        for text in [TWO_KINDS, NO_CACHES, ADAPTER[0], ADAPTER[1]] {
            for cut in 0..=text.len() {
                let _ = parse(&text[..cut]);
            }
            let tags: Vec<&str> = text.split_inclusive('>').collect();
            for at in 0..tags.len() {
                let _ = parse(&[&tags[..at], &tags[at + 1..]].concat().concat());
            }
            let attributes: Vec<&str> = text.split(' ').collect();
            for at in 0..attributes.len() {
                let _ = parse(&[&attributes[..at], &attributes[at + 1..]].concat().join(" "));
            }
        }
    }
}
