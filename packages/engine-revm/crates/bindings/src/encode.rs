//! Outcomes and reads to text.

use crate::{mailbox::Payload, tokens::Lines};
use upfront_engine::{
    answer::Answer,
    outcome::{ExecutedBlock, ExecutedCall, ExecutedLog, Outcome, Status},
    rejection::Rejection,
    state::{AccountChange, Read},
    stretch::{ExecutedStretch, StretchReceipt},
};

/// Bytes from which on JSON crosses as bytes. V8 makes shorter strings where it makes all that is young, and forgets them for
/// next to nothing; memory outside of its heap, like longer strings, has it collect the whole heap once a second.
const LONG: usize = 127 * 1024;

pub fn outcome(outcome: &Outcome) -> String {
    let mut out = Lines(String::with_capacity(1024 * outcome.blocks.len()));
    out.number(outcome.touched_accounts as u64);
    out.number(outcome.touched_slots as u64);
    for executed in &outcome.blocks {
        block(&mut out, executed);
    }
    out.0
}

/// What is to be known of it, the failed calls with the places of their errors, and the JSON to the end or, where it is long,
/// apart.
pub fn answer(answer: Answer<'_>, outcome: &Outcome) -> Payload {
    let mut out = Lines(String::with_capacity(64 + if answer.json.len() > LONG { 0 } else { answer.json.len() }));
    out.number(outcome.touched_accounts as u64);
    out.number(outcome.touched_slots as u64);
    out.number(answer.gas_used);
    out.number(answer.gaps.len() as u64);
    for gap in &answer.gaps {
        out.number(gap.at as u64);
        status(&mut out, &gap.call.status);
        out.hex(&gap.call.return_data);
    }
    let mut text = out.0.into_bytes();
    if answer.json.len() > LONG {
        return Payload { text, json: Some(answer.json) };
    }
    text.extend_from_slice(&answer.json);
    text.into()
}

/// Fields that never vary are JavaScript's to fill in: uncles, state root, difficulty, nonce.
fn block(out: &mut Lines, block: &ExecutedBlock) {
    let header = &block.header;
    out.hex(block.hash.as_slice());
    out.hex(header.parent_hash.as_slice());
    out.hex(header.beneficiary.as_slice());
    out.hex(header.transactions_root.as_slice());
    out.hex(header.receipts_root.as_slice());
    if header.logs_bloom.is_zero() {
        out.absent();
    } else {
        out.hex(header.logs_bloom.as_slice());
    }
    out.number(header.number);
    out.number(header.gas_limit);
    out.number(header.gas_used);
    out.number(header.timestamp);
    out.hex(&header.extra_data);
    out.hex(header.mix_hash.as_slice());
    out.word(block.base_fee);
    out.optional(header.withdrawals_root, |out, root| out.hex(root.as_slice()));
    out.optional(header.blob_gas_used, Lines::number);
    out.optional(header.excess_blob_gas, Lines::number);
    out.optional(header.parent_beacon_block_root, |out, root| out.hex(root.as_slice()));
    out.optional(header.requests_hash, |out, hash| out.hex(hash.as_slice()));
    out.number(block.size as u64);
    for executed in &block.calls {
        call(out, executed);
    }
}

fn call(out: &mut Lines, call: &ExecutedCall) {
    out.hex(call.tx_hash.as_slice());
    out.number(call.nonce);
    out.number(call.gas);
    out.number(call.gas_used);
    out.number(call.max_used_gas);
    status(out, &call.status);
    out.hex(&call.return_data);
    logs(out, &call.logs);
}

fn status(out: &mut Lines, status: &Status) {
    match status {
        Status::Success => out.text("1"),
        Status::Revert => out.text("0"),
        Status::Halt(words) => out.text(words),
    }
}

