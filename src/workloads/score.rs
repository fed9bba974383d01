//! A program written as a score: sections of steps, each played a number of times.
//!
//! ```text
//!   section 0      section 1              section 2
//!   │ create │ fork │: all steps, `times` times :│ join │ free │ end
//! ```
//!
//! Threads and processes with the same part share it.

use std::sync::Arc;

use language::marks::HALFWAY;
use protocols::call::{Call, Reply};
use protocols::contract::{Machine, Next, Program};

/// Steps that are played one after the other, again and again.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Section {
    /// The steps of one time.
    pub steps: Arc<[Next<Call>]>,
    /// How often they are played.
    pub times: u32,
}

impl Section {
    /// Steps that are played once.
    pub fn once(steps: impl IntoIterator<Item = Next<Call>>) -> Self {
        Self::repeated(steps, 1)
    }

    /// Steps that are played `times` times.
    pub fn repeated(steps: impl IntoIterator<Item = Next<Call>>, times: u32) -> Self {
        Self { steps: steps.into_iter().collect(), times }
    }

    /// The same with marks that tell the halves apart.
    pub fn measured(steps: impl IntoIterator<Item = Next<Call>>, times: u32) -> Vec<Self> {
        let all = Self::repeated(steps, times);
        if times < 2 {
            return vec![all];
        }
        let part = |times| Self { steps: Arc::clone(&all.steps), times };
        let mark = || Self::once([Next::Mark(HALFWAY)]);
        let (half, middle) = (part(times / 2), part(times % 2));
        let odd = (middle.times > 0).then(|| [middle, mark()]).into_iter().flatten();
        [half.clone(), mark()].into_iter().chain(odd).chain([half]).collect()
    }
}

/// The program of one thread.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Score {
    sections: Arc<[Section]>,
    section: usize,
    /// How often the section was played to its end.
    done: u32,
    step: usize,
}

impl Score {
    /// A program that plays these sections in order, and ends.
    pub fn new(sections: impl IntoIterator<Item = Section>) -> Self {
        Self { sections: sections.into_iter().collect(), section: 0, done: 0, step: 0 }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Score {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        while let Some(section) = self.sections.get(self.section) {
            if self.done == section.times {
                (self.section, self.done) = (self.section + 1, 0);
            } else if let Some(step) = section.steps.get(self.step) {
                self.step += 1;
                return step.clone();
            } else {
                (self.done, self.step) = (self.done + 1, 0);
            }
        }
        Next::End
    }

    fn uses_a_gpu(&self) -> bool {
        let uses =
            |step: &Next<Call>| matches!(step, Next::Offload(..) | Next::Call(Call::Device(_)));
        self.sections.iter().any(|section| section.steps.iter().any(uses))
    }

    fn forks(&self) -> bool {
        self.sections.iter().any(|section| section.steps.contains(&Next::Fork))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::library::Library;

    fn played(sections: &[(&[u32], u32)]) -> Vec<u32> {
        let section = |(steps, times): &(&[u32], u32)| {
            Section::repeated(steps.iter().map(|mark| Next::Mark(*mark)), *times)
        };
        let mut score = Score::new(sections.iter().map(section));
        let mut marks = Vec::new();
        while let Next::Mark(mark) = Program::<Library>::next(&mut score, None) {
            marks.push(mark);
        }
        assert_eq!(Program::<Library>::next(&mut score, None), Next::End, "the end is the end");
        marks
    }

    #[test]
    fn sections_are_played_in_order_and_as_often_as_they_say() {
        assert_eq!(played(&[(&[1, 2], 2), (&[3], 0), (&[], 5), (&[4], 3)]), [1, 2, 1, 2, 4, 4, 4]);
        assert!(played(&[]).is_empty());
    }

    #[test]
    fn halves_of_measured_steps_are_equal_and_stand_around_the_middle_one() {
        let of = |times| {
            let sections = Section::measured([Next::Mark(9)], times);
            let mut score = Score::new(sections);
            let mut marks = Vec::new();
            while let Next::Mark(mark) = Program::<Library>::next(&mut score, None) {
                marks.push(mark);
            }
            marks
        };
        assert_eq!(of(1), [9]);
        assert_eq!(of(4), [9, 9, HALFWAY, 9, 9]);
        assert_eq!(of(5), [9, 9, HALFWAY, 9, HALFWAY, 9, 9]);
        let due: Vec<u32> = (0..=5).filter(|&done| language::marks::is_halfway(done, 5)).collect();
        assert_eq!(due, [2, 3]);
    }

    #[test]
    fn a_score_forks_where_a_section_does() {
        let forks = |step| Program::<Library>::forks(&Score::new([Section::once([step])]));
        assert!(forks(Next::Fork));
        assert!(!forks(Next::Join));
    }
}
