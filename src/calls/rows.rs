//! A call is one row: its fields, and the role of each, such as communicator, request, buffer or tag.
//!
//! ```text
//!   rows! { enum Call { Isend { request: Handle as Opens, to: Peer as To, .. }, .. } }
//!      │
//!      ├─▶ enum Call, and a `match` over its variants in `fields`, `fields_mut`, `named`
//!      └─▶ which communicator? which request does it open? which buffers? ──▶ one question, over the fields
//! ```
//!
//! A call that carries others (`MPI_Sendrecv`, `MPI_Start` of an operation) has their fields, too. A field
//! without a role is an argument that no question is about; it is found by its name.

use std::any::Any;
use std::sync::Arc;

use super::arguments::{Buffer, Comm, Peer, Requests, Win};
use super::identity::Handle;
use super::space::Region;

/// Declares the roles of fields: once to be read, once to be changed.
macro_rules! roles {
    ($($(#[$doc:meta])* $Role:ident($ty:ty)),* $(,)?) => {
        /// A field of a call.
        #[derive(Clone, Copy, Debug)]
        pub enum Field<'a> {
            $($(#[$doc])* $Role(&'a $ty)),*
        }

        /// A field of a call, to be changed.
        #[derive(Debug)]
        pub enum FieldMut<'a> {
            $($(#[$doc])* $Role(&'a mut $ty)),*
        }
    };
}

roles! {
    /// The communicator over which the call is made.
    Over(Comm),
    /// Another communicator that it names.
    Other(Comm),
    /// The communicator that it makes.
    Makes(Comm),
    /// The window that it is about, or makes.
    Window(Win),
    /// The request that it opens, or prepares.
    Opens(Handle),
    /// An open request that it is about.
    Of(Handle),
    /// All open requests that it is about.
    OfAll(Requests),
    /// The message of a matched probe, which it holds or receives.
    Message(Handle),
    /// The rank to which it sends.
    To(Peer),
    /// The rank from which it receives.
    From(Peer),
    /// The tag of its message.
    Tag(i32),
    /// The tag that it receives; `None` is `MPI_ANY_TAG`.
    AnyTag(Option<i32>),
    /// The buffer of a message that it reads.
    Reads(Buffer),
    /// The buffer of a message that it fills.
    Fills(Buffer),
    /// Memory of the caller that it reads.
    Input(Region),
    /// Memory of the caller that it writes.
    Output(Region),
}

/// A call, or a part of one, that has fields.
pub trait Fields {
    /// Shows each field that has a role, in the order of the row.
    fn fields<'a>(&'a self, see: &mut impl FnMut(Field<'a>));

    /// The same, to be changed.
    fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut(FieldMut<'a>));

    /// The field of this name, of the call or of what it carries; `send.tag` is that of its `send`.
    fn named(&mut self, name: &str) -> Option<&mut dyn Any>;

    /// The first field that answers a question.
    fn first<'a, T>(&'a self, answer: impl Fn(Field<'a>) -> Option<T>) -> Option<T> {
        let mut first = None;
        self.fields(&mut |field| {
            if first.is_none() {
                first = answer(field);
            }
        });
        first
    }
}

impl<T: Fields + Clone> Fields for Arc<T> {
    fn fields<'a>(&'a self, see: &mut impl FnMut(Field<'a>)) {
        (**self).fields(see);
    }

    fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut(FieldMut<'a>)) {
        Self::make_mut(self).fields_mut(see);
    }

    fn named(&mut self, name: &str) -> Option<&mut dyn Any> {
        Self::make_mut(self).named(name)
    }
}

impl<T: Fields> Fields for Option<T> {
    fn fields<'a>(&'a self, see: &mut impl FnMut(Field<'a>)) {
        if let Some(inside) = self {
            inside.fields(see);
        }
    }

    fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut(FieldMut<'a>)) {
        if let Some(inside) = self {
            inside.fields_mut(see);
        }
    }

    fn named(&mut self, name: &str) -> Option<&mut dyn Any> {
        self.as_mut()?.named(name)
    }
}

/// An enum of calls, a row each; `as` gives a field its role, and `as Inside` the fields of what it carries.
///
/// A role of [`Field`] may be that of an optional value, as that of the request of an R-form.
#[macro_export]
macro_rules! rows {
    ($(#[$about:meta])* pub enum $Name:ident { $(
        $(#[$doc:meta])* $Row:ident
            $({ $($field:ident: $ty:ty $(as $Role:ident)?),* $(,)? })?
            $(($inner:ty $(as $Inside:ident)?))?
    ),* $(,)? }) => {
        $(#[$about])*
        pub enum $Name {
            $($(#[$doc])* $Row $({ $($field: $ty),* })? $(($inner))?),*
        }

        impl $crate::rows::Fields for $Name {
            fn fields<'a>(&'a self, see: &mut impl FnMut($crate::rows::Field<'a>)) {
                match self {
                    $(Self::$Row $({ $($field),* })? $(($crate::bound!(inside $inner)))? => {
                        $($($crate::seen!(fields Field see $field $($Role)?);)*)?
                        $($crate::seen!(fields Field see ($crate::bound!(inside $inner)) $($Inside)?);)?
                    })*
                }
            }

            fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut($crate::rows::FieldMut<'a>)) {
                match self {
                    $(Self::$Row $({ $($field),* })? $(($crate::bound!(inside $inner)))? => {
                        $($($crate::seen!(fields_mut FieldMut see $field $($Role)?);)*)?
                        $($crate::seen!(fields_mut FieldMut see ($crate::bound!(inside $inner)) $($Inside)?);)?
                    })*
                }
            }

            fn named(&mut self, name: &str) -> Option<&mut dyn std::any::Any> {
                match self {
                    $(Self::$Row $({ $($field),* })? $(($crate::bound!(inside $inner)))? => {
                        $($($crate::named!(name $field $field $($Role)?);)*)?
                        $($crate::named!(name inside ($crate::bound!(inside $inner)) $($Inside)?);)?
                    })*
                }
                None
            }
        }
    };
}

/// The fields of a struct that a call carries.
#[macro_export]
macro_rules! fields_of {
    ($Name:ident { $($field:ident as $Role:ident),* $(,)? }) => {
        impl $crate::rows::Fields for $Name {
            fn fields<'a>(&'a self, see: &mut impl FnMut($crate::rows::Field<'a>)) {
                let Self { $($field,)* .. } = self;
                $($crate::seen!(fields Field see $field $Role);)*
            }

            fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut($crate::rows::FieldMut<'a>)) {
                let Self { $($field,)* .. } = self;
                $($crate::seen!(fields_mut FieldMut see $field $Role);)*
            }

            fn named(&mut self, name: &str) -> Option<&mut dyn std::any::Any> {
                let Self { $($field,)* .. } = self;
                $($crate::named!(name $field $field $Role);)*
                None
            }
        }
    };
}

/// The name of what a variant carries.
#[doc(hidden)]
#[macro_export]
macro_rules! bound {
    ($inside:ident $inner:ty) => {
        $inside
    };
}

/// Shows one field.
#[doc(hidden)]
#[macro_export]
macro_rules! seen {
    ($way:ident $Field:ident $see:ident $field:tt) => {
        let _ = $field;
    };
    ($way:ident $Field:ident $see:ident $field:tt Inside) => {
        $crate::rows::Fields::$way($field, $see);
    };
    ($way:ident $Field:ident $see:ident $field:tt $Role:ident) => {
        if let Some(field) = $crate::rows::Each::$way($field) {
            $see($crate::rows::$Field::$Role(field));
        }
    };
}

/// Returns the field of a name, or that inside of it.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($name:ident $own:ident $field:tt Inside) => {
        let within = $name.strip_prefix(concat!(stringify!($own), "."));
        if let Some(found) = $crate::rows::Fields::named($field, within.unwrap_or($name)) {
            return Some(found);
        }
    };
    ($name:ident $own:ident $field:tt $($Role:ident)?) => {
        if $name == stringify!($own) {
            return Some($field);
        }
    };
}

/// A value, or one that may be missing.
#[doc(hidden)]
pub trait Each<T> {
    fn fields(&self) -> Option<&T>;
    fn fields_mut(&mut self) -> Option<&mut T>;
}

impl<T> Each<T> for T {
    fn fields(&self) -> Option<&T> {
        Some(self)
    }

    fn fields_mut(&mut self) -> Option<&mut T> {
        Some(self)
    }
}

impl<T> Each<T> for Option<T> {
    fn fields(&self) -> Option<&T> {
        self.as_ref()
    }

    fn fields_mut(&mut self) -> Option<&mut T> {
        self.as_mut()
    }
}
