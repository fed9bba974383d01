//! The named types of a message: those that it was sent with, one by one, are the first of those that
//! its receive names (MPI-4.1, Sec. 3.3.1).
//!
//! What a call states of its buffer is kept while the buffer is borrowed, and of a message from its send
//! to the end of its receive, where both are known: whichever part matched the two. A side that
//! says no more than how many bytes it has states nothing, as one does with `MPI_PACKED`. `byte` is
//! `MPI_BYTE`, which meets itself only. How much a receive has room for is another law (M8).
//!
//! Left out: a buffer that several calls borrow at once. Of the endpoint library over MPI the ranks and tags are
//! those of its messages: processes, and packed tags.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::monitors::law::{Moment, Violation};
use calls::typed::Elements;
use mpi::datatype::{Difference, Primitive};
use mpi::envelope::{Envelope, Rank};
use mpi::observation::{MessageId, Observation};
use protocols::contract::{Action, Process};

const TYPES: &str = "a receive names the types that its message was sent with, one by one";

/// Elements that a call states for its buffer, and the line of the call.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Statement {
    elements: Arc<Elements>,
    line: Option<u32>,
}

impl Statement {
    /// The call in this line of the program has a buffer of these elements.
    pub fn new(elements: &Arc<Elements>, line: Option<u32>) -> Self {
        Self { elements: Arc::clone(elements), line }
    }

    /// The elements, where they lie in pieces.
    pub(super) fn pieces(&self) -> Option<&Arc<Elements>> {
        Some(&self.elements).filter(|elements| !elements.is_one_piece())
    }

    fn place(&self) -> String {
        Moment { at: None, line: self.line }.place()
    }
}

/// A message whose sender states types.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Typed {
    statement: Statement,
    envelope: Envelope,
}

/// Types stated for buffers in use and for messages under way.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Types {
    /// Of the buffer that is about to be borrowed.
    pub(super) coming: Option<Statement>,
    /// Of borrowed buffers, by process and number: as the first of its calls states.
    pub(super) buffers: BTreeMap<(Process, u32), Statement>,
    pub(super) messages: BTreeMap<MessageId, Arc<Typed>>,
}

impl Types {
    /// Elements of a buffer in use, where they lie in pieces.
    pub(super) fn pieces(&self, process: Process, id: u32) -> Option<&Elements> {
        self.buffers.get(&(process, id)).and_then(Statement::pieces).map(AsRef::as_ref)
    }

    /// A send of this statement was answered with `list`.
    pub(super) fn sent<P, R>(&mut self, statement: &Statement, list: &[Action<P, R>]) {
        let sent = list.iter().find_map(|action| {
            let Action::Observe(Observation::Sent { message, envelope, .. }) = action else {
                return None;
            };
            Some((*message, *envelope))
        });
        if let Some((message, envelope)) = sent {
            let statement = statement.clone();
            self.messages.insert(message, Arc::new(Typed { statement, envelope }));
        }
    }

    /// A message is received into a buffer of a process.
    #[inline]
    pub(super) fn received(
        &mut self,
        message: MessageId,
        buffer: (Process, u32),
    ) -> Option<Violation> {
        if self.messages.is_empty() {
            return None;
        }
        let sent = self.messages.remove(&message)?;
        let receive = self.buffers.get(&buffer)?;
        let parted = sent.statement.elements.mismatch(&receive.elements)?;
        Some(broken(&sent, receive, &parted))
    }
}

