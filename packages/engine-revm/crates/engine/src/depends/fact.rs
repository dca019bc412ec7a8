use crate::state::Read;
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{Address, B256, U256, map::HashMap};

/// What a fact is of: `packages/simulation/src/engine/call-record.ts` in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactKind {
    Slot,
    Balance,
    Code,
    BlockHash,
    Time,
    Number,
    Coinbase,
    PrevRandao,
    GasLimit,
    BaseFee,
    BlobBaseFee,
    GasPrice,
    Origin,
    GasLeft,
}

impl FactKind {
    /// Such as a simulation may have otherwise than the chain. What a branch on one decides is remembered with what is written after it.
    /// Not gas: nearly every call looks at what is left of it.
    pub fn is_of_surroundings(self) -> bool {
        matches!(
            self,
            Self::BlockHash
                | Self::Coinbase
                | Self::PrevRandao
                | Self::GasLimit
                | Self::BaseFee
                | Self::BlobBaseFee
                | Self::GasPrice
                | Self::Origin
        )
    }
}

/// A fact by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FactKey {
    pub kind: FactKind,
    /// Of slots, balances and codes.
    pub address: Option<Address>,
    /// Of a slot; of a block's hash the block's number.
    pub key: U256,
}

/// What the contracts that keep hashes of the last blocks (EIP-2935) and roots of the last beacon blocks (EIP-4788) hold: a simulation may
/// have none.
fn is_history(place: &FactKey) -> bool {
    matches!(place.address, Some(HISTORY_STORAGE_ADDRESS | BEACON_ROOTS_ADDRESS))
}

/// Where a fact's word went.
pub mod reached {
    /// The condition of a JUMPI.
    pub const BRANCH: u64 = 1;
    /// One of whose sides leads to nothing but an error, or what a transfer needs to succeed.
    pub const GUARD: u64 = 2;
    /// A destination that was computed.
    pub const JUMP: u64 = 4;
    /// Who is called or created.
    pub const TARGET: u64 = 8;
    /// Who gets a transfer, by the fact's own word.
    pub const RECIPIENT: u64 = 16;
    /// A value sent, or what a token's log tells.
    pub const AMOUNT: u64 = 32;
    /// An amount by a comparison.
    pub const SELECTION: u64 = 64;
    /// The number of a slot.
    pub const SLOT: u64 = 128;
    /// How much is copied, hashed or returned.
    pub const SIZE: u64 = 256;
    /// The gas that a call gets.
    pub const ALLOWANCE: u64 = 512;
}

impl DecidingFact {
    /// What is read for it; none where it is not of the state.
    pub fn state_read(&self) -> Option<Read> {
        let address = self.address?;
        Some(match self.kind {
            FactKind::Balance => Read::Balance(address),
            FactKind::Code => Read::Code(address),
            FactKind::Slot => Read::Storage(address, self.slot?.into()),
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub struct DecidingFact {
    pub kind: FactKind,
    pub address: Option<Address>,
    pub slot: Option<B256>,
    pub number: Option<u64>,
    /// As it was found first.
    pub value: U256,
    /// See `reached`.
    pub reached: u64,
    /// How many of the last blocks that were carried changed it, and how many those are.
    pub changed: u64,
    pub blocks: u64,
}

/// What decided a call's outcome.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    /// In the order in which they were found.
    pub facts: Vec<DecidingFact>,
    /// There was more to follow than is followed.
    pub is_partial: bool,
    /// It is known to come to the same later: see `Recording`.
    pub is_same_later: bool,
}

#[derive(Debug)]
struct Known {
    place: FactKey,
    value: U256,
    /// Since the last transfer, approval or failure.
    pending: u64,
    decided: u64,
}

/// All facts that were met.
#[derive(Debug, Default)]
pub struct Facts {
    known: Vec<Known>,
    numbers: HashMap<FactKey, u32>,
    pending: Vec<u32>,
}

impl Facts {
    pub fn number_of(&mut self, place: FactKey, value: U256) -> u32 {
        let known = &mut self.known;
        *self.numbers.entry(place).or_insert_with(|| {
            known.push(Known { place, value, pending: 0, decided: 0 });
            known.len() as u32 - 1
        })
    }

    /// As it was found first.
    pub fn value_of(&self, place: &FactKey) -> Option<U256> {
        self.numbers.get(place).map(|fact| self.known[*fact as usize].value)
    }

    pub fn kind(&self, fact: u32) -> FactKind {
        self.known[fact as usize].place.kind
    }

    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// It decides if a transfer, an approval or a failure follows; what surrounds the call decides at once, since what it led away from
    /// is not seen.
    pub fn reach(&mut self, fact: u32, by: u64) {
        let known = &mut self.known[fact as usize];
        if known.decided & by == by {
            return;
        }
        if !matches!(known.place.kind, FactKind::Slot | FactKind::Balance | FactKind::Code) || is_history(&known.place)
        {
            known.decided |= by;
            return;
        }
        if known.pending == 0 {
            self.pending.push(fact);
        }
        known.pending |= by;
    }

    pub fn decide(&mut self, fact: u32, by: u64) {
        self.known[fact as usize].decided |= by;
    }

    pub fn is_decided(&self, fact: u32, by: u64) -> bool {
        self.known[fact as usize].decided & by != 0
    }

    /// A branch on it was noted.
    pub fn has_branched(&self, fact: u32) -> bool {
        let Known { pending, decided, .. } = self.known[fact as usize];
        (pending | decided) & reached::BRANCH != 0
    }

    /// A transfer, an approval or a failure.
    pub fn take_effect(&mut self) {
        for fact in self.pending.drain(..) {
            let known = &mut self.known[fact as usize];
            known.decided |= std::mem::take(&mut known.pending);
        }
    }

    /// What decided since it was last taken.
    pub fn take_decided(&mut self) -> Vec<DecidingFact> {
        for fact in self.pending.drain(..) {
            self.known[fact as usize].pending = 0;
        }
        let decided = self.known.iter_mut().filter(|known| known.decided != 0);
        decided
            .map(|known| DecidingFact {
                kind: known.place.kind,
                address: known.place.address,
                slot: (known.place.kind == FactKind::Slot).then(|| B256::from(known.place.key)),
                number: (known.place.kind == FactKind::BlockHash).then(|| known.place.key.saturating_to()),
                value: known.value,
                reached: std::mem::take(&mut known.decided),
                changed: 0,
                blocks: 0,
            })
            .collect()
    }
}
