//! Profiles for the tests of what machines cost.

use super::{Fallback, PARAMETERS, Parameter, Profile, ProfileBuilder};

/// A builder with the lowest plausible value for everything that is required.
pub(super) fn builder() -> ProfileBuilder {
    let mut builder = ProfileBuilder::new();
    for parameter in PARAMETERS.iter().filter(|p| p.fallback == Fallback::Required) {
        builder.set(parameter.path, parameter.plausible().0).unwrap();
    }
    builder
}

#[track_caller]
pub(super) fn set(builder: &mut ProfileBuilder, path: &str, text: &str) {
    let kind = Parameter::find(path).unwrap().kind;
    builder.set(path, kind.parse(text).unwrap()).unwrap();
}

/// A machine whose required parameters have their lowest plausible value, but for `values`.
pub(crate) fn but<'a>(values: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Profile {
    let mut builder = builder();
    for (path, text) in values {
        set(&mut builder, path, text);
    }
    builder.build().unwrap()
}
