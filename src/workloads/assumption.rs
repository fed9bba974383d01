//! Numbers that a scenario takes for granted, with their range.

/// A number that no source gives, where it plays a part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Assumption {
    /// The scenario's path.
    pub path: String,
    /// The value at the point.
    pub value: String,
    /// The lowest and the highest value that is plausible.
    pub range: Option<(String, String)>,
    /// Where it comes from.
    pub source: String,
    /// Why.
    pub note: Option<String>,
}

/// The source of an estimate, as in models.
const ESTIMATE: &str = "EST";

impl Assumption {
    /// A number that a mechanism needs and no document states.
    pub fn estimate(path: &str, value: String, (low, high): (&str, &str), why: &str) -> Self {
        Self {
            path: path.to_owned(),
            value,
            range: Some((low.to_owned(), high.to_owned())),
            source: ESTIMATE.to_owned(),
            note: Some(why.to_owned()),
        }
    }
}
