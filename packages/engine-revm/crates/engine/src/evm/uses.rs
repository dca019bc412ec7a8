//! What instructions use, as counted by geth's erc7562Tracer (eth/tracers/native/erc7562.go).

use crate::outcome::{FrameUses, NamedContract};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::collections::{BTreeMap, BTreeSet};

/// Uses of the running frame.
#[derive(Debug, Default)]
pub struct OpenUses {
    pub opcodes: BTreeMap<u8, u64>,
    pub reads: BTreeMap<U256, U256>,
    pub writes: BTreeMap<U256, u64>,
    pub transient_reads: BTreeMap<U256, u64>,
    pub transient_writes: BTreeMap<U256, u64>,
    pub inspected: Vec<Address>,
    pub named: BTreeMap<Address, NamedContract>,
}

/// Uses of the whole call.
#[derive(Debug, Default)]
pub struct SharedUses {
    /// The previous instruction, with the address on top of its stack.
    pub last: Option<(u8, Option<Address>)>,
    pub preimages: BTreeSet<Bytes>,
}

impl OpenUses {
    pub fn finish(self) -> FrameUses {
        let counted = |slots: BTreeMap<U256, u64>| slots.into_iter().map(|(slot, count)| (B256::from(slot), count));
        FrameUses {
            opcodes: self.opcodes.into_iter().collect(),
            reads: self.reads.into_iter().map(|(slot, value)| (B256::from(slot), B256::from(value))).collect(),
            writes: counted(self.writes).collect(),
            transient_reads: counted(self.transient_reads).collect(),
            transient_writes: counted(self.transient_writes).collect(),
            inspected: self.inspected,
            named: self.named.into_values().collect(),
        }
    }
}
