//! One transaction of a simulation, after its checks: charges the sender in wei, runs the call, pays the fees.

use super::{context::Context, halt, instance::Evm, record_frame};
use crate::{
    op::{BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT, OperatorFee},
    outcome::Halt,
    state::ReadError,
};
use alloy_eips::eip2930::AccessListItem;
use alloy_primitives::{Address, Bytes, Log, U256};
use revm::{
    context::{JournalTr, TxEnv},
    context_interface::{
        LocalContextTr,
        context::take_error,
        journaled_state::account::JournaledAccountTr,
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction, ResultGas},
    },
    handler::{
        FrameResult, Handler,
        pre_execution::{apply_auth_list, apply_auth_list_eip2780},
    },
    interpreter::{GasTracker, InitialAndFloorGas, InstructionResult},
    primitives::{AddressMap, HashSet, hardfork::SpecId},
};

type Error = EVMError<ReadError, InvalidTransaction>;

/// Payments for a call, in full 256 bits.
#[derive(Clone, Debug, Default)]
pub struct Charge {
    /// Taken from the sender before execution, blob fee and roll-up fees included. May exceed the balance, which then wraps around, as in
    /// geth without validation.
    pub upfront: U256,
    /// Given to the sender before that (OP-stack deposits).
    pub mint: U256,
    /// Returned to the sender per unit of gas left.
    pub gas_price: U256,
    /// Paid to the fee recipient per unit of gas used. None if no fee is paid.
    pub tip: Option<U256>,
    /// Roll-up fees and base fee, paid to the vaults of an OP-stack chain.
    pub rollup: Option<RollupCharge>,
}

#[derive(Clone, Debug)]
pub struct RollupCharge {
    pub l1_fee: U256,
    pub base_fee: U256,
    pub operator: OperatorFee,
}

/// The result of a call.
#[derive(Debug)]
pub struct CallOutcome {
    pub result: InstructionResult,
    pub output: Bytes,
    pub logs: Vec<Log>,
    pub gas: ResultGas,
}

/// geth's state transition for a message that is already checked. Nonce, fees and authorizations take effect with any transaction type.
pub struct SimulationHandler<'a> {
    pub charge: &'a Charge,
    pub gas: InitialAndFloorGas,
    pub outcome: Option<CallOutcome>,
}

impl SimulationHandler<'_> {
    /// Runs the transaction on `evm`.
    pub fn execute(mut self, evm: &mut Evm, tx: TxEnv) -> Result<CallOutcome, ReadError> {
        evm.inner.ctx.tx = tx;
        let inspector = &mut evm.inner.ctx.chain;
        inspector.fee_only.clear();
        inspector.halt = None;
        inspector.log_positions.clear();
        match self.run(evm) {
            Ok(_) => self.outcome.take().ok_or(ReadError::Failed),
            Err(error) => Err(read_error(error)),
        }
    }
}

pub(super) fn read_error(error: Error) -> ReadError {
    match error {
        EVMError::Database(error) => error,
        _ => ReadError::Failed,
    }
}

