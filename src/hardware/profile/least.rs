//! Profiles for the tests of what machines cost: the layers above use them, too.

use super::{Fallback, PARAMETERS, Parameter, Profile, ProfileBuilder};

/// A builder with the lowest plausible value for everything that is required.
pub(super) fn builder() -> ProfileBuilder {
    let mut builder = ProfileBuilder::new();
    for parameter in PARAMETERS.iter().filter(|p| p.fallback == Fallback::Required) {
        builder.set(parameter.path, parameter.plausible().0).expect("a plausible value can be set");
    }
    builder
}

#[track_caller]
pub(super) fn set(builder: &mut ProfileBuilder, path: &str, text: &str) {
    let kind = Parameter::find(path).expect("the path names a parameter").kind;
    let value = kind.parse(text).expect("the text is a value of its kind");
    builder.set(path, value).expect("the value can be set");
}

/// A machine whose required parameters have their lowest plausible value, but for `values`: paths
/// and texts.
///
/// # Panics
///
/// Where a path names no parameter, or a text is no value of it.
pub fn but<'a>(values: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Profile {
    let mut builder = builder();
    for (path, text) in values {
        set(&mut builder, path, text);
    }
    builder.build().expect("every required parameter is set")
}
