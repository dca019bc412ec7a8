//! Written by `npm run border` from border/records.mjs: change that.

use crate::text::{Decoded, Field, Lines, Malformed, Tokens};

use upfront_engine::{
    carry, outcome, plan,
    primitives::{Address, B256, Bloom, Bytes, map::AddressMap},
    rejection, state, stretch,
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
    pub gas_used: u64,
    pub failures: Vec<WrittenFailure>,
    pub records: Vec<outcome::CallRecord>,
}

pub struct StretchTransaction {
    pub hash: B256,
    pub from: Address,
    pub to: Option<Address>,
    pub nonce: u64,
}

pub struct Executed {
    pub accounts: AddressMap<state::AccountChange>,
    pub transactions: Vec<StretchTransaction>,
    pub receipts: Vec<stretch::StretchReceipt>,
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

pub struct StretchRejected {
    pub transaction: u64,
    pub message: String,
    pub native_precompile: Option<Address>,
}

impl Field for plan::SpecId {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "paris" => Self::MERGE,
            "shanghai" => Self::SHANGHAI,
            "cancun" => Self::CANCUN,
            "prague" => Self::PRAGUE,
            "osaka" => Self::OSAKA,
            _ => return Err(Malformed("an unknown plan::SpecId")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::MERGE => "paris",
            Self::SHANGHAI => "shanghai",
            Self::CANCUN => "cancun",
            Self::PRAGUE => "prague",
            Self::OSAKA => "osaka",
            _ => "?",
        })
    }
}

impl Field for plan::OpFork {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "bedrock" => Self::Bedrock,
            "regolith" => Self::Regolith,
            "canyon" => Self::Canyon,
            "ecotone" => Self::Ecotone,
            "fjord" => Self::Fjord,
            "granite" => Self::Granite,
            "holocene" => Self::Holocene,
            "isthmus" => Self::Isthmus,
            "jovian" => Self::Jovian,
            "karst" => Self::Karst,
            "azul" => Self::Azul,
            "beryl" => Self::Beryl,
            "cobalt" => Self::Cobalt,
            "denim" => Self::Denim,
            _ => return Err(Malformed("an unknown plan::OpFork")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::Bedrock => "bedrock",
            Self::Regolith => "regolith",
            Self::Canyon => "canyon",
            Self::Ecotone => "ecotone",
            Self::Fjord => "fjord",
            Self::Granite => "granite",
            Self::Holocene => "holocene",
            Self::Isthmus => "isthmus",
            Self::Jovian => "jovian",
            Self::Karst => "karst",
            Self::Azul => "azul",
            Self::Beryl => "beryl",
            Self::Cobalt => "cobalt",
            Self::Denim => "denim",
        })
    }
}

impl Field for plan::ChainRules {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { chain_id: t.read()?, deposit_contract: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.chain_id.write(out);
        self.deposit_contract.write(out);
    }
}

impl Field for plan::BlobParameters {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { target: t.read()?, max: t.read()?, update_fraction: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.target.write(out);
        self.max.write(out);
        self.update_fraction.write(out);
    }
}

impl Field for plan::BlockRules {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { spec: t.read()?, op: t.read()?, blob: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.spec.write(out);
        self.op.write(out);
        self.blob.write(out);
    }
}

impl Field for plan::ParentHeader {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            hash: t.read()?,
            number: t.read()?,
            timestamp: t.read()?,
            gas_limit: t.read()?,
            gas_used: t.read()?,
            base_fee: t.read()?,
            blob_gas_used: t.read()?,
            excess_blob_gas: t.read()?,
            withdrawals_root: t.read()?,
            rules: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.hash.write(out);
        self.number.write(out);
        self.timestamp.write(out);
        self.gas_limit.write(out);
        self.gas_used.write(out);
        self.base_fee.write(out);
        self.blob_gas_used.write(out);
        self.excess_blob_gas.write(out);
        self.withdrawals_root.write(out);
        self.rules.write(out);
    }
}

impl Field for plan::BaseFeeParameters {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { elasticity: t.read()?, denominator: t.read()?, minimum: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.elasticity.write(out);
        self.denominator.write(out);
        self.minimum.write(out);
    }
}

impl Field for plan::Withdrawal {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { index: t.read()?, validator_index: t.read()?, address: t.read()?, amount: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.index.write(out);
        self.validator_index.write(out);
        self.address.write(out);
        self.amount.write(out);
    }
}

