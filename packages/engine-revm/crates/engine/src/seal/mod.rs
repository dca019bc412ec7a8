//! RLP and hashes of transactions, receipts, roots and headers.

mod header;
mod receipt;
mod signed;
mod transaction;

pub use alloy_consensus::proofs::calculate_withdrawals_root as withdrawals_root;
pub use header::{Body, seal};
pub use receipt::{Roots, encode_receipt_fields, roots};
pub use signed::{Deposit, SealedTransaction, encode_sealed};
pub use transaction::{UnsignedTransaction, encode_transaction};
