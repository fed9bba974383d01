//! The named types that trees end in.

/// A named type; its size is also its alignment.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Primitive {
    /// Signed, 1 byte.
    Int8,
    /// Signed, 2 bytes.
    Int16,
    /// Signed, 4 bytes.
    Int32,
    /// Signed, 8 bytes.
    Int64,
    /// IEEE 754 binary32.
    Float,
    /// IEEE 754 binary64.
    Double,
    /// One character.
    Char,
    /// Eight bits without a meaning.
    Byte,
}

impl Primitive {
    /// Every named type; the place in this list is its number in an encoding.
    pub const ALL: [Self; 8] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Float,
        Self::Double,
        Self::Char,
        Self::Byte,
    ];

    /// Bytes of one element.
    pub const fn width(self) -> u64 {
        match self {
            Self::Int8 | Self::Char | Self::Byte => 1,
            Self::Int16 => 2,
            Self::Int32 | Self::Float => 4,
            Self::Int64 | Self::Double => 8,
        }
    }

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Char => "char",
            Self::Byte => "byte",
        }
    }

    /// The named type of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|primitive| primitive.name() == name)
    }
}
