//! Written by `npm run border` from border/records.mjs: change that.

use crate::{
    declare::{fields, names, variants},
    text::{Decoded, Field, Lines, Malformed, Tokens},
};

use upfront_engine::{
    carry, execution, outcome, plan,
    primitives::{Address, B256, Bloom, Bytes, map::AddressMap},
    rejection, state,
};

pub struct WrittenFailure {
    pub at: u64,
    pub halt: Option<outcome::Halt>,
    pub is_gas_capped: bool,
    pub return_data: Bytes,
}

pub struct Written {
    pub accounts: u64,
    pub slots: u64,
    pub touched_list: Option<outcome::TouchedList>,
    pub read_list: Option<outcome::TouchedList>,
    pub gas_used: u64,
    pub failures: Vec<WrittenFailure>,
    pub ends: Vec<u64>,
    pub records: Vec<outcome::CallRecord>,
    pub steps: Vec<u64>,
}

pub struct ExecutionTransaction {
    pub hash: B256,
    pub from: Address,
    pub to: Option<Address>,
    pub nonce: u64,
}

pub struct Executed {
    pub layers: Vec<AddressMap<state::AccountChange>>,
    pub transactions: Vec<ExecutionTransaction>,
    pub receipts: Vec<execution::ExecutionReceipt>,
    pub gas_used: u64,
    pub blob_gas_used: u64,
    pub receipts_root: B256,
    pub logs_bloom: Bloom,
}

pub struct Rejected {
    pub rejection: Option<rejection::Rejection>,
    pub block: u64,
    pub call: Option<u64>,
}

pub struct ExecutionRejected {
    pub transaction: u64,
    pub message: String,
    pub native_precompile: Option<Address>,
}

pub struct Encoded {
    pub transactions: Vec<Bytes>,
}

