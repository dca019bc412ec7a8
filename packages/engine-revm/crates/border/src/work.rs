//! Work that runs on a thread.

use crate::{
    encode,
    payload::Payload,
    records::{Encoded, ExecutionRejected},
    text::{Decoded, TextReader},
};
use upfront_engine::{
    answer,
    carry::{self, Differs},
    execution::{self, BlockExecution, ExecutionFailure, TransactionError},
    outcome::Outcome,
    plan::Plan,
    primitives::{Address, B256},
    rejection::Failure,
    simulate::{BaseState, simulate_with_reads},
    state::Writes,
};

pub enum Work<'a> {
    Simulate(Plan),
    /// Executes transactions of a block under construction.
    Execute(BlockExecution),
    /// Runs one transaction to cache what it reads.
    Prefetch(BlockExecution),
    /// Executes a sealed block on its parent's state, and carries the state if the result matches the header.
    Carry(carry::SealedBlock),
    /// Carries a block by its access list, over its parent's state.
    CarryListed(carry::ListedBlock, &'a [u8]),
    /// Encodes a sealed block's transactions as EIP-2718 bytes, if they match its header.
    Encode(carry::SealedBlock),
}

/// Why work ended without a result.
pub enum WorkError {
    /// The reason, as text.
    Rejected(Vec<u8>),
    Cancelled,
    Failed,
}

impl From<Failure> for WorkError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejected) => Self::Rejected(encode::rejected(Some(*rejected))),
            Failure::TooLong => Self::Rejected(encode::rejected(None)),
            Failure::Cancelled => Self::Cancelled,
            Failure::Unread | Failure::TooMuch | Failure::Forced => Self::Failed,
        }
    }
}

impl<'a> Work<'a> {
    /// @param list a block's access list, if it crosses separately; otherwise it is last in the text
    pub fn read(kind: &str, t: &mut TextReader<'a>, list: Option<&'a [u8]>) -> Decoded<Self> {
        Ok(match kind {
            "simulate" => Self::Simulate(t.read()?),
            "execute" => Self::Execute(t.read()?),
            "prefetch" => Self::Prefetch(t.read()?),
            "carry" => Self::Carry(t.read()?),
            "carryListed" => Self::CarryListed(t.read()?, list.unwrap_or(t.0.as_bytes())),
            "encode" => Self::Encode(t.read()?),
            _ => return Err(crate::Malformed("an unknown kind of work")),
        })
    }

    pub fn perform(&self, base: &BaseState) -> Result<Payload, WorkError> {
        match self {
            Self::Simulate(plan) => {
                simulate_with_reads(plan, base).and_then(|outcome| answered(plan, &outcome)).map_err(WorkError::from)
            }
            Self::Execute(execution) => {
                let executed = execution::execute(execution, base).map_err(refused)?;
                Ok(encode::executed(executed).into_bytes().into())
            }
            Self::Prefetch(execution) => match execution.transactions.first() {
                Some(raw) => execution::prefetch(execution, raw, base)
                    .map(|()| Payload::default())
                    .map_err(|error| Failure::from(error).into()),
                None => Ok(Payload::default()),
            },
            Self::Carry(block) => carried(base, (block.hash, block.block.number), carry::execute(block, base)),
            Self::CarryListed(block, list) => carried(base, (block.hash, block.number), carry::listed(block, list)),
            Self::Encode(block) => match carry::encoded(block) {
                Ok(transactions) => Ok(encode::written(&Encoded { transactions }).into_bytes().into()),
                Err(Differs::Read(error)) => Err(Failure::from(error).into()),
                Err(differs) => Err(execution_rejected(0, differs.to_string(), None)),
            },
        }
    }
}

fn carried(base: &BaseState, block: (B256, u64), writes: Result<Writes, Differs>) -> Result<Payload, WorkError> {
    match carry::carry(&base.cache, base.key, block, writes) {
        Ok(carried) => Ok(encode::written(&carried).into_bytes().into()),
        Err(error) => Err(Failure::from(error).into()),
    }
}

fn refused(failure: ExecutionFailure) -> WorkError {
    match failure {
        ExecutionFailure::Read(error) => Failure::from(error).into(),
        ExecutionFailure::Rejected { transaction, error } => {
            let native_precompile = match error {
                TransactionError::NativePrecompile(address) => Some(address),
                _ => None,
            };
            execution_rejected(transaction, error.to_string(), native_precompile)
        }
    }
}

fn execution_rejected(transaction: usize, message: String, native_precompile: Option<Address>) -> WorkError {
    let rejected = ExecutionRejected { transaction: transaction as u64, message, native_precompile };
    WorkError::Rejected(encode::written(&rejected).into_bytes())
}

/// Encodes an outcome as the answer's text.
pub(crate) fn answered(plan: &Plan, outcome: &Outcome) -> Result<Payload, Failure> {
    answer::write(plan, outcome).map(|answer| encode::answer(answer, outcome))
}
