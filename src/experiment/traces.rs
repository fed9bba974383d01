//! Traces from files; mistakes in them are reported as those of any input.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::library;
use super::shipped::Shipped;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::recognise;
use form::shape::nearest;
use workloads::import::foreign::{self, Foreign};
use workloads::import::{self, FORMATS, Format};
use workloads::trace::{Beginning, Imported, ReadError, Source};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;
/// Bytes of a file that say in which format it is.
const START: u64 = 1 << 14;

/// A file as far as its beginning says.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A trace that is read.
    Trace(&'static Format),
    /// A trace in a format that is known and not read.
    Foreign(Foreign),
    /// Another file, or none.
    Other,
}

/// The format of the file at `path`, by its content; where that says nothing, by its name.
pub fn kind(path: &Path) -> Kind {
    let start = start(path).unwrap_or_default();
    let bytes = start.strip_prefix(BOM).unwrap_or(&start);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = |name: &str| start_of_named(path, name);
    if let Some(format) = import::find(&name, &Beginning { bytes, named: &named }) {
        // A name says less than the magic bytes of another format.
        if let Some(foreign) = foreign::recognised("", bytes) {
            return Kind::Foreign(foreign);
        }
        return Kind::Trace(format);
    }
    foreign::recognised(&name, bytes).map_or(Kind::Other, Kind::Foreign)
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// How a file begins; nothing of what is no file, such as a pipe, which could be read only once.
fn start(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = path.is_file().then(|| File::open(path))?.ok()?;
    file.take(START).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn start_of_named(list: &Path, name: &str) -> Option<Vec<u8>> {
    library::beside(list, name).and_then(|path| start(&path))
}

/// Reports a trace in a format that is not read.
pub fn refuse(diagnostics: &mut Diagnostics, path: &Path, Foreign { name, help }: Foreign) {
    let source = diagnostics.add_source(path.display().to_string(), "");
    let span = Span { source, start: 0, end: 0 };
    let found = format!("this is a trace in {name}, which is not read");
    let titles: Vec<&str> = FORMATS.iter().map(|format| format.title).collect();
    let allowed = format!("traces in {} are", titles.join(" and "));
    diagnostics.push(Diagnostic::error(&codes::TRACE_FORMAT, span, "", found, allowed).help(help));
}

/// Reads the trace at `path` in a format, as a stream; reports where there is none.
pub fn read(
    diagnostics: &mut Diagnostics,
    shipped: Shipped,
    format: &Format,
    path: &Path,
) -> Option<Imported> {
    let name = path.display().to_string();
    let file = library::open(diagnostics, shipped, path)?;
    let hasher = Rc::new(RefCell::new(blake3::Hasher::new()));
    let mut text = hashed(file, &hasher);
    // The reader below reports a file that cannot be read at all.
    let start = text.fill_buf().unwrap_or_default();
    if let Some((found, (_, help), code)) = recognise(start) {
        let source = diagnostics.add_source(name, "");
        let span = Span { source, start: 0, end: 0 };
        let one = Diagnostic::error(code, span, "", found, "plain text is needed");
        diagnostics.push(one.help(help));
        return None;
    }
    if start.starts_with(BOM) {
        text.consume(BOM.len());
        let source = diagnostics.add_source(name.clone(), "");
        let span = Span { source, start: 0, end: 0 };
        let found = "the file begins with a byte-order mark, which is skipped";
        let one = Diagnostic::error(&codes::BOM, span, "", found, "UTF-8 needs none");
        diagnostics.push(one.help("save the file as UTF-8 without it").warning());
    }
    let mut files = Files { diagnostics, shipped, list: path, text, hasher: &hasher };
    match (format.read)(&mut files) {
        Ok(trace) => {
            let digest = hasher.borrow().finalize().to_hex()[..32].to_owned();
            Some(Imported { trace, digest })
        }
        Err(errors) => {
            for error in errors {
                report(diagnostics, format, &name, error);
            }
            None
        }
    }
    .filter(|_| !diagnostics.has_errors())
}

/// A file, and those that it names, whose bytes are hashed as they are read.
struct Files<'a> {
    diagnostics: &'a mut Diagnostics,
    shipped: Shipped,
    list: &'a Path,
    text: BufReader<Hashing>,
    hasher: &'a Rc<RefCell<blake3::Hasher>>,
}

impl Source for Files<'_> {
    fn text(&mut self) -> &mut dyn BufRead {
        &mut self.text
    }

    fn named(&mut self, name: &str) -> Option<Box<dyn BufRead>> {
        let path = library::beside(self.list, name).unwrap_or_else(|| PathBuf::from(name));
        let file = library::open(self.diagnostics, self.shipped, &path)?;
        Some(Box::new(hashed(file, self.hasher)))
    }
}

fn hashed(file: File, hasher: &Rc<RefCell<blake3::Hasher>>) -> BufReader<Hashing> {
    BufReader::with_capacity(BUFFER, Hashing { file, hasher: Rc::clone(hasher) })
}

/// A file whose bytes are hashed as they are read.
struct Hashing {
    file: File,
    hasher: Rc<RefCell<blake3::Hasher>>,
}

impl std::io::Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hasher.borrow_mut().update(&buffer[..count]);
        Ok(count)
    }
}

fn report(diagnostics: &mut Diagnostics, format: &Format, name: &str, error: ReadError) {
    let ReadError { fault, file, line, bytes: (start, end), text, found, allowed, words } = error;
    let name = file.as_deref().unwrap_or(name);
    let meant = text.get(start..end).and_then(|word| nearest(word, words.iter().copied()));
    let source = if line == 0 {
        diagnostics.add_source(name, "")
    } else {
        diagnostics.add_lines(name, line as usize, text)
    };
    let offset = |at: usize| u32::try_from(at).expect("a line is short");
    let span = Span { source, start: offset(start), end: offset(end) };
    let code = fault.code(format.form);
    let one = Diagnostic::error(code, span, "", quote(&found), allowed);
    diagnostics.push(match meant {
        Some(near) => one.help(format!("did you mean `{near}`?")),
        None => one,
    });
}