/// The layer, the transactions, their receipts, and what there is of the block now.
pub fn executed(executed: &ExecutedStretch) -> String {
    let out = &mut Lines::default();
    out.number(executed.changes.len() as u64);
    for (address, account) in &executed.changes {
        out.hex(address.as_slice());
        change(out, account);
    }
    out.number(executed.transactions.len() as u64);
    for (transaction, receipt) in executed.transactions.iter().zip(&executed.receipts) {
        out.hex(transaction.hash.as_slice());
        out.hex(transaction.from.as_slice());
        out.optional(transaction.to(), |out, to| out.hex(to.as_slice()));
        out.number(transaction.env.nonce);
        stretch_receipt(out, receipt);
    }
    out.number(executed.gas_used);
    out.number(executed.blob_gas_used);
    out.hex(executed.receipts_root.as_slice());
    out.hex(executed.logs_bloom.as_slice());
    std::mem::take(&mut out.0)
}

fn change(out: &mut Lines, account: &AccountChange) {
    out.optional(account.balance, Lines::word);
    out.optional(account.nonce, Lines::number);
    out.optional(account.code.as_ref(), |out, (_, code)| out.hex(&code.original_bytes()));
    out.text(if account.storage_cleared { "1" } else { "0" });
    out.number(account.storage.len() as u64);
    for (slot, value) in &account.storage {
        out.hex(&slot.to_be_bytes::<32>());
        out.hex(&value.to_be_bytes::<32>());
    }
}

fn stretch_receipt(out: &mut Lines, receipt: &StretchReceipt) {
    out.number(receipt.tx_type.into());
    out.text(if receipt.succeeded { "1" } else { "0" });
    out.number(receipt.cumulative_gas_used);
    out.number(receipt.gas_used);
    out.word(receipt.effective_gas_price.try_into().unwrap_or_default());
    logs(out, &receipt.logs);
    out.optional(receipt.contract_address, |out, address| out.hex(address.as_slice()));
    out.optional(receipt.blob_gas_used, Lines::number);
    out.hex(&receipt.encoded);
}

fn logs(out: &mut Lines, logs: &[ExecutedLog]) {
    out.number(logs.len() as u64);
    for log in logs {
        out.hex(log.address.as_slice());
        out.number(log.index);
        out.number(log.topics.len() as u64);
        for topic in &log.topics {
            out.hex(topic.as_slice());
        }
        out.hex(&log.data);
    }
}

pub fn rejection(rejection: &Rejection) -> Vec<u8> {
    let Rejection { code, message, block, call } = rejection;
    let call = call.map_or_else(|| "-".into(), |call| call.to_string());
    format!("{code}\n{block}\n{call}\n{message}\n").into_bytes()
}

/// Simulations to wait for, and reads to make. Its first line tells it from an outcome.
pub fn paused(others: &[u32], own: &[Read]) -> String {
    let mut out = Lines(String::with_capacity(32 + 128 * own.len()));
    out.text("paused");
    out.number(others.len() as u64);
    for other in others {
        out.number(u64::from(*other));
    }
    put_reads(&mut out, own);
    out.0
}

pub fn reads(reads: &[Read]) -> String {
    let mut out = Lines(String::with_capacity(16 + 128 * reads.len()));
    put_reads(&mut out, reads);
    out.0
}

fn put_reads(out: &mut Lines, reads: &[Read]) {
    out.number(reads.len() as u64);
    for read in reads {
        match read {
            Read::Balance(address) => {
                out.text("balance");
                out.hex(address.as_slice());
            }
            Read::Nonce(address) => {
                out.text("nonce");
                out.hex(address.as_slice());
            }
            Read::Code(address) => {
                out.text("code");
                out.hex(address.as_slice());
            }
            Read::Storage(address, slot) => {
                out.text("storage");
                out.hex(address.as_slice());
                out.hex(&slot.to_be_bytes::<32>());
            }
            Read::BlockHash(number) => {
                out.text("blockHash");
                out.number(*number);
            }
        }
    }
}
