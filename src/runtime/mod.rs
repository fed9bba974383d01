//! Runtimes: the only place where protocols meet hardware, or an adversary.
