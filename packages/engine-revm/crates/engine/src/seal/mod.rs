//! Transactions, receipts, roots and headers, as they hash.

mod header;
mod receipt;
mod transaction;

pub use header::{Body, seal, withdrawals_root};
pub use receipt::{Roots, encode_receipt_fields, roots};
pub use transaction::{UnsignedTransaction, encode_transaction};
