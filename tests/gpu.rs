//! GPUs against closed forms: `gpu-pack` Table 2, Sections 2.2 and 4.4, and the table of sources.

mod gpu_machine;

use gpu_machine::{Outcome, Request, c2050, run};
use mpisim::hardware::gpu::{
    Block, Copy, Direction, Kernel, Kind, Lane, Lanes, Operation, Shape, Space, count,
};
use mpisim::hardware::profile::Profile;
use mpisim::units::TimeDelta;

const BUFFER: u64 = 16 << 20;
const ROWS: u64 = 262_144;

/// A pack kernel: thread k loads its primitive and stores it at k times its size.
struct Pack {
    primitives: u64,
    /// Bytes of a primitive.
    size: u64,
    /// Primitives of a block of the datatype, and from one to the next, in bytes.
    blocklength: u64,
    stride: u64,
    into: Space,
    instructions: u32,
}

impl Lanes for Pack {
    fn threads(&self) -> u64 {
        self.primitives
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        let (block, within) = (thread / self.blocklength, thread % self.blocklength);
        let from = block * self.stride + within * self.size;
        let size = u32::try_from(self.size).unwrap();
        lane.instructions = self.instructions;
        lane.access(Space::Device, Kind::Load, from, size);
        lane.access(self.into, Kind::Store, thread * self.size, size);
    }
}

/// 16 MiB of doubles in blocks of 64 B that lie back to back, as in Table 2.
const TABLE2: Pack = Pack {
    primitives: BUFFER / 8,
    size: 8,
    blocklength: 8,
    stride: 64,
    into: Space::Host,
    instructions: 60,
};

fn shape(profile: &Profile) -> Shape {
    Shape::of(profile).expect("a machine with a GPU")
}

fn pack(profile: &Profile, lanes: &Pack) -> Operation {
    Operation::Kernel(count::kernel(&shape(profile), Block::of(256), lanes))
}

#[test]
fn show_table2() {
    let machine = c2050(&[]);
    let user = Operation::Kernel(user_kernel(&machine));
    let pack = pack(&machine, &TABLE2);
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, ROWS, 64, 64));
    let h2d = Operation::Copy(Copy::contiguous(Direction::HostToDevice, BUFFER));
    let d2h = Operation::Copy(Copy::contiguous(Direction::DeviceToHost, BUFFER));
    for (name, op) in [("user", user), ("pack", pack), ("2d", rows), ("h2d", h2d), ("d2h", d2h)] {
        let o = run(&machine, &[(TimeDelta::ZERO, 0, op)]);
        println!("{name} {:.4} events {} waves {}", o.ms(0), o.events, o.stats.waves);
    }
    for (name, first) in [("SM", user), ("H2D", h2d), ("D2H", d2h)] {
        for (proc, op) in [("pack", pack), ("2d", rows)] {
            for order in [0, 1] {
                let gap = TimeDelta::from_us(5);
                let (a, b) = if order == 0 { (first, op) } else { (op, first) };
                let o = run(&machine, &[(TimeDelta::ZERO, 0, a), (gap, 1, b)]);
                println!(
                    "{name} {proc} order {order}: first {:.3} second from issue {:.3} total {:.3} events {}",
                    o.ms(0),
                    o.ms(1) - 0.005,
                    o.ms(0).max(o.ms(1)),
                    o.events
                );
            }
        }
    }
}

/// 1 ms of work that fills the SMs, as the vector addition of the document.
fn user_kernel(profile: &Profile) -> Kernel {
    let shape = shape(profile);
    let (threads, block) = (BUFFER / 4, Block::of(256));
    let warps = threads / u64::from(shape.warp);
    let instructions = shape.issue_rate.as_hz() * u64::from(shape.sms) / 1_000 / warps;
    let work = mpisim::hardware::gpu::Work::computing(warps, instructions);
    Kernel::of_threads(threads, block, work)
}
