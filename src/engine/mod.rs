//! Engine: one clock, one total order of events, named random streams, a digest of it all.
