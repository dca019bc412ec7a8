//! The outcome as JSON: the `result` of `eth_simulateV1`, field for field like `packages/simulation/src/present`. TypeScript adds error
//! messages: a failed call's error is a gap.

use crate::{
    outcome::{ExecutedBlock, ExecutedCall, ExecutedLog, Outcome, Status},
    plan::{Authorization, Plan, PlannedBlock, PlannedCall},
    rejection::Failure,
};
use alloy_primitives::{B256, U256, hex};

/// The failed calls, with the position in the text where their `,"error":…` belongs.
pub struct Answer<'a> {
    /// ASCII.
    pub json: Vec<u8>,
    pub gaps: Vec<Gap<'a>>,
    /// The end of each recorded call in `json`, before its closing brace.
    pub ends: Vec<usize>,
    /// Of all calls, after refunds.
    pub gas_used: u64,
}

pub struct Gap<'a> {
    /// Position in `json`, ascending.
    pub at: usize,
    pub call: &'a ExecutedCall,
}

/// Fails if the answer is longer than the plan allows.
pub fn write<'a>(plan: &Plan, outcome: &'a Outcome) -> Result<Answer<'a>, Failure> {
    let output = |call: &ExecutedCall| {
        let logs = call.logs.iter().map(|log| 512 + 67 * log.topics.len() + 2 * log.data.len());
        256 + 2 * call.return_data.len() + logs.sum::<usize>()
    };
    let size = outcome.blocks.iter().map(|block| 2_048 + block.calls.iter().map(output).sum::<usize>()).sum();
    let gas_used = outcome.blocks.iter().flat_map(|block| &block.calls).map(|call| call.gas_used).sum();
    if plan.recording.alone {
        return Ok(Answer { json: b"[]".to_vec(), gaps: Vec::new(), ends: Vec::new(), gas_used });
    }
    let mut writer = Writer { plan, out: Vec::with_capacity(size), gaps: Vec::new(), ends: Vec::new() };
    writer.list(outcome.blocks.iter().zip(&plan.blocks), |writer, (block, planned)| writer.block(block, planned));
    let errors: usize = writer.gaps.iter().map(|gap| 2 + 2 * gap.call.return_data.len()).sum();
    if writer.out.len() + errors > plan.answer_bytes {
        return Err(Failure::TooLong);
    }
    Ok(Answer { json: writer.out, gaps: writer.gaps, ends: writer.ends, gas_used })
}

/// geth derives a legacy transaction's chain id from `v` (EIP-155: (v - 35) / 2) even if it is unsigned with `v` 0. op-geth uses the
/// chain's id.
const UNSIGNED_LEGACY_CHAIN_ID: u64 = 0x7fff_ffff_ffff_ffee;

struct Writer<'a, 'p> {
    plan: &'p Plan,
    out: Vec<u8>,
    gaps: Vec<Gap<'a>>,
    ends: Vec<usize>,
}