impl Field for plan::StateOverride {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            address: t.read()?,
            balance: t.read()?,
            nonce: t.read()?,
            code: t.read()?,
            move_precompile_to: t.read()?,
            state: t.read()?,
            state_diff: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.address.write(out);
        self.balance.write(out);
        self.nonce.write(out);
        self.code.write(out);
        self.move_precompile_to.write(out);
        self.state.write(out);
        self.state_diff.write(out);
    }
}

impl Field for plan::Authorization {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            chain_id: t.read()?,
            address: t.read()?,
            nonce: t.read()?,
            y_parity: t.read()?,
            r: t.read()?,
            s: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.chain_id.write(out);
        self.address.write(out);
        self.nonce.write(out);
        self.y_parity.write(out);
        self.r.write(out);
        self.s.write(out);
    }
}

impl Field for plan::PlannedCall {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            tx_type: t.read()?,
            from: t.read()?,
            to: t.read()?,
            input: t.read()?,
            value: t.read()?,
            nonce: t.read()?,
            gas: t.read()?,
            gas_price: t.read()?,
            max_fee: t.read()?,
            max_priority_fee: t.read()?,
            max_blob_fee: t.read()?,
            access_list: t.read()?,
            blob_hashes: t.read()?,
            authorizations: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.tx_type.write(out);
        self.from.write(out);
        self.to.write(out);
        self.input.write(out);
        self.value.write(out);
        self.nonce.write(out);
        self.gas.write(out);
        self.gas_price.write(out);
        self.max_fee.write(out);
        self.max_priority_fee.write(out);
        self.max_blob_fee.write(out);
        self.access_list.write(out);
        self.blob_hashes.write(out);
        self.authorizations.write(out);
    }
}

impl Field for plan::PlannedBlock {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            number: t.read()?,
            timestamp: t.read()?,
            gas_limit: t.read()?,
            fee_recipient: t.read()?,
            prev_randao: t.read()?,
            base_fee: t.read()?,
            base_fee_parameters: t.read()?,
            blob_base_fee: t.read()?,
            parent_beacon_block_root: t.read()?,
            extra_data: t.read()?,
            rules: t.read()?,
            withdrawals: t.read()?,
            is_executed: t.read()?,
            overrides: t.read()?,
            calls: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.number.write(out);
        self.timestamp.write(out);
        self.gas_limit.write(out);
        self.fee_recipient.write(out);
        self.prev_randao.write(out);
        self.base_fee.write(out);
        self.base_fee_parameters.write(out);
        self.blob_base_fee.write(out);
        self.parent_beacon_block_root.write(out);
        self.extra_data.write(out);
        self.rules.write(out);
        self.withdrawals.write(out);
        self.is_executed.write(out);
        self.overrides.write(out);
        self.calls.write(out);
    }
}

impl Field for plan::StepOptions {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { stack: t.read()?, memory: t.read()?, storage: t.read()?, return_data: t.read()?, limit: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.stack.write(out);
        self.memory.write(out);
        self.storage.write(out);
        self.return_data.write(out);
        self.limit.write(out);
    }
}

impl Field for plan::Recording {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { frames: t.read()?, state: t.read()?, steps: t.read()?, uses: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.frames.write(out);
        self.state.write(out);
        self.steps.write(out);
        self.uses.write(out);
    }
}

impl Field for plan::Probe {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { block: t.read()?, call: t.read()?, to: t.read()?, input: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.block.write(out);
        self.call.write(out);
        self.to.write(out);
        self.input.write(out);
    }
}

impl Field for plan::Plan {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            chain: t.read()?,
            base: t.read()?,
            validation: t.read()?,
            trace_transfers: t.read()?,
            list_touched: t.read()?,
            gas_budget: t.read()?,
            da_footprint_scalar: t.read()?,
            full_transactions: t.read()?,
            answer_bytes: t.read()?,
            recording: t.read()?,
            probes: t.read()?,
            blocks: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.chain.write(out);
        self.base.write(out);
        self.validation.write(out);
        self.trace_transfers.write(out);
        self.list_touched.write(out);
        self.gas_budget.write(out);
        self.da_footprint_scalar.write(out);
        self.full_transactions.write(out);
        self.answer_bytes.write(out);
        self.recording.write(out);
        self.probes.write(out);
        self.blocks.write(out);
    }
}

impl Field for stretch::BlockEnvironment {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            number: t.read()?,
            timestamp: t.read()?,
            parent_hash: t.read()?,
            gas_limit: t.read()?,
            fee_recipient: t.read()?,
            prev_randao: t.read()?,
            base_fee: t.read()?,
            parent_beacon_block_root: t.read()?,
            excess_blob_gas: t.read()?,
            rules: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.number.write(out);
        self.timestamp.write(out);
        self.parent_hash.write(out);
        self.gas_limit.write(out);
        self.fee_recipient.write(out);
        self.prev_randao.write(out);
        self.base_fee.write(out);
        self.parent_beacon_block_root.write(out);
        self.excess_blob_gas.write(out);
        self.rules.write(out);
    }
}

