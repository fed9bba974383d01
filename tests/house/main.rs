//! Rules of the house that no compiler knows.

mod architecture;
mod claims;
mod constants;
mod guide;
mod notebooks;
mod rows;
mod words;
