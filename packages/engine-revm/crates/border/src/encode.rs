//! Encodes outcomes and reads as text.

use crate::{
    payload::Payload,
    records::{Executed, ExecutionTransaction, Rejected, Written, WrittenFailure},
    text::{Field, TextWriter},
};
use upfront_engine::{
    answer::Answer,
    execution::BlockExecutionResult,
    outcome::{Outcome, Status},
    primitives::U256,
    rejection,
    state::{Cached, Read},
};

/// Longer JSON crosses as bytes. V8 creates shorter strings in its young generation, where collecting them costs next to nothing; longer
/// strings, like external memory, trigger collections of the whole heap.
const LONG: usize = 127 * 1024;

/// The answer's figures, its failed calls with the positions of their errors, then the JSON and the steps of each record, which cross
/// separately if they are long.
pub fn answer(answer: Answer<'_>, outcome: &Outcome) -> Payload {
    let calls = outcome.blocks.iter().flat_map(|block| &block.calls);
    let records: Vec<_> = calls.filter_map(|call| call.record.as_deref().cloned()).collect();
    let steps: Vec<_> = records.iter().map(|record| record.steps.clone()).collect();
    let length = steps.iter().map(|steps| steps.len()).sum::<usize>() + answer.json.len();
    let mut out = TextWriter(String::with_capacity(64 + if length > LONG { 0 } else { length }));
    let failures = answer.gaps.iter().map(|gap| WrittenFailure {
        at: gap.at as u64,
        halt: match &gap.call.status {
            Status::Halt { halt, .. } => Some(halt.clone()),
            Status::Success | Status::Revert => None,
        },
        is_gas_capped: matches!(gap.call.status, Status::Halt { is_gas_capped: true, .. }),
        return_data: gap.call.return_data.clone(),
    });
    Written {
        accounts: outcome.touched_accounts as u64,
        slots: outcome.touched_slots as u64,
        touched_list: outcome.touched_list.clone(),
        read_list: outcome.read_list.clone(),
        gas_used: answer.gas_used,
        failures: failures.collect(),
        ends: answer.ends.iter().map(|end| *end as u64).collect(),
        records,
        steps: steps.iter().map(|steps| steps.len() as u64).collect(),
    }
    .write(&mut out);
    let mut text = out.0.into_bytes();
    let mut json = answer.json;
    json.reserve_exact(length - json.len());
    steps.iter().for_each(|steps| json.extend_from_slice(steps));
    if length > LONG {
        return Payload { text, json: Some(json) };
    }
    text.extend_from_slice(&json);
    text.into()
}

/// The layers, the transactions with their receipts, and the block's figures so far.
pub fn executed(executed: BlockExecutionResult) -> String {
    let transactions = executed.transactions.iter().map(|transaction| ExecutionTransaction {
        hash: transaction.hash,
        from: transaction.from,
        to: transaction.to(),
        nonce: transaction.env.nonce,
    });
    written(&Executed {
        transactions: transactions.collect(),
        layers: executed.layers.into_iter().map(|layer| layer.accounts.clone()).collect(),
        receipts: executed.receipts,
        gas_used: executed.gas_used,
        blob_gas_used: executed.blob_gas_used,
        receipts_root: executed.receipts_root,
        logs_bloom: executed.logs_bloom,
    })
}

/// The values that a simulation lacks. The first line distinguishes it from an outcome.
pub fn paused(reads: &[Read], certain: usize) -> String {
    format!("paused\n{}", encode_reads(reads, certain))
}

/// Reads, followed by how many of them, counted from the first, are certainly needed.
pub fn encode_reads(reads: &[Read], certain: usize) -> String {
    let mut out = TextWriter(String::with_capacity(32 + 128 * reads.len()));
    reads.to_vec().write(&mut out);
    (certain as u64).write(&mut out);
    out.0
}

/// Values, each of which may be absent.
pub fn known(values: impl Iterator<Item = Option<Cached>>) -> String {
    let mut out = TextWriter::default();
    for value in values {
        match value {
            None => None::<U256>.write(&mut out),
            Some(Cached::Word(word)) => word.write(&mut out),
            Some(Cached::Code(hash, code)) => (hash, code).write(&mut out),
        }
    }
    out.0
}

/// Why there is no answer. None means that it is too long.
pub fn rejected(rejected: Option<rejection::Rejected>) -> Vec<u8> {
    let (rejection, block, call) = match rejected {
        Some(rejection::Rejected { rejection, block, call }) => (Some(rejection), block, call),
        None => (None, 0, None),
    };
    written(&Rejected { rejection, block: block as u64, call: call.map(|call| call as u64) }).into_bytes()
}

pub fn written(value: &impl Field) -> String {
    let mut out = TextWriter::default();
    value.write(&mut out);
    out.0
}
