//! Writing a schedule as GOAL.

use std::io::{Result, Write};

use runtime::loggops::schedule::{ANY, Edge, Kind, Op, Schedule, Until};

/// Writes `schedule` so that reading gives it again.
///
/// Dependencies stand after the later of their two operations, where most readers look for them. A
/// rank whose dependants are told in another order than that gets them at its end, in that order.
///
/// # Errors
///
/// Those of `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> Result<()> {
    writeln!(out, "num_ranks {}", schedule.ranks())?;
    for rank in 0..schedule.ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        write_rank(schedule, rank, out)?;
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn write_rank(schedule: &Schedule, rank: u32, out: &mut impl Write) -> Result<()> {
    let ops = schedule.of(rank);
    let names = Names { schedule, first: ops.start };
    let mut waiting = Vec::new();
    let edges = || ops.clone().flat_map(|op| schedule.dependants(op));
    let in_order = ops.clone().all(|op| is_in_order(schedule, op));
    let tied = Tied::new(schedule, rank);
    if in_order {
        waiting.extend(edges());
        // Stable: edges of one dependency stay in order.
        waiting.sort_by_key(|edge| edge.dependant.max(edge.dependency));
    }
    let mut rest = waiting.iter().peekable();
    for op in ops.clone() {
        if let Some(label) = names.of(op, tied.has(op)) {
            write!(out, "{label}: ")?;
        }
        write_op(&schedule.ops()[op as usize], out)?;
        while let Some(edge) = rest.next_if(|edge| edge.dependant.max(edge.dependency) == op) {
            write_edge(&names, *edge, out)?;
        }
    }
    if !in_order {
        for edge in edges() {
            write_edge(&names, edge, out)?;
        }
    }
    Ok(())
}

/// Whether the dependants of `op` rise, those of its start and those of its end.
fn is_in_order(schedule: &Schedule, op: u32) -> bool {
    [Until::Started, Until::Done].into_iter().all(|until| {
        let of = schedule.dependants(op).filter(|edge| edge.until == until);
        of.map(|edge| edge.dependant).is_sorted()
    })
}

/// Which operations of a rank have dependencies or dependants.
struct Tied {
    first: u32,
    tied: Vec<bool>,
}

impl Tied {
    fn new(schedule: &Schedule, rank: u32) -> Self {
        let ops = schedule.of(rank);
        let mut tied = vec![false; ops.len()];
        let first = ops.start;
        for op in ops {
            for edge in schedule.dependants(op) {
                tied[(edge.dependency - first) as usize] = true;
                tied[(edge.dependant - first) as usize] = true;
            }
        }
        Self { first, tied }
    }

    fn has(&self, op: u32) -> bool {
        self.tied[(op - self.first) as usize]
    }
}

/// Labels: those of the text it came from, else l1, l2 and so on.
struct Names<'a> {
    schedule: &'a Schedule,
    first: u32,
}

impl Names<'_> {
    fn of(&self, op: u32, tied: bool) -> Option<String> {
        let own = self.schedule.label(op).map(str::to_owned);
        own.or_else(|| tied.then(|| format!("l{}", op - self.first + 1)))
    }
}

fn write_op(op: &Op, out: &mut impl Write) -> Result<()> {
    let Op { amount, peer, tag, kind, cpu, nic, .. } = *op;
    match kind {
        Kind::Compute => write!(out, "calc {amount}")?,
        Kind::Send => write!(out, "send {amount}b to {peer} tag {tag}")?,
        Kind::Receive => {
            let any = |number: u32| if number == ANY { -1 } else { i64::from(number) };
            write!(out, "recv {amount}b from {} tag {}", any(peer), any(tag))?;
        }
    }
    if cpu > 0 {
        write!(out, " cpu {cpu}")?;
    }
    if nic > 0 {
        write!(out, " nic {nic}")?;
    }
    writeln!(out)
}

fn write_edge(names: &Names<'_>, edge: Edge, out: &mut impl Write) -> Result<()> {
    let word = match edge.until {
        Until::Started => "irequires",
        Until::Done => "requires",
    };
    let name = |op| names.of(op, true).unwrap_or_default();
    writeln!(out, "{} {word} {}", name(edge.dependant), name(edge.dependency))
}
