//! Which calls a method makes.

use super::boxes::{Joined, pieces};
use super::*;
use crate::mpi::datatype::{Order, Primitive};

fn layout(datatype: Datatype, count: u64) -> Layout {
    Layout::new(datatype, count).unwrap()
}

fn double() -> Datatype {
    Datatype::named(Primitive::Double)
}

fn calls(method: Method, layout: &Layout) -> usize {
    method.calls(layout, Task::Pack).unwrap().len()
}

#[test]
fn a_vector_is_one_set_of_rows() {
    let vector = layout(Datatype::vector(100, 2, 8, &double()).unwrap(), 1);
    let [piece] = pieces(&vector, Joined::Slices).unwrap()[..] else { panic!("one piece") };
    assert_eq!((piece.rows, piece.width, piece.pitch, piece.slices), (100, 16, 64, 1));
    assert_eq!(calls(Method::Memcpy2d, &vector), 1);
    assert_eq!(calls(Method::Blockwise, &vector), 100);
    assert_eq!(calls(Method::Points, &vector), 200);
    assert_eq!(calls(Method::DeviceVector, &vector), 2);
    assert_eq!(Method::PerField.calls(&vector, Task::Pack), Err(Refusal::NoStruct));
}

#[test]
fn a_box_of_four_dimensions_takes_a_call_for_each_slice_of_the_slowest() {
    let sizes = [8; 4];
    let part = [4, 3, 2, 5];
    let datatype = Datatype::subarray(&sizes, &part, &[1, 1, 1, 1], Order::C, &double()).unwrap();
    let array = layout(datatype, 1);
    let boxes = pieces(&array, Joined::Slices).unwrap();
    assert_eq!(boxes.len(), 4);
    assert!(boxes.iter().all(|piece| (piece.slices, piece.rows, piece.width) == (3, 2, 40)));
    assert_eq!(calls(Method::Memcpy2d, &array), 12);
    assert_eq!(calls(Method::Blockwise, &array), 24);
    assert_eq!(Method::DeviceVector.calls(&array, Task::Pack), Err(Refusal::NoRows));
}

#[test]
fn a_struct_takes_a_call_for_each_member() {
    let named = |primitive| Datatype::named(primitive);
    let members =
        [double(), named(Primitive::Float), named(Primitive::Int32), named(Primitive::Char)];
    let made = Datatype::structure(&[1, 1, 1, 1], &[0, 8, 12, 16], &members).unwrap();
    let many = layout(Datatype::resized(0, 24, &made).unwrap(), 50);
    let all = Method::PerField.calls(&many, Task::Pack).unwrap();
    let widths: Vec<(u64, u64)> = all
        .iter()
        .map(|call| match call {
            DeviceCall::Copy { width, rows, .. } => (*width, *rows),
            DeviceCall::Kernel { .. } | DeviceCall::Host(_) => panic!("copies only"),
        })
        .collect();
    assert_eq!(widths, [(8, 50), (4, 50), (4, 50), (1, 50)]);
    let scattered = Datatype::vector(2, 1, 2, &double()).unwrap();
    let made = Datatype::structure(&[1], &[0], &[scattered]).unwrap();
    let refused = Method::PerField.calls(&layout(made, 1), Task::Pack);
    assert_eq!(refused, Err(Refusal::Scattered(0)));
}

#[test]
fn rows_that_go_back_or_overlap_are_no_set_of_rows() {
    for (blocklength, stride) in [(1, -3), (1, 0), (2, 1)] {
        let vector = layout(Datatype::vector(10, blocklength, stride, &double()).unwrap(), 1);
        assert_eq!(pieces(&vector, Joined::Slices).unwrap().len(), 10, "{blocklength} {stride}");
    }
    // Slices 100 B apart, with rows 512 B apart in them: no box of the driver's.
    let rows = Datatype::hvector(4, 1, 512, &double()).unwrap();
    let apart = |bytes| layout(Datatype::hvector(3, 1, bytes, &rows).unwrap(), 1);
    assert_eq!(pieces(&apart(100), Joined::Slices).unwrap().len(), 3);
    assert_eq!(pieces(&apart(2_100), Joined::Slices).unwrap().len(), 3);
    assert_eq!(pieces(&apart(2_560), Joined::Slices).unwrap().len(), 1);
    let made = Datatype::structure(&[1], &[0], &[double()]).unwrap();
    let narrow = layout(Datatype::resized(0, 4, &made).unwrap(), 5);
    assert_eq!(Method::PerField.calls(&narrow, Task::Pack), Err(Refusal::Pitch(4)));
}

#[test]
fn unpacking_is_packing_backwards() {
    let vector = layout(Datatype::vector(3, 1, 2, &double()).unwrap(), 1);
    for method in Method::ALL {
        let Ok(forth) = method.calls(&vector, Task::Pack) else { continue };
        let mut back = method.calls(&vector, Task::Unpack).unwrap();
        back.reverse();
        assert_eq!(back.into_iter().map(DeviceCall::backwards).collect::<Vec<_>>(), forth);
    }
}