names! {
    plan::SpecId {
        "paris" => MERGE, "shanghai" => SHANGHAI, "cancun" => CANCUN, "prague" => PRAGUE, "osaka" => OSAKA,
        "amsterdam" => AMSTERDAM, .._
    }
}
names! {
    plan::OpFork {
        "bedrock" => Bedrock, "regolith" => Regolith, "canyon" => Canyon, "ecotone" => Ecotone, "fjord" => Fjord,
        "granite" => Granite, "holocene" => Holocene, "isthmus" => Isthmus, "jovian" => Jovian, "karst" => Karst,
        "azul" => Azul, "beryl" => Beryl, "cobalt" => Cobalt, "denim" => Denim
    }
}
fields! { plan::ChainRules { chain_id, deposit_contract } }
fields! { plan::BlobParameters { target, max, update_fraction } }
fields! { plan::BlockRules { spec, op, blob } }
fields! {
    plan::ParentHeader {
        hash, number, timestamp, gas_limit, gas_used, base_fee, blob_gas_used, excess_blob_gas, withdrawals_root,
        slot_number, rules
    }
}
fields! { plan::BaseFeeParameters { elasticity, denominator, minimum } }
fields! { plan::Withdrawal { index, validator_index, address, amount } }
fields! { plan::StateOverride { address, balance, nonce, code, move_precompile_to, state, state_diff } }
fields! { plan::Authorization { chain_id, address, nonce, y_parity, r, s, authority } }
fields! { plan::SealedCall { raw, mint } }
fields! {
    plan::PlannedCall {
        tx_type, from, to, input, value, nonce, gas, gas_price, shown_gas_price, max_fee, max_priority_fee,
        max_blob_fee, access_list, blob_hashes, authorizations, sealed
    }
}
fields! {
    plan::PlannedBlock {
        number, timestamp, gas_limit, fee_recipient, prev_randao, base_fee, base_fee_parameters, blob_base_fee,
        parent_beacon_block_root, extra_data, rules, withdrawals, is_executed, overrides, calls
    }
}
fields! { plan::StepOptions { stack, memory, storage, return_data, limit } }
fields! { plan::Recording { frames, state, without_code, balances, steps, uses, depends, effects, alone, later } }
fields! { plan::Probe { block, call, to, input, is_after } }
fields! {
    plan::Plan {
        chain, base, validation, trace_transfers, list_touched, is_trial, gas_budget, da_footprint_scalar,
        full_transactions, answer_bytes, recording, probes, blocks
    }
}
fields! {
    execution::BlockEnvironment {
        number, timestamp, parent_hash, gas_limit, fee_recipient, prev_randao, base_fee, parent_beacon_block_root,
        excess_blob_gas, slot_number, rules
    }
}
fields! {
    execution::BlockExecution {
        chain, block, opening, is_split, transactions, earlier_receipts, earlier_gas_used, earlier_blob_gas_used
    }
}
fields! { state::AccountChange { balance, nonce, code, storage_cleared, storage; exists: false } }
fields! { state::Layer { accounts } }
variants! {
    state::Read {
        "balance" => Balance(address), "nonce" => Nonce(address), "code" => Code(address),
        "storage" => Storage(address, slot), "blockHash" => BlockHash(number)
    }
}
names! {
    outcome::PrecompileFault {
        "outOfGas" => OutOfGas, "inputLength" => InputLength, "modexpLength" => ModexpLength,
        "pairingLength" => PairingLength, "blsPairingLength" => BlsPairingLength, "finalFlag" => FinalFlag,
        "fieldElement" => FieldElement, "notOnCurve" => NotOnCurve, "versionedHash" => VersionedHash,
        "kzgProof" => KzgProof, "blsFieldElement" => BlsFieldElement, "blsNotOnCurve" => BlsNotOnCurve,
        "g1Subgroup" => G1Subgroup, "g2Subgroup" => G2Subgroup, "unknown" => Unknown
    }
}
variants! {
    outcome::Halt {
        "outOfGas" => OutOfGas, "invalidJump" => InvalidJump, "reentrancySentry" => ReentrancySentry,
        "returnDataOutOfBounds" => ReturnDataOutOfBounds, "stackUnderflow" => StackUnderflow { height, inputs },
        "stackOverflow" => StackOverflow, "writeProtection" => WriteProtection { is_priced },
        "addressCollision" => AddressCollision, "codeStorageOutOfGas" => CodeStorageOutOfGas,
        "codeStartsWithEf" => CodeStartsWithEf, "nonceOverflow" => NonceOverflow, "callTooDeep" => CallTooDeep,
        "insufficientBalance" => InsufficientBalance, "balanceOverflow" => BalanceOverflow,
        "precompileFailed" => PrecompileFailed, "codeTooLarge" => CodeTooLarge { size, limit },
        "invalidOpcode" => InvalidOpcode { opcode }, "precompile" => Precompile { fault }, "other" => Other { name }
    }
}
fields! { WrittenFailure { at, halt, is_gas_capped, return_data } }
fields! { outcome::TouchedList { accounts, slots } }
names! {
    outcome::FrameKind {
        "CALL" => Call, "CALLCODE" => CallCode, "DELEGATECALL" => DelegateCall, "STATICCALL" => StaticCall,
        "CREATE" => Create, "CREATE2" => Create2, "SELFDESTRUCT" => SelfDestruct
    }
}
fields! { outcome::FrameLog { position, address, topics, data } }
fields! { outcome::NamedContract { address, code_size, opcode } }
fields! { outcome::FrameUses { opcodes, reads, writes, transient_reads, transient_writes, inspected, named } }
fields! {
    outcome::Frame {
        kind, depth, from, to, input, output, gas, gas_used, value, reverted, halt, is_precompile, logs, uses
    }
}
fields! { outcome::AccountFacts { exists, balance, nonce, code_hash, code } }
fields! { outcome::RecordedSlot { slot, is_read, is_accessed, before, after } }
fields! { outcome::RecordedAccount { address, is_read, is_accessed, is_removed, before, after, slots } }
fields! { outcome::Probed { before, after } }
names! {
    outcome::FactKind {
        "slot" => Slot, "balance" => Balance, "code" => Code, "blockHash" => BlockHash, "time" => Time,
        "number" => Number, "coinbase" => Coinbase, "prevRandao" => PrevRandao, "gasLimit" => GasLimit,
        "baseFee" => BaseFee, "blobBaseFee" => BlobBaseFee, "gasPrice" => GasPrice, "origin" => Origin,
        "gasLeft" => GasLeft
    }
}
fields! { outcome::DecidingFact { kind, address, slot, number, value, reached, changed, blocks } }
fields! { outcome::Dependencies { facts, is_partial, is_same_later } }
fields! {
    outcome::CallRecord {
        gas, gas_used, frames, accounts, probed, probe_gas, preimages, dependencies, effects; steps: Bytes::new()
    }
}
fields! { Written { accounts, slots, touched_list, read_list, gas_used, failures, ends, records, steps } }
fields! { outcome::ExecutedLog { address, topics, data; synthetic: false, index: 0 } }
fields! {
    execution::RollupReceipt {
        l1_gas_price, l1_gas_used, l1_fee, l1_base_fee_scalar, l1_blob_base_fee, l1_blob_base_fee_scalar,
        operator_fee_scalar, operator_fee_constant, da_footprint_gas_scalar
    }
}
fields! {
    execution::ExecutionReceipt {
        tx_type, succeeded, cumulative_gas_used, gas_used, effective_gas_price, logs, contract_address, blob_gas_used,
        rollup, encoded; bloom: Bloom::ZERO
    }
}
fields! { ExecutionTransaction { hash, from, to, nonce } }
fields! { Executed { layers, transactions, receipts, gas_used, blob_gas_used, receipts_root, logs_bloom } }
variants! {
    rejection::TransactionFault {
        "nonceTooHigh" => NonceTooHigh { nonce, expected }, "nonceTooLow" => NonceTooLow { nonce, expected },
        "nonceHasMaxValue" => NonceHasMaxValue { nonce }, "tipAboveFeeCap" => TipAboveFeeCap { tip, cap },
        "feeCapBelowBaseFee" => FeeCapBelowBaseFee { cap, base_fee }, "blobsUnsupported" => BlobsUnsupported,
        "blobsOfCreation" => BlobsOfCreation, "noBlobHashes" => NoBlobHashes, "tooManyBlobs" => TooManyBlobs,
        "blobHashVersion" => BlobHashVersion { index }, "blobFeeCapTooLow" => BlobFeeCapTooLow { cap, blob_base_fee },
        "setCodeUnsupported" => SetCodeUnsupported, "setCodeOfCreation" => SetCodeOfCreation,
        "noAuthorizations" => NoAuthorizations, "initCodeTooLarge" => InitCodeTooLarge { size, limit },
        "priceOverflow" => PriceOverflow, "insufficientFunds" => InsufficientFunds { have, want },
        "insufficientFundsForTransfer" => InsufficientFundsForTransfer, "intrinsicGas" => IntrinsicGas { want },
        "floorGas" => FloorGas { want }
    }
}
names! {
    rejection::RequestQueue {
        "withdrawal" => Withdrawal, "consolidation" => Consolidation, "builderDeposit" => BuilderDeposit,
        "builderExit" => BuilderExit
    }
}
variants! {
    rejection::Rejection {
        "transaction" => Transaction { from, gas, fault }, "blockGasLimit" => BlockGasLimit { left, asked },
        "takenByPrecompile" => TakenByPrecompile { address }, "notPrecompile" => NotPrecompile { address },
        "alreadyOverridden" => AlreadyOverridden { address }, "nativePrecompile" => NativePrecompile { address },
        "depositLength" => DepositLength { length }, "requestQueue" => RequestQueue { queue, halt }
    }
}
fields! { Rejected { rejection, block, call } }
fields! { ExecutionRejected { transaction, message, native_precompile } }
fields! { Encoded { transactions } }
fields! { carry::Deposit { source_hash, from, mint, is_system_transaction } }
fields! {
    carry::SealedTransaction {
        tx_type, hash, chain_id, nonce, gas, gas_price, max_fee, max_priority_fee, max_blob_fee, to, value, input,
        access_list, blob_hashes, authorizations, v, r, s, deposit
    }
}
fields! {
    carry::SealedBlock {
        chain, hash, block, transactions, earlier_receipts, earlier_gas_used, earlier_blob_gas_used, withdrawals,
        gas_used, transactions_root, receipts_root, logs_bloom, withdrawals_root, requests_hash, block_access_list_hash,
        blob_gas_used
    }
}
fields! { carry::ListedBlock { hash, number, block_access_list_hash } }
names! {
    carry::Difference {
        "transactionHash" => TransactionHash, "transactionsRoot" => TransactionsRoot,
        "withdrawalsRoot" => WithdrawalsRoot, "transaction" => Transaction, "nativePrecompile" => NativePrecompile,
        "gasUsed" => GasUsed, "receiptsRoot" => ReceiptsRoot, "logsBloom" => LogsBloom, "requestsHash" => RequestsHash,
        "blockAccessListHash" => BlockAccessListHash, "blobGasUsed" => BlobGasUsed, "parent" => Parent,
        "disputed" => Disputed
    }
}
fields! { carry::Sampled { read, value } }
variants! { carry::Carried { "carried" => Carried { written, sample }, "differs" => Differs { difference, detail } } }

