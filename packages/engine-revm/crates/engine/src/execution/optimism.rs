//! The OP stack's rules for a block's transactions: https://specs.optimism.io/protocol/exec-engine.html and deposits.html

use super::{
    block_evm::{Context, Error, Mainnet, Revm},
    transaction::PooledTransaction,
};
use crate::{
    op::{BASE_FEE_VAULT, L1_FEE_VAULT, L1Block, OPERATOR_FEE_VAULT, OpFork, RollupReceipt},
    seal::Deposit,
};
use alloy_primitives::{Bytes, U256};
use revm::{
    context::{JournalTr, LocalContextTr},
    context_interface::{
        journaled_state::{JournalCheckpoint, account::JournaledAccountTr},
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction, ResultGas},
    },
    handler::{
        FrameResult, Handler, post_execution,
        pre_execution::{calculate_caller_fee, validate_account_nonce_and_code_with_components},
    },
    interpreter::{Gas, GasTracker, InitialAndFloorGas, InstructionResult},
};

/// The OP stack's additions to a transaction and its block.
#[derive(Default)]
pub struct Rollup {
    /// Fee parameters, read from L1Block when a transaction first pays them, after the block's attributes deposit has written them.
    l1_block: Option<L1Block>,
    deposit: Option<Deposit>,
    /// EIP-2718 bytes.
    encoded: Bytes,
    /// What L1 takes for these bytes, once it is known. A deposit has paid on L1 and has none.
    pub charged: Option<RollupReceipt>,
}

impl Rollup {
    pub fn begin(&mut self, transaction: &PooledTransaction) {
        self.deposit.clone_from(&transaction.deposit);
        self.encoded = transaction.raw.clone();
        self.charged = None;
    }

    /// The transaction's fees, for its bytes and for this much gas. Zero for a deposit, which was paid on L1.
    fn fees(&self, gas: u64) -> (U256, U256) {
        match (&self.l1_block, &self.charged) {
            (Some(block), Some(charged)) => (charged.l1_fee, block.operator.of(gas)),
            _ => (U256::ZERO, U256::ZERO),
        }
    }
}

pub struct OptimismHandler {
    pub fork: OpFork,
}

impl OptimismHandler {
    /// A deposit can't be invalid: if it fails, its ether is still minted and its sender's nonce incremented.
    fn fail_deposit(&self, evm: &mut Revm, deposit: &Deposit) -> Result<ExecutionResult<HaltReason>, Error> {
        let Context { journaled_state, tx, .. } = &mut evm.ctx;
        journaled_state.checkpoint_revert(JournalCheckpoint::default());
        {
            let mut sender = journaled_state.load_account_mut(tx.caller)?.data;
            sender.bump_nonce();
            sender.incr_balance(deposit.mint);
        }
        journaled_state.commit_tx();
        evm.ctx.local.clear();
        evm.frame_stack.clear();
        let is_free = deposit.is_system_transaction && self.fork < OpFork::Regolith;
        let gas_used = if is_free { 0 } else { evm.ctx.tx.gas_limit };
        let gas = ResultGas::default().with_total_gas_spent(gas_used);
        Ok(ExecutionResult::Revert { gas, logs: Vec::new(), output: Bytes::new() })
    }
}

impl Handler for OptimismHandler {
    type Evm = Revm;
    type Error = Error;
    type HaltReason = HaltReason;

    fn validate_env(&self, evm: &mut Revm) -> Result<(), Error> {
        match &evm.ctx.chain.deposit {
            None => Mainnet::default().validate_env(evm),
            Some(deposit) if deposit.is_system_transaction && self.fork >= OpFork::Regolith => {
                Err(InvalidTransaction::Str("a system deposit after Regolith".into()).into())
            }
            Some(_) => Ok(()),
        }
    }