impl Field for stretch::Stretch {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            chain: t.read()?,
            block: t.read()?,
            opening: t.read()?,
            transactions: t.read()?,
            earlier_receipts: t.read()?,
            earlier_gas_used: t.read()?,
            earlier_blob_gas_used: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.chain.write(out);
        self.block.write(out);
        self.opening.write(out);
        self.transactions.write(out);
        self.earlier_receipts.write(out);
        self.earlier_gas_used.write(out);
        self.earlier_blob_gas_used.write(out);
    }
}

impl Field for state::AccountChange {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            balance: t.read()?,
            nonce: t.read()?,
            code: t.read()?,
            storage_cleared: t.read()?,
            storage: t.read()?,
            exists: false,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.balance.write(out);
        self.nonce.write(out);
        self.code.write(out);
        self.storage_cleared.write(out);
        self.storage.write(out);
    }
}

impl Field for state::Layer {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { accounts: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.accounts.write(out);
    }
}

impl Field for state::Read {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "balance" => Self::Balance(t.read()?),
            "nonce" => Self::Nonce(t.read()?),
            "code" => Self::Code(t.read()?),
            "storage" => Self::Storage(t.read()?, t.read()?),
            "blockHash" => Self::BlockHash(t.read()?),
            _ => return Err(Malformed("an unknown Read")),
        })
    }
    fn write(&self, out: &mut Lines) {
        match self {
            Self::Balance(address) => {
                out.text("balance");
                address.write(out);
            }
            Self::Nonce(address) => {
                out.text("nonce");
                address.write(out);
            }
            Self::Code(address) => {
                out.text("code");
                address.write(out);
            }
            Self::Storage(address, slot) => {
                out.text("storage");
                address.write(out);
                slot.write(out);
            }
            Self::BlockHash(number) => {
                out.text("blockHash");
                number.write(out);
            }
        }
    }
}

impl Field for outcome::PrecompileFault {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "outOfGas" => Self::OutOfGas,
            "inputLength" => Self::InputLength,
            "modexpLength" => Self::ModexpLength,
            "pairingLength" => Self::PairingLength,
            "blsPairingLength" => Self::BlsPairingLength,
            "finalFlag" => Self::FinalFlag,
            "fieldElement" => Self::FieldElement,
            "notOnCurve" => Self::NotOnCurve,
            "versionedHash" => Self::VersionedHash,
            "kzgProof" => Self::KzgProof,
            "blsFieldElement" => Self::BlsFieldElement,
            "blsNotOnCurve" => Self::BlsNotOnCurve,
            "g1Subgroup" => Self::G1Subgroup,
            "g2Subgroup" => Self::G2Subgroup,
            "unknown" => Self::Unknown,
            _ => return Err(Malformed("an unknown outcome::PrecompileFault")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::OutOfGas => "outOfGas",
            Self::InputLength => "inputLength",
            Self::ModexpLength => "modexpLength",
            Self::PairingLength => "pairingLength",
            Self::BlsPairingLength => "blsPairingLength",
            Self::FinalFlag => "finalFlag",
            Self::FieldElement => "fieldElement",
            Self::NotOnCurve => "notOnCurve",
            Self::VersionedHash => "versionedHash",
            Self::KzgProof => "kzgProof",
            Self::BlsFieldElement => "blsFieldElement",
            Self::BlsNotOnCurve => "blsNotOnCurve",
            Self::G1Subgroup => "g1Subgroup",
            Self::G2Subgroup => "g2Subgroup",
            Self::Unknown => "unknown",
        })
    }
}

impl Field for outcome::FoundByStep {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { operands: t.read()?, gas: t.read()?, memory: t.read()?, return_data: t.read()?, is_cold: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.operands.write(out);
        self.gas.write(out);
        self.memory.write(out);
        self.return_data.write(out);
        self.is_cold.write(out);
    }
}

impl Field for outcome::HaltedStep {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { fork: t.read()?, opcode: t.read()?, height: t.read()?, found: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.fork.write(out);
        self.opcode.write(out);
        self.height.write(out);
        self.found.write(out);
    }
}

