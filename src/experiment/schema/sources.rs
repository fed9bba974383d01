//! What a scenario may say of where its numbers come from.

use form::fields::SOURCE;
use form::machine::CONFIDENCE;
use form::shape::{NOTE, Shape, optional, required};

/// Confidence, source and range of a number, as at a number of a machine.
pub(super) static SOURCED: Shape = Shape::Object(&[
    required("confidence", &CONFIDENCE, "\"assumed\"", "How sure the number is."),
    required(
        "source",
        &SOURCE,
        "\"fit: gpu-pack Table 3\"",
        "Document and table; after `fit:` what the number was fitted to.",
    ),
    optional("low", &Shape::Scalar, "The least plausible value."),
    optional("high", &Shape::Scalar, "The greatest plausible value."),
    NOTE,
]);
