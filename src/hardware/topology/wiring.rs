//! The contract of a kind of topology: its keys in a scenario, its wires, its routes.

use super::wires::{LinkId, TopologyError, Wires};

/// A key of a topology in a scenario: a whole number.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The least value.
    pub least: u32,
    /// The greatest value.
    pub most: u32,
    /// Whether it may be left out.
    pub need: Need,
    /// Its meaning, in a sentence.
    pub doc: &'static str,
}

/// Whether a key may be left out.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// It must be there; an example.
    Required(&'static str),
    /// It may be left out; the default.
    Default(&'static str),
}

/// The keys of a kind of topology, as `parameters!` makes them.
pub trait Parameters: Sized {
    /// The topology, in a sentence.
    const ABOUT: &'static str;
    /// Every key.
    const KEYS: &'static [Key];

    /// The parameters with these values, in the order of [`Self::KEYS`].
    fn of(values: &mut dyn Iterator<Item = u32>) -> Self;
}

/// Makes a struct whose fields are the keys of a topology in a scenario.
///
/// A line reads `name: least..=greatest = Required("example");` or `... = Default("value");`.
macro_rules! parameters {
    (
        $(#[doc = $about:literal])+
        pub struct $Name:ident {$(
            $(#[doc = $doc:literal])+
            $key:ident: $least:literal..=$most:literal = $need:ident($text:literal);
        )*}
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub struct $Name {$(
            $(#[doc = $doc])+
            pub $key: u32,
        )*}

        impl $crate::topology::wiring::Parameters for $Name {
            const ABOUT: &'static str = concat!($($about),+).trim_ascii();
            const KEYS: &'static [$crate::topology::wiring::Key] = &[$(
                $crate::topology::wiring::Key {
                    name: stringify!($key),
                    least: $least,
                    most: $most,
                    need: $crate::topology::wiring::Need::$need($text),
                    doc: concat!($($doc),+).trim_ascii(),
                },
            )*];

            #[allow(unused_variables, reason = "a kind may have no keys")]
            fn of(values: &mut dyn Iterator<Item = u32>) -> Self {
                Self {$($key: values.next().expect("a value for each key"),)*}
            }
        }
    };
}
pub(super) use parameters;

/// A kind of topology with its parameters; `Display` gives both in words.
pub trait Wiring: Parameters + std::fmt::Display {
    /// Its routes.
    type Routes: Routes;

    /// Adds switches and cables to `hosts` hosts, at least one.
    ///
    /// # Errors
    ///
    /// [`TopologyError`] where the parameters make no network, or one without room for the hosts.
    fn wire(self, hosts: u32, wires: &mut Wires) -> Result<Self::Routes, TopologyError>;
}

/// Transfers on a link at this moment.
pub type Load<'a> = &'a dyn Fn(LinkId) -> u32;

/// The routes of a wired network, computed: no table grows with the square of the hosts.
pub trait Routes {
    /// Whether routes depend on the load. A pair of hosts then keeps its first route, since packets of
    /// a queue pair must not overtake each other.
    const BY_LOAD: bool = false;

    /// Appends the links from host `from` to another host `to`, in order.
    fn route(&self, from: u32, to: u32, load: Load<'_>, links: &mut Vec<LinkId>);

    /// Switches on the way from host `from` to another host `to`.
    fn switches_between(&self, from: u32, to: u32) -> u32;
}

/// Refuses the first field that is zero.
pub(super) fn refuse_zeros(fields: &[(&'static str, u32)]) -> Result<(), TopologyError> {
    match fields.iter().find(|(_, value)| *value == 0) {
        Some(&(field, _)) => Err(TopologyError::Zero { field }),
        None => Ok(()),
    }
}