impl Field for outcome::Halt {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "outOfGas" => Self::OutOfGas,
            "invalidJump" => Self::InvalidJump,
            "writeProtection" => Self::WriteProtection { step: t.read()? },
            "addressCollision" => Self::AddressCollision,
            "codeStorageOutOfGas" => Self::CodeStorageOutOfGas,
            "codeStartsWithEf" => Self::CodeStartsWithEf,
            "nonceOverflow" => Self::NonceOverflow,
            "callTooDeep" => Self::CallTooDeep,
            "insufficientBalance" => Self::InsufficientBalance,
            "balanceOverflow" => Self::BalanceOverflow,
            "precompileFailed" => Self::PrecompileFailed,
            "codeTooLarge" => Self::CodeTooLarge { size: t.read()? },
            "invalidOpcode" => Self::InvalidOpcode { opcode: t.read()? },
            "instruction" => Self::Instruction { step: t.read()? },
            "precompile" => Self::Precompile { fault: t.read()?, gas: t.read()?, input: t.read()? },
            "other" => Self::Other { name: t.read()? },
            _ => return Err(Malformed("an unknown Halt")),
        })
    }
    fn write(&self, out: &mut Lines) {
        match self {
            Self::OutOfGas => {
                out.text("outOfGas");
            }
            Self::InvalidJump => {
                out.text("invalidJump");
            }
            Self::WriteProtection { step } => {
                out.text("writeProtection");
                step.write(out);
            }
            Self::AddressCollision => {
                out.text("addressCollision");
            }
            Self::CodeStorageOutOfGas => {
                out.text("codeStorageOutOfGas");
            }
            Self::CodeStartsWithEf => {
                out.text("codeStartsWithEf");
            }
            Self::NonceOverflow => {
                out.text("nonceOverflow");
            }
            Self::CallTooDeep => {
                out.text("callTooDeep");
            }
            Self::InsufficientBalance => {
                out.text("insufficientBalance");
            }
            Self::BalanceOverflow => {
                out.text("balanceOverflow");
            }
            Self::PrecompileFailed => {
                out.text("precompileFailed");
            }
            Self::CodeTooLarge { size } => {
                out.text("codeTooLarge");
                size.write(out);
            }
            Self::InvalidOpcode { opcode } => {
                out.text("invalidOpcode");
                opcode.write(out);
            }
            Self::Instruction { step } => {
                out.text("instruction");
                step.write(out);
            }
            Self::Precompile { fault, gas, input } => {
                out.text("precompile");
                fault.write(out);
                gas.write(out);
                input.write(out);
            }
            Self::Other { name } => {
                out.text("other");
                name.write(out);
            }
        }
    }
}

impl Field for WrittenFailure {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { at: t.read()?, halt: t.read()?, is_gas_capped: t.read()?, return_data: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.at.write(out);
        self.halt.write(out);
        self.is_gas_capped.write(out);
        self.return_data.write(out);
    }
}

impl Field for outcome::TouchedList {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { accounts: t.read()?, slots: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.accounts.write(out);
        self.slots.write(out);
    }
}

impl Field for outcome::FrameKind {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "CALL" => Self::Call,
            "CALLCODE" => Self::CallCode,
            "DELEGATECALL" => Self::DelegateCall,
            "STATICCALL" => Self::StaticCall,
            "CREATE" => Self::Create,
            "CREATE2" => Self::Create2,
            "SELFDESTRUCT" => Self::SelfDestruct,
            _ => return Err(Malformed("an unknown outcome::FrameKind")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::Call => "CALL",
            Self::CallCode => "CALLCODE",
            Self::DelegateCall => "DELEGATECALL",
            Self::StaticCall => "STATICCALL",
            Self::Create => "CREATE",
            Self::Create2 => "CREATE2",
            Self::SelfDestruct => "SELFDESTRUCT",
        })
    }
}

impl Field for outcome::FrameLog {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { position: t.read()?, address: t.read()?, topics: t.read()?, data: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.position.write(out);
        self.address.write(out);
        self.topics.write(out);
        self.data.write(out);
    }
}

impl Field for outcome::NamedContract {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { address: t.read()?, code_size: t.read()?, opcode: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.address.write(out);
        self.code_size.write(out);
        self.opcode.write(out);
    }
}

impl Field for outcome::FrameUses {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            opcodes: t.read()?,
            reads: t.read()?,
            writes: t.read()?,
            transient_reads: t.read()?,
            transient_writes: t.read()?,
            inspected: t.read()?,
            named: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.opcodes.write(out);
        self.reads.write(out);
        self.writes.write(out);
        self.transient_reads.write(out);
        self.transient_writes.write(out);
        self.inspected.write(out);
        self.named.write(out);
    }
}

