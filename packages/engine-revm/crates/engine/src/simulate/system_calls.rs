//! Calls that the protocol makes around a block's transactions.

use crate::{
    evm::{Machine, is_ambiguous},
    rejection::{Fault, code},
    state::ReadError,
};
use alloy_primitives::{Address, B256, Bytes, address};
use revm::{
    Database,
    context::{JournalTr, TxEnv},
    context_interface::result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction},
    handler::{EthFrame, Handler, MainnetHandler, SystemCallTx},
    interpreter::interpreter::EthInterpreter,
};

/// EIP-4788
pub const BEACON_ROOTS: Address = address!("000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
/// EIP-2935
pub const HISTORY: Address = address!("0000F90827F1C53a10cb7A02335B175320002935");
/// EIP-7002
pub const WITHDRAWAL_REQUESTS: Address = address!("00000961Ef480Eb55e80D19ad83579A64c007002");
/// EIP-7251
pub const CONSOLIDATION_REQUESTS: Address = address!("0000BBdDc7CE488642fb579F8B00f3a590007251");

type Error = EVMError<ReadError, InvalidTransaction>;

/// Hands a word to a contract that keeps it. Whatever comes of it is ignored, as the EIPs say.
pub fn store(machine: &mut Machine, contract: Address, word: B256) -> Result<(), ReadError> {
    if has_code(machine, contract)? {
        call(machine, contract, word.into())?;
    }
    Ok(())
}

/// What a request queue has for the consensus layer (EIP-7685). `queue` is how geth names it in an error.
pub fn dequeue(machine: &mut Machine, contract: Address, queue: &str) -> Result<Bytes, Fault> {
    let failed = |why: String| Fault::new(code::SERVER_ERROR, format!("failed to process {queue} queue: {why}"));
    // geth refuses such a block; development chains (anvil) have none of these contracts, and must be served.
    if !has_code(machine, contract)? {
        return Ok(Bytes::new());
    }
    match call(machine, contract, Bytes::new())? {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { .. } => Err(failed("system call failed to execute: execution reverted".into())),
        ExecutionResult::Halt { .. } => {
            let why = machine.evm.ctx.chain.halt.take().filter(|words| !is_ambiguous(words)).unwrap_or_else(|| "out of gas".into());
            Err(failed(format!("system call failed to execute: {why}")))
        }
    }
}

fn has_code(machine: &mut Machine, contract: Address) -> Result<bool, ReadError> {
    Ok(machine.state().basic(contract)?.is_some_and(|account| !account.is_empty_code_hash()))
}

fn call(machine: &mut Machine, contract: Address, input: Bytes) -> Result<ExecutionResult<HaltReason>, ReadError> {
    machine.evm.ctx.tx = TxEnv::new_system_tx_with_caller(revm::handler::SYSTEM_ADDRESS, contract, input);
    machine.evm.ctx.chain.gas_price = Default::default();
    let result = MainnetHandler::<Machine, Error, EthFrame<EthInterpreter>>::default().run_system_call(machine);
    let changes = machine.evm.ctx.journaled_state.finalize();
    match result {
        Ok(result) => {
            machine.state().commit(changes);
            Ok(result)
        }
        Err(EVMError::Database(error)) => Err(error),
        Err(_) => Err(ReadError::Failed),
    }
}
