//! Basic elements: those of named types, as MPI counts them. A complex number and a `long double` are one each, though
//! several primitives stand for them; a pair of a value and an index is two.

use super::Datatype;
use super::parts::Parts;

/// Bytes and number of elements that follow each other and have as many bytes each, in packing order.
fn runs(datatype: &Datatype) -> impl Iterator<Item = (u64, u64)> {
    let is_closed = |datatype: &Datatype| datatype.measures().basic_width.is_some();
    Parts::new(datatype, 1, is_closed).map(|elements| {
        let measures = elements.child.measures();
        let width = measures.basic_width.expect("only such types are closed");
        (width, measures.basics * elements.count)
    })
}

/// How many basic elements so many bytes of a datatype's data are; none where they end inside one.
pub fn basic_elements(datatype: &Datatype, bytes: u64) -> Option<u64> {
    if bytes == 0 {
        return Some(0);
    }
    let (whole, mut rest) = (bytes.checked_div(datatype.size())?, bytes % datatype.size());
    let mut count = whole * datatype.measures().basics;
    for (width, number) in runs(datatype) {
        let fit = (rest / width).min(number);
        count += fit;
        rest -= fit * width;
        if fit < number {
            break;
        }
    }
    (rest == 0).then_some(count)
}

/// How many bytes so many basic elements of a datatype are; none where they are beyond 64 bits.
pub fn bytes_of_basics(datatype: &Datatype, elements: u64) -> Option<u64> {
    let all = datatype.measures().basics;
    let Some(whole) = elements.checked_div(all) else { return Some(0) };
    let (mut bytes, mut rest) = (whole.checked_mul(datatype.size())?, elements % all);
    for (width, number) in runs(datatype) {
        let fit = rest.min(number);
        bytes = bytes.checked_add(fit * width)?;
        rest -= fit;
        if rest == 0 {
            break;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::Primitive;
    use super::*;

    #[test]
    fn elements_are_those_of_the_program_and_bytes_of_them_are_theirs() {
        let [int, short] = [Primitive::Int32, Primitive::Int16].map(Datatype::named);
        let wide = Datatype::named_as(2, Primitive::Int64, 16).unwrap();
        let complex = Datatype::named_as(2, Primitive::Float, 4).unwrap();
        let pair = Datatype::structure(&[1, 1], &[0, 16], &[wide.clone(), int.clone()]).unwrap();
        let nothing = Datatype::contiguous(0, &int).unwrap();
        let mixed = Datatype::structure(
            &[2, 3, 1, 4],
            &[0, 32, 44, 48],
            &[wide.clone(), complex.clone(), nothing.clone(), short.clone()],
        );
        let mixed = mixed.unwrap();
        let vector = Datatype::vector(3, 2, 4, &pair).unwrap();
        for (datatype, bytes, elements) in [
            (&int, 12, Some(3)),
            (&wide, 48, Some(3)),
            (&wide, 20, None),
            (&complex, 8, Some(1)),
            (&complex, 4, None),
            (&pair, 20, Some(2)),
            (&pair, 16, Some(1)),
            (&pair, 36, Some(3)),
            (&pair, 24, None),
            (&mixed, 64, Some(9)),
            (&mixed, 32, Some(2)),
            (&mixed, 48, Some(4)),
            (&mixed, 52, None),
            (&mixed, 58, Some(6)),
            (&mixed, 64 + 16, Some(10)),
            (&vector, 120, Some(12)),
            (&vector, 40 + 16, Some(5)),
            (&nothing, 4, None),
            (&nothing, 0, Some(0)),
        ] {
            assert_eq!(basic_elements(datatype, bytes), elements, "{bytes} B of {datatype:?}");
            if let Some(elements) = elements {
                assert_eq!(bytes_of_basics(datatype, elements), Some(bytes), "{datatype:?}");
            }
        }
        assert_eq!(bytes_of_basics(&nothing, 3), Some(0));
        assert_eq!(bytes_of_basics(&wide, u64::MAX), None);
    }
}
