//! Reports: tables, figures, pages.
