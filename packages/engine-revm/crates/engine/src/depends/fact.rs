use crate::state::Read;
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{Address, B256, U256, map::HashMap};

/// Kinds of facts: `packages/simulation/src/engine/call-record.ts` in Rust.
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
    /// Whether a simulation may have another value than the real chain. A branch on one is then attached to everything written after it.
    /// Gas is excluded: nearly every call reads the gas left.
    pub fn is_environment(self) -> bool {
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

/// Identifies a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FactKey {
    pub kind: FactKind,
    /// For slots, balances and code.
    pub address: Option<Address>,
    /// The slot, or a block hash's block number.
    pub key: U256,
}

/// Slots of the contracts for block hashes (EIP-2935) and beacon roots (EIP-4788), which may be missing in a simulation.
fn is_history(place: &FactKey) -> bool {
    matches!(place.address, Some(HISTORY_STORAGE_ADDRESS | BEACON_ROOTS_ADDRESS))
}

/// What a fact's value reached.
pub mod reached {
    /// The condition of a JUMPI.
    pub const BRANCH: u64 = 1;
    /// A branch with a side that always fails, or a condition of a transfer's success.
    pub const GUARD: u64 = 2;
    /// A computed jump destination.
    pub const JUMP: u64 = 4;
    /// The address that is called or created.
    pub const TARGET: u64 = 8;
    /// The recipient of a transfer, if the value itself is the address.
    pub const RECIPIENT: u64 = 16;
    /// A value sent, or the amount in a token's log.
    pub const AMOUNT: u64 = 32;
    /// An amount chosen by a comparison.
    pub const SELECTION: u64 = 64;
    /// The number of a slot.
    pub const SLOT: u64 = 128;
    /// A length that is copied, hashed or returned.
    pub const SIZE: u64 = 256;
    /// The gas given to a call.
    pub const ALLOWANCE: u64 = 512;
}

impl DecidingFact {
    /// The read of this fact; None if it is not part of the state.
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
    /// The value when first found.
    pub value: U256,
    /// See `reached`.
    pub reached: u64,
    /// In how many of the `blocks` last carried blocks it changed.
    pub changed: u64,
    pub blocks: u64,
}

/// The facts that decided a call's outcome.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    /// In the order in which they were found.
    pub facts: Vec<DecidingFact>,
    /// Limits were reached: other facts may have decided too.
    pub is_partial: bool,
    /// Whether the outcome is known to be the same later, see `Recording`.
    pub is_same_later: bool,
}

#[derive(Debug)]
struct Known {
    place: FactKey,
    value: U256,
    /// What it reached since the last transfer, approval or failure.
    pending: u64,
    decided: u64,
}

/// All facts found so far.
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

    /// The value when first found.
    pub fn value_of(&self, place: &FactKey) -> Option<U256> {
        self.numbers.get(place).map(|fact| self.known[*fact as usize].value)
    }

    pub fn kind(&self, fact: u32) -> FactKind {
        self.known[fact as usize].place.kind
    }

    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// A fact of the state decides if a transfer, an approval or a failure follows. Any other fact, and a slot of a history contract,
    /// decides at once, because the path not taken is unknown.
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

    /// Whether a branch on it was noted.
    pub fn has_branched(&self, fact: u32) -> bool {
        let Known { pending, decided, .. } = self.known[fact as usize];
        (pending | decided) & reached::BRANCH != 0
    }

    /// A transfer, an approval or a failure occurred.
    pub fn take_effect(&mut self) {
        for fact in self.pending.drain(..) {
            let known = &mut self.known[fact as usize];
            known.decided |= std::mem::take(&mut known.pending);
        }
    }

    /// Takes the facts that decided since the last call of this function.
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