    fn validate_against_state_and_deduct_caller(
        &self,
        evm: &mut Revm,
        _gas: &mut InitialAndFloorGas,
    ) -> Result<(), Error> {
        let Context { block, tx, cfg, journaled_state, chain, .. } = &mut evm.ctx;
        if chain.deposit.is_none() {
            let l1_block = match chain.l1_block.take() {
                Some(known) => known,
                None => L1Block::read(&mut journaled_state.database, self.fork)?,
            };
            chain.charged = Some(l1_block.receipt(&chain.encoded));
            chain.l1_block = Some(l1_block);
        }
        let mut caller = journaled_state.load_account_with_code_mut(tx.caller)?.data;
        let held = *caller.balance();
        let left = match &chain.deposit {
            Some(deposit) => held.saturating_add(deposit.mint),
            None => {
                validate_account_nonce_and_code_with_components(&caller.account().info, &*tx, &*cfg)?;
                let (l1_fee, operator_fee) = chain.fees(tx.gas_limit);
                let fee = l1_fee.saturating_add(operator_fee);
                let rest = held.checked_sub(fee).ok_or_else(|| InvalidTransaction::LackOfFundForMaxFee {
                    fee: Box::new(fee),
                    balance: Box::new(held),
                })?;
                calculate_caller_fee(rest, &*tx, &*block, &*cfg)?
            }
        };
        caller.set_balance(left);
        if tx.kind.is_call() {
            caller.bump_nonce();
        }
        Ok(())
    }

    fn last_frame_result(
        &mut self,
        evm: &mut Revm,
        result: &mut FrameResult,
        gas: &mut GasTracker,
    ) -> Result<(), Error> {
        Mainnet::default().last_frame_result(evm, result, gas)?;
        let Context { chain, tx, .. } = &evm.ctx;
        if let Some(deposit) = &chain.deposit
            && self.fork < OpFork::Regolith
        {
            // Before Regolith, a deposit used all of its gas, except a successful system transaction, which used none.
            let is_free = deposit.is_system_transaction && result.instruction_result().is_ok();
            *result.gas_mut() =
                if is_free { Gas::new(tx.gas_limit) } else { Gas::new_spent_with_reservoir(tx.gas_limit, 0) };
        }
        Ok(())
    }

    fn reimburse_caller(&self, evm: &mut Revm, result: &mut FrameResult) -> Result<(), Error> {
        let gas = result.gas();
        let (_, held) = evm.ctx.chain.fees(gas.limit());
        let (_, due) = evm.ctx.chain.fees(gas.used());
        Ok(post_execution::reimburse_caller(&mut evm.ctx, gas, held.saturating_sub(due))?)
    }

    fn reward_beneficiary(&self, evm: &mut Revm, result: &mut FrameResult) -> Result<(), Error> {
        if evm.ctx.chain.deposit.is_some() {
            return Ok(());
        }
        Mainnet::default().reward_beneficiary(evm, result)?;
        let used = result.gas().used();
        let Context { block, journaled_state, chain, .. } = &mut evm.ctx;
        let (l1_fee, operator_fee) = chain.fees(used);
        let base_fee = U256::from(block.basefee) * U256::from(used);
        for (vault, amount) in [(L1_FEE_VAULT, l1_fee), (BASE_FEE_VAULT, base_fee), (OPERATOR_FEE_VAULT, operator_fee)]
        {
            journaled_state.balance_incr(vault, amount)?;
        }
        Ok(())
    }

    fn execution_result(
        &mut self,
        evm: &mut Revm,
        result: FrameResult,
        gas: ResultGas,
    ) -> Result<ExecutionResult<HaltReason>, Error> {
        let ended = result.instruction_result();
        match evm.ctx.chain.deposit.clone() {
            Some(deposit)
                if self.fork >= OpFork::Regolith
                    && evm.ctx.error.is_ok()
                    && !ended.is_ok()
                    && ended != InstructionResult::Revert =>
            {
                self.fail_deposit(evm, &deposit)
            }
            _ => Mainnet::default().execution_result(evm, result, gas),
        }
    }

