//! The plan of a simulation: `packages/simulation/src/plan` in Rust.

pub use crate::op::OpFork;
pub use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7702::{self, RecoveredAuthority, RecoveredAuthorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::context_interface::either::Either;
pub use revm::primitives::hardfork::SpecId;

/// EIP-7840; target and max in blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobParameters {
    pub target: u64,
    pub max: u64,
    pub update_fraction: u64,
}

/// The rules of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRules {
    pub spec: SpecId,
    /// Set on OP-stack chains.
    pub op: Option<OpFork>,
    pub blob: Option<BlobParameters>,
}

impl BlockRules {
    pub fn has(&self, fork: SpecId) -> bool {
        self.spec.is_enabled_in(fork)
    }

    /// Maximum blobs per transaction (from Osaka on EIP-7594's, before it a block's).
    pub fn most_blobs(&self) -> Option<u64> {
        self.blob.map(|blob| if self.has(SpecId::OSAKA) { blob.max.min(6) } else { blob.max })
    }

    pub fn has_op(&self, fork: OpFork) -> bool {
        self.op.is_some_and(|active| active >= fork)
    }
}

/// EIP-1559 parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseFeeParameters {
    pub elasticity: u64,
    pub denominator: u64,
    /// Wei.
    pub minimum: U256,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRules {
    pub chain_id: u64,
    pub deposit_contract: Option<Address>,
}

/// The parent header's fields that the next block depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentHeader {
    pub hash: B256,
    pub number: u64,
    pub timestamp: u64,
    pub gas_limit: u64,
    pub gas_used: u64,
    pub base_fee: U256,
    pub blob_gas_used: u64,
    pub excess_blob_gas: u64,
    pub withdrawals_root: Option<B256>,
    /// EIP-7843.
    pub slot_number: Option<u64>,
    pub rules: BlockRules,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub chain: ChainRules,
    pub base: ParentHeader,
    pub blocks: Vec<PlannedBlock>,
    pub validation: bool,
    pub trace_transfers: bool,
    /// Whether the outcome lists what was touched.
    pub list_touched: bool,
    /// Only the calls' outcomes are wanted, without logs, and the state they depend on. The last block is not sealed.
    pub is_trial: bool,
    pub gas_budget: u64,
    /// Jovian: set by the base block's attributes deposit. If absent, L1Block's value at that block is used.
    pub da_footprint_scalar: Option<u64>,
    /// Whether the answer contains full transactions instead of hashes.
    pub full_transactions: bool,
    /// Limit of the answer's JSON.
    pub answer_bytes: usize,
    pub recording: Recording,
    pub probes: Vec<Probe>,
}

/// A question to a contract, asked before and after one call, or only after it. Its state changes are discarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The call: index of its block, and in the block.
    pub block: u64,
    pub call: u64,
    pub to: Address,
    pub input: Bytes,
    pub is_after: bool,
}

impl Plan {
    pub fn probes_of(&self, block: usize, call: usize) -> Vec<&Probe> {
        let here = |probe: &&Probe| probe.block == block as u64 && probe.call == call as u64;
        self.probes.iter().filter(here).collect()
    }
}

/// What is recorded of each call, for tracers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub frames: bool,
    /// Accounts and slots that were read or changed.
    pub state: bool,
    /// Leaves code out of the state.
    pub without_code: bool,
    /// Without `state`: only accounts that a frame sends native currency to or from. Requires frames.
    pub balances: bool,
    /// Each instruction.
    pub steps: Option<StepOptions>,
    /// What the instructions of each frame use (ERC-7562). Requires frames.
    pub uses: bool,
    /// The facts that decide the outcome.
    pub depends: bool,
    /// A digest of the call's effects.
    pub effects: bool,
    /// Only the records are wanted: the answer has no blocks.
    pub alone: bool,
    /// With `depends`: also find out whether the outcome is the same this many seconds later, all else equal; 0 if not asked.
    pub later: u64,
}

impl Recording {
    pub fn is_on(self) -> bool {
        self.frames || self.state || self.steps.is_some() || self.depends || self.effects
    }
}

