//! OP-stack chains' additions to Ethereum: forks, precompiles, the roll-up's fees.

mod fast_lz;
mod fork;
mod l1_block;
mod precompiles;

use alloy_primitives::{Address, address};
pub use fast_lz::compressed_size;
pub use fork::OpFork;
pub use l1_block::{DA_FOOTPRINT_SLOT, FEE_SLOTS, L1_BLOCK, L1Block, OperatorFee, RollupReceipt};

/// EIP-2718 type of a deposit (https://specs.optimism.io/protocol/deposits.html).
pub const DEPOSIT_TYPE: u8 = 0x7e;

/// The fee vaults: https://specs.optimism.io/protocol/exec-engine.html
pub const BASE_FEE_VAULT: Address = address!("4200000000000000000000000000000000000019");
pub const L1_FEE_VAULT: Address = address!("420000000000000000000000000000000000001A");
pub const OPERATOR_FEE_VAULT: Address = address!("420000000000000000000000000000000000001B");
