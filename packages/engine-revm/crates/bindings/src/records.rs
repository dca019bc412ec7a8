//! Written by `npm run border` from border/records.mjs: change that.

use crate::text::{Decoded, Field, Lines, Malformed, Tokens};

use upfront_engine::{
    outcome, plan,
    primitives::{Address, B256, Bloom, Bytes, map::AddressMap},
    rejection, state, stretch,
};

pub struct WrittenFailure {
    pub at: u64,
    pub halt: Option<String>,
    pub return_data: Bytes,
}

pub struct Written {
    pub accounts: u64,
    pub slots: u64,
    pub gas_used: u64,
    pub failures: Vec<WrittenFailure>,
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

impl Field for plan::OpSpecId {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match t.word()? {
            "bedrock" => Self::BEDROCK,
            "regolith" => Self::REGOLITH,
            "canyon" => Self::CANYON,
            "ecotone" => Self::ECOTONE,
            "fjord" => Self::FJORD,
            "granite" => Self::GRANITE,
            "holocene" => Self::HOLOCENE,
            "isthmus" => Self::ISTHMUS,
            "jovian" => Self::JOVIAN,
            "karst" => Self::KARST,
            _ => return Err(Malformed("an unknown plan::OpSpecId")),
        })
    }
    fn write(&self, out: &mut Lines) {
        out.text(match *self {
            Self::BEDROCK => "bedrock",
            Self::REGOLITH => "regolith",
            Self::CANYON => "canyon",
            Self::ECOTONE => "ecotone",
            Self::FJORD => "fjord",
            Self::GRANITE => "granite",
            Self::HOLOCENE => "holocene",
            Self::ISTHMUS => "isthmus",
            Self::JOVIAN => "jovian",
            Self::KARST => "karst",
            _ => "?",
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
        self.overrides.write(out);
        self.calls.write(out);
    }
}

impl Field for plan::Plan {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self {
            chain: t.read()?,
            base: t.read()?,
            validation: t.read()?,
            trace_transfers: t.read()?,
            gas_budget: t.read()?,
            da_footprint_scalar: t.read()?,
            full_transactions: t.read()?,
            answer_bytes: t.read()?,
            blocks: t.read()?,
        })
    }
    fn write(&self, out: &mut Lines) {
        self.chain.write(out);
        self.base.write(out);
        self.validation.write(out);
        self.trace_transfers.write(out);
        self.gas_budget.write(out);
        self.da_footprint_scalar.write(out);
        self.full_transactions.write(out);
        self.answer_bytes.write(out);
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
            Self::Balance(v0) => {
                out.text("balance");
                v0.write(out);
            }
            Self::Nonce(v0) => {
                out.text("nonce");
                v0.write(out);
            }
            Self::Code(v0) => {
                out.text("code");
                v0.write(out);
            }
            Self::Storage(v0, v1) => {
                out.text("storage");
                v0.write(out);
                v1.write(out);
            }
            Self::BlockHash(v0) => {
                out.text("blockHash");
                v0.write(out);
            }
        }
    }
}

impl Field for WrittenFailure {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { at: t.read()?, halt: t.read()?, return_data: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.at.write(out);
        self.halt.write(out);
        self.return_data.write(out);
    }
}

impl Field for Written {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { accounts: t.read()?, slots: t.read()?, gas_used: t.read()?, failures: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.accounts.write(out);
        self.slots.write(out);
        self.gas_used.write(out);
        self.failures.write(out);
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

impl Field for rejection::Rejection {
    fn read(t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(Self { code: t.read()?, message: t.read()?, block: t.read()?, call: t.read()? })
    }
    fn write(&self, out: &mut Lines) {
        self.code.write(out);
        self.message.write(out);
        self.block.write(out);
        self.call.write(out);
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
        "Plan" => plan::Plan::read(t)?.write(&mut out),
        "BlockEnvironment" => stretch::BlockEnvironment::read(t)?.write(&mut out),
        "Stretch" => stretch::Stretch::read(t)?.write(&mut out),
        "AccountChange" => state::AccountChange::read(t)?.write(&mut out),
        "Layer" => state::Layer::read(t)?.write(&mut out),
        "Read" => state::Read::read(t)?.write(&mut out),
        "WrittenFailure" => WrittenFailure::read(t)?.write(&mut out),
        "Written" => Written::read(t)?.write(&mut out),
        "Log" => outcome::ExecutedLog::read(t)?.write(&mut out),
        "Receipt" => stretch::StretchReceipt::read(t)?.write(&mut out),
        "StretchTransaction" => StretchTransaction::read(t)?.write(&mut out),
        "Executed" => Executed::read(t)?.write(&mut out),
        "Rejection" => rejection::Rejection::read(t)?.write(&mut out),
        _ => return Err(Malformed("an unknown record")),
    }
    Ok(out.0)
}
