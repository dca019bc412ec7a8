use super::system_calls::{BEACON_ROOTS, CONSOLIDATION_REQUESTS, HISTORY, QUEUE_SLOTS, WITHDRAWAL_REQUESTS};
use crate::{plan::Plan, state::Read};
use alloy_primitives::{Address, U256};
use op_revm::OpSpecId;
use revm::primitives::hardfork::SpecId;

/// Blocks whose system calls are looked ahead for.
const BLOCKS: usize = 16;
const CALLS: usize = 1_000;

/// What the plan will certainly or likely read; some of it may come twice. Asked for together, it costs one round trip in place
/// of dozens.
pub fn reads(plan: &Plan) -> Vec<Read> {
    let mut accounts: Vec<Address> = Vec::new();
    let mut reads: Vec<Read> = plan.likely_reads.iter().map(|read| Read::Storage(read.contract, read.slot())).collect();
    for call in plan.blocks.iter().flat_map(|block| &block.calls).take(CALLS) {
        accounts.push(call.from);
        accounts.extend(call.to);
    }
    let mut before = None;
    for rules in plan.blocks.iter().take(BLOCKS).map(|block| &block.rules) {
        if before.replace(rules) == Some(rules) {
            continue;
        }
        if rules.has(SpecId::CANCUN) {
            reads.push(Read::Code(BEACON_ROOTS));
        }
        if rules.has(SpecId::PRAGUE) {
            reads.push(Read::Code(HISTORY));
            if rules.op.is_none() {
                for contract in [WITHDRAWAL_REQUESTS, CONSOLIDATION_REQUESTS] {
                    reads.push(Read::Code(contract));
                    reads.extend((0..QUEUE_SLOTS).map(|slot| Read::Storage(contract, U256::from(slot))));
                }
            }
        }
        if rules.has_op(OpSpecId::JOVIAN) {
            reads.push(Read::Storage(
                op_revm::constants::L1_BLOCK_CONTRACT,
                op_revm::constants::DA_FOOTPRINT_GAS_SCALAR_SLOT,
            ));
        }
    }
    accounts.sort_unstable();
    accounts.dedup();
    reads.extend(
        accounts.into_iter().flat_map(|address| [Read::Balance(address), Read::Nonce(address), Read::Code(address)]),
    );
    reads
}
