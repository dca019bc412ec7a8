use super::{applied::Applied, block::Stretch, failure::TransactionError, transaction::PooledTransaction};
use crate::{
    plan::OpFork,
    state::{ReadError, SimulationState},
};
use alloy_primitives::{Address, Bytes};
use op_revm::{L1BlockInfo, OpEvm, OpSpecId, OpTransaction, api::default_ctx::OpContext};
use revm::{
    ExecuteEvm,
    context::{Journal, JournalTr, LocalContext, TxEnv},
    context_interface::{context::ContextError, result::ResultAndState},
    handler::{EthPrecompiles, PrecompileProvider, instructions::EthInstructions},
    interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult, interpreter::EthInterpreter},
};

type Context = OpContext<SimulationState>;

/// Executes transactions by the OP stack's rules, with full validation of all but deposits, which have none.
pub struct OptimismEvm(OpEvm<Context, (), EthInstructions<EthInterpreter, Context>, OptimismPrecompiles>);

impl OptimismEvm {
    pub fn new(stretch: &Stretch, fork: OpFork, state: SimulationState) -> Self {
        let (op, spec) = (fork.spec(), fork.spec().into_eth_spec());
        let mut journal = Journal::new(state);
        journal.set_spec_id(spec);
        let context = OpContext {
            block: stretch.block_env(),
            tx: OpTransaction::default(),
            cfg: stretch.cfg(op),
            journaled_state: journal,
            chain: L1BlockInfo::default(),
            local: LocalContext::default(),
            error: Ok(()),
        };
        let precompiles = EthPrecompiles { precompiles: fork.precompiles(), spec };
        Self(OpEvm::new(context, ()).with_precompiles(OptimismPrecompiles { fork, precompiles }))
    }

    pub fn state(&mut self) -> &mut SimulationState {
        &mut self.0.0.ctx.journaled_state.database
    }

    pub fn into_state(self) -> SimulationState {
        self.0.0.ctx.journaled_state.database
    }

    pub fn apply(&mut self, transaction: &PooledTransaction) -> Result<Applied, TransactionError> {
        let tx: OpTransaction<TxEnv> = OpTransaction {
            base: transaction.env.clone(),
            enveloped_tx: Some(transaction.raw.clone()),
            deposit: transaction.deposit.clone().unwrap_or_default(),
        };
        let ResultAndState { result, state } = self.0.transact(tx)?;
        self.state().commit(state);
        Ok(Applied::of(result))
    }
}

/// The fork's precompiles. A call that reaches code that the chain's nodes have of their own is an error: its account's code is not
/// what they run.
struct OptimismPrecompiles {
    fork: OpFork,
    precompiles: EthPrecompiles,
}

impl PrecompileProvider<Context> for OptimismPrecompiles {
    type Output = InterpreterResult;

    /// The fork stays what it is for the whole block.
    fn set_spec(&mut self, _spec: OpSpecId) -> bool {
        false
    }

    fn run(&mut self, context: &mut Context, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        if self.fork.is_native(&inputs.bytecode_address, &inputs.known_bytecode.1) {
            context.error = Err(ContextError::Db(ReadError::NativeCode(inputs.bytecode_address)));
            let gas = Gas::new(inputs.gas_limit);
            return Ok(Some(InterpreterResult::new(InstructionResult::PrecompileError, Bytes::new(), gas)));
        }
        self.precompiles.run(context, inputs)
    }

    fn warm_addresses(&self) -> Box<impl Iterator<Item = Address>> {
        self.precompiles.warm_addresses()
    }

    fn contains(&self, address: &Address) -> bool {
        self.precompiles.contains(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{BlockRules, ChainRules},
        state::{Read, StateCache, StateSource, Stop, Value},
        stretch::BlockEnvironment,
    };
    use alloy_primitives::{B256, TxKind, U256, address, bytes};
    use op_revm::transaction::deposit::DepositTransactionParts;
    use std::sync::Arc;

    const FACTORY: Address = address!("b20f000000000000000000000000000000000000");
    const TOKEN: Address = address!("b200000000000000000001000000000000000abc");
    const CALLER: Address = address!("00000000000000000000000000000000000c0de0");

    /// Everybody has nothing.
    struct Nothing;

    impl StateSource for Nothing {
        fn read(&self, reads: &[Read]) -> Result<Vec<Value>, ReadError> {
            let value = |read: &Read| match read {
                Read::Code(_) => Value::Code(Bytes::new()),
                _ => Value::Word(U256::ZERO),
            };
            Ok(reads.iter().map(value).collect())
        }
    }

    /// Whether a deposit to this account succeeds. The token has its stub; the caller calls it and drops what comes of that.
    fn applied(fork: OpFork, to: Address) -> Result<bool, TransactionError> {
        let stretch = Stretch {
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
                rules: BlockRules { spec: fork.spec().into_eth_spec(), op: Some(fork), blob: None },
            },
            opening: false,
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
            deposit: Some(DepositTransactionParts::new(B256::repeat_byte(3), None, false)),
            raw: Bytes::from_static(&[0x7e]),
        };
        OptimismEvm::new(&stretch, fork, state).apply(&transaction).map(|applied| applied.succeeded)
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