impl Field for outcome::Frame {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            kind: t.read()?,
            depth: t.read()?,
            from: t.read()?,
            to: t.read()?,
            input: t.read()?,
            output: t.read()?,
            gas: t.read()?,
            gas_used: t.read()?,
            value: t.read()?,
            reverted: t.read()?,
            halt: t.read()?,
            is_precompile: t.read()?,
            logs: t.read()?,
            uses: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.kind.write(out);
        self.depth.write(out);
        self.from.write(out);
        self.to.write(out);
        self.input.write(out);
        self.output.write(out);
        self.gas.write(out);
        self.gas_used.write(out);
        self.value.write(out);
        self.reverted.write(out);
        self.halt.write(out);
        self.is_precompile.write(out);
        self.logs.write(out);
        self.uses.write(out);
    }
}

impl Field for outcome::AccountFacts {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { exists: t.read()?, balance: t.read()?, nonce: t.read()?, code_hash: t.read()?, code: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.exists.write(out);
        self.balance.write(out);
        self.nonce.write(out);
        self.code_hash.write(out);
        self.code.write(out);
    }
}

impl Field for outcome::RecordedSlot {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { slot: t.read()?, is_read: t.read()?, is_accessed: t.read()?, before: t.read()?, after: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.slot.write(out);
        self.is_read.write(out);
        self.is_accessed.write(out);
        self.before.write(out);
        self.after.write(out);
    }
}

impl Field for outcome::RecordedAccount {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            address: t.read()?,
            is_read: t.read()?,
            is_accessed: t.read()?,
            is_removed: t.read()?,
            before: t.read()?,
            after: t.read()?,
            slots: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.address.write(out);
        self.is_read.write(out);
        self.is_accessed.write(out);
        self.is_removed.write(out);
        self.before.write(out);
        self.after.write(out);
        self.slots.write(out);
    }
}

impl Field for outcome::Probed {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { before: t.read()?, after: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.before.write(out);
        self.after.write(out);
    }
}

impl Field for outcome::RecordedHalt {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            at: t.read()?,
            depth: t.read()?,
            halt: t.read()?,
            cost: t.read()?,
            is_new_slot: t.read()?,
            rest: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.at.write(out);
        self.depth.write(out);
        self.halt.write(out);
        self.cost.write(out);
        self.is_new_slot.write(out);
        self.rest.write(out);
    }
}

impl Field for outcome::CallRecord {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            gas: t.read()?,
            gas_used: t.read()?,
            frames: t.read()?,
            accounts: t.read()?,
            probed: t.read()?,
            probe_gas: t.read()?,
            steps: t.read()?,
            halted_steps: t.read()?,
            preimages: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.gas.write(out);
        self.gas_used.write(out);
        self.frames.write(out);
        self.accounts.write(out);
        self.probed.write(out);
        self.probe_gas.write(out);
        self.steps.write(out);
        self.halted_steps.write(out);
        self.preimages.write(out);
    }
}

impl Field for Written {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            accounts: t.read()?,
            slots: t.read()?,
            touched_list: t.read()?,
            gas_used: t.read()?,
            failures: t.read()?,
            records: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.accounts.write(out);
        self.slots.write(out);
        self.touched_list.write(out);
        self.gas_used.write(out);
        self.failures.write(out);
        self.records.write(out);
    }
}

impl Field for outcome::ExecutedLog {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { address: t.read()?, topics: t.read()?, data: t.read()?, synthetic: false, index: 0 })
    }
    fn write(&self, out: &mut Lines) {
        self.address.write(out);
        self.topics.write(out);
        self.data.write(out);
    }
}

impl Field for stretch::StretchReceipt {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            tx_type: t.read()?,
            succeeded: t.read()?,
            cumulative_gas_used: t.read()?,
            gas_used: t.read()?,
            effective_gas_price: t.read()?,
            logs: t.read()?,
            contract_address: t.read()?,
            blob_gas_used: t.read()?,
            encoded: t.read()?,
            bloom: Bloom::ZERO,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.tx_type.write(out);
        self.succeeded.write(out);
        self.cumulative_gas_used.write(out);
        self.gas_used.write(out);
        self.effective_gas_price.write(out);
        self.logs.write(out);
        self.contract_address.write(out);
        self.blob_gas_used.write(out);
        self.encoded.write(out);
    }
}

impl Field for StretchTransaction {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { hash: t.read()?, from: t.read()?, to: t.read()?, nonce: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.hash.write(out);
        self.from.write(out);
        self.to.write(out);
        self.nonce.write(out);
    }
}

impl Field for Executed {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            accounts: t.read()?,
            transactions: t.read()?,
            receipts: t.read()?,
            gas_used: t.read()?,
            blob_gas_used: t.read()?,
            receipts_root: t.read()?,
            logs_bloom: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.accounts.write(out);
        self.transactions.write(out);
        self.receipts.write(out);
        self.gas_used.write(out);
        self.blob_gas_used.write(out);
        self.receipts_root.write(out);
        self.logs_bloom.write(out);
    }
}

