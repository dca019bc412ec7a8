//! The result of a simulation: `packages/simulation/src/engine/engine.ts` in Rust.

pub use crate::depends::{DecidingFact, Dependencies, FactKind};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub blocks: Vec<ExecutedBlock>,
    pub touched_accounts: usize,
    pub touched_slots: usize,
    /// Set if the plan asks for it.
    pub touched_list: Option<TouchedList>,
    /// Set if the plan asks for it: the accounts and slots whose values the result depends on.
    pub read_list: Option<TouchedList>,
}

/// Sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedList {
    pub accounts: Vec<Address>,
    pub slots: Vec<(Address, B256)>,
}

#[derive(Clone, Debug)]
pub struct ExecutedBlock {
    /// Without the base fee, which may take 256 bits.
    pub header: Header,
    pub base_fee: U256,
    pub hash: B256,
    /// Length of the RLP-encoded block in bytes.
    pub size: usize,
    pub calls: Vec<ExecutedCall>,
}

#[derive(Clone, Debug)]
pub struct ExecutedCall {
    pub tx_hash: B256,
    pub nonce: u64,
    pub gas: u64,
    pub gas_used: u64,
    pub max_used_gas: u64,
    pub status: Status,
    pub return_data: Bytes,
    pub logs: Vec<ExecutedLog>,
    /// Set if the plan asks for it.
    pub record: Option<Box<CallRecord>>,
}

/// What a call did: `packages/simulation/src/engine/call-record.ts` in Rust.
#[derive(Clone, Debug, Default)]
pub struct CallRecord {
    /// The transaction's gas limit, and its gas used after refunds.
    pub gas: u64,
    pub gas_used: u64,
    /// In the order in which they began.
    pub frames: Vec<Frame>,
    pub accounts: Vec<RecordedAccount>,
    /// In the order of the call's probes.
    pub probed: Vec<Probed>,
    /// Gas of all probes, before refunds.
    pub probe_gas: u64,
    /// Instructions in geth's struct logger format: the elements of a JSON array, without brackets.
    pub steps: Bytes,
    /// Inputs of KECCAK256, distinct and sorted.
    pub preimages: Vec<Bytes>,
    /// Set if the plan asks for it.
    pub dependencies: Option<Dependencies>,
    /// Digest of the call's effects, if the plan asks for it: see `simulate/effects.rs`.
    pub effects: Option<B256>,
}

/// A contract's answers before and after the call; None if it failed.
#[derive(Clone, Debug)]
pub struct Probed {
    pub before: Option<Bytes>,
    pub after: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Call,
    CallCode,
    DelegateCall,
    StaticCall,
    Create,
    Create2,
    SelfDestruct,
}

#[derive(Clone, Debug)]
pub struct Frame {
    pub kind: FrameKind,
    pub depth: u64,
    pub from: Address,
    pub to: Option<Address>,
    pub input: Bytes,
    pub output: Bytes,
    pub gas: u64,
    pub gas_used: u64,
    pub value: Option<U256>,
    pub reverted: bool,
    pub halt: Option<Halt>,
    pub is_precompile: bool,
    pub logs: Vec<FrameLog>,
    /// Set if the plan asks for it.
    pub uses: Option<FrameUses>,
}

/// What the instructions of a frame use: `packages/simulation/src/engine/call-record.ts` in Rust.
#[derive(Clone, Debug, Default)]
pub struct FrameUses {
    pub opcodes: Vec<(u8, u64)>,
    /// Slots read before they were written, with the value found.
    pub reads: Vec<(B256, B256)>,
    pub writes: Vec<(B256, u64)>,
    pub transient_reads: Vec<(B256, u64)>,
    pub transient_writes: Vec<(B256, u64)>,
    pub inspected: Vec<Address>,
    pub named: Vec<NamedContract>,
}

#[derive(Clone, Debug)]
pub struct NamedContract {
    pub address: Address,
    /// Bytes.
    pub code_size: u64,
    pub opcode: u8,
}

#[derive(Clone, Debug)]
pub struct FrameLog {
    /// Number of frames that its frame had opened before.
    pub position: u64,
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
}

#[derive(Clone, Debug)]
pub struct RecordedAccount {
    pub address: Address,
    pub is_read: bool,
    pub is_accessed: bool,
    pub is_removed: bool,
    pub before: AccountFacts,
    pub after: AccountFacts,
    pub slots: Vec<RecordedSlot>,
}

#[derive(Clone, Debug)]
pub struct AccountFacts {
    pub exists: bool,
    pub balance: U256,
    pub nonce: u64,
    pub code_hash: B256,
    /// None after the call if unchanged.
    pub code: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
pub struct RecordedSlot {
    pub slot: B256,
    pub is_read: bool,
    pub is_accessed: bool,
    pub before: B256,
    pub after: B256,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Success,
    Revert,
    Halt {
        halt: Halt,
        /// The call asked for more gas than the request's limit left.
        is_gas_capped: bool,
    },
}

/// Why the outermost frame halted: `packages/simulation/src/engine/halt.ts` in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    OutOfGas,
    InvalidJump,
    /// SSTORE with no more gas left than EIP-2200's stipend.
    ReentrancySentry,
    ReturnDataOutOfBounds,
    StackUnderflow {
        height: u64,
        /// Words that the instruction takes.
        inputs: u64,
    },
    StackOverflow,
    /// A state-changing instruction in a static frame. `is_priced`: geth finds it while it computes the gas cost.
    WriteProtection {
        is_priced: bool,
    },
    AddressCollision,
    CodeStorageOutOfGas,
    CodeStartsWithEf,
    NonceOverflow,
    CallTooDeep,
    InsufficientBalance,
    BalanceOverflow,
    PrecompileFailed,
    /// Bytes that a constructor returned.
    CodeTooLarge {
        size: u64,
        limit: u64,
    },
    InvalidOpcode {
        /// geth's name.
        opcode: String,
    },
    Precompile {
        fault: PrecompileFault,
    },
    Other {
        name: String,
    },
}

/// The fault in a precompiled contract's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecompileFault {
    OutOfGas,
    InputLength,
    ModexpLength,
    PairingLength,
    BlsPairingLength,
    FinalFlag,
    FieldElement,
    NotOnCurve,
    VersionedHash,
    KzgProof,
    BlsFieldElement,
    BlsNotOnCurve,
    G1Subgroup,
    G2Subgroup,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedLog {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
    /// A traced transfer of native currency: in the answer, but in no receipt.
    pub synthetic: bool,
    /// As geth counts: over all logs of the block so far, including reverted ones.
    pub index: u64,
}
