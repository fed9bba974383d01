//! The line of a program's source from which it calls, where the program was compiled with debug information (`-g`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use addr2line::Loader;

/// The files whose code a process has in its memory.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Code(Vec<Mapped>);

/// Code of a file, in the memory of a process.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Mapped {
    /// Its first address, and the one behind its last.
    from: u64,
    to: u64,
    /// Where the file's first byte is, or would be.
    base: u64,
    path: PathBuf,
}

impl Code {
    /// The code that the process maps now; none where it has ended.
    pub fn of(process: u32) -> Self {
        Self::read(&fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default())
    }

    /// The lines of `/proc/PID/maps` are `from-to rights offset device inode path`, in hexadecimal digits.
    fn read(maps: &str) -> Self {
        let mut bases: BTreeMap<&str, u64> = BTreeMap::new();
        let mut code = Vec::new();
        for line in maps.lines() {
            let mut words = line.splitn(6, ' ').map(str::trim_start);
            let mut word = || words.next().unwrap_or_default();
            let ((from, to), rights, offset) =
                (word().split_once('-').unwrap_or_default(), word(), word());
            let path = words.nth(2).unwrap_or_default();
            let number = |digits| u64::from_str_radix(digits, 16).ok();
            let (Some(from), Some(to), Some(offset)) = (number(from), number(to), number(offset))
            else {
                continue;
            };
            if path.starts_with('/') {
                let base = *bases.entry(path).or_insert(from.saturating_sub(offset));
                if rights.contains('x') {
                    code.push(Mapped { from, to, base, path: path.into() });
                }
            }
        }
        Self(code)
    }

    /// The file with the code at an address, and the address that the file itself gives to it.
    fn find(&self, address: u64) -> Option<(&Path, u64)> {
        let mapped = self.0.iter().find(|mapped| (mapped.from..mapped.to).contains(&address))?;
        let moved = if is_moved(&mapped.path)? { mapped.base } else { 0 };
        Some((&mapped.path, address - moved))
    }

    /// Whether code of a file is at this address.
    pub fn has(&self, address: u64) -> bool {
        self.0.iter().any(|mapped| (mapped.from..mapped.to).contains(&address))
    }

    /// The line of the call that returns to `caller`, as `file.c:12`; `None` where nothing says it.
    pub fn line(&self, caller: u64) -> Option<String> {
        // The call is the instruction before: what follows it may belong to another line.
        let (path, address) = self.find(caller.checked_sub(1)?)?;
        let loader = Loader::new(path).ok()?;
        let place = loader.find_location(address).ok()??;
        let file = Path::new(place.file?).file_name()?.to_string_lossy().into_owned();
        Some(place.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
    }
}

/// Whether the system puts a file of code where it likes: libraries, and programs that are compiled so (the type
/// `ET_DYN` of an ELF file, in its bytes 16 and 17). `None` where it cannot be read.
fn is_moved(path: &Path) -> Option<bool> {
    let mut head = [0; 18];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    Some(u16::from_ne_bytes([head[16], head[17]]) == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_by_its_address() {
        let code = Code::read(
            "5000-6000 r--p 00000000 08:01 11                         /a b/program\n\
             6000-9000 r-xp 00001000 08:01 11                         /a b/program\n\
             9000-a000 rw-p 00000000 00:00 0 \n\
             b000-c000 r-xp 00000000 00:00 0                          [vdso]\n",
        );
        let (from, to, base) = (0x6000, 0x9000, 0x5000);
        assert_eq!(code, Code(vec![Mapped { from, to, base, path: "/a b/program".into() }]));
        assert!(code.has(0x6000) && !code.has(0x9000) && !code.has(0xb000));
    }
}