impl Field for rejection::TransactionFault {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "nonceTooHigh" => Self::NonceTooHigh { nonce: t.read()?, expected: t.read()? },
            "nonceTooLow" => Self::NonceTooLow { nonce: t.read()?, expected: t.read()? },
            "nonceHasMaxValue" => Self::NonceHasMaxValue { nonce: t.read()? },
            "tipAboveFeeCap" => Self::TipAboveFeeCap { tip: t.read()?, cap: t.read()? },
            "feeCapBelowBaseFee" => Self::FeeCapBelowBaseFee { cap: t.read()?, base_fee: t.read()? },
            "blobsUnsupported" => Self::BlobsUnsupported,
            "blobsOfCreation" => Self::BlobsOfCreation,
            "noBlobHashes" => Self::NoBlobHashes,
            "tooManyBlobs" => Self::TooManyBlobs,
            "blobHashVersion" => Self::BlobHashVersion { index: t.read()? },
            "blobFeeCapTooLow" => Self::BlobFeeCapTooLow { cap: t.read()?, blob_base_fee: t.read()? },
            "setCodeUnsupported" => Self::SetCodeUnsupported,
            "setCodeOfCreation" => Self::SetCodeOfCreation,
            "noAuthorizations" => Self::NoAuthorizations,
            "initCodeTooLarge" => Self::InitCodeTooLarge { size: t.read()? },
            "priceOverflow" => Self::PriceOverflow,
            "insufficientFunds" => Self::InsufficientFunds { have: t.read()?, want: t.read()? },
            "insufficientFundsForTransfer" => Self::InsufficientFundsForTransfer,
            "intrinsicGas" => Self::IntrinsicGas { want: t.read()? },
            "floorGas" => Self::FloorGas { want: t.read()? },
            _ => return Err(Malformed("an unknown TransactionFault")),
        })
    }
    fn write(&self, out: &mut Lines) {
        match self {
            Self::NonceTooHigh { nonce, expected } => {
                out.text("nonceTooHigh");
                nonce.write(out);
                expected.write(out);
            }
            Self::NonceTooLow { nonce, expected } => {
                out.text("nonceTooLow");
                nonce.write(out);
                expected.write(out);
            }
            Self::NonceHasMaxValue { nonce } => {
                out.text("nonceHasMaxValue");
                nonce.write(out);
            }
            Self::TipAboveFeeCap { tip, cap } => {
                out.text("tipAboveFeeCap");
                tip.write(out);
                cap.write(out);
            }
            Self::FeeCapBelowBaseFee { cap, base_fee } => {
                out.text("feeCapBelowBaseFee");
                cap.write(out);
                base_fee.write(out);
            }
            Self::BlobsUnsupported => {
                out.text("blobsUnsupported");
            }
            Self::BlobsOfCreation => {
                out.text("blobsOfCreation");
            }
            Self::NoBlobHashes => {
                out.text("noBlobHashes");
            }
            Self::TooManyBlobs => {
                out.text("tooManyBlobs");
            }
            Self::BlobHashVersion { index } => {
                out.text("blobHashVersion");
                index.write(out);
            }
            Self::BlobFeeCapTooLow { cap, blob_base_fee } => {
                out.text("blobFeeCapTooLow");
                cap.write(out);
                blob_base_fee.write(out);
            }
            Self::SetCodeUnsupported => {
                out.text("setCodeUnsupported");
            }
            Self::SetCodeOfCreation => {
                out.text("setCodeOfCreation");
            }
            Self::NoAuthorizations => {
                out.text("noAuthorizations");
            }
            Self::InitCodeTooLarge { size } => {
                out.text("initCodeTooLarge");
                size.write(out);
            }
            Self::PriceOverflow => {
                out.text("priceOverflow");
            }
            Self::InsufficientFunds { have, want } => {
                out.text("insufficientFunds");
                have.write(out);
                want.write(out);
            }
            Self::InsufficientFundsForTransfer => {
                out.text("insufficientFundsForTransfer");
            }
            Self::IntrinsicGas { want } => {
                out.text("intrinsicGas");
                want.write(out);
            }
            Self::FloorGas { want } => {
                out.text("floorGas");
                want.write(out);
            }
        }
    }
}

impl Field for rejection::RequestQueue {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "withdrawal" => Self::Withdrawal,
            "consolidation" => Self::Consolidation,
            _ => return Err(Malformed("an unknown rejection::RequestQueue")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::Withdrawal => "withdrawal",
            Self::Consolidation => "consolidation",
        })
    }
}

