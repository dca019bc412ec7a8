//! Signed transactions of a block under construction.
