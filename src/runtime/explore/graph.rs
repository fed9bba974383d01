//! The edges between states, and what can be reached backwards along them.

/// A state by its number, in the order of discovery.
pub(super) type Number = u32;

/// Edges, state by state in the order of their numbers: four bytes each.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// Where the edges of each state begin in `targets`.
    starts: Vec<u32>,
    targets: Vec<Number>,
}

impl Graph {
    /// The edges that are added from here on belong to the next state.
    pub(super) fn begin_state(&mut self) {
        self.starts.push(u32::try_from(self.targets.len()).expect("fewer than 2^32 edges"));
    }

    pub(super) fn add(&mut self, to: Number) {
        self.targets.push(to);
    }

    /// Bytes that it takes.
    pub(super) const fn bytes(&self) -> usize {
        (self.starts.capacity() + self.targets.capacity()) * size_of::<Number>()
    }

    /// The same edges by where they lead.
    pub(super) fn backwards(&self, states: usize) -> Backwards {
        let mut ends = vec![0_u32; states + 1];
        for &to in &self.targets {
            ends[to as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let starts = ends.clone();
        let mut sources = vec![0; self.targets.len()];
        for (from, (&first, last)) in (0..).zip(self.starts.iter().zip(self.lasts())) {
            for &to in &self.targets[first as usize..last as usize] {
                let place = &mut ends[to as usize];
                sources[*place as usize] = from;
                *place += 1;
            }
        }
        Backwards { starts, sources }
    }

    /// Where the edges of each state end.
    fn lasts(&self) -> impl Iterator<Item = u32> {
        let all = u32::try_from(self.targets.len()).expect("fewer than 2^32 edges");
        self.starts.iter().skip(1).copied().chain([all])
    }
}

/// Edges by where they lead.
#[derive(Clone, Debug)]
pub(super) struct Backwards {
    /// One more than there are states.
    starts: Vec<u32>,
    sources: Vec<Number>,
}

impl Backwards {
    /// For every state, whether one of `ends` can be reached from it.
    pub(super) fn reach(&self, ends: impl Iterator<Item = Number>) -> Vec<bool> {
        let mut reached = vec![false; self.starts.len() - 1];
        let mut open: Vec<Number> = ends.collect();
        for &number in &open {
            reached[number as usize] = true;
        }
        while let Some(to) = open.pop() {
            let to = to as usize;
            for &from in &self.sources[self.starts[to] as usize..self.starts[to + 1] as usize] {
                if !std::mem::replace(&mut reached[from as usize], true) {
                    open.push(from);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reaches_what_its_edges_lead_to_and_nothing_else() {
        // 0 -> 1 -> 2, 0 -> 3 <-> 4, 5 alone.
        let mut graph = Graph::default();
        for edges in [&[1, 3][..], &[2], &[], &[4], &[3], &[]] {
            graph.begin_state();
            for &to in edges {
                graph.add(to);
            }
        }
        let edges = graph.backwards(6);
        assert_eq!(edges.reach([2].into_iter()), [true, true, true, false, false, false]);
        assert_eq!(edges.reach([4, 5].into_iter()), [true, false, false, true, true, true]);
        assert_eq!(edges.reach([].into_iter()), [false; 6]);
    }

    #[test]
    fn states_that_were_not_expanded_have_no_edges() {
        let mut graph = Graph::default();
        graph.begin_state();
        graph.add(2);
        assert_eq!(graph.backwards(3).reach([2].into_iter()), [true, false, true]);
    }
}
