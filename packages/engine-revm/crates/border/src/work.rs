//! What takes a thread of its own.

use crate::{
    encode,
    payload::Payload,
    records::{Encoded, StretchRejected},
    text::{Decoded, Tokens},
};
use upfront_engine::{
    answer,
    carry::{self, Differs},
    outcome::Outcome,
    plan::Plan,
    primitives::{Address, B256, map::AddressMap},
    rejection::Failure,
    simulate::{Ground, simulate_reading},
    state::AccountChange,
    stretch::{self, Stretch, StretchFailure, TransactionError},
};

pub enum Work {
    Simulate(Plan),
    Execute(Stretch),
    /// Runs the one transaction of a stretch, so that what it reads is held.
    Warm(Stretch),
    Carry(carry::SealedBlock),
    /// Carries a block by its access list.
    Lay(carry::ListedBlock),
    /// Writes a block's transactions as EIP-2718 bytes.
    Encode(carry::SealedBlock),
}

/// How work ends without a result.
pub enum Ending {
    /// Why, as text.
    Rejected(Vec<u8>),
    Cancelled,
    Failed,
}

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejected) => Self::Rejected(encode::rejected(Some(*rejected))),
            Failure::TooLong => Self::Rejected(encode::rejected(None)),
            Failure::Cancelled => Self::Cancelled,
            Failure::Unread | Failure::TooMuch | Failure::Bent => Self::Failed,
        }
    }
}

impl Work {
    pub fn read(kind: &str, t: &mut Tokens<'_>) -> Decoded<Self> {
        Ok(match kind {
            "simulate" => Self::Simulate(t.read()?),
            "execute" => Self::Execute(t.read()?),
            "warm" => Self::Warm(t.read()?),
            "carry" => Self::Carry(t.read()?),
            "lay" => Self::Lay(t.read()?),
            "encode" => Self::Encode(t.read()?),
            _ => return Err(crate::Malformed("an unknown kind of work")),
        })
    }

    pub fn perform(&self, ground: &Ground) -> Result<Payload, Ending> {
        match self {
            Self::Simulate(plan) => {
                simulate_reading(plan, ground).and_then(|outcome| answered(plan, &outcome)).map_err(Ending::from)
            }
            Self::Execute(stretch) => {
                let executed = stretch::execute(stretch, ground).map_err(refused)?;
                Ok(encode::executed(executed).into_bytes().into())
            }
            Self::Warm(stretch) => match stretch.transactions.first() {
                Some(raw) => stretch::warm(stretch, raw, ground)
                    .map(|()| Payload::default())
                    .map_err(|error| Failure::from(error).into()),
                None => Ok(Payload::default()),
            },
            Self::Carry(block) => carried(ground, (block.hash, block.block.number), carry::execute(block, ground)),
            Self::Lay(block) => carried(ground, (block.hash, block.number), carry::listed(block)),
            Self::Encode(block) => match carry::encoded(block) {
                Ok(transactions) => Ok(encode::written(&Encoded { transactions }).into_bytes().into()),
                Err(Differs::Read(error)) => Err(Failure::from(error).into()),
                Err(differs) => Err(stretch_rejected(0, differs.to_string(), None)),
            },
        }
    }
}

fn carried(
    ground: &Ground,
    block: (B256, u64),
    changed: Result<AddressMap<AccountChange>, Differs>,
) -> Result<Payload, Ending> {
    match carry::carry(&ground.cache, ground.key, block, &ground.layers, changed) {
        Ok(carried) => Ok(encode::written(&carried).into_bytes().into()),
        Err(error) => Err(Failure::from(error).into()),
    }
}

fn refused(failure: StretchFailure) -> Ending {
    match failure {
        StretchFailure::Read(error) => Failure::from(error).into(),
        StretchFailure::Rejected { transaction, error } => {
            let native_precompile = match error {
                TransactionError::NativePrecompile(address) => Some(address),
                _ => None,
            };
            stretch_rejected(transaction, error.to_string(), native_precompile)
        }
    }
}

fn stretch_rejected(transaction: usize, message: String, native_precompile: Option<Address>) -> Ending {
    let rejected = StretchRejected { transaction: transaction as u64, message, native_precompile };
    Ending::Rejected(encode::written(&rejected).into_bytes())
}

/// An outcome as the answer's text.
pub(crate) fn answered(plan: &Plan, outcome: &Outcome) -> Result<Payload, Failure> {
    answer::write(plan, outcome).map(|answer| encode::answer(answer, outcome))
}
