use crate::{
    access_list::AccessList,
    evm::{Evm, PrecompileSet, SimulationContext},
    plan::{BlockRules, ChainRules},
    simulate::{blob_price, system_calls},
    state::{ReadError, SimulationState},
    time_slices::Stop,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{
    context::{BlockEnv, CfgEnv},
    context_interface::block::BlobExcessGasAndPrice,
    primitives::hardfork::SpecId,
};
use std::sync::Arc;

/// The block that contains the transactions.
#[derive(Clone, Debug)]
pub struct BlockEnvironment {
    pub number: u64,
    pub timestamp: u64,
    pub parent_hash: B256,
    pub gas_limit: u64,
    pub fee_recipient: Address,
    pub prev_randao: B256,
    pub base_fee: u64,
    pub parent_beacon_block_root: Option<B256>,
    pub excess_blob_gas: u64,
    /// EIP-7843.
    pub slot_number: Option<u64>,
    pub rules: BlockRules,
}

/// The next transactions of a block, for example one flashblock.
#[derive(Clone, Debug)]
pub struct BlockExecution {
    pub chain: ChainRules,
    pub block: BlockEnvironment,
    /// Whether these are the block's first transactions, preceded by its system calls.
    pub opening: bool,
    /// Whether the system calls and each transaction get a layer of their own.
    pub is_split: bool,
    /// EIP-2718 bytes.
    pub transactions: Vec<Bytes>,
    /// Receipts of the block's earlier executions, as EIP-2718 bytes.
    pub earlier_receipts: Vec<Bytes>,
    pub earlier_gas_used: u64,
    pub earlier_blob_gas_used: u64,
}

impl BlockExecution {
    pub fn block_env(&self) -> BlockEnv {
        let block = &self.block;
        let price = match &block.rules.blob {
            Some(blob) => blob_price(blob, block.excess_blob_gas).saturating_to(),
            None => 1,
        };
        BlockEnv {
            number: U256::from(block.number),
            beneficiary: block.fee_recipient,
            timestamp: U256::from(block.timestamp),
            gas_limit: block.gas_limit,
            basefee: block.base_fee,
            difficulty: U256::ZERO,
            prevrandao: Some(block.prev_randao),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
                excess_blob_gas: block.excess_blob_gas,
                blob_gasprice: price,
            }),
            slot_num: block.slot_number.unwrap_or_default(),
        }
    }

    pub fn cfg(&self) -> CfgEnv {
        let mut cfg = CfgEnv::new_with_spec(self.block.rules.spec);
        cfg.chain_id = self.chain.chain_id;
        cfg.max_blobs_per_tx = self.block.rules.most_blobs();
        cfg
    }

    /// From Amsterdam on: an empty list of what the block accesses.
    pub fn new_access_list(&self) -> Option<AccessList> {
        self.block.rules.has(SpecId::AMSTERDAM).then(AccessList::default)
    }

    /// An EVM for system calls and for warming.
    pub fn evm(&self, state: SimulationState, stop: Arc<Stop>) -> Evm {
        let rules = &self.block.rules;
        let mut cfg = self.cfg();
        cfg.tx_gas_limit_cap = Some(u64::MAX);
        let inspector = SimulationContext {
            stop,
            base_fee: U256::from(self.block.base_fee),
            access_list: self.new_access_list(),
            ..SimulationContext::default()
        };
        let mut evm = Evm::new(state, inspector, cfg, self.block_env(), PrecompileSet::new(rules, None));
        evm.state().set_block_hash(self.block.number.saturating_sub(1), self.block.parent_hash);
        evm
    }

    /// Runs the system calls of EIP-4788 and EIP-2935.
    pub fn open(&self, evm: &mut Evm) -> Result<(), ReadError> {
        // The node's own pending block has no root: geth leaves the call out.
        if let (true, Some(root)) = (self.block.rules.has(SpecId::CANCUN), self.block.parent_beacon_block_root) {
            system_calls::store_beacon_root(evm, self.block.timestamp, root)?;
        }
        if self.block.rules.has(SpecId::PRAGUE) {
            system_calls::store_parent_hash(evm, self.block.number, self.block.parent_hash)?;
        }
        Ok(())
    }
}
