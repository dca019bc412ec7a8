//! The RLP and the hashes of transactions, receipts, roots and headers.

mod header;
mod receipt;
mod transaction;

pub use header::{Body, seal, withdrawals_root};
pub use receipt::{Roots, encode_receipt_fields, roots};
pub use transaction::{UnsignedTransaction, encode_transaction};
