//! Why a packing took its time: every event has its cause in the journal.

use std::collections::BTreeMap;

use super::{CORE, GPU, Keep, Recorded, Running};
use crate::causes::{Spender, Spent};
use engine::{Causes, Record, Tag};
use protocols::contract::{Process, Thread};

impl Running {
    /// The causes of all events, where they were requested.
    pub(super) fn causes(&self) -> Option<Recorded> {
        if matches!(self.setup.options.causes, Keep::Nothing | Keep::Events(..)) {
            return None;
        }
        let specs = self.cluster.fabric.resources();
        let devices = u32::try_from(specs.len()).expect("fewer than 2^32 resources");
        let mut causes = Causes::default();
        let mut moments = vec![Causes::BEGINNING];
        let mut last = Causes::BEGINNING;
        for record in self.simulation.journal()?.records() {
            let Record { time, cause, tag, .. } = *record;
            let place = usize::try_from(cause).expect("as many events as fit into memory");
            let moment = causes.add(time, moments[place], told(tag, devices));
            moments.push(moment);
            if time <= self.happened {
                last = moment;
            }
        }
        let resources = specs.iter().map(Spender::resource);
        let cores = u32::try_from(self.setup.programs.len()).expect("a GPU has few processes");
        let gpu = std::iter::once(Spender::device("GPU"));
        let devices = gpu.chain((0..cores).map(|core| Spender::Thread(Process(core), Thread(0))));
        Some(Recorded {
            causes,
            spenders: resources.chain(devices).collect(),
            marks: BTreeMap::new(),
            first_marks: BTreeMap::new(),
            last,
            late: BTreeMap::new(),
            awaited: BTreeMap::new(),
            waits: Vec::new(),
            messages: Vec::new(),
        })
    }
}

/// Tag of the time before an event: after the wires come the GPU and the cores.
fn told(tag: Tag, wires: u32) -> Tag {
    let (resource, spent) = match tag.resource {
        GPU => (wires, Spent::Gpu),
        CORE => (wires + 1, Spent::Library),
        wire if wire < wires => (wire, Spent::Transfer),
        core => (wires + 1 + (GPU - core), Spent::Library),
    };
    Tag { resource, phase: spent as u8 }
}
