//! The events of a packing in words, where a comparison of two runs asks for them.

use super::{Event, Keep, Place, Running};
use crate::causes::Spender;
use crate::event_text::EventWords;
use hardware::fabric::{About, ResourceId};
use protocols::contract::{Process, Thread};

impl Running {
    /// Keeps the words of an event, if it is one of those requested.
    pub(super) fn tell(&mut self, event: Event) {
        let Keep::Events(first, last) = self.setup.options.causes else { return };
        if (first..=last).contains(&self.simulation.events()) {
            let words = self.words_of(event);
            self.words.push(words);
        }
    }

    fn words_of(&self, event: Event) -> EventWords {
        let core = |core: u32, what: &str| EventWords {
            place: Spender::Thread(Process(core), Thread(0)),
            what: what.to_owned(),
        };
        match event {
            Event::Core(number) => core(number, "goes on with its program"),
            Event::Packed(Place { core: number, step }) => {
                core(number, &format!("has packed what step {step} asked for"))
            }
            Event::Gpu(_) => on("GPU", "begins an operation: its latency is over"),
            Event::Fabric(event) => self.words_of_wires(self.cluster.fabric.about(event)),
        }
    }

    fn words_of_wires(&self, about: About) -> EventWords {
        let name = |resource: ResourceId| {
            self.cluster.fabric.resources()[resource.0 as usize].name.as_str()
        };
        match about {
            About::Reaches(_, Some(resource)) => on(name(resource), "a transfer reaches it"),
            About::Reaches(_, None) => on("GPU", "a transfer ends"),
            About::MayEnd(_, resource) => on(name(resource), "a transfer has moved"),
            About::Chooses(resource) => on(name(resource), "chooses whom to serve next"),
            About::Counts(resource) => on(name(resource), "counts its packets"),
            About::MayBegin(_) => on("wires", "a connection may begin its next transfer"),
            About::Rates => on("wires", "rates change: transfers began or ended"),
            About::Nothing => on("wires", "nothing: what was planned has changed since"),
        }
    }
}

fn on(place: &str, what: &str) -> EventWords {
    EventWords { place: Spender::device(place), what: what.to_owned() }
}
