//! The laws of grids, over all of up to three dimensions with up to three positions each.

use super::*;
use crate::group::Group;

fn dimension(extent: u32, periodic: bool) -> Dimension {
    Dimension { extent, periodic }
}

fn grid(dimensions: &[Dimension]) -> Cartesian {
    let size = dimensions.iter().map(|dimension| dimension.extent).product();
    Cartesian::new(size, dimensions.to_vec()).unwrap()
}

fn all_grids() -> Vec<Cartesian> {
    let single = |extent| [false, true].map(|periodic| dimension(extent, periodic));
    let singles: Vec<_> = (1..=3).flat_map(single).collect();
    let mut shapes = vec![Vec::new()];
    for begun in 0..1 + 6 + 36 {
        for next in &singles {
            let longer = [&shapes[begun][..], &[*next]].concat();
            shapes.push(longer);
        }
    }
    shapes.iter().map(|shape| grid(shape)).collect()
}

fn signed(coordinates: &[u32]) -> Vec<i64> {
    coordinates.iter().map(|coordinate| i64::from(*coordinate)).collect()
}

#[test]
fn rank_is_the_inverse_of_coordinates_and_both_rise_together() {
    let grids = all_grids();
    assert_eq!(grids.len(), 1 + 6 + 36 + 216);
    for grid in grids {
        let all: Vec<_> =
            (0..grid.size()).map(|rank| grid.coordinates(Rank(rank)).unwrap()).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "row-major: {grid:?}");
        for (rank, coordinates) in (0..).zip(&all) {
            assert_eq!(grid.rank(&signed(coordinates)), Ok(Rank(rank)));
        }
    }
}

#[test]
fn a_shift_moves_one_coordinate_and_stops_at_borders() {
    for grid in all_grids() {
        for rank in (0..grid.size()).map(Rank) {
            let here = signed(&grid.coordinates(rank).unwrap());
            for (index, displacement) in
                (0..grid.dimensions().len()).flat_map(|index| (-5..=5).map(move |by| (index, by)))
            {
                let moved = |by: i64| {
                    let mut there = here.clone();
                    there[index] += by;
                    grid.rank(&there).ok()
                };
                let by = i64::from(displacement);
                let expected = Shift { source: moved(-by), destination: moved(by) };
                assert_eq!(grid.shift(rank, index, displacement), Ok(expected));
            }
        }
    }
}

#[test]
fn who_i_send_to_receives_from_me() {
    for grid in all_grids() {
        for rank in (0..grid.size()).map(Rank) {
            for (index, dimension) in grid.dimensions().iter().enumerate() {
                for displacement in -4..=4 {
                    let shift = grid.shift(rank, index, displacement).unwrap();
                    assert!(shift.destination.is_some() || !dimension.periodic);
                    if let Some(destination) = shift.destination {
                        let theirs = grid.shift(destination, index, displacement).unwrap();
                        assert_eq!(theirs.source, Some(rank));
                    }
                }
            }
        }
    }
}

#[test]
fn sub_grids_share_the_coordinates_that_go() {
    for grid in all_grids() {
        let world = Group::world(grid.size());
        let count = grid.dimensions().len();
        for mask in 0..1_usize << count {
            let remain: Vec<bool> = (0..count).map(|index| mask >> index & 1 == 1).collect();
            let sub = grid.sub(&remain).unwrap();
            let parts = world.split(&sub.choices).unwrap();
            let kept = |rank, wanted| {
                let coordinates = grid.coordinates(Rank(rank)).unwrap().into_iter();
                let chosen = coordinates.zip(&remain).filter(|(_, remain)| **remain == wanted);
                chosen.map(|(coordinate, _)| coordinate).collect::<Vec<_>>()
            };
            assert_eq!(parts.len() * sub.grid.size() as usize, grid.size() as usize);
            for part in parts {
                assert_eq!(part.group.size(), sub.grid.size());
                let members = part.group.members();
                assert!(members.iter().all(|rank| kept(*rank, false) == kept(members[0], false)));
                for (rank, member) in (0..).zip(members) {
                    assert_eq!(sub.grid.coordinates(Rank(rank)).unwrap(), kept(*member, true));
                }
            }
        }
    }
}

#[test]
fn a_grid_without_dimensions_is_one_rank() {
    let grid = grid(&[]);
    assert_eq!(
        (grid.size(), grid.coordinates(Rank(0)), grid.rank(&[])),
        (1, Ok(vec![]), Ok(Rank(0)))
    );
}

#[test]
fn wrong_grids_and_questions_are_named() {
    let said = |error: CartesianError| error.to_string();
    let plane = grid(&[dimension(2, true), dimension(3, false)]);
    let wrong = |size, extents: &[u32]| {
        let dimensions = extents.iter().map(|extent| dimension(*extent, true)).collect();
        said(Cartesian::new(size, dimensions).unwrap_err())
    };
    assert_eq!(wrong(6, &[6, 0]), "dimension 1 has extent 0; each needs at least 1");
    assert_eq!(
        wrong(7, &[2, 3]),
        "the extents make 6 positions for 7 ranks; the two must be equal"
    );
    let huge = [u32::MAX; 9];
    assert!(wrong(7, &huge).starts_with(&format!("the extents make {} positions", u128::MAX)));
    let outside = "rank 6 is out of range, the grid has 6 ranks";
    assert_eq!(said(plane.coordinates(Rank(6)).unwrap_err()), outside);
    assert_eq!(said(plane.shift(Rank(6), 0, 1).unwrap_err()), outside);
    assert_eq!(
        said(plane.shift(Rank(0), 2, 1).unwrap_err()),
        "dimension 2 is out of range, the grid has 2 dimensions"
    );
    let count = "1 entries for a grid of 2 dimensions; each has one";
    assert_eq!(said(plane.rank(&[1]).unwrap_err()), count);
    assert_eq!(said(plane.sub(&[true]).unwrap_err()), count);
    for coordinate in [-1, 3, i64::MIN, i64::MAX] {
        assert_eq!(
            said(plane.rank(&[-7, coordinate]).unwrap_err()),
            format!(
                "coordinate {coordinate} is outside dimension 1, which is not periodic and has \
                 extent 3"
            )
        );
    }
    assert_eq!(plane.rank(&[-7, 2]), Ok(Rank(5)));
}

#[test]
fn far_shifts_do_not_overflow() {
    let ring = grid(&[dimension(3, true)]);
    let there = |displacement| ring.shift(Rank(1), 0, displacement).unwrap();
    let shift = |source, destination| Shift {
        source: Some(Rank(source)),
        destination: Some(Rank(destination)),
    };
    // 2^31 = 2 modulo 3.
    assert_eq!(there(i32::MIN), shift(0, 2));
    assert_eq!(there(i32::MAX), shift(0, 2));
}
