//! Reports: tables, machine-readable output, figures, pages.
//!
//! Everything here turns a [`RunResult`](experiment::results::RunResult) into text and
//! changes no number on the way: JSON and CSV carry the shortest decimal that reads back as the
//! same value; tables and figures round for the eye only.

pub mod csv;
pub mod diff;
pub mod difference;
pub mod error;
pub mod explain;
pub mod figure;
pub mod html;
pub mod json;
pub mod junit;
pub mod numbers;
pub mod osu;
pub mod sequence;
pub mod table;
pub mod text;
pub mod timeline;
pub mod transient;
pub mod unfired;
pub mod what_if;

#[cfg(test)]
mod sample;
