//! Datatypes that a program chooses by what they hold: numbers of Fortran by their precision and range, and pairs by
//! their value.

use super::super::{Answer, Asked, Client, Fault, done, listed, mpi5};
use super::{Contents, named};

impl Client {
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn choice_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Type_create_f90_integer => self.chosen(asked, mpi5::COMBINER_F90_INTEGER, 1),
            F::Type_create_f90_real => self.chosen(asked, mpi5::COMBINER_F90_REAL, 2),
            F::Type_create_f90_complex => self.chosen(asked, mpi5::COMBINER_F90_COMPLEX, 2),
            F::Type_get_value_index => value_index(asked),
            _ => return None,
        })
    }

    /// The type of so many arguments, and behind them the place of its handle; the same arguments give the same one.
    fn chosen(&mut self, asked: &mut Asked<'_>, combiner: i32, count: usize) -> Answer {
        let integers: Vec<i64> = (0..count).map(|at| asked.int(at).into()).collect();
        let Some(like) = like(combiner, &integers) else {
            let why = format!("no number here has the digits and exponents {}", listed(&integers));
            return Err(Fault::new(mpi5::ERR_ARG, why));
        };
        let known = self.types.made.iter().find(|(_, made)| {
            made.contents.combiner == combiner && made.contents.integers == integers
        });
        let handle = if let Some((handle, _)) = known {
            handle
        } else {
            let tree = named::of(like).expect("it is named").tree.clone();
            let (addresses, types) = (Vec::new(), Vec::new());
            let handle = self.new_type(tree, Contents { combiner, integers, addresses, types });
            self.types.made.get_mut(handle).expect("it was made").is_committed = true;
            handle
        };
        asked.put_word(count, handle);
        done()
    }
}

/// The shortest named type that has the decimal digits of an integer, or the digits and the exponent of a real number,
/// of which one may be open.
pub(super) fn like(combiner: i32, numbers: &[i64]) -> Option<u64> {
    let is_open = |number: i64| number == i64::from(mpi5::UNDEFINED);
    let fits = |digits: i64, exponent: i64, (most_digits, most_exponent): (i64, i64)| {
        (is_open(digits) || digits <= most_digits)
            && (is_open(exponent) || exponent <= most_exponent)
    };
    match (combiner, numbers) {
        (mpi5::COMBINER_F90_INTEGER, [digits]) => match digits {
            ..=2 => Some(mpi5::INT8_T),
            3..=4 => Some(mpi5::INT16_T),
            5..=9 => Some(mpi5::INT32_T),
            10..=18 => Some(mpi5::INT64_T),
            _ => None,
        },
        (mpi5::COMBINER_F90_REAL | mpi5::COMBINER_F90_COMPLEX, [digits, exponent]) => {
            let is_real = combiner == mpi5::COMBINER_F90_REAL;
            if fits(*digits, *exponent, (6, 37)) {
                Some(if is_real { mpi5::FLOAT } else { mpi5::C_FLOAT_COMPLEX })
            } else if fits(*digits, *exponent, (15, 307)) {
                Some(if is_real { mpi5::DOUBLE } else { mpi5::C_DOUBLE_COMPLEX })
            } else {
                None
            }
        }
        (_, _) => None,
    }
}

/// The named pair of a value and an index, where there is one.
fn value_index(asked: &mut Asked<'_>) -> Answer {
    let pair = match (asked.word(0), asked.word(1)) {
        (mpi5::FLOAT, mpi5::INT) => mpi5::FLOAT_INT,
        (mpi5::DOUBLE, mpi5::INT) => mpi5::DOUBLE_INT,
        (mpi5::LONG, mpi5::INT) => mpi5::LONG_INT,
        (mpi5::INT, mpi5::INT) => mpi5::TWO_INT,
        (mpi5::SHORT, mpi5::INT) => mpi5::SHORT_INT,
        (mpi5::LONG_DOUBLE, mpi5::INT) => mpi5::LONG_DOUBLE_INT,
        (mpi5::REAL, mpi5::REAL) => mpi5::TWO_REAL,
        (mpi5::DOUBLE_PRECISION, mpi5::DOUBLE_PRECISION) => mpi5::TWO_DOUBLE_PRECISION,
        (mpi5::INTEGER, mpi5::INTEGER) => mpi5::TWO_INTEGER,
        (_, _) => mpi5::DATATYPE_NULL,
    };
    asked.put_word(2, pair);
    done()
}