fn broken(sent: &Typed, receive: &Statement, parted: &Difference) -> Violation {
    let Envelope { source: Rank(from), dest: Rank(to), tag, .. } = sent.envelope;
    let name = |one: Option<Primitive>| one.map_or("nothing", Primitive::name);
    let (left, right) = (name(parted.left), name(parted.right));
    let agreed = match parted.agreed {
        0 => String::new(),
        1 => ", after 1 element in which they agree".to_owned(),
        many => format!(", after {many} elements in which they agree"),
    };
    let detail = format!(
        "the message has {left} where the receive has {right}{agreed}; give both the same named types, \
         or one of them bytes (`size`, `max`) instead of a datatype"
    );
    let objects = vec![
        format!("the send of rank {from}{} with tag {tag}", sent.statement.place()),
        format!("the receive of rank {to}{}", receive.place()),
    ];
    Violation { id: "MPI_ERR_TYPE", statement: TYPES, objects, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::datatype::Datatype;
    use mpi::envelope::Context;

    const MESSAGE: MessageId = MessageId { process: 0, serial: 3 };

    fn many(of: Primitive, count: u64) -> Statement {
        stated(&Datatype::named(of), count)
    }

    fn stated(datatype: &Datatype, count: u64) -> Statement {
        let elements = Elements::new(datatype.clone(), count).unwrap();
        Statement::new(&Arc::new(elements), Some(7))
    }

    /// The sentence about a message that was sent and received with these statements.
    fn said(sent: Option<Statement>, receive: Option<Statement>) -> Option<String> {
        let envelope = Envelope { context: Context(0), source: Rank(0), dest: Rank(1), tag: 5 };
        let mut types = Types::default();
        if let Some(statement) = sent {
            let sent = Observation::Sent {
                message: MESSAGE,
                envelope,
                to: 1,
                bytes: statement.elements.packed(),
                ready: false,
            };
            types.sent::<(), ()>(&statement, &[Action::Observe(sent)]);
        }
        types.buffers.extend(receive.map(|receive| ((Process(1), 2), receive)));
        let said = types.received(MESSAGE, (Process(1), 2));
        assert!(types.messages.is_empty(), "what is received is no longer under way");
        said.map(|violation| violation.to_string())
    }

    #[track_caller]
    fn check(sent: Statement, receive: Statement, words: Option<&str>) {
        let said = said(Some(sent), Some(receive));
        match words {
            None => assert_eq!(said, None),
            Some(words) => {
                let said = said.expect("the types differ");
                assert!(said.contains("(MPI_ERR_TYPE: "), "{said}");
                assert!(said.contains(words), "{said}");
            }
        }
    }

    #[test]
    fn a_receive_may_name_more_than_was_sent() {
        check(many(Primitive::Int32, 2), many(Primitive::Int32, 5), None);
        check(many(Primitive::Int32, 0), many(Primitive::Double, 5), None);
    }

    #[test]
    fn a_receive_that_names_less_is_too_short_and_of_the_right_types() {
        check(many(Primitive::Int32, 5), many(Primitive::Int32, 2), None);
    }

    #[test]
    fn types_of_one_width_differ_by_their_names() {
        let words = Some("the message has int64 where the receive has double; give both");
        check(many(Primitive::Int64, 2), many(Primitive::Double, 2), words);
        let words = Some("the message has byte where the receive has char");
        check(many(Primitive::Byte, 2), many(Primitive::Char, 2), words);
    }

    #[test]
    fn what_counts_is_the_order_of_the_types_and_not_where_they_lie() {
        let [int, double] = [Primitive::Int32, Primitive::Double].map(Datatype::named);
        let record = Datatype::structure(&[1, 2], &[0, 8], &[int.clone(), double.clone()]).unwrap();
        let spread = Datatype::structure(&[1, 2], &[40, 8], &[int.clone(), double]).unwrap();
        check(stated(&record, 2), stated(&spread, 3), None);
        let column = Datatype::vector(3, 1, 4, &int).unwrap();
        check(stated(&column, 1), many(Primitive::Int32, 3), None);
        let words = Some("double where the receive has int32, after 1 element in which they agree");
        check(stated(&record, 1), stated(&column, 2), words);
    }

    #[test]
    fn a_side_that_states_nothing_meets_any_type() {
        assert_eq!(said(Some(many(Primitive::Int32, 2)), None), None);
        assert_eq!(said(None, Some(many(Primitive::Double, 1))), None);
    }

    #[test]
    fn both_sides_are_told_by_rank_and_line() {
        let said = said(Some(many(Primitive::Float, 2)), Some(many(Primitive::Int32, 2)));
        let words = "the send of rank 0 in line 7 with tag 5, the receive of rank 1 in line 7";
        assert!(said.unwrap().contains(words));
    }
}
