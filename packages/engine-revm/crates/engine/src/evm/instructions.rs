//! Instruction tables by fork. Some instructions check the allowance (gas, bytes) or count logs before they run as revm's.

use super::{context::Context, forced_run, record_frame, simulation_context::LogPosition};
use crate::state::ReadError;
use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, Log, LogData, U256, address, b256, utils::keccak256_uncached,
};
use revm::{
    bytecode::opcode,
    context_interface::{Host, JournalTr, context::ContextError},
    handler::instructions::InstructionProvider,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult, Interpreter, as_usize_or_fail,
        as_usize_saturated, gas,
        instructions::{
            GasTable, InstructionTable, arithmetic, contract, gas_table_spec, host, instruction_table, memory, stack,
            system,
        },
        interpreter::{EthInterpreter, resize_memory},
        interpreter_types::{InputsTr, Jumps, ReturnData, RuntimeFlag},
        popn, popn_top, push,
    },
    primitives::hardfork::SpecId,
};
use std::sync::OnceLock;

type Table = InstructionTable<EthInterpreter, Context>;
type Step<'a> = InstructionContext<'a, Context, EthInterpreter>;

/// A fork's instructions, some of them replaced to watch what a simulation does, and their constant gas costs. The process has one pair of
/// tables per fork.
#[derive(Clone, Copy)]
pub struct Instructions(&'static (Table, GasTable));

impl Instructions {
    pub fn of(spec: SpecId) -> Self {
        const FORKS: [SpecId; 6] =
            [SpecId::AMSTERDAM, SpecId::OSAKA, SpecId::PRAGUE, SpecId::CANCUN, SpecId::SHANGHAI, SpecId::MERGE];
        static TABLES: [OnceLock<Box<(Table, GasTable)>>; FORKS.len()] = [const { OnceLock::new() }; FORKS.len()];
        let index = FORKS.iter().position(|fork| spec.is_enabled_in(*fork)).unwrap_or(FORKS.len() - 1);
        Self(TABLES[index].get_or_init(|| Box::new(tables_of(FORKS[index]))))
    }
}

impl InstructionProvider for Instructions {
    type Context = Context;
    type InterpreterTypes = EthInterpreter;

    fn instruction_table(&self) -> &Table {
        &self.0.0
    }

    fn gas_table(&self) -> &GasTable {
        &self.0.1
    }
}

fn tables_of(spec: SpecId) -> (Table, GasTable) {
    let mut table: Table = instruction_table();
    let mut prices = gas_table_spec(spec);
    let mut replace =
        |opcode: u8, with: fn(Step<'_>) -> InstructionExecResult| table[usize::from(opcode)] = Instruction::new(with);
    replace(opcode::EXP, exponentiate);
    replace(opcode::GASPRICE, gas_price);
    replace(opcode::BASEFEE, base_fee);
    replace(opcode::JUMPDEST, jump_destination);
    replace(opcode::JUMPI, forced_run::jump_if);
    if spec.is_enabled_in(SpecId::CANCUN) {
        replace(opcode::BLOBBASEFEE, blob_base_fee);
    }
    replace(opcode::KECCAK256, keccak);
    replace(opcode::CALLDATACOPY, call_data_copy);
    replace(opcode::CODECOPY, code_copy);
    replace(opcode::EXTCODECOPY, external_code_copy);
    replace(opcode::RETURNDATACOPY, return_data_copy);
    if spec.is_enabled_in(SpecId::CANCUN) {
        replace(opcode::MCOPY, memory_copy);
    }
    replace(opcode::LOG0, log::<0>);
    replace(opcode::LOG1, log::<1>);
    replace(opcode::LOG2, log::<2>);
    replace(opcode::LOG3, log::<3>);
    replace(opcode::LOG4, log::<4>);
    replace(opcode::SSTORE, store);
    replace(opcode::SELFDESTRUCT, self_destruct);
    replace(opcode::CALL, call);
    replace(opcode::CALLCODE, call_code);
    replace(opcode::DELEGATECALL, delegate_call);
    replace(opcode::STATICCALL, static_call);
    replace(opcode::CREATE2, create2);
    for (opcode, since) in OPCODE_FORKS {
        if !spec.is_enabled_in(since) {
            table[usize::from(opcode)] = Instruction::new(not_activated);
            prices[usize::from(opcode)] = 0;
        }
    }
    (table, prices)
}

/// `Interpreter::step`, but PUSH1, PUSH2, DUP, SWAP, ADD and POP, more than half of what contracts execute, run here without a call through
/// the table. A processor predicts an indirect call from the calls before it, and remembers only a few thousand: a Uniswap swap makes 8,000.
/// With direct branches for half of them, it takes a third less time. ADD and POP are compared first: as arms of the `match`, they would make
/// the compiler use a jump table, which is an indirect branch again.
#[inline(always)]
pub fn step(
    interpreter: &mut Interpreter<EthInterpreter>,
    table: &Table,
    prices: &GasTable,
    host: &mut Context,
) -> InstructionExecResult {
    let opcode = interpreter.bytecode.opcode();
    interpreter.bytecode.relative_jump(1);
    if interpreter.gas.record_cost_unsafe(prices[usize::from(opcode)].into()) {
        return Err(InstructionResult::OutOfGas);
    }
    let step = Step { interpreter, host };
    if opcode == opcode::ADD {
        return arithmetic::add(step);
    }
    if opcode == opcode::POP {
        return stack::pop(step);
    }
    let depth = usize::from(opcode & 0xf) + 1;
    match opcode >> 4 {
        0x6 if opcode == opcode::PUSH1 => stack::push::<1, _, _>(step),
        0x6 if opcode == opcode::PUSH2 => stack::push::<2, _, _>(step),
        0x8 if step.interpreter.stack.dup(depth) => Ok(()),
        0x8 => Err(InstructionResult::StackOverflow),
        0x9 if step.interpreter.stack.exchange(0, depth) => Ok(()),
        0x9 => Err(InstructionResult::StackUnderflow),
        _ => table[usize::from(opcode)].execute(step),
    }
}

/// Opcodes and the forks that introduced them. Before its fork, geth calls an opcode invalid; revm would charge first, and might run out of
/// gas instead.
const OPCODE_FORKS: [(u8, SpecId); 11] = [
    (opcode::SLOTNUM, SpecId::AMSTERDAM),
    (opcode::DUPN, SpecId::AMSTERDAM),
    (opcode::SWAPN, SpecId::AMSTERDAM),
    (opcode::EXCHANGE, SpecId::AMSTERDAM),
    (opcode::CLZ, SpecId::OSAKA),
    (opcode::BLOBHASH, SpecId::CANCUN),
    (opcode::BLOBBASEFEE, SpecId::CANCUN),
    (opcode::TLOAD, SpecId::CANCUN),
    (opcode::TSTORE, SpecId::CANCUN),
    (opcode::MCOPY, SpecId::CANCUN),
    (opcode::PUSH0, SpecId::SHANGHAI),
];

fn not_activated(_step: Step<'_>) -> InstructionExecResult {
    Err(InstructionResult::NotActivated)
}

/// Stops endless calls: every loop passes a JUMPDEST.
fn jump_destination(mut step: Step<'_>) -> InstructionExecResult {
    if step.host.chain.stop.must_stop() {
        stop(step, ReadError::Cancelled)
    } else if is_allowance_spent(&mut step) {
        stop(step, ReadError::TooMuch)
    } else {
        Ok(())
    }
}

#[inline]
fn is_allowance_spent(step: &mut Step<'_>) -> bool {
    let Some(allowance) = step.host.journaled_state.database.allowance() else { return false };
    let left = step.interpreter.gas.remaining();
    step.host.chain.run_from.get_or_insert(left).saturating_sub(left) > allowance.gas
}

#[cold]
fn stop(step: Step<'_>, why: ReadError) -> InstructionExecResult {
    step.host.error = Err(ContextError::Db(why));
    Err(InstructionResult::FatalExternalError)
}

/// Whether an instruction takes more bytes than the allowance has. The length is on the stack, `position` words below the top.
#[inline]
fn exceeds_allowance(step: &mut Step<'_>, position: usize) -> bool {
    let Some(allowance) = step.host.journaled_state.database.allowance() else { return false };
    let data = step.interpreter.stack.data();
    let bytes = data.len().checked_sub(position + 1).map_or(U256::ZERO, |at| data[at]);
    bytes > U256::from(allowance.bytes) || is_allowance_spent(step)
}

macro_rules! limited_length {
    ($name:ident, $position:literal, $instruction:path) => {
        fn $name(mut step: Step<'_>) -> InstructionExecResult {
            if exceeds_allowance(&mut step, $position) {
                return stop(step, ReadError::TooMuch);
            }
            $instruction(step)
        }
    };
}

limited_length!(keccak, 1, hash);
limited_length!(call_data_copy, 2, system::calldatacopy);
limited_length!(code_copy, 2, system::codecopy);
limited_length!(external_code_copy, 3, host::extcodecopy);
limited_length!(return_data_copy, 2, copy_return_data);
limited_length!(memory_copy, 2, memory::mcopy);

/// revm pops these instructions' operands one by one, so the stack's height is checked before.
macro_rules! checked_height {
    ($name:ident, $operands:literal, $instruction:path) => {
        fn $name(step: Step<'_>) -> InstructionExecResult {
            if step.interpreter.stack.len() < $operands {
                return Err(InstructionResult::StackUnderflow);
            }
            $instruction(step)
        }
    };
}

checked_height!(call, 7, contract::call::<{ opcode::CALL }, _, _>);
checked_height!(call_code, 7, contract::call::<{ opcode::CALLCODE }, _, _>);
checked_height!(delegate_call, 6, contract::call::<{ opcode::DELEGATECALL }, _, _>);
checked_height!(static_call, 6, contract::call::<{ opcode::STATICCALL }, _, _>);
checked_height!(create2, 4, contract::create::<true, _, _>);

/// The length of a mapping's key and slot: most hashes are of such inputs, and the next request computes the same ones.
const SLOT_PREIMAGE: U256 = U256::from_limbs([64, 0, 0, 0]);

/// KECCAK256 with a cache for the slots of mappings: `alloy` keeps the last 131,072 short hashes of the process (16 MB). Other hashes are
/// not cached: a loop hashing its own output would fill the cache and never find anything.
fn hash(step: Step<'_>) -> InstructionExecResult {
    let Step { interpreter, host } = step;
    if interpreter.stack.data().iter().nth_back(1) == Some(&SLOT_PREIMAGE) {
        return system::keccak256(Step { interpreter, host });
    }
    popn_top!([offset], top, interpreter);
    let length = as_usize_or_fail!(interpreter, top);
    gas!(interpreter, host.gas_params().keccak256_cost(length));
    let mut hash = KECCAK256_EMPTY;
    if length > 0 {
        let from = as_usize_or_fail!(interpreter, offset);
        resize_memory(&mut interpreter.gas, &mut interpreter.memory, host.gas_params(), from, length)?;
        hash = keccak256_uncached(interpreter.memory.slice_len(from, length).as_ref());
    }
    *top = hash.into();
    Ok(())
}

/// RETURNDATACOPY that is charged before its bounds are checked, as in geth. revm checks first, and so reports another reason.
fn copy_return_data(step: Step<'_>) -> InstructionExecResult {
    let Step { interpreter, host } = step;
    popn!([to, from, length], interpreter);
    let length = as_usize_or_fail!(interpreter, length);
    gas!(interpreter, host.gas_params().copy_cost(length));
    let mut at = 0;
    if length > 0 {
        at = as_usize_or_fail!(interpreter, to);
        resize_memory(&mut interpreter.gas, &mut interpreter.memory, host.gas_params(), at, length)?;
    }
    let from = as_usize_saturated!(from);
    let data = interpreter.return_data.buffer();
    if from.saturating_add(length) > data.len() {
        return Err(InstructionResult::OutOfOffset);
    }
    interpreter.memory.set_data(at, from, length, data);
    Ok(())
}

/// EXP is the slowest arithmetic instruction, and thousands fit between two JUMPDESTs.
fn exponentiate(mut step: Step<'_>) -> InstructionExecResult {
    if is_allowance_spent(&mut step) {
        return stop(step, ReadError::TooMuch);
    }
    arithmetic::exp(step)
}

fn push(step: Step<'_>, value: U256) -> InstructionExecResult {
    push!(step.interpreter, value);
    Ok(())
}

fn gas_price(step: Step<'_>) -> InstructionExecResult {
    let value = step.host.chain.gas_price;
    push(step, value)
}

fn base_fee(step: Step<'_>) -> InstructionExecResult {
    let value = step.host.chain.base_fee;
    push(step, value)
}

fn blob_base_fee(step: Step<'_>) -> InstructionExecResult {
    let value = step.host.chain.blob_base_fee;
    push(step, value)
}

fn log<const TOPICS: usize>(mut step: Step<'_>) -> InstructionExecResult {
    if step.interpreter.stack.len() < TOPICS + 2 {
        return Err(InstructionResult::StackUnderflow);
    }
    if exceeds_allowance(&mut step, 1) {
        return stop(step, ReadError::TooMuch);
    }
    if step.interpreter.runtime_flag.is_static() {
        return refuse_log(step, TOPICS as u8);
    }
    let context: &mut Context = step.host;
    host::log::<TOPICS, Context>(InstructionContext { interpreter: step.interpreter, host: &mut *context })?;
    let count = context.journaled_state.logs().len();
    let index = context.chain.next_index();
    context.chain.set_log_position(count, LogPosition { synthetic: false, index });
    record_frame::log(context);
    Ok(())
}

/// For a static call. geth charges first.
fn refuse_log(step: Step<'_>, topics: u8) -> InstructionExecResult {
    let [.., length, offset] = step.interpreter.stack.data()[..] else {
        return Err(InstructionResult::StackUnderflow);
    };
    let length = as_usize_or_fail!(step.interpreter, length);
    gas!(step.interpreter, step.host.gas_params().log_cost(topics, length as u64));
    if length > 0 {
        let offset = as_usize_or_fail!(step.interpreter, offset);
        step.interpreter.resize_memory(step.host.gas_params(), offset, length)?;
    }
    Err(InstructionResult::StateChangeDuringStaticCall)
}

/// geth records the refund together with the cost, even if the frame lacks that gas. A halted frame has no refund, but its steps show it.
fn store(step: Step<'_>) -> InstructionExecResult {
    host::sstore_with_gas_accounting(step, |step, target, stored| {
        host::sstore_default_gas_accounting(step, target, stored).inspect_err(|_| {
            let is_istanbul = step.interpreter.runtime_flag.spec_id().is_enabled_in(SpecId::ISTANBUL);
            let refund = step.host.gas_params().sstore_refund(is_istanbul, &stored.data);
            step.interpreter.gas.record_refund(refund);
        })
    })
}

fn self_destruct(step: Step<'_>) -> InstructionExecResult {
    let Context { journaled_state, chain, .. } = &*step.host;
    if !chain.trace_transfers && chain.recorder.is_none() && chain.access_list.is_none() {
        return host::selfdestruct(step);
    }
    let from = step.interpreter.input.target_address();
    let balance = journaled_state.inner.state.get(&from).map(|account| account.info.balance).unwrap_or_default();
    let to = step.interpreter.stack.data().last().copied();
    let context: &mut Context = step.host;
    let before = context.journaled_state.logs().len();
    let ended = host::selfdestruct(InstructionContext { interpreter: &mut *step.interpreter, host: &mut *context });
    let (Err(InstructionResult::SelfDestruct), Some(to)) = (ended, to) else { return ended };
    let to = Address::from_word(B256::from(to));
    let count = context.journaled_state.logs().len();
    let is_logged = count > before;
    if is_logged {
        let index = context.chain.next_index();
        context.chain.set_log_position(count, LogPosition { synthetic: false, index });
        record_frame::log(context);
    }
    if let Some(recorder) = &mut context.chain.recorder {
        recorder.self_destruct(from, to, balance);
    }
    if !is_logged && context.chain.trace_transfers && !balance.is_zero() {
        let index = context.chain.next_index();
        record_transfer(context, from, to, balance, index);
    }
    ended
}

/// keccak256("Transfer(address,address,uint256)")
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// ERC-7528.
const NATIVE: Address = address!("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");

/// Adds a transfer to the current frame's logs.
pub fn record_transfer(context: &mut Context, from: Address, to: Address, value: U256, index: u64) {
    let topics = vec![TRANSFER, from.into_word(), to.into_word()];
    let data = Bytes::copy_from_slice(&value.to_be_bytes::<32>());
    context.journaled_state.log(Log { address: NATIVE, data: LogData::new_unchecked(topics, data) });
    let count = context.journaled_state.logs().len();
    context.chain.set_log_position(count, LogPosition { synthetic: true, index });
}

#[cfg(test)]
mod tests;