impl Handler for SimulationHandler<'_> {
    type Evm = Evm;
    type Error = Error;
    type HaltReason = HaltReason;

    /// The call was checked before; only the state's part is left.
    fn validate(&self, evm: &mut Evm) -> Result<InitialAndFloorGas, Error> {
        let mut gas = self.gas;
        self.validate_against_state_and_deduct_caller(evm, &mut gas)?;
        Ok(gas)
    }

    fn load_accounts(&self, evm: &mut Evm) -> Result<(), Error> {
        let Context { block, tx, cfg, journaled_state, .. } = &mut evm.inner.ctx;
        if cfg.spec.is_enabled_in(SpecId::SHANGHAI) {
            journaled_state.warm_coinbase_account(block.beneficiary);
        }
        if !tx.access_list.is_empty() {
            let mut warm: AddressMap<HashSet<U256>> = AddressMap::default();
            for AccessListItem { address, storage_keys } in tx.access_list.iter() {
                warm.entry(*address).or_default().extend(storage_keys.iter().map(|slot| U256::from_be_bytes(slot.0)));
            }
            journaled_state.warm_access_list(warm);
        }
        Ok(())
    }

    fn validate_against_state_and_deduct_caller(
        &self,
        evm: &mut Evm,
        _gas: &mut InitialAndFloorGas,
    ) -> Result<(), Error> {
        let Context { journaled_state, tx, .. } = &mut evm.inner.ctx;
        let mut caller = journaled_state.load_account_with_code_mut(tx.caller)?.data;
        let balance = *caller.balance();
        caller.set_balance(balance.wrapping_add(self.charge.mint).wrapping_sub(self.charge.upfront));
        if tx.kind.is_call() {
            let nonce = caller.nonce();
            caller.set_nonce(nonce.wrapping_add(1));
        }
        caller.touch();
        Ok(())
    }

    fn apply_eip7702_auth_list(&self, evm: &mut Evm, gas: &mut GasTracker) -> Result<Option<u64>, Error> {
        let Context { journaled_state, cfg, tx, .. } = &mut evm.inner.ctx;
        let (params, signed) = (&cfg.gas_params, tx.authorization_list.iter());
        if cfg.enable_amsterdam_eip2780 {
            let receiver = tx.kind.to().copied().filter(|_| !tx.value.is_zero());
            let mut written = receiver.into_iter().chain([tx.caller]).collect();
            let ran_out = apply_auth_list_eip2780::<_, Error>(
                cfg.chain_id,
                signed,
                journaled_state,
                params.tx_account_write_cost(),
                params.new_account_state_gas(),
                params.tx_eip7702_state_gas_bytecode(),
                &mut written,
                gas,
            )?;
            return Ok((!ran_out).then_some(0));
        }
        let existing = apply_auth_list::<_, Error>(cfg.chain_id, signed, journaled_state)?;
        let refunded = existing * params.tx_eip7702_auth_refund_regular();
        if let Some(recorder) = &mut evm.inner.ctx.chain.recorder {
            recorder.refund = refunded as i64;
        }
        Ok(Some(refunded))
    }

    fn reimburse_caller(&self, evm: &mut Evm, exec_result: &mut FrameResult) -> Result<(), Error> {
        let gas = exec_result.gas();
        let left = gas.remaining() + gas.reservoir() + gas.refunded() as u64;
        let mut back = U256::from(left).wrapping_mul(self.charge.gas_price);
        if let Some(rollup) = &self.charge.rollup {
            let held = rollup.operator.of(gas.limit());
            let due = rollup.operator.of(gas.limit() - left);
            back = back.wrapping_add(held.saturating_sub(due));
        }
        if back.is_zero() {
            return Ok(());
        }
        let caller = evm.inner.ctx.tx.caller;
        add_balance(&mut evm.inner.ctx, caller, back)
    }

    fn reward_beneficiary(&self, evm: &mut Evm, exec_result: &mut FrameResult) -> Result<(), Error> {
        let gas = exec_result.gas();
        let used = gas.used() - gas.reservoir();
        let beneficiary = evm.inner.ctx.block.beneficiary;
        let reward = self.charge.tip.map_or(U256::ZERO, |tip| U256::from(used).wrapping_mul(tip));
        pay(&mut evm.inner.ctx, beneficiary, reward)?;
        if let Some(rollup) = &self.charge.rollup {
            let vaults = [
                (L1_FEE_VAULT, rollup.l1_fee),
                (BASE_FEE_VAULT, U256::from(used).wrapping_mul(rollup.base_fee)),
                (OPERATOR_FEE_VAULT, rollup.operator.of(used)),
            ];
            for (vault, amount) in vaults {
                pay(&mut evm.inner.ctx, vault, amount)?;
            }
        }
        Ok(())
    }

    fn execution_result(
        &mut self,
        evm: &mut Evm,
        result: FrameResult,
        gas: ResultGas,
    ) -> Result<ExecutionResult<HaltReason>, Error> {
        take_error::<Error, _>(&mut evm.inner.ctx.error)?;
        record_frame::end(&mut evm.inner.ctx, &result, &evm.inner.precompiles);
        let logs = evm.inner.ctx.journaled_state.take_logs();
        let result = result.into_interpreter_result();
        self.outcome = Some(CallOutcome { result: result.result, output: result.output.clone(), logs, gas });
        evm.inner.ctx.journaled_state.commit_tx();
        evm.inner.ctx.local.clear();
        evm.inner.frame_stack.clear();
        Ok(ExecutionResult::Revert { gas, logs: Vec::new(), output: Bytes::new() })
    }
}

/// Pays a fee. For metering, a fee alone does not count as touching its recipient. As in geth, even a zero fee touches it, which removes an
/// account that is empty except for overridden storage. An unchanged account is not read for that.
fn pay(context: &mut Context, to: Address, amount: U256) -> Result<(), Error> {
    // From Amsterdam on, it is in the block's access list too.
    let is_read = context.chain.access_list.is_some();
    if amount.is_zero() && !is_read && !context.journaled_state.database.has_changed(to) {
        return Ok(());
    }
    if !context.journaled_state.inner.state.contains_key(&to) {
        context.chain.fee_only.push(to);
    }
    // Not listed as read: the call's outcome does not depend on the balance that its fees are added to.
    let reads = context.journaled_state.database.swap_reads(None);
    let paid = add_balance(context, to, amount);
    context.journaled_state.database.swap_reads(reads);
    paid
}

fn add_balance(context: &mut Context, to: Address, amount: U256) -> Result<(), Error> {
    let mut account = context.journaled_state.load_account_mut(to)?.data;
    let balance = *account.balance();
    account.set_balance(balance.wrapping_add(amount));
    account.touch();
    Ok(())
}

impl CallOutcome {
    /// Why the call halted.
    pub fn halt(&self, evm: &mut Evm) -> Halt {
        evm.inner.ctx.chain.halt.take().unwrap_or_else(|| halt::of_result(self.result))
    }
}
