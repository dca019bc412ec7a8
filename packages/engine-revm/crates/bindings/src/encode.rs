//! Outcomes and reads to text.

use crate::{
    mailbox::Payload,
    records::{Executed, StretchTransaction, Written, WrittenFailure},
    text::{Field, Lines},
};
use upfront_engine::{
    answer::Answer,
    outcome::{ExecutedBlock, ExecutedCall, ExecutedLog, Outcome, Status},
    state::Read,
    stretch::ExecutedStretch,
};

/// Bytes from which on JSON crosses as bytes. V8 makes shorter strings where it makes all that is young, and forgets them for
/// next to nothing; memory outside of its heap, like longer strings, has it collect the whole heap once a second.
const LONG: usize = 127 * 1024;

pub fn outcome(outcome: &Outcome) -> String {
    let mut out = Lines(String::with_capacity(1024 * outcome.blocks.len()));
    (outcome.touched_accounts as u64).write(&mut out);
    (outcome.touched_slots as u64).write(&mut out);
    for executed in &outcome.blocks {
        block(&mut out, executed);
    }
    out.0
}

/// What is to be known of it, the failed calls with the places of their errors, and the JSON to the end or, where it is long,
/// apart.
pub fn answer(answer: Answer<'_>, outcome: &Outcome) -> Payload {
    let mut out = Lines(String::with_capacity(64 + if answer.json.len() > LONG { 0 } else { answer.json.len() }));
    let failures = answer.gaps.iter().map(|gap| WrittenFailure {
        at: gap.at as u64,
        halt: match &gap.call.status {
            Status::Halt(words) => Some(words.clone()),
            Status::Success | Status::Revert => None,
        },
        return_data: gap.call.return_data.clone(),
    });
    Written {
        accounts: outcome.touched_accounts as u64,
        slots: outcome.touched_slots as u64,
        gas_used: answer.gas_used,
        failures: failures.collect(),
    }
    .write(&mut out);
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
    block.hash.write(out);
    header.parent_hash.write(out);
    header.beneficiary.write(out);
    header.transactions_root.write(out);
    header.receipts_root.write(out);
    (!header.logs_bloom.is_zero()).then_some(header.logs_bloom).write(out);
    header.number.write(out);
    header.gas_limit.write(out);
    header.gas_used.write(out);
    header.timestamp.write(out);
    header.extra_data.write(out);
    header.mix_hash.write(out);
    block.base_fee.write(out);
    header.withdrawals_root.write(out);
    header.blob_gas_used.write(out);
    header.excess_blob_gas.write(out);
    header.parent_beacon_block_root.write(out);
    header.requests_hash.write(out);
    (block.size as u64).write(out);
    for executed in &block.calls {
        call(out, executed);
    }
}

fn call(out: &mut Lines, call: &ExecutedCall) {
    call.tx_hash.write(out);
    call.nonce.write(out);
    call.gas.write(out);
    call.gas_used.write(out);
    call.max_used_gas.write(out);
    status(out, &call.status);
    call.return_data.write(out);
    logs(out, &call.logs);
}

fn status(out: &mut Lines, status: &Status) {
    match status {
        Status::Success => out.text("1"),
        Status::Revert => out.text("0"),
        Status::Halt(words) => out.text(words),
    }
}

fn logs(out: &mut Lines, logs: &[ExecutedLog]) {
    (logs.len() as u64).write(out);
    for log in logs {
        log.address.write(out);
        log.index.write(out);
        (log.topics.len() as u64).write(out);
        for topic in &log.topics {
            topic.write(out);
        }
        log.data.write(out);
    }
}

/// The layer, the transactions, their receipts, and what there is of the block now.
pub fn executed(executed: ExecutedStretch) -> String {
    let transactions = executed.transactions.iter().map(|transaction| StretchTransaction {
        hash: transaction.hash,
        from: transaction.from,
        to: transaction.to(),
        nonce: transaction.env.nonce,
    });
    written(&Executed {
        transactions: transactions.collect(),
        accounts: executed.changes,
        receipts: executed.receipts,
        gas_used: executed.gas_used,
        blob_gas_used: executed.blob_gas_used,
        receipts_root: executed.receipts_root,
        logs_bloom: executed.logs_bloom,
    })
}

/// Simulations to wait for, and reads to make. Its first line tells it from an outcome.
pub fn paused(others: &[u32], own: &[Read]) -> String {
    let mut out = Lines(String::with_capacity(32 + 128 * own.len()));
    out.text("paused");
    others.to_vec().write(&mut out);
    own.to_vec().write(&mut out);
    out.0
}

pub fn written(value: &impl Field) -> String {
    let mut out = Lines::default();
    value.write(&mut out);
    out.0
}
