//! Executes one call of a simulated block as a transaction.

use super::{Progress, effects, op, probe, record, validity::TransactionCheck};
use crate::{
    evm::{CallOutcome, Charge, Evm, RollupCharge, SimulationHandler},
    op::L1Block,
    outcome::{ExecutedCall, ExecutedLog, Probed, Status},
    plan::{Authorization, Plan, PlannedBlock, PlannedCall},
    rejection::{Fault, Rejection},
    seal::{self, UnsignedTransaction},
    touched_set::TouchedSet,
};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use revm::{
    Database,
    context::{JournalTr, TxEnv},
    context_interface::{Cfg, cfg::gas_params::Eip2780TxInfo, result::ResultGas},
    interpreter::{InitialAndFloorGas, InstructionResult},
    primitives::hardfork::SpecId,
    state::AccountInfo,
};

/// An executed call and its transaction in the block.
pub struct Executed {
    pub call: ExecutedCall,
    /// The transaction, EIP-2718 bytes.
    pub encoded: Vec<u8>,
    pub gas: ResultGas,
}

/// A call by the indices of its block and in it, and what earlier calls left of the block's gas limit.
#[derive(Clone, Copy)]
pub struct CallPosition {
    pub block: usize,
    pub call: usize,
    pub gas_left: u64,
}

/// Fees of the block in which a call runs.
pub struct BlockFees {
    pub base_fee: U256,
    pub blob_base_fee: U256,
}

/// Runs one call as a transaction.
pub fn execute(
    plan: &Plan,
    block: &PlannedBlock,
    call: &PlannedCall,
    position: CallPosition,
    fees: &BlockFees,
    evm: &mut Evm,
    progress: &mut Progress,
) -> Result<Executed, Fault> {
    let gas_left = position.gas_left;
    evm.state().set_exempt_sender(call.value.is_zero().then_some(call.from));
    let sender = evm.state().basic(call.from)?.unwrap_or_default();
    let nonce = call.nonce.unwrap_or(sender.nonce);
    let asked = call.gas.unwrap_or(gas_left);
    if gas_left < asked {
        return Err(Rejection::BlockGasLimit { left: gas_left, asked }.into());
    }
    let gas = asked.min(progress.gas_budget);
    let encoded = match &call.sealed {
        Some(sealed) => sealed.raw.to_vec(),
        None => seal::encode_transaction(&UnsignedTransaction { call, chain_id: plan.chain.chain_id, nonce, gas }),
    };
    let mint = call.mint().unwrap_or_default();
    let validation = plan.validation && call.mint().is_none();

    let caps = call.fees();
    let priced = !(caps.cap.is_zero() && caps.tip.is_zero());
    let gas_price = effective_price(call, fees.base_fee, priced);
    let rollup = if validation || priced { rollup_charge(block, call, &encoded, fees.base_fee, evm)? } else { None };
    let initial = initial_gas(evm, call);
    let upfront = TransactionCheck {
        call,
        spec: block.rules.spec,
        validation,
        nonce,
        gas,
        gas_price,
        base_fee: fees.base_fee,
        blob_base_fee: fees.blob_base_fee,
        sender_nonce: sender.nonce,
        sender_balance: sender.balance.saturating_add(mint),
        rollup: rollup.as_ref(),
        initial,
        init_code_limit: evm.inner.ctx.cfg.max_initcode_size(),
    }
    .check()?;

    let tip = (validation || priced).then(|| gas_price.wrapping_sub(fees.base_fee));
    let charge = Charge { upfront, mint, gas_price, tip, rollup };
    let shown_price = call.shown_gas_price.unwrap_or(gas_price);
    evm.inner.ctx.chain.gas_price = shown_price;
    let probes = plan.probes_of(position.block, position.call);
    let before = probe::ask(evm, &probes, false)?;
    evm.inner.ctx.chain.gas_price = shown_price;
    record::begin(plan.recording, evm, call, progress.output_left)?;
    let outcome = run(evm, call, &sender, &charge, initial, gas)?;
    let mut executed = present(evm, &outcome, CallNumbers { encoded: &encoded, nonce, gas, capped: gas < asked });
    let changes = evm.inner.ctx.journaled_state.finalize();
    count_touched(&mut progress.touched, evm, call, &changes);
    if changes.get(&op::MESSAGE_PASSER).is_some_and(|account| account.changed_storage_slots().next().is_some()) {
        progress.message_passer_written = true;
    }
    executed.record = record::end(evm, call, nonce, &changes, &mut progress.output_left)?;
    evm.commit(changes);
    let recorded = executed.record.as_ref().filter(|_| plan.recording.effects);
    let effects = recorded.map(|record| effects::digest(&executed, &record.frames, block.fee_recipient));
    if let Some(record) = &mut executed.record {
        (record.gas, record.gas_used) = (gas, executed.gas_used);
        record.effects = effects;
        if !plan.recording.frames {
            record.frames = Vec::new();
        }
        let after = probe::ask(evm, &probes, true)?;
        let pairs = before.answers.into_iter().zip(after.answers);
        record.probed = pairs.map(|(before, after)| Probed { before, after }).collect();
        record.probe_gas = before.gas_used + after.gas_used;
    }
    let output = executed.return_data.len() + executed.logs.iter().map(|log| log.data.len()).sum::<usize>();
    progress.output_left = progress.output_left.checked_sub(output).ok_or(Fault::TooLong)?;
    progress.gas_budget = progress.gas_budget.saturating_sub(executed.gas_used);
    Ok(Executed { call: executed, encoded, gas: outcome.gas })
}