/// Reads a record and writes it again, for the test that both sides agree.
pub fn echo(name: &str, t: &mut Tokens<'_>) -> Decoded<String> {
    let mut out = Lines::default();
    match name {
        "ChainRules" => plan::ChainRules::read(t)?.write(&mut out),
        "BlobParameters" => plan::BlobParameters::read(t)?.write(&mut out),
        "BlockRules" => plan::BlockRules::read(t)?.write(&mut out),
        "ParentHeader" => plan::ParentHeader::read(t)?.write(&mut out),
        "BaseFeeParameters" => plan::BaseFeeParameters::read(t)?.write(&mut out),
        "Withdrawal" => plan::Withdrawal::read(t)?.write(&mut out),
        "StateOverride" => plan::StateOverride::read(t)?.write(&mut out),
        "Authorization" => plan::Authorization::read(t)?.write(&mut out),
        "SealedCall" => plan::SealedCall::read(t)?.write(&mut out),
        "PlannedCall" => plan::PlannedCall::read(t)?.write(&mut out),
        "PlannedBlock" => plan::PlannedBlock::read(t)?.write(&mut out),
        "StepOptions" => plan::StepOptions::read(t)?.write(&mut out),
        "Recording" => plan::Recording::read(t)?.write(&mut out),
        "Probe" => plan::Probe::read(t)?.write(&mut out),
        "Plan" => plan::Plan::read(t)?.write(&mut out),
        "BlockEnvironment" => execution::BlockEnvironment::read(t)?.write(&mut out),
        "BlockExecution" => execution::BlockExecution::read(t)?.write(&mut out),
        "AccountChange" => state::AccountChange::read(t)?.write(&mut out),
        "Layer" => state::Layer::read(t)?.write(&mut out),
        "Read" => state::Read::read(t)?.write(&mut out),
        "Halt" => outcome::Halt::read(t)?.write(&mut out),
        "WrittenFailure" => WrittenFailure::read(t)?.write(&mut out),
        "TouchedList" => outcome::TouchedList::read(t)?.write(&mut out),
        "FrameLog" => outcome::FrameLog::read(t)?.write(&mut out),
        "NamedContract" => outcome::NamedContract::read(t)?.write(&mut out),
        "FrameUses" => outcome::FrameUses::read(t)?.write(&mut out),
        "Frame" => outcome::Frame::read(t)?.write(&mut out),
        "AccountFacts" => outcome::AccountFacts::read(t)?.write(&mut out),
        "RecordedSlot" => outcome::RecordedSlot::read(t)?.write(&mut out),
        "RecordedAccount" => outcome::RecordedAccount::read(t)?.write(&mut out),
        "Probed" => outcome::Probed::read(t)?.write(&mut out),
        "DecidingFact" => outcome::DecidingFact::read(t)?.write(&mut out),
        "Dependencies" => outcome::Dependencies::read(t)?.write(&mut out),
        "CallRecord" => outcome::CallRecord::read(t)?.write(&mut out),
        "Written" => Written::read(t)?.write(&mut out),
        "Log" => outcome::ExecutedLog::read(t)?.write(&mut out),
        "RollupReceipt" => execution::RollupReceipt::read(t)?.write(&mut out),
        "Receipt" => execution::ExecutionReceipt::read(t)?.write(&mut out),
        "ExecutionTransaction" => ExecutionTransaction::read(t)?.write(&mut out),
        "Executed" => Executed::read(t)?.write(&mut out),
        "TransactionFault" => rejection::TransactionFault::read(t)?.write(&mut out),
        "Rejection" => rejection::Rejection::read(t)?.write(&mut out),
        "Rejected" => Rejected::read(t)?.write(&mut out),
        "ExecutionRejected" => ExecutionRejected::read(t)?.write(&mut out),
        "Encoded" => Encoded::read(t)?.write(&mut out),
        "Deposit" => carry::Deposit::read(t)?.write(&mut out),
        "SealedTransaction" => carry::SealedTransaction::read(t)?.write(&mut out),
        "SealedBlock" => carry::SealedBlock::read(t)?.write(&mut out),
        "ListedBlock" => carry::ListedBlock::read(t)?.write(&mut out),
        "Sampled" => carry::Sampled::read(t)?.write(&mut out),
        "Carried" => carry::Carried::read(t)?.write(&mut out),
        _ => return Err(Malformed("an unknown record")),
    }
    Ok(out.0)
}
