//! Named datatypes.

use crate::functions as mpi5;

/// Bytes of one element of a named type.
pub const fn size(datatype: u64) -> Option<u64> {
    Some(match datatype {
        mpi5::CHAR
        | mpi5::SIGNED_CHAR
        | mpi5::UNSIGNED_CHAR
        | mpi5::BYTE
        | mpi5::PACKED
        | mpi5::INT8_T
        | mpi5::UINT8_T
        | mpi5::C_BOOL
        | mpi5::CXX_BOOL => 1,
        mpi5::SHORT | mpi5::UNSIGNED_SHORT | mpi5::INT16_T | mpi5::UINT16_T => 2,
        mpi5::INT | mpi5::UNSIGNED | mpi5::FLOAT | mpi5::INT32_T | mpi5::UINT32_T | mpi5::WCHAR => {
            4
        }
        mpi5::SHORT_INT => 6,
        mpi5::LONG
        | mpi5::UNSIGNED_LONG
        | mpi5::LONG_LONG
        | mpi5::UNSIGNED_LONG_LONG
        | mpi5::DOUBLE
        | mpi5::INT64_T
        | mpi5::UINT64_T
        | mpi5::AINT
        | mpi5::COUNT
        | mpi5::OFFSET
        | mpi5::C_FLOAT_COMPLEX
        | mpi5::CXX_FLOAT_COMPLEX
        | mpi5::FLOAT_INT
        | mpi5::TWO_INT => 8,
        mpi5::DOUBLE_INT | mpi5::LONG_INT => 12,
        mpi5::LONG_DOUBLE | mpi5::C_DOUBLE_COMPLEX | mpi5::CXX_DOUBLE_COMPLEX => 16,
        mpi5::LONG_DOUBLE_INT => 20,
        mpi5::C_LONG_DOUBLE_COMPLEX | mpi5::CXX_LONG_DOUBLE_COMPLEX => 32,
        _ => return None,
    })
}
