//! The arguments of the functions of MPI, by their names, and what each of them is: made of the table of functions.

#![allow(non_camel_case_types, clippy::struct_field_names, reason = "as MPI names them")]
#![allow(dead_code, reason = "functions have arguments that the simulator does not need")]

use std::ffi::c_char;
use std::marker::PhantomData;

use super::fault::Fault;
use crate::functions as mpi5;
use crate::ranks::Request;

/// The arguments of a function.
pub(crate) trait Arguments {
    /// How many there are, each a word.
    const COUNT: usize;

    /// Those of a request.
    fn of(request: &Request) -> Self;
}

/// An argument by its type: one of a request, or several that stand together.
pub(crate) trait Argument {
    /// Argument number `at`, counted from 0.
    fn of(request: &Request, at: usize) -> Self;
}

/// A handle of an object.
pub(crate) trait Handle: Copy {
    /// The handle that is this word.
    fn of(word: u64) -> Self;
}

/// A number of elements or bytes; in memory an `int`, or 64 bits in the form of a function for large counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count(pub(crate) i64);

/// An `MPI_Status`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status;

/// Where the process has a value of this type, or an array; 0 where it wants none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct To<T> {
    pub(crate) address: u64,
    kind: PhantomData<T>,
}

/// The arguments of a function, and behind them the variable of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithRequest<A> {
    pub(crate) of: A,
    pub(crate) request: To<handle::Request>,
}

/// The arguments of a function, and behind them an info object and the variable of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithInfo<A> {
    pub(crate) of: A,
    pub(crate) request: To<handle::Request>,
}

/// Arguments that are words.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(pub(crate) u64);

        impl Argument for $name {
            fn of(request: &Request, at: usize) -> Self {
                Self(request.word(at))
            }
        }
    )*};
}

words! {
    /// Where the process has memory of no type; `MPI_IN_PLACE` and its like are addresses, too.
    Address
    /// Where a function of the program begins.
    Callback
}

/// Arguments that stand together, each with its place among them.
macro_rules! together {
    ($($(#[$doc:meta])* $name:ident $(<$d:ident>)? { $($at:literal $field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name $(<$d>)? {
            $(pub(crate) $field: $kind,)*
        }

        impl $(<$d>)? Argument for $name $(<$d>)? {
            fn of(request: &Request, at: usize) -> Self {
                Self { $($field: Argument::of(request, at + $at),)* }
            }
        }
    )*};
}

together! {
    /// Elements of a datatype: their address, their number and the datatype.
    Buffer {
        0 address: Address,
        1 count: Count,
        2 datatype: handle::Datatype,
    }

    /// A buffer with a block for each rank: how many elements, and where they begin, counted in extents of the
    /// datatype.
    Blocks {
        0 address: Address,
        1 counts: To<Count>,
        2 displacements: To<Count>,
        3 datatype: handle::Datatype,
    }

    /// A buffer with a block of a datatype of its own for each rank; the displacements are bytes.
    TypedBlocks<D> {
        0 address: Address,
        1 counts: To<Count>,
        2 displacements: To<D>,
        3 datatypes: To<handle::Datatype>,
    }

    /// Elements in a window: their rank, displacement, number and datatype.
    Target {
        0 rank: i32,
        1 displacement: i64,
        2 count: Count,
        3 datatype: handle::Datatype,
    }
}

impl Address {
    /// Whether the data is in the buffer of the results.
    pub(crate) const fn is_in_place(self) -> bool {
        self.0 == mpi5::IN_PLACE
    }
}

impl Buffer {
    pub(crate) const fn is_in_place(self) -> bool {
        self.address.is_in_place()
    }
}

impl Blocks {
    pub(crate) const fn is_in_place(self) -> bool {
        self.address.is_in_place()
    }
}

impl<D> TypedBlocks<D> {
    pub(crate) const fn is_in_place(&self) -> bool {
        self.address.is_in_place()
    }
}

impl<T> To<T> {
    /// A pointer.
    pub(crate) const fn new(address: u64) -> Self {
        Self { address, kind: PhantomData }
    }
}

impl Argument for i32 {
    fn of(request: &Request, at: usize) -> Self {
        request.int(at)
    }
}

impl Argument for i64 {
    fn of(request: &Request, at: usize) -> Self {
        request.long(at)
    }
}

impl Argument for Count {
    fn of(request: &Request, at: usize) -> Self {
        Self(request.long(at))
    }
}

impl<T> Argument for To<T> {
    fn of(request: &Request, at: usize) -> Self {
        Self::new(request.word(at))
    }
}

impl<A: Arguments> Arguments for WithRequest<A> {
    const COUNT: usize = A::COUNT + 1;

    fn of(request: &Request) -> Self {
        Self { of: A::of(request), request: Argument::of(request, A::COUNT) }
    }
}

