//! Executes and seals one simulated block.

use super::{
    Progress, call,
    call::{BlockFees, CallPosition, Executed},
    fees,
    gas_pool::GasPool,
    op, overrides, requests, system_calls, withdrawals,
};
use crate::{
    access_list::AccessList,
    evm::Evm,
    outcome::{ExecutedBlock, ExecutedCall},
    plan::{OpFork, ParentHeader, Plan, PlannedBlock},
    rejection::{Failure, Fault},
    seal::{self, Body},
};
use alloy_consensus::Header;
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{B64, B256, U256};
use revm::{
    context::{BlockEnv, CfgEnv},
    context_interface::block::BlobExcessGasAndPrice,
    primitives::hardfork::SpecId,
};

pub fn execute(plan: &Plan, index: usize, evm: &mut Evm, progress: &mut Progress) -> Result<ExecutedBlock, Failure> {
    let block = &plan.blocks[index];
    let rules = &block.rules;
    let here = |fault: Fault| fault.at(index, None);

    let base_fee = block.base_fee.unwrap_or_else(|| fees::next_base_fee(&progress.parent, &block.base_fee_parameters));
    let excess_blob_gas = fees::next_excess_blob_gas(rules, &progress.parent);
    let blob_base_fee = block.blob_base_fee.unwrap_or_else(|| match &rules.blob {
        Some(blob) => fees::blob_price(blob, excess_blob_gas),
        None => U256::from(1),
    });

    // Absent if the parent has none.
    let slot_number = progress.parent.slot_number.map(|slot| slot + 1);
    let precompiles = overrides::apply(evm.state(), rules, &block.overrides).map_err(here)?;
    let environment = block_environment(block, excess_blob_gas, slot_number);
    evm.start_block(configuration(plan, block), environment, precompiles);
    // From Amsterdam on, the protocol itself logs transfers.
    evm.inner.ctx.chain.trace_transfers = plan.trace_transfers && !rules.has(SpecId::AMSTERDAM);
    evm.inner.ctx.chain.base_fee = base_fee;
    evm.inner.ctx.chain.blob_base_fee = blob_base_fee;

    if rules.has(SpecId::CANCUN) && !block.is_executed {
        system_calls::store_beacon_root(evm, block.timestamp, block.parent_beacon_block_root.unwrap_or_default())?;
    }
    if rules.has(SpecId::PRAGUE) && !block.is_executed {
        system_calls::store_parent_hash(evm, block.number, progress.parent.hash)?;
    }

    let fees = BlockFees { base_fee, blob_base_fee };
    let mut pool = GasPool::new(block.gas_limit, rules.spec, 0);
    let mut executed: Vec<Executed> = Vec::with_capacity(block.calls.len());
    for (position, planned) in block.calls.iter().enumerate() {
        if evm.inner.ctx.chain.stop.must_stop() {
            return Err(Failure::Cancelled);
        }
        let left = if block.is_executed { u64::MAX } else { pool.available(plan.validation) };
        evm.set_access_index(position as u64 + 1);
        let turn = CallPosition { block: index, call: position, gas_left: left };
        let done = call::execute(plan, block, planned, turn, &fees, evm, progress)
            .map_err(|fault| fault.at(index, Some(position)))?;
        pool.charge(&done.gas);
        executed.push(done);
    }

    if (plan.is_trial || plan.recording.alone) && index + 1 == plan.blocks.len() {
        let calls = executed.into_iter().map(|done| done.call).collect();
        return Ok(ExecutedBlock { header: Header::default(), base_fee, hash: B256::ZERO, size: 0, calls });
    }

    evm.set_access_index(block.calls.len() as u64 + 1);
    if rules.has(SpecId::SHANGHAI) {
        withdrawals::credit(evm, &block.withdrawals)?;
    }
    let requests_hash = requests_hash(plan, block, evm, &executed).map_err(here)?;
    let blob_gas_used = blob_gas_used(plan, block, evm, &executed)?;
    let (calls, encoded): (Vec<ExecutedCall>, Vec<Vec<u8>>) =
        executed.into_iter().map(|done| (done.call, done.encoded)).unzip();
    let roots = seal::roots(&block.calls, &calls, &encoded);

    let header = Header {
        parent_hash: progress.parent.hash,
        ommers_hash: alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH,
        beneficiary: block.fee_recipient,
        state_root: B256::ZERO,
        transactions_root: roots.transactions,
        receipts_root: roots.receipts,
        logs_bloom: roots.bloom,
        difficulty: U256::ZERO,
        number: block.number,
        gas_limit: block.gas_limit,
        gas_used: pool.used(),
        timestamp: block.timestamp,
        extra_data: block.extra_data.clone(),
        mix_hash: block.prev_randao,
        nonce: B64::ZERO,
        base_fee_per_gas: None,
        withdrawals_root: withdrawals_root(block, progress),
        blob_gas_used: rules.has(SpecId::CANCUN).then_some(blob_gas_used),
        excess_blob_gas: rules.has(SpecId::CANCUN).then_some(excess_blob_gas),
        parent_beacon_block_root: rules.has(SpecId::CANCUN).then(|| block.parent_beacon_block_root.unwrap_or_default()),
        requests_hash,
        block_access_list_hash: evm.inner.ctx.chain.access_list.take().map(AccessList::hash),
        slot_number,
    };
    let withdrawals = rules.has(SpecId::SHANGHAI).then_some(block.withdrawals.as_slice());
    let (hash, size) = seal::seal(&header, base_fee, Body { transactions: &encoded, withdrawals });

    evm.state().set_block_hash(block.number, hash);
    progress.parent = ParentHeader {
        hash,
        number: block.number,
        timestamp: block.timestamp,
        gas_limit: block.gas_limit,
        gas_used: header.gas_used,
        base_fee,
        blob_gas_used,
        excess_blob_gas,
        withdrawals_root: header.withdrawals_root,
        slot_number,
        rules: *rules,
    };
    Ok(ExecutedBlock { header, base_fee, hash, size, calls })
}