/// The gas price as in geth: zero if the call names no fee, and `gasPrice` as given.
fn effective_price(call: &PlannedCall, base_fee: U256, priced: bool) -> U256 {
    match call.gas_price {
        Some(price) => price,
        None if priced => call.max_priority_fee.saturating_add(base_fee).min(call.max_fee),
        None => U256::ZERO,
    }
}

/// Roll-up fees of a call on an OP-stack chain by L1Block's current slots, as in a block, if it pays fees at all.
fn rollup_charge(
    block: &PlannedBlock,
    call: &PlannedCall,
    encoded: &[u8],
    base_fee: U256,
    evm: &mut Evm,
) -> Result<Option<RollupCharge>, Fault> {
    let Some(op) = block.rules.op else { return Ok(None) };
    let block = L1Block::read(evm.state(), op)?;
    let l1_fee = match call.sealed {
        Some(_) => block.l1_fee(encoded),
        None => block.l1_fee(&op::as_signed(encoded)),
    };
    Ok(Some(RollupCharge { l1_fee, base_fee, operator: block.operator }))
}

fn initial_gas(evm: &Evm, call: &PlannedCall) -> InitialAndFloorGas {
    let cfg = &evm.inner.ctx.cfg;
    let slots: usize = call.access_list.iter().map(|(_, slots)| slots.len()).sum();
    let mut gas = cfg.gas_params.initial_tx_gas(
        &call.input,
        call.to.is_none(),
        call.access_list.len() as u64,
        slots as u64,
        call.authorizations.as_ref().map_or(0, Vec::len) as u64,
        cfg.enable_amsterdam_eip2780
            .then(|| Eip2780TxInfo { value: call.value, is_self_transfer: call.to == Some(call.from) }),
    );
    if !cfg.spec.is_enabled_in(SpecId::PRAGUE) {
        gas.floor_gas = 0;
    }
    gas
}

fn run(
    evm: &mut Evm,
    call: &PlannedCall,
    sender: &AccountInfo,
    charge: &Charge,
    initial: InitialAndFloorGas,
    gas: u64,
) -> Result<CallOutcome, Fault> {
    let tx = TxEnv {
        // revm's BLOBHASH returns hashes only for type 3.
        tx_type: if call.blob_hashes.is_some() { 3 } else { 0 },
        caller: call.from,
        gas_limit: gas,
        gas_price: 0,
        kind: call.to.map_or(TxKind::Create, TxKind::Call),
        value: call.value,
        data: call.input.clone(),
        // The address of a creation depends on the account's nonce, whatever the call names.
        nonce: sender.nonce,
        chain_id: None,
        access_list: AccessList(call.access_list.iter().map(access_list_item).collect()),
        blob_hashes: call.blob_hashes.clone().unwrap_or_default(),
        authorization_list: call.authorizations.iter().flatten().map(Authorization::signed).collect(),
        ..TxEnv::default()
    };
    let mut outcome = SimulationHandler { charge, gas: initial, outcome: None }.execute(evm, tx)?;
    if call.to.is_none() && sender.nonce == u64::MAX {
        outcome.result = InstructionResult::NonceOverflow;
    }
    Ok(outcome)
}

fn access_list_item((address, slots): &(Address, Vec<B256>)) -> AccessListItem {
    AccessListItem { address: *address, storage_keys: slots.clone() }
}

struct CallNumbers<'a> {
    encoded: &'a [u8],
    nonce: u64,
    gas: u64,
    capped: bool,
}

fn present(evm: &mut Evm, outcome: &CallOutcome, numbers: CallNumbers<'_>) -> ExecutedCall {
    let (status, return_data) = if outcome.result.is_ok() {
        (Status::Success, outcome.output.clone())
    } else if outcome.result == InstructionResult::Revert {
        (Status::Revert, outcome.output.clone())
    } else {
        (Status::Halt { halt: outcome.halt(evm), is_gas_capped: numbers.capped }, Bytes::new())
    };
    let logs = match status {
        Status::Success => outcome
            .logs
            .iter()
            .zip(&evm.inner.ctx.chain.log_positions)
            .map(|(log, place)| ExecutedLog {
                address: log.address,
                topics: log.data.topics().to_vec(),
                data: log.data.data.clone(),
                synthetic: place.synthetic,
                index: place.index,
            })
            .collect(),
        _ => Vec::new(),
    };
    ExecutedCall {
        tx_hash: alloy_primitives::keccak256(numbers.encoded),
        nonce: numbers.nonce,
        gas: numbers.gas,
        gas_used: outcome.gas.tx_gas_used(),
        max_used_gas: outcome.gas.total_gas_spent().max(outcome.gas.floor_gas()),
        status,
        return_data,
        logs,
        record: None,
    }
}

fn count_touched(touched: &mut TouchedSet, evm: &Evm, call: &PlannedCall, changes: &revm::state::EvmState) {
    let context = &evm.inner.ctx;
    for (address, account) in changes {
        if evm.inner.precompiles.get(address).is_some() || context.chain.fee_only.contains(address) {
            continue;
        }
        touched.account(*address);
        for slot in account.storage.keys() {
            touched.slot(*address, *slot);
        }
    }
    for (address, slots) in &call.access_list {
        if evm.inner.precompiles.get(address).is_none() {
            touched.account(*address);
        }
        for slot in slots {
            touched.slot(*address, U256::from_be_bytes(slot.0));
        }
    }
}