impl<'a> Writer<'a, '_> {
    fn block(&mut self, block: &'a ExecutedBlock, planned: &PlannedBlock) {
        let header = &block.header;
        if self.plan.is_trial {
            self.text("{\"calls\":");
            self.list(&block.calls, |writer, call| writer.call(call, 0, None));
            return self.text("}");
        }
        self.number("{\"number\":", header.number);
        self.hex(",\"hash\":", block.hash.as_slice());
        self.hex(",\"parentHash\":", header.parent_hash.as_slice());
        self.hex(",\"nonce\":", header.nonce.as_slice());
        self.hex(",\"mixHash\":", header.mix_hash.as_slice());
        self.hex(",\"sha3Uncles\":", header.ommers_hash.as_slice());
        self.hex(",\"logsBloom\":", header.logs_bloom.as_slice());
        self.hex(",\"stateRoot\":", header.state_root.as_slice());
        self.hex(",\"miner\":", header.beneficiary.as_slice());
        self.text(",\"difficulty\":\"0x0\"");
        self.hex(",\"extraData\":", &header.extra_data);
        self.number(",\"gasLimit\":", header.gas_limit);
        self.number(",\"gasUsed\":", header.gas_used);
        self.number(",\"timestamp\":", header.timestamp);
        self.hex(",\"transactionsRoot\":", header.transactions_root.as_slice());
        self.hex(",\"receiptsRoot\":", header.receipts_root.as_slice());
        self.word(",\"baseFeePerGas\":", block.base_fee);
        self.optional_hash(",\"withdrawalsRoot\":", header.withdrawals_root);
        self.optional_number(",\"blobGasUsed\":", header.blob_gas_used);
        self.optional_number(",\"excessBlobGas\":", header.excess_blob_gas);
        self.optional_hash(",\"parentBeaconBlockRoot\":", header.parent_beacon_block_root);
        self.optional_hash(",\"requestsHash\":", header.requests_hash);
        self.optional_hash(",\"blockAccessListHash\":", header.block_access_list_hash);
        self.optional_number(",\"slotNumber\":", header.slot_number);
        self.number(",\"size\":", block.size as u64);
        self.text(",\"transactions\":");
        if self.plan.full_transactions {
            self.list(planned.calls.iter().zip(&block.calls).enumerate(), |writer, (index, (call, executed))| {
                writer.transaction(call, executed, index, block, planned.rules.op.is_some());
            });
        } else {
            self.list(&block.calls, |writer, call| writer.hex("", call.tx_hash.as_slice()));
        }
        self.text(",\"uncles\":[],\"calls\":");
        self.list(block.calls.iter().enumerate(), |writer, (index, call)| writer.call(call, index, Some(block)));
        if header.withdrawals_root.is_some() {
            self.text(",\"withdrawals\":");
            self.list(&planned.withdrawals, |writer, withdrawal| {
                writer.number("{\"index\":", withdrawal.index);
                writer.number(",\"validatorIndex\":", withdrawal.validator_index);
                writer.hex(",\"address\":", withdrawal.address.as_slice());
                writer.number(",\"amount\":", withdrawal.amount);
                writer.text("}");
            });
        }
        self.text("}");
    }

    /// `block` is None for a trial.
    fn call(&mut self, call: &'a ExecutedCall, index: usize, block: Option<&ExecutedBlock>) {
        let succeeded = call.status == Status::Success;
        self.hex("{\"returnData\":", if succeeded { &call.return_data } else { &[] });
        if let Some(block) = block {
            self.text(",\"logs\":");
            self.list(&call.logs, |writer, log| writer.log(log, call, index, block));
        }
        self.number(",\"gasUsed\":", call.gas_used);
        if block.is_some() {
            self.number(",\"maxUsedGas\":", call.max_used_gas);
        }
        self.text(if succeeded { ",\"status\":\"0x1\"" } else { ",\"status\":\"0x0\"" });
        if !succeeded {
            self.gaps.push(Gap { at: self.out.len(), call });
        }
        if self.plan.recording.is_on() {
            self.ends.push(self.out.len());
        }
        self.text("}");
    }

    fn transaction(
        &mut self,
        call: &PlannedCall,
        executed: &ExecutedCall,
        index: usize,
        block: &ExecutedBlock,
        is_op: bool,
    ) {
        self.hex("{\"blockHash\":", block.hash.as_slice());
        self.number(",\"blockNumber\":", block.header.number);
        self.number(",\"blockTimestamp\":", block.header.timestamp);
        self.number(",\"transactionIndex\":", index as u64);
        self.hex(",\"hash\":", executed.tx_hash.as_slice());
        self.number(",\"type\":", call.tx_type.into());
        self.hex(",\"from\":", call.from.as_slice());
        match call.to {
            Some(to) => self.hex(",\"to\":", to.as_slice()),
            None => self.text(",\"to\":null"),
        }
        self.number(",\"nonce\":", executed.nonce);
        self.number(",\"gas\":", executed.gas);
        self.word(",\"value\":", call.value);
        self.hex(",\"input\":", &call.input);
        let unsigned_legacy = call.tx_type == 0 && !is_op;
        self.number(",\"chainId\":", if unsigned_legacy { UNSIGNED_LEGACY_CHAIN_ID } else { self.plan.chain.chain_id });
        let priced = call.max_fee.min(call.max_priority_fee.saturating_add(block.base_fee));
        self.word(",\"gasPrice\":", call.gas_price.unwrap_or(priced));
        self.text(",\"v\":\"0x0\",\"r\":\"0x0\",\"s\":\"0x0\"");
        if call.tx_type > 0 {
            self.typed_fields(call);
        }
        self.text("}");
    }

    /// The fields that types 1 to 4 have in addition to those of type 0.
    fn typed_fields(&mut self, call: &PlannedCall) {
        self.text(",\"yParity\":\"0x0\",\"accessList\":");
        self.list(&call.access_list, |writer, (address, slots)| {
            writer.hex("{\"address\":", address.as_slice());
            writer.text(",\"storageKeys\":");
            writer.list(slots, |writer, slot| writer.hex("", slot.as_slice()));
            writer.text("}");
        });
        if call.tx_type > 1 {
            self.word(",\"maxFeePerGas\":", call.max_fee);
            self.word(",\"maxPriorityFeePerGas\":", call.max_priority_fee);
        }
        if let (3, Some(hashes)) = (call.tx_type, &call.blob_hashes) {
            self.word(",\"maxFeePerBlobGas\":", call.max_blob_fee);
            self.text(",\"blobVersionedHashes\":");
            self.list(hashes, |writer, hash| writer.hex("", hash.as_slice()));
        }
        if let (4, Some(authorizations)) = (call.tx_type, &call.authorizations) {
            self.text(",\"authorizationList\":");
            self.list(authorizations, Self::authorization);
        }
    }

    fn authorization(&mut self, authorization: &Authorization) {
        self.word("{\"chainId\":", authorization.chain_id);
        self.hex(",\"address\":", authorization.address.as_slice());
        self.number(",\"nonce\":", authorization.nonce);
        self.number(",\"yParity\":", authorization.y_parity.into());
        self.word(",\"r\":", authorization.r);
        self.word(",\"s\":", authorization.s);
        self.text("}");
    }

    fn log(&mut self, log: &ExecutedLog, call: &ExecutedCall, index: usize, block: &ExecutedBlock) {
        self.hex("{\"address\":", log.address.as_slice());
        self.text(",\"topics\":");
        self.list(&log.topics, |writer, topic| writer.hex("", topic.as_slice()));
        self.hex(",\"data\":", &log.data);
        self.number(",\"blockNumber\":", block.header.number);
        self.hex(",\"transactionHash\":", call.tx_hash.as_slice());
        self.number(",\"transactionIndex\":", index as u64);
        self.hex(",\"blockHash\":", block.hash.as_slice());
        self.number(",\"blockTimestamp\":", block.header.timestamp);
        self.number(",\"logIndex\":", log.index);
        self.text(",\"removed\":false}");
    }

    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.text("[");
        for (index, value) in items.into_iter().enumerate() {
            if index > 0 {
                self.text(",");
            }
            item(self, value);
        }
        self.text("]");
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, before: &str, value: u64) {
        self.text(before);
        quantity(&mut self.out, value);
    }

    fn optional_number(&mut self, before: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(before, value);
        }
    }

    fn word(&mut self, before: &str, value: U256) {
        match u64::try_from(value) {
            Ok(small) => self.number(before, small),
            Err(_) => {
                self.text(before);
                self.text(&format!("\"{value:#x}\""));
            }
        }
    }

    fn hex(&mut self, before: &str, bytes: &[u8]) {
        self.text(before);
        self::bytes(&mut self.out, bytes);
    }

    fn optional_hash(&mut self, before: &str, hash: Option<B256>) {
        if let Some(hash) = hash {
            self.hex(before, hash.as_slice());
        }
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn quantity(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(b"\"0x");
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(DIGITS[(value >> (4 * digit)) as usize & 15]);
    }
    out.push(b'"');
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"\"0x");
    let at = out.len();
    out.resize(at + 2 * bytes.len(), 0);
    // Fails only for a slice of another length.
    let _ = hex::encode_to_slice(bytes, &mut out[at..]);
    out.push(b'"');
}
