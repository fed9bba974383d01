//! Statements that make and free communicators: a row each.

use std::sync::Arc;

use super::communicators::{Kind, Named, of_processes, wrong_kind};
use super::form::communicators::{
    OF_CART, OF_CART_SUB, OF_CREATE, OF_DUP, OF_ENDPOINTS, OF_FREE, OF_GRAPH, OF_GROUP, OF_IDUP,
    OF_INTERCOMM, OF_MERGE, OF_NAMED_EDGES, OF_SPLIT, OF_SPLIT_TYPE, OF_WHOLE_GRAPH,
};
use super::reader::Item;
use super::row::{Row, rows};
use crate::program::computed::{Computed, Part, Range};
use form::codes;
use form::diagnostic::Diagnostic;
use form::expression::{Type, text_of};
use form::json::{Node, Value};
use mpi::cartesian::Dimension;
use mpi::envelope::Rank;
use mpi::topology::{Graph, Neighbours};
use protocols::call::{Arrangement, Call, Comm, CommCall, NamedEdges};

/// The statements.
pub(super) static ROWS: [Row; 16] = rows! {
    "comm_dup" "MPI_Comm_dup" &OF_DUP => |it| it.dup();
    "comm_idup" "MPI_Comm_idup" &OF_IDUP => |it| it.idup();
    "comm_split" "MPI_Comm_split" &OF_SPLIT => |it| it.split();
    "comm_split_type" "MPI_Comm_split_type" &OF_SPLIT_TYPE => |it| it.split_shared();
    "comm_create"
        "MPI_Comm_create, called by all ranks of `comm`; each gives the group that it is in, or an empty one"
        &OF_CREATE => |it| it.create();
    "comm_create_group" "MPI_Comm_create_group, called by the ranks of the group only" &OF_GROUP
        => |it| it.create_group();
    "cart_create" "MPI_Cart_create without reorder" &OF_CART => |it| it.grid();
    "cart_sub" "MPI_Cart_sub" &OF_CART_SUB => |it| it.subgrid();
    "graph_create" "MPI_Graph_create without reorder; all ranks give the same graph" &OF_WHOLE_GRAPH
        => |it| it.whole_graph();
    "dist_graph_create"
        "MPI_Dist_graph_create without weights and reorder; neighbours come in the order of the ranks that name them"
        &OF_NAMED_EDGES => |it| it.named_edges();
    "dist_graph_create_adjacent"
        "MPI_Dist_graph_create_adjacent without weights and reorder"
        &OF_GRAPH => |it| it.adjacent();
    "intercomm_create"
        "MPI_Intercomm_create; ranks in its messages are those of the other group"
        &OF_INTERCOMM => |it| it.intercomm();
    "intercomm_merge" "MPI_Intercomm_merge of an intercommunicator" &OF_MERGE => |it| it.merge();
    "comm_free" "MPI_Comm_free" &OF_FREE => |it| it.free();
    "create_endpoints"
        "MPI_Comm_create_endpoints, one name for each endpoint of this rank"
        &OF_ENDPOINTS => |it| it.create_endpoints();
    "free_endpoint" "MPI_Comm_free of one endpoint" &OF_FREE => |it| it.free_endpoint();
};

/// Of processes, of which the program knows nothing.
const UNKNOWN: Kind = Kind::Processes(None);

