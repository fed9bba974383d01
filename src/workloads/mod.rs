//! Workloads: programs of calls, produced lazily.