impl Field for rejection::Rejection {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "transaction" => Self::Transaction { from: t.read()?, gas: t.read()?, fault: t.read()? },
            "blockGasLimit" => Self::BlockGasLimit { left: t.read()?, asked: t.read()? },
            "takenByPrecompile" => Self::TakenByPrecompile { address: t.read()? },
            "notPrecompile" => Self::NotPrecompile { address: t.read()? },
            "alreadyOverridden" => Self::AlreadyOverridden { address: t.read()? },
            "nativePrecompile" => Self::NativePrecompile { address: t.read()? },
            "depositLength" => Self::DepositLength { length: t.read()? },
            "requestQueue" => Self::RequestQueue { queue: t.read()?, halt: t.read()? },
            _ => return Err(Malformed("an unknown Rejection")),
        })
    }
    fn write(&self, out: &mut Lines) {
        match self {
            Self::Transaction { from, gas, fault } => {
                out.text("transaction");
                from.write(out);
                gas.write(out);
                fault.write(out);
            }
            Self::BlockGasLimit { left, asked } => {
                out.text("blockGasLimit");
                left.write(out);
                asked.write(out);
            }
            Self::TakenByPrecompile { address } => {
                out.text("takenByPrecompile");
                address.write(out);
            }
            Self::NotPrecompile { address } => {
                out.text("notPrecompile");
                address.write(out);
            }
            Self::AlreadyOverridden { address } => {
                out.text("alreadyOverridden");
                address.write(out);
            }
            Self::NativePrecompile { address } => {
                out.text("nativePrecompile");
                address.write(out);
            }
            Self::DepositLength { length } => {
                out.text("depositLength");
                length.write(out);
            }
            Self::RequestQueue { queue, halt } => {
                out.text("requestQueue");
                queue.write(out);
                halt.write(out);
            }
        }
    }
}

impl Field for Rejected {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { rejection: t.read()?, block: t.read()?, call: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.rejection.write(out);
        self.block.write(out);
        self.call.write(out);
    }
}

impl Field for StretchRejected {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { transaction: t.read()?, message: t.read()?, native_precompile: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.transaction.write(out);
        self.message.write(out);
        self.native_precompile.write(out);
    }
}

impl Field for carry::Deposit {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { source_hash: t.read()?, from: t.read()?, mint: t.read()?, is_system_transaction: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.source_hash.write(out);
        self.from.write(out);
        self.mint.write(out);
        self.is_system_transaction.write(out);
    }
}

impl Field for carry::SealedTransaction {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            tx_type: t.read()?,
            hash: t.read()?,
            chain_id: t.read()?,
            nonce: t.read()?,
            gas: t.read()?,
            gas_price: t.read()?,
            max_fee: t.read()?,
            max_priority_fee: t.read()?,
            max_blob_fee: t.read()?,
            to: t.read()?,
            value: t.read()?,
            input: t.read()?,
            access_list: t.read()?,
            blob_hashes: t.read()?,
            authorizations: t.read()?,
            v: t.read()?,
            r: t.read()?,
            s: t.read()?,
            deposit: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.tx_type.write(out);
        self.hash.write(out);
        self.chain_id.write(out);
        self.nonce.write(out);
        self.gas.write(out);
        self.gas_price.write(out);
        self.max_fee.write(out);
        self.max_priority_fee.write(out);
        self.max_blob_fee.write(out);
        self.to.write(out);
        self.value.write(out);
        self.input.write(out);
        self.access_list.write(out);
        self.blob_hashes.write(out);
        self.authorizations.write(out);
        self.v.write(out);
        self.r.write(out);
        self.s.write(out);
        self.deposit.write(out);
    }
}

impl Field for carry::SealedBlock {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            chain: t.read()?,
            hash: t.read()?,
            block: t.read()?,
            transactions: t.read()?,
            earlier_receipts: t.read()?,
            earlier_gas_used: t.read()?,
            earlier_blob_gas_used: t.read()?,
            withdrawals: t.read()?,
            gas_used: t.read()?,
            transactions_root: t.read()?,
            receipts_root: t.read()?,
            logs_bloom: t.read()?,
            withdrawals_root: t.read()?,
            requests_hash: t.read()?,
            blob_gas_used: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.chain.write(out);
        self.hash.write(out);
        self.block.write(out);
        self.transactions.write(out);
        self.earlier_receipts.write(out);
        self.earlier_gas_used.write(out);
        self.earlier_blob_gas_used.write(out);
        self.withdrawals.write(out);
        self.gas_used.write(out);
        self.transactions_root.write(out);
        self.receipts_root.write(out);
        self.logs_bloom.write(out);
        self.withdrawals_root.write(out);
        self.requests_hash.write(out);
        self.blob_gas_used.write(out);
    }
}