/// What is recorded of each instruction: options of geth's struct logger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepOptions {
    pub stack: bool,
    pub memory: bool,
    pub storage: bool,
    pub return_data: bool,
    /// Bytes of JSON after which recording stops; 0 for no limit.
    pub limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedBlock {
    pub number: u64,
    pub timestamp: u64,
    pub gas_limit: u64,
    pub fee_recipient: Address,
    pub prev_randao: B256,
    pub base_fee: Option<U256>,
    pub base_fee_parameters: BaseFeeParameters,
    pub blob_base_fee: Option<U256>,
    pub parent_beacon_block_root: Option<B256>,
    pub withdrawals: Vec<Withdrawal>,
    pub extra_data: Bytes,
    pub rules: BlockRules,
    /// The block's transactions and system calls have already run: calls run after them, not bounded by its gas limit.
    pub is_executed: bool,
    pub overrides: Vec<StateOverride>,
    pub calls: Vec<PlannedCall>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOverride {
    pub address: Address,
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code: Option<Bytes>,
    /// Replaces the whole storage. Never together with `state_diff`.
    pub state: Option<Vec<(U256, U256)>>,
    /// Replaces single slots.
    pub state_diff: Option<Vec<(U256, U256)>>,
    pub move_precompile_to: Option<Address>,
}

/// Fees by transaction type: `gasPrice`, or EIP-1559's two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    pub cap: U256,
    pub tip: U256,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCall {
    /// Type of the transaction whose hash the answer has.
    pub tx_type: u8,
    pub from: Address,
    pub to: Option<Address>,
    pub input: Bytes,
    pub value: U256,
    pub nonce: Option<u64>,
    pub gas: Option<u64>,
    /// Set for types 0 and 1.
    pub gas_price: Option<U256>,
    /// Value of GASPRICE, if different from the price paid.
    pub shown_gas_price: Option<U256>,
    pub max_fee: U256,
    pub max_priority_fee: U256,
    pub max_blob_fee: U256,
    pub access_list: Vec<(Address, Vec<B256>)>,
    pub blob_hashes: Option<Vec<B256>>,
    pub authorizations: Option<Vec<Authorization>>,
    /// Set if the call is a transaction of a real block.
    pub sealed: Option<SealedCall>,
}

/// A block's transaction, in addition to its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCall {
    /// EIP-2718 bytes.
    pub raw: Bytes,
    /// Wei that an OP-stack deposit mints. A deposit pays no fees and is always valid. None for other transactions.
    pub mint: Option<U256>,
}

impl PlannedCall {
    pub fn mint(&self) -> Option<U256> {
        self.sealed.as_ref().and_then(|sealed| sealed.mint)
    }

    pub fn fees(&self) -> Fees {
        match self.gas_price {
            Some(price) => Fees { cap: price, tip: price },
            None => Fees { cap: self.max_fee, tip: self.max_priority_fee },
        }
    }

    pub fn blob_count(&self) -> u64 {
        self.blob_hashes.as_ref().map_or(0, |hashes| hashes.len() as u64)
    }
}

/// EIP-7702, signed. `y_parity` is unchecked: a value above 1 makes the signature invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authorization {
    pub chain_id: U256,
    pub address: Address,
    pub nonce: u64,
    pub y_parity: u8,
    pub r: U256,
    pub s: U256,
    /// The assumed signer of an unsigned authorization, whose signature is zeros.
    pub authority: Option<Address>,
}

impl Authorization {
    /// With its signature, or with its assumed signer.
    pub fn signed(&self) -> Either<SignedAuthorization, RecoveredAuthorization> {
        let (chain_id, address, nonce) = (self.chain_id, self.address, self.nonce);
        let unsigned = eip7702::Authorization { chain_id, address, nonce };
        match self.authority {
            Some(authority) => {
                let authority = RecoveredAuthority::Valid(authority);
                Either::Right(RecoveredAuthorization::new_unchecked(unsigned, authority))
            }
            None => Either::Left(SignedAuthorization::new_unchecked(unsigned, self.y_parity, self.r, self.s)),
        }
    }
}