impl<A: Arguments> Arguments for WithInfo<A> {
    const COUNT: usize = A::COUNT + 2;

    fn of(request: &Request) -> Self {
        Self { of: A::of(request), request: Argument::of(request, A::COUNT + 1) }
    }
}

impl Count {
    /// A count of elements or bytes: 0 or more.
    ///
    /// # Errors
    ///
    /// `MPI_ERR_COUNT` where it is negative.
    pub(crate) fn natural(self) -> Result<u64, Fault> {
        let Self(count) = self;
        u64::try_from(count).map_err(|_| Fault::new(mpi5::ERR_COUNT, format!("a count of {count}")))
    }
}

impl From<Count> for i64 {
    fn from(Count(count): Count) -> Self {
        count
    }
}

/// A number of entries of an array: 0 or more.
///
/// # Errors
///
/// `MPI_ERR_ARG` where it is negative.
pub(crate) fn length(entries: impl Into<i64>) -> Result<usize, Fault> {
    let length = entries.into();
    usize::try_from(length)
        .map_err(|_| Fault::new(mpi5::ERR_ARG, format!("an array of {length} entries")))
}

/// A type for each kind of handle.
macro_rules! handles {
    ($($name:ident)*) => {
        /// Handles of objects, by what they are.
        pub(crate) mod handle {
            $(
                #[doc = concat!("A handle of the kind `", stringify!($name), "`.")]
                #[derive(Clone, Copy, Debug, Eq, PartialEq)]
                pub(crate) struct $name(pub(crate) u64);

                impl super::Handle for $name {
                    fn of(word: u64) -> Self {
                        Self(word)
                    }
                }

                impl super::Argument for $name {
                    fn of(request: &super::Request, at: usize) -> Self {
                        Self(request.word(at))
                    }
                }
            )*
        }
    };
}

/// The arguments of a function: a field for each, with its number.
macro_rules! arguments {
    ($name:ident $count:literal $($at:literal $field:ident: $kind:ty),*) => {
        #[doc = concat!("The arguments of `MPI_", stringify!($name), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name {
            $(pub(crate) $field: $kind,)*
        }

        impl Arguments for $name {
            const COUNT: usize = $count;

            fn of(request: &Request) -> Self {
                Self { $($field: Argument::of(request, $at),)* }
            }
        }
    };
}

/// A function whose arguments are those of another one.
macro_rules! same {
    ($name:ident $other:ident) => {
        #[doc = concat!("The arguments of `MPI_", stringify!($name), "`.")]
        pub(crate) type $name = $other;
    };
}

include!(concat!(env!("OUT_DIR"), "/arguments.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Function;

    /// The arguments of a function whose words are their own numbers.
    fn numbered<A: Arguments>(function: Function) -> A {
        let words: [u64; 14] = std::array::from_fn(|at| at as u64);
        A::of(&Request::of(function as u32, &words))
    }

    #[test]
    fn each_argument_has_the_number_of_its_place() {
        let of: Sendrecv = numbered(Function::Sendrecv);
        assert_eq!([of.sendbuf.address.0, of.sendbuf.datatype.0], [0, 2]);
        assert_eq!([of.dest, of.sendtag, of.source, of.recvtag], [3, 4, 8, 9]);
        assert_eq!([of.recvbuf.address.0, of.recvbuf.datatype.0], [5, 7]);
        assert_eq!([of.sendbuf.count.0, of.recvbuf.count.0], [1, 6]);
        assert_eq!([of.comm.0, of.status.address], [10, 11]);
        let of: Get_accumulate = numbered(Function::Get_accumulate);
        assert_eq!([of.origin.address.0, of.result.address.0, of.op.0, of.win.0], [0, 3, 10, 11]);
        assert_eq!((of.target.rank, of.target.displacement, of.target.count.0), (6, 7, 8));
    }

    #[test]
    fn a_request_stands_behind_the_arguments_of_the_blocking_function() {
        let WithRequest { of, request } = numbered::<WithRequest<Alltoallw>>(Function::Ialltoallw);
        assert_eq!([of.recvbuf.datatypes.address, of.comm.0, request.address], [7, 8, 9]);
        let WithInfo { of, request } = numbered::<WithInfo<Alltoallw>>(Function::Alltoallw_init);
        assert_eq!([of.recvbuf.displacements.address, of.comm.0, request.address], [6, 8, 10]);
    }

    #[test]
    fn an_int_is_the_low_half_of_its_word() {
        let word = i64::from(mpi5::ANY_TAG).cast_unsigned();
        let of = Probe::of(&Request::of(Function::Probe as u32, &[word, word, 0, 0]));
        assert_eq!([of.source, of.tag], [mpi5::ANY_TAG; 2]);
        assert!(Count(-1).natural().is_err() && length(-1).is_err());
    }
}
