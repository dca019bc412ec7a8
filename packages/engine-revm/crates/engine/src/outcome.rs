//! What a simulation comes to: `packages/simulation/src/engine/engine.ts` in Rust.

pub use crate::depends::{DecidingFact, Dependencies, FactKind};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub blocks: Vec<ExecutedBlock>,
    pub touched_accounts: usize,
    pub touched_slots: usize,
    /// Where the plan asks for it.
    pub touched_list: Option<TouchedList>,
    /// Where the plan asks for it: the accounts and slots whose values it comes of.
    pub read_list: Option<TouchedList>,
}

/// In ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedList {
    pub accounts: Vec<Address>,
    pub slots: Vec<(Address, B256)>,
}

#[derive(Clone, Debug)]
pub struct ExecutedBlock {
    /// Its base fee is apart: it may take 256 bits.
    pub header: Header,
    pub base_fee: U256,
    pub hash: B256,
    /// Of the RLP-encoded block, bytes.
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
    /// Where the plan asks for it.
    pub record: Option<Box<CallRecord>>,
}

/// What a call did: `packages/simulation/src/engine/call-record.ts` in Rust.
#[derive(Clone, Debug, Default)]
pub struct CallRecord {
    /// Of the transaction: its limit, and what it used after refunds.
    pub gas: u64,
    pub gas_used: u64,
    /// In the order in which they began.
    pub frames: Vec<Frame>,
    pub accounts: Vec<RecordedAccount>,
    /// In the order of the call's probes.
    pub probed: Vec<Probed>,
    /// Of all probes together, before refunds.
    pub probe_gas: u64,
    /// Each instruction as geth's struct logger writes it: what stands between the brackets of a JSON array.
    pub steps: Bytes,
    /// What KECCAK256 hashed, each once, in ascending order.
    pub preimages: Vec<Bytes>,
    /// Where the plan asks for it.
    pub dependencies: Option<Dependencies>,
    /// Of what came of the call, where the plan asks for it: see `simulate/effects.rs`.
    pub effects: Option<B256>,
}

/// What a contract answered before and after the call; none where it failed.
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
    /// Where the plan asks for it.
    pub uses: Option<FrameUses>,
}

/// What the instructions of a frame use: `packages/simulation/src/engine/call-record.ts` in Rust.
#[derive(Clone, Debug, Default)]
pub struct FrameUses {
    pub opcodes: Vec<(u8, u64)>,
    /// Slots that were read before they were written, with what was found.
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
    /// Frames that its own had opened before.
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
    /// None after the call: the same as before.
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
        /// The call asked for more gas than the request's limit left it.
        is_gas_capped: bool,
    },
}

/// Why the outermost frame halted: `packages/simulation/src/engine/halt.ts` in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    OutOfGas,
    InvalidJump,
    /// SSTORE found no more than EIP-2200's stipend.
    ReentrancySentry,
    ReturnDataOutOfBounds,
    StackUnderflow {
        height: u64,
        /// Words that the instruction takes.
        inputs: u64,
    },
    StackOverflow,
    /// An instruction that may not run in a static frame; `is_priced`: geth finds that as it computes the price.
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
        /// As geth has it.
        opcode: String,
    },
    Precompile {
        fault: PrecompileFault,
    },
    Other {
        name: String,
    },
}

/// What is wrong with a precompiled contract's input.
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
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedLog {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
    /// Made for a transfer of native currency: in the answer, but in no receipt.
    pub synthetic: bool,
    /// As geth counts: every log of the block so far, those of reverted frames too.
    pub index: u64,
}
