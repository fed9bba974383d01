//! The bytes of a packing: they really move, and are compared with the serial reference.

use super::super::monitors::Violation;
use calls::packing::{DeviceCall, Layout, Memory, Task};
use mpi::datatype::{pack, unpack};

/// The memories of one packing.
#[derive(Clone, Debug)]
pub struct Bytes {
    layout: Layout,
    task: Task,
    data: Vec<u8>,
    /// Where displacement 0 is in `data`.
    origin: i64,
    staging: Vec<u8>,
    packed: Vec<u8>,
    /// The host's image of the data; empty until something is copied there.
    mirror: Vec<u8>,
    expected: Vec<u8>,
}

impl Bytes {
    /// Data that tell places apart, and what the serial reference makes of them.
    ///
    /// # Panics
    ///
    /// When the layout is beyond the memory of this computer.
    pub fn new(layout: &Layout, task: Task) -> Self {
        let (low, high) = layout.encoding.span();
        let length = usize::try_from(high - low.min(0)).expect("data fit the memory");
        let origin = -low.min(0);
        let size = usize::try_from(layout.encoding.packed()).expect("data fit the memory");
        let filled = |length: usize, salt: u64| -> Vec<u8> {
            let byte = |at: u64| {
                (at.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt << 56) >> 56) as u8
            };
            (0..length as u64).map(byte).collect()
        };
        let (data, empty) = (filled(length, 1), vec![0; size]);
        let at = usize::try_from(origin).expect("it is in the data");
        let checked = "a layout whose span is the data";
        let (packed, expected) = match task {
            Task::Pack => {
                let expected = pack(&layout.datatype, layout.count, &data, at).expect(checked);
                (empty.clone(), expected)
            }
            Task::Unpack => {
                let packed = filled(size, 99);
                let mut expected = data.clone();
                unpack(&layout.datatype, layout.count, &packed, &mut expected, at)
                    .expect("a layout that can be received");
                (packed, expected)
            }
        };
        let layout = layout.clone();
        let mirror = Vec::new();
        Self { layout, task, data, origin, staging: empty, packed, mirror, expected }
    }

    /// Does what a call does, at once.
    ///
    /// # Panics
    ///
    /// When a call reaches beyond its memories: a defect of its method.
    pub fn apply(&mut self, call: DeviceCall) {
        let layout = self.layout.clone();
        let all = 0..layout.encoding.primitives();
        call.runs(&layout, all, |(from, source), (to, target), bytes| {
            self.run(from, source, to, target, bytes);
        });
    }

    /// Moves one run of bytes.
    fn run(&mut self, from: Memory, source: i64, to: Memory, target: i64, bytes: u64) {
        let length = usize::try_from(bytes).expect("a run fits the memory");
        let place = |memory, at: i64| {
            let as_typed = matches!(memory, Memory::Data | Memory::Mirror);
            let at = if as_typed { at + self.origin } else { at };
            usize::try_from(at).expect("no byte lies before its memory")
        };
        let (source, target) = (place(from, source), place(to, target));
        let taken = self.memory(from)[source..source + length].to_vec();
        self.memory(to)[target..target + length].copy_from_slice(&taken);
    }

    fn memory(&mut self, memory: Memory) -> &mut Vec<u8> {
        match memory {
            Memory::Data => &mut self.data,
            Memory::Staging => &mut self.staging,
            Memory::Packed => &mut self.packed,
            Memory::Mirror => {
                // It holds no data before.
                self.mirror.resize(self.data.len(), 0xee);
                &mut self.mirror
            }
        }
    }

    /// The law that packing is what the serial reference does; D1 for packing, D3 for unpacking.
    pub fn check(&self) -> Option<Violation> {
        let (id, found) = match self.task {
            Task::Pack => ("D1", &self.packed),
            Task::Unpack => ("D3", &self.data),
        };
        let at =
            found.iter().zip(&self.expected).position(|(found, expected)| found != expected)?;
        Some(Violation {
            id,
            statement: "packed and unpacked bytes are those of the serial reference",
            objects: vec![format!("byte {at}")],
            detail: format!("{} is there, {} is expected", found[at], self.expected[at]),
        })
    }
}
