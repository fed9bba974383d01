//! What a protocol asks a GPU for, in words of hardware: work counted from addresses.

use std::sync::Arc;

use super::lanes::PackLanes;
use super::stencil::StencilLanes;
use super::{computing, direction};
use calls::packing::{DeviceCall, End};
use hardware::gpu::{Block, Copy, Direction, Kernel, Operation, Shape, count};
use protocols::device::{DeviceBuffer, DeviceWork, Part, Stencil};
use units::TimeDelta;

/// Kernels that were counted: a program asks for few different ones, again and again.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    packings: Vec<(Arc<DeviceBuffer>, DeviceCall, Option<Part>, Kernel)>,
    stencils: Vec<(Stencil, Kernel)>,
}

impl Operations {
    /// The operation of some work.
    pub(crate) fn of(&mut self, shape: &Shape, work: &DeviceWork) -> Operation {
        match work {
            DeviceWork::Pack { buffer, call, part, .. } => match *call {
                DeviceCall::Copy { from, to, width, rows, slices } => {
                    Operation::Copy(copy(from, to, (width, rows, slices)))
                }
                DeviceCall::Kernel { .. } => {
                    Operation::Kernel(self.packing(shape, buffer, *call, *part))
                }
                DeviceCall::Host { .. } => {
                    unreachable!("no buffer of GPU memory is packed by a core")
                }
            },
            DeviceWork::Stencil(stencil) => Operation::Kernel(self.stencil(shape, *stencil)),
            DeviceWork::Busy { ps } => {
                Operation::Kernel(computing(shape, TimeDelta::from_ps(*ps), 0))
            }
            DeviceWork::Rows { rows, width, pitch } => {
                let copy = Copy::rows(Direction::InDevice, *rows, *width, *pitch);
                Operation::Copy(copy.with_pitches([*pitch; 2]))
            }
        }
    }

    fn packing(
        &mut self,
        shape: &Shape,
        buffer: &Arc<DeviceBuffer>,
        call: DeviceCall,
        part: Option<Part>,
    ) -> Kernel {
        let known = self
            .packings
            .iter()
            .find(|(other, its, of, _)| Arc::ptr_eq(other, buffer) && *its == call && *of == part);
        if let Some((.., kernel)) = known {
            return *kernel;
        }
        let DeviceCall::Kernel { code, task, packed } = call else {
            unreachable!("only kernels are counted")
        };
        let encoding = &*buffer.layout.encoding;
        let primitives = part.map_or(0..encoding.primitives(), |part| part.first..part.end);
        let shared = encoding.fixed_bytes();
        let instructions = &shape.instructions;
        let registers = instructions.registers;
        let block = Block { threads: buffer.threads_per_block, registers, shared };
        let lanes = PackLanes { encoding, code, task, packed, primitives, instructions };
        let kernel = count::kernel(shape, block, &lanes);
        self.packings.push((Arc::clone(buffer), call, part, kernel));
        kernel
    }

    fn stencil(&mut self, shape: &Shape, stencil: Stencil) -> Kernel {
        if let Some((_, kernel)) = self.stencils.iter().find(|(other, _)| *other == stencil) {
            return *kernel;
        }
        let lanes = StencilLanes(stencil, &shape.instructions);
        let kernel = count::kernel(shape, lanes.block(), &lanes);
        self.stencils.push((stencil, kernel));
        kernel
    }
}

/// A copy between two memories: so many slices of so many rows of so many bytes.
pub(super) fn copy(from: End, to: End, (width, rows, slices): (u64, u64, u64)) -> Copy {
    let direction = direction(from.memory, to.memory);
    if rows == 1 && slices == 1 {
        return Copy::contiguous(direction, width);
    }
    let pitches = [from, to].map(|end| end.pitch.unsigned_abs());
    Copy::boxes(direction, slices, rows, width, pitches[0]).with_pitches(pitches)
}