    fn catch_error(&self, evm: &mut Revm, error: Error) -> Result<ExecutionResult<HaltReason>, Error> {
        match (&error, evm.ctx.chain.deposit.clone()) {
            (EVMError::Transaction(_), Some(deposit)) => self.fail_deposit(evm, &deposit),
            _ => Mainnet::default().catch_error(evm, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        execution::{BlockEnvironment, BlockExecution, TransactionError, block_evm::BlockEvm},
        plan::{BlockRules, ChainRules},
        state::{Read, ReadError, SimulationState, StateCache, StateSource, Value},
        time_slices::Stop,
    };
    use alloy_primitives::{Address, B256, TxKind, address, bytes};
    use revm::context::TxEnv;
    use std::sync::Arc;

    const FACTORY: Address = address!("b20f000000000000000000000000000000000000");
    const TOKEN: Address = address!("b200000000000000000001000000000000000abc");
    const CALLER: Address = address!("00000000000000000000000000000000000c0de0");

    /// A state in which all accounts are empty.
    struct Nothing;

    impl StateSource for Nothing {
        fn read(&self, reads: &[Read], _certain: usize) -> Result<Vec<Value>, ReadError> {
            let value = |read: &Read| match read {
                Read::Code(_) => Value::Code(Bytes::new()),
                _ => Value::Word(U256::ZERO),
            };
            Ok(reads.iter().map(value).collect())
        }
    }

    /// Whether a deposit to this account succeeds. The token has its stub code; the caller contract calls the token and ignores the result.
    fn applied(fork: OpFork, to: Address) -> Result<bool, TransactionError> {
        let execution = BlockExecution {
            chain: ChainRules { chain_id: 8453, deposit_contract: None },
            block: BlockEnvironment {
                number: 1,
                timestamp: 1,
                parent_hash: B256::ZERO,
                gas_limit: 30_000_000,
                fee_recipient: Address::ZERO,
                prev_randao: B256::ZERO,
                base_fee: 0,
                parent_beacon_block_root: None,
                excess_blob_gas: 0,
                slot_number: None,
                rules: BlockRules { spec: fork.spec(), op: Some(fork), blob: None },
            },
            opening: false,
            is_split: false,
            transactions: Vec::new(),
            earlier_receipts: Vec::new(),
            earlier_gas_used: 0,
            earlier_blob_gas_used: 0,
        };
        let cache = StateCache::new(1 << 20);
        let mut state =
            SimulationState::new(&cache, B256::ZERO, Vec::new(), Arc::new(Nothing), Arc::new(Stop::default()));
        state.set_code(TOKEN, bytes!("ef"));
        state.set_code(CALLER, bytes!("5f5f5f5f5f73b200000000000000000001000000000000000abc5af100"));
        let env = TxEnv {
            caller: CALLER,
            gas_limit: 1_000_000,
            gas_price: 0,
            kind: TxKind::Call(to),
            chain_id: None,
            ..TxEnv::default()
        };
        let transaction = PooledTransaction {
            hash: B256::ZERO,
            from: CALLER,
            env,
            deposit: Some(Deposit {
                source_hash: B256::repeat_byte(3),
                from: CALLER,
                mint: U256::ZERO,
                is_system_transaction: false,
            }),
            raw: Bytes::from_static(&[0x7e]),
        };
        BlockEvm::new(&execution, state, None).apply(&transaction).map(|applied| applied.succeeded)
    }

    #[test]
    fn a_call_that_reaches_native_code_is_no_execution() {
        for fork in [OpFork::Beryl, OpFork::Denim] {
            for (to, reached) in [(FACTORY, FACTORY), (TOKEN, TOKEN), (CALLER, TOKEN)] {
                let error = applied(fork, to).unwrap_err();
                assert!(matches!(error, TransactionError::NativePrecompile(address) if address == reached), "{error}");
                assert!(error.to_string().contains(&format!("{reached:#x}")), "{error}");
            }
        }
    }

    #[test]
    fn elsewhere_it_is_an_account_like_any_other() {
        for fork in [OpFork::Karst, OpFork::Azul] {
            for (to, succeeds) in [(FACTORY, true), (TOKEN, false), (CALLER, true)] {
                assert_eq!(applied(fork, to).unwrap(), succeeds, "{fork:?} {to}");
            }
        }
    }
}