fn configuration(plan: &Plan, block: &PlannedBlock) -> CfgEnv {
    let mut cfg = CfgEnv::new_with_spec(block.rules.spec);
    cfg.chain_id = plan.chain.chain_id;
    // A simulated call may use more gas than EIP-7825 allows. From Amsterdam on, a validated one may use the excess for state gas only.
    if !(plan.validation && block.rules.has(SpecId::AMSTERDAM)) {
        cfg.tx_gas_limit_cap = Some(u64::MAX);
    }
    cfg
}

fn block_environment(block: &PlannedBlock, excess_blob_gas: u64, slot_number: Option<u64>) -> BlockEnv {
    BlockEnv {
        number: U256::from(block.number),
        beneficiary: block.fee_recipient,
        timestamp: U256::from(block.timestamp),
        gas_limit: block.gas_limit,
        // BASEFEE and BLOBBASEFEE read `SimulationContext`, which has 256 bits for them.
        basefee: 0,
        difficulty: U256::ZERO,
        prevrandao: Some(block.prev_randao),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice { excess_blob_gas, blob_gasprice: 0 }),
        slot_num: slot_number.unwrap_or_default(),
    }
}

fn requests_hash(
    plan: &Plan,
    block: &PlannedBlock,
    evm: &mut Evm,
    executed: &[Executed],
) -> Result<Option<B256>, Fault> {
    if !block.rules.has(SpecId::PRAGUE) {
        return Ok(None);
    }
    if block.rules.op.is_some() || block.is_executed {
        return Ok(Some(EMPTY_REQUESTS_HASH));
    }
    let logs = executed.iter().flat_map(|done| &done.call.logs);
    requests::hash(evm, plan.chain.deposit_contract, logs).map(Some)
}

/// The calls' blob gas; on an OP-stack chain from Jovian on, the DA footprint.
fn blob_gas_used(plan: &Plan, block: &PlannedBlock, evm: &mut Evm, executed: &[Executed]) -> Result<u64, Failure> {
    if block.rules.op.is_none() {
        return Ok(block
            .calls
            .iter()
            .filter(|call| call.tx_type == 3)
            .map(|call| fees::blob_gas(call.blob_count()))
            .sum());
    }
    if !block.rules.has_op(OpFork::Jovian) || executed.is_empty() {
        return Ok(0);
    }
    let scalar = op::da_footprint_scalar(plan, evm.state())?;
    Ok(executed.iter().map(|done| op::da_footprint(&done.encoded, scalar)).fold(0, u64::saturating_add))
}

/// From Isthmus on, the message passer's storage root: the parent's until a call writes there, then zero, because the new root can't be
/// computed without the trie.
fn withdrawals_root(block: &PlannedBlock, progress: &Progress) -> Option<B256> {
    if !block.rules.has(SpecId::SHANGHAI) {
        return None;
    }
    if block.rules.has_op(OpFork::Isthmus) {
        let inherited = progress.parent.withdrawals_root.filter(|_| !progress.message_passer_written);
        return Some(inherited.unwrap_or_default());
    }
    Some(seal::withdrawals_root(&block.withdrawals))
}
