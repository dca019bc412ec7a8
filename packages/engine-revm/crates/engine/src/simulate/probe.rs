//! Questions to contracts before and after a call. Their state changes are discarded.

use crate::{
    evm::{Charge, Evm, SimulationHandler},
    plan::Probe,
    state::ReadError,
};
use alloy_primitives::{Address, Bytes};
use revm::{
    context::{JournalTr, TxEnv},
    interpreter::InitialAndFloorGas,
    primitives::TxKind,
};

/// Gas limit of one probe.
const PROBE_GAS: u64 = 500_000;
/// Limit of an answer; longer ones are dropped.
const MAX_BYTES: usize = 1_024;

/// The result of one round of questions.
#[derive(Default)]
pub struct Answers {
    /// In the order of the probes; None if the contract fails or is not asked.
    pub answers: Vec<Option<Bytes>>,
    /// Of all probes, before refunds.
    pub gas_used: u64,
}

/// `is_after`: whether the call has run.
pub fn ask(evm: &mut Evm, probes: &[&Probe], is_after: bool) -> Result<Answers, ReadError> {
    let mut round = Answers::default();
    for probe in probes {
        let is_asked = is_after || !probe.is_after;
        let (answer, gas_used) = if is_asked { answer(evm, probe)? } else { (None, 0) };
        round.answers.push(answer);
        round.gas_used += gas_used;
    }
    Ok(round)
}

fn answer(evm: &mut Evm, probe: &Probe) -> Result<(Option<Bytes>, u64), ReadError> {
    let tx = TxEnv {
        caller: Address::ZERO,
        gas_limit: PROBE_GAS,
        gas_price: 0,
        kind: TxKind::Call(probe.to),
        data: probe.input.clone(),
        chain_id: None,
        ..TxEnv::default()
    };
    let handler = SimulationHandler { charge: &Charge::default(), gas: InitialAndFloorGas::default(), outcome: None };
    let recorder = evm.inner.ctx.chain.recorder.take();
    let logs = evm.inner.ctx.chain.log_count;
    let outcome = handler.execute(evm, tx);
    evm.inner.ctx.journaled_state.finalize();
    let inspector = &mut evm.inner.ctx.chain;
    (inspector.log_count, inspector.recorder, inspector.halt) = (logs, recorder, None);
    let outcome = outcome?;
    let answer = (outcome.result.is_ok() && outcome.output.len() <= MAX_BYTES).then_some(outcome.output);
    Ok((answer, outcome.gas.total_gas_spent()))
}
