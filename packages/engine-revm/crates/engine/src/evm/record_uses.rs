//! Counts what an instruction used, after it ran.

use super::{context::Context, record_step::present, recorder::MAX_PADDING};
use crate::{last_step::LastStep, outcome::NamedContract, state::ReadError};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{
    Database,
    bytecode::opcode::*,
    context::JournalTr,
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, LoopControl, MemoryTr},
    },
};

const ENTRY_BYTES: usize = 80;

fn is_inspection(opcode: u8) -> bool {
    matches!(opcode, EXTCODEHASH | EXTCODESIZE | EXTCODECOPY)
}

fn is_call(opcode: u8) -> bool {
    matches!(opcode, CALL | CALLCODE | DELEGATECALL | STATICCALL)
}

/// Called after a step ran.
pub fn note(context: &mut Context, frame: &mut Interpreter<EthInterpreter>, step: &LastStep) -> Result<(), ReadError> {
    let opcode = step.opcode;
    let account = frame.input.target_address();
    let at = |index: usize| Address::from_word(B256::from(step.operand(index)));
    let has = |words: usize| step.height >= words;
    let contract = match opcode {
        _ if is_inspection(opcode) && has(1) => Some(at(0)),
        _ if is_call(opcode) && has(2) => Some(at(1)),
        _ => None,
    };
    let is_known = |contract: &Address| {
        let uses = context.chain.recorder.as_ref().and_then(|recorder| recorder.open_uses());
        uses.is_some_and(|uses| uses.named.contains_key(contract))
    };
    let named = match contract.filter(|contract| !is_known(contract)) {
        Some(address) => Some(NamedContract { address, code_size: code_size(context, address)?, opcode }),
        None => None,
    };
    let read = match opcode {
        SLOAD if has(1) => Some(match frame.bytecode.action() {
            None => frame.stack.data().last().copied().unwrap_or_default(),
            Some(_) => present(context, account, step.operand(0))?,
        }),
        _ => None,
    };
    let preimage = (opcode == KECCAK256 && has(2)).then(|| hashed(frame, step)).flatten();
    let Some(recorder) = &mut context.chain.recorder else { return Ok(()) };
    let mut bytes = preimage.as_ref().map_or(0, |preimage| ENTRY_BYTES + preimage.len());
    let Some((uses, shared)) = recorder.uses_mut() else { return Ok(()) };
    shared.preimages.extend(preimage);
    if matches!(opcode, RETURN | REVERT) {
        shared.last = None;
    }
    if let Some((last, Some(address))) = shared.last
        && is_inspection(last)
        && !(last == EXTCODESIZE && opcode == ISZERO)
    {
        bytes += ENTRY_BYTES;
        uses.inspected.push(address);
    }
    if let Some(named) = named {
        bytes += ENTRY_BYTES;
        uses.named.insert(named.address, named);
    }
    if shared.last.is_some_and(|(last, _)| last == GAS) && !is_call(opcode) {
        *uses.opcodes.entry(GAS).or_default() += 1;
    }
    if opcode != GAS {
        *uses.opcodes.entry(opcode).or_default() += 1;
    }
    let slot = step.operand(0);
    let counted = match opcode {
        SSTORE => Some(&mut uses.writes),
        TLOAD => Some(&mut uses.transient_reads),
        TSTORE => Some(&mut uses.transient_writes),
        _ => None,
    };
    if let Some(counted) = counted.filter(|_| has(1)) {
        let count = counted.entry(slot).or_insert_with(|| {
            bytes += ENTRY_BYTES;
            0
        });
        *count += 1;
    }
    if let Some(value) = read
        && !uses.reads.contains_key(&slot)
        && !uses.writes.contains_key(&slot)
    {
        bytes += ENTRY_BYTES;
        uses.reads.insert(slot, value);
    }
    shared.last = Some((opcode, has(1).then(|| at(0))));
    recorder.take(bytes);
    Ok(())
}

/// The input of KECCAK256, zero-padded beyond the memory; None if geth's tracer gives up.
fn hashed(frame: &Interpreter<EthInterpreter>, step: &LastStep) -> Option<Bytes> {
    let low = |word: U256| i64::try_from(word.as_limbs()[0]).ok();
    let (offset, size) = (low(step.operand(0))?, low(step.operand(1))?);
    let end = offset.checked_add(size)?;
    if end - step.memory as i64 > MAX_PADDING as i64 {
        return None;
    }
    let mut preimage = vec![0; size as usize];
    let held = (frame.memory.size() as i64).min(end) - offset;
    if held > 0 {
        preimage[..held as usize].copy_from_slice(&frame.memory.slice(offset as usize..(offset + held) as usize));
    }
    Some(preimage.into())
}

fn code_size(context: &mut Context, address: Address) -> Result<u64, ReadError> {
    let held = context.journaled_state.inner.state.get(&address).map(|account| account.info.clone());
    let info = match held {
        Some(info) => Some(info),
        None => context.journaled_state.db_mut().basic(address)?,
    };
    Ok(info.and_then(|info| info.code).map_or(0, |code| code.original_byte_slice().len() as u64))
}