impl Field for carry::Difference {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "transactionHash" => Self::TransactionHash,
            "transactionsRoot" => Self::TransactionsRoot,
            "withdrawalsRoot" => Self::WithdrawalsRoot,
            "transaction" => Self::Transaction,
            "nativePrecompile" => Self::NativePrecompile,
            "gasUsed" => Self::GasUsed,
            "receiptsRoot" => Self::ReceiptsRoot,
            "logsBloom" => Self::LogsBloom,
            "requestsHash" => Self::RequestsHash,
            "blobGasUsed" => Self::BlobGasUsed,
            "parent" => Self::Parent,
            "disputed" => Self::Disputed,
            _ => return Err(Malformed("an unknown carry::Difference")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::TransactionHash => "transactionHash",
            Self::TransactionsRoot => "transactionsRoot",
            Self::WithdrawalsRoot => "withdrawalsRoot",
            Self::Transaction => "transaction",
            Self::NativePrecompile => "nativePrecompile",
            Self::GasUsed => "gasUsed",
            Self::ReceiptsRoot => "receiptsRoot",
            Self::LogsBloom => "logsBloom",
            Self::RequestsHash => "requestsHash",
            Self::BlobGasUsed => "blobGasUsed",
            Self::Parent => "parent",
            Self::Disputed => "disputed",
        })
    }
}

impl Field for carry::Sampled {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { read: t.read()?, value: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.read.write(out);
        self.value.write(out);
    }
}

impl Field for carry::Carried {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "carried" => Self::Carried { written: t.read()?, sample: t.read()? },
            "differs" => Self::Differs { difference: t.read()?, detail: t.read()? },
            _ => return Err(Malformed("an unknown Carried")),
        })
    }
    fn write(&self, out: &mut Lines) {
        match self {
            Self::Carried { written, sample } => {
                out.text("carried");
                written.write(out);
                sample.write(out);
            }
            Self::Differs { difference, detail } => {
                out.text("differs");
                difference.write(out);
                detail.write(out);
            }
        }
    }
}

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
        "PlannedCall" => plan::PlannedCall::read(t)?.write(&mut out),
        "PlannedBlock" => plan::PlannedBlock::read(t)?.write(&mut out),
        "StepOptions" => plan::StepOptions::read(t)?.write(&mut out),
        "Recording" => plan::Recording::read(t)?.write(&mut out),
        "Probe" => plan::Probe::read(t)?.write(&mut out),
        "Plan" => plan::Plan::read(t)?.write(&mut out),
        "BlockEnvironment" => stretch::BlockEnvironment::read(t)?.write(&mut out),
        "Stretch" => stretch::Stretch::read(t)?.write(&mut out),
        "AccountChange" => state::AccountChange::read(t)?.write(&mut out),
        "Layer" => state::Layer::read(t)?.write(&mut out),
        "Read" => state::Read::read(t)?.write(&mut out),
        "FoundByStep" => outcome::FoundByStep::read(t)?.write(&mut out),
        "HaltedStep" => outcome::HaltedStep::read(t)?.write(&mut out),
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
        "RecordedHalt" => outcome::RecordedHalt::read(t)?.write(&mut out),
        "CallRecord" => outcome::CallRecord::read(t)?.write(&mut out),
        "Written" => Written::read(t)?.write(&mut out),
        "Log" => outcome::ExecutedLog::read(t)?.write(&mut out),
        "Receipt" => stretch::StretchReceipt::read(t)?.write(&mut out),
        "StretchTransaction" => StretchTransaction::read(t)?.write(&mut out),
        "Executed" => Executed::read(t)?.write(&mut out),
        "TransactionFault" => rejection::TransactionFault::read(t)?.write(&mut out),
        "Rejection" => rejection::Rejection::read(t)?.write(&mut out),
        "Rejected" => Rejected::read(t)?.write(&mut out),
        "StretchRejected" => StretchRejected::read(t)?.write(&mut out),
        "Deposit" => carry::Deposit::read(t)?.write(&mut out),
        "SealedTransaction" => carry::SealedTransaction::read(t)?.write(&mut out),
        "SealedBlock" => carry::SealedBlock::read(t)?.write(&mut out),
        "Sampled" => carry::Sampled::read(t)?.write(&mut out),
        "Carried" => carry::Carried::read(t)?.write(&mut out),
        _ => return Err(Malformed("an unknown record")),
    }
    Ok(out.0)
}
