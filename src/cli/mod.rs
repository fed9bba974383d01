//! The command line: every flag, with its help text.