impl Item<'_, '_, '_> {
    /// The communicator of the statement, which is one of processes.
    fn parent(&mut self) -> Named {
        let named = self.named();
        of_processes(self.reader.diagnostics, self.node, self.path, named);
        named
    }

    /// The communicator that the statement makes.
    fn new_one(&mut self, kind: Kind) -> Comm {
        let Self { reader, node, path } = self;
        let nested = reader.nested > 0;
        reader.communicators.make(reader.diagnostics, (node, nested), path, kind)
    }

    /// A communicator of neighbours.
    fn arranged(&mut self, by: Arrangement, degrees: Option<[usize; 2]>) -> CommCall {
        let (comm, new) = (self.parent().comm, self.new_one(Kind::Arranged(degrees)));
        CommCall::Arrange { comm, by, new }
    }

    /// The rank is not in the communicator that the statement makes.
    fn stays_out(&mut self) {
        self.reader.communicators.end(self.node.word("new"));
    }

    fn list(&self, key: &str) -> &[Node] {
        self.node.get(key).and_then(Node::elements).unwrap_or(&[])
    }

    fn flags(&self, key: &str) -> Vec<bool> {
        self.list(key).iter().map(|one| matches!(one.value, Value::Bool(true))).collect()
    }

    /// The number under a key that is a field of the call, too; 0 where it is computed.
    fn whole<T: TryFrom<i64> + Default>(&mut self, key: &'static str, range: Range) -> T {
        let Self { reader, node, path } = self;
        if reader.computes(node, (key, Part::Field(key)), range, path) {
            return T::default();
        }
        let number = T::try_from(node.get(key).map_or(0, Node::as_integer)).ok();
        number.expect("the shape limits the number")
    }

    /// The ranks of a list, which is a field of the call; those that are computed are 0 before.
    fn ranks(&mut self, key: &'static str, field: &'static str) -> Vec<Rank> {
        let Self { reader, node, path } = self;
        let mut ranks = Vec::new();
        for (place, value) in
            node.get(key).and_then(Node::elements).unwrap_or(&[]).iter().enumerate()
        {
            let number = if text_of(value).is_none() {
                value.as_count()
            } else {
                if let Some(value) =
                    reader.typed(value, &format!("{path}.{key}[{place}]"), Type::Integer)
                {
                    let (part, range) = (Part::Listed(field, place), Range::up_to(u32::MAX.into()));
                    reader.scope.extras.computed.push(Computed { key, part, value, range });
                }
                0
            };
            ranks.push(Rank(u32::try_from(number).expect("the shape limits the ranks")));
        }
        ranks
    }

    fn dup(&mut self) -> CommCall {
        let Named { comm, kind } = self.parent();
        CommCall::Dup { comm, new: self.new_one(kind) }
    }

    fn idup(&mut self) -> CommCall {
        let Named { comm, kind } = self.parent();
        CommCall::Idup { comm, new: self.new_one(kind), request: self.open("req") }
    }

    fn split(&mut self) -> CommCall {
        let (comm, new) = (self.parent().comm, self.new_one(UNKNOWN));
        let takes_part = self.node.get("color").and_then(Node::text) != Some("undefined");
        let color = takes_part.then(|| self.whole("color", Range::COLORS));
        if !takes_part {
            self.stays_out();
        }
        CommCall::Split { comm, color, key: self.whole("key", Range::INT), new }
    }

    fn split_shared(&mut self) -> CommCall {
        let (comm, new) = (self.parent().comm, self.new_one(UNKNOWN));
        let takes_part = self.node.word("type") != Some("undefined");
        if !takes_part {
            self.stays_out();
        }
        CommCall::SplitShared { comm, takes_part, key: self.whole("key", Range::INT), new }
    }

    fn create(&mut self) -> CommCall {
        let (comm, new) = (self.parent().comm, self.new_one(UNKNOWN));
        let group = self.ranks("ranks", "group");
        if group.is_empty() {
            self.stays_out();
        }
        CommCall::Create { comm, group: group.into(), new }
    }

    fn create_group(&mut self) -> CommCall {
        let (comm, new) = (self.parent().comm, self.new_one(UNKNOWN));
        let group = self.ranks("ranks", "group").into();
        CommCall::CreateGroup { comm, group, tag: tag(self.node), new }
    }

    fn grid(&mut self) -> CommCall {
        let dimensions = self.dimensions();
        let neighbours = 2 * dimensions.len();
        self.arranged(Arrangement::Grid(dimensions.into()), Some([neighbours; 2]))
    }

    fn subgrid(&mut self) -> CommCall {
        let remain = self.flags("remain");
        let neighbours = 2 * remain.iter().filter(|remain| **remain).count();
        self.arranged(Arrangement::Subgrid(remain.into()), Some([neighbours; 2]))
    }

    fn adjacent(&mut self) -> CommCall {
        let [sources, destinations] = ["sources", "destinations"].map(|key| self.ranks(key, key));
        let degrees = [sources.len(), destinations.len()];
        let [sources, destinations] =
            [sources, destinations].map(|all| all.into_iter().map(Some).collect());
        let by = Arrangement::Graph(Neighbours { sources, destinations, of_grid: false });
        self.arranged(by, Some(degrees))
    }

    fn whole_graph(&mut self) -> CommCall {
        let ends = self.list("index").iter().map(Node::as_count).map(u32::try_from);
        let ends = ends.map(|end| end.expect("the shape limits the index")).collect();
        let graph = Graph { ends, edges: self.ranks("edges", "edges").into() };
        self.arranged(Arrangement::Whole(graph), None)
    }

    fn named_edges(&mut self) -> CommCall {
        let edges = self.edges();
        self.arranged(Arrangement::Named(Arc::new(edges)), None)
    }

    fn intercomm(&mut self) -> CommCall {
        let comm = self.parent().comm;
        let Self { reader, node, path } = self;
        let peer = reader.communicators.named_by(reader.diagnostics, node, "peer", path).comm;
        let new = self.new_one(UNKNOWN);
        let [leader, remote_leader] = ["leader", "remote_leader"]
            .map(|key| Rank(self.whole(key, Range::up_to(u32::MAX.into()))));
        CommCall::Intercomm { comm, leader, peer, remote_leader, tag: tag(self.node), new }
    }

    fn merge(&mut self) -> CommCall {
        let (comm, new) = (self.parent().comm, self.new_one(UNKNOWN));
        let Self { reader, node, path } = self;
        let high = ("high", Part::Field("high"));
        let computed = reader.computes_typed(node, high, (Type::Truth, Range::up_to(1)), path);
        let high = !computed && node.flag("high").unwrap_or(false);
        CommCall::Merge { comm, high, new }
    }

    fn free(&mut self) -> CommCall {
        let comm = self.parent().comm;
        self.reader.communicators.end(self.node.word("comm"));
        CommCall::Free { comm }
    }

    fn free_endpoint(&mut self) -> Call {
        let Named { comm, kind } = self.named();
        let Self { reader, node, path } = self;
        if kind != Kind::Endpoint {
            let allowed = "an endpoint is freed by its own name";
            wrong_kind(reader.diagnostics, node, path, allowed);
        }
        reader.communicators.end(node.word("comm"));
        Call::FreeEndpoint { comm }
    }

    fn create_endpoints(&mut self) -> Call {
        let parent = self.parent().comm;
        let Self { reader, node, path } = self;
        let names = node.get("new").and_then(Node::elements).unwrap_or(&[]);
        let first = reader.communicators.endpoints(reader.diagnostics, names, path);
        let count = u16::try_from(names.len()).expect("the shape limits the endpoints");
        Call::CreateEndpoints { parent, count, first }
    }

    /// The dimensions of a grid.
    fn dimensions(&mut self) -> Vec<Dimension> {
        let periods = self.flags("periods");
        let Self { reader, node, path } = self;
        let extents = node.get("dims").and_then(Node::elements).unwrap_or(&[]);
        if let Some(given) = node.get("periods").filter(|_| periods.len() != extents.len()) {
            let found = format!("the list has {} entries", periods.len());
            let allowed = format!("one for each of {} dimensions is needed", extents.len());
            let at = format!("{path}.periods");
            reader.diagnostics.push(Diagnostic::error(
                &codes::CONTRADICTION,
                given.span,
                at,
                found,
                allowed,
            ));
        }
        let periods = periods.into_iter().chain(std::iter::repeat(false));
        let extents = extents.iter().map(|extent| u32::try_from(extent.as_count()));
        let extents = extents.map(|extent| extent.expect("the shape limits the extent"));
        extents.zip(periods).map(|(extent, periodic)| Dimension { extent, periodic }).collect()
    }

    /// The edges that a rank names: as many degrees as sources, and destinations for all of them.
    fn edges(&mut self) -> NamedEdges {
        let degrees: Vec<u32> = self
            .list("degrees")
            .iter()
            .map(|degree| u32::try_from(degree.as_count()).expect("the shape limits the degree"))
            .collect();
        let [sources, destinations] = ["sources", "destinations"].map(|key| self.ranks(key, key));
        let all: u64 = degrees.iter().copied().map(u64::from).sum();
        let Self { reader, node, path } = self;
        let mut refuse = |key: &str, found: usize, allowed: String| {
            let span = node.get(key).map_or(node.span, |list| list.span);
            let (at, found) = (format!("{path}.{key}"), format!("the list has {found} entries"));
            reader.diagnostics.push(Diagnostic::error(
                &codes::CONTRADICTION,
                span,
                at,
                found,
                allowed,
            ));
        };
        if degrees.len() != sources.len() {
            let allowed = format!("one for each of {} sources is needed", sources.len());
            refuse("degrees", degrees.len(), allowed);
        } else if all != destinations.len() as u64 {
            let allowed = format!("the degrees are {all} in all");
            refuse("destinations", destinations.len(), allowed);
        }
        let degrees = degrees.into();
        NamedEdges { sources: sources.into(), degrees, destinations: destinations.into() }
    }
}

fn tag(node: &Node) -> i32 {
    i32::try_from(node.count("tag").unwrap_or(0)).expect("the shape limits the tag")
}
