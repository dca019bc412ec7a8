//! Runs a block's transactions by the rules of their chain.

use super::{
    block::BlockExecution,
    failure::TransactionError,
    optimism::{OptimismHandler, Rollup},
    transaction::PooledTransaction,
};
use crate::{
    access_list::AccessList,
    evm,
    op::{OpFork, RollupReceipt},
    state::{ReadError, SimulationState},
};
use alloy_primitives::{Address, Bytes, Log, map::AddressSet};
use revm::{
    context::{BlockEnv, CfgEnv, Evm, FrameStack, Journal, JournalTr, LocalContext, TxEnv},
    context_interface::{
        context::ContextError,
        result::{EVMError, ExecutionResult, InvalidTransaction, ResultGas},
    },
    handler::{EthFrame, EthPrecompiles, Handler, MainnetHandler, PrecompileProvider, instructions::EthInstructions},
    interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult, interpreter::EthInterpreter},
    primitives::hardfork::SpecId,
};

pub type Context =
    revm::Context<BlockEnv, TxEnv, CfgEnv, SimulationState, Journal<SimulationState>, Rollup, LocalContext>;

/// revm with Ethereum's unmodified instructions.
pub type Revm = Evm<Context, (), EthInstructions<EthInterpreter, Context>, BlockPrecompiles, EthFrame<EthInterpreter>>;

pub type Error = EVMError<ReadError, InvalidTransaction>;
pub type Mainnet = MainnetHandler<Revm, Error, EthFrame<EthInterpreter>>;

/// EIP-8037: execution and state gas together.
const MAX_TRANSACTION_GAS: u64 = u32::MAX as u64;

/// A transaction's result.
pub struct Applied {
    pub succeeded: bool,
    pub gas: ResultGas,
    pub logs: Vec<Log>,
    /// For a signed transaction on an OP-stack chain.
    pub rollup: Option<RollupReceipt>,
}

/// Executes a block's transactions, fully validated except OP-stack deposits, which have no validation.
pub struct BlockEvm {
    revm: Revm,
    op: Option<OpFork>,
    /// From Amsterdam on.
    access_list: Option<AccessList>,
}

impl BlockEvm {
    pub fn new(execution: &BlockExecution, state: SimulationState, access_list: Option<AccessList>) -> Self {
        let rules = &execution.block.rules;
        let mut journal = Journal::new(state);
        journal.set_spec_id(rules.spec);
        let context = Context {
            block: execution.block_env(),
            tx: TxEnv::default(),
            cfg: execution.cfg(),
            journaled_state: journal,
            chain: Rollup::default(),
            local: LocalContext::default(),
            error: Ok(()),
        };
        let precompiles = EthPrecompiles { precompiles: evm::for_rules(rules), spec: rules.spec };
        let revm = Evm {
            ctx: context,
            inspector: (),
            instruction: EthInstructions::new_mainnet_with_spec(rules.spec),
            precompiles: BlockPrecompiles { op: rules.op, precompiles },
            frame_stack: FrameStack::new_prealloc(8),
        };
        Self { revm, op: rules.op, access_list }
    }

    pub fn state(&mut self) -> &mut SimulationState {
        &mut self.revm.ctx.journaled_state.database
    }

    pub fn finish(self) -> (SimulationState, Option<AccessList>) {
        (self.revm.ctx.journaled_state.database, self.access_list)
    }

    pub fn apply(&mut self, transaction: &PooledTransaction) -> Result<Applied, TransactionError> {
        let asked = transaction.env.gas_limit;
        if self.access_list.is_some() && asked > MAX_TRANSACTION_GAS {
            return Err(TransactionError::GasLimit { left: MAX_TRANSACTION_GAS, asked });
        }
        self.revm.ctx.tx = transaction.env.clone();
        self.revm.ctx.chain.begin(transaction);
        let result = match self.op {
            Some(fork) => OptimismHandler { fork }.run(&mut self.revm),
            None => Mainnet::default().run(&mut self.revm),
        };
        let changes = self.revm.ctx.journaled_state.finalize();
        let result = result?;
        if let Some(list) = &mut self.access_list {
            list.index += 1;
            list.add(&changes);
        }
        self.state().commit(changes);
        let gas = *result.gas();
        let (succeeded, logs) = match result {
            ExecutionResult::Success { logs, .. } => (true, logs),
            _ => (false, Vec::new()),
        };
        Ok(Applied { succeeded, gas, logs, rollup: self.revm.ctx.chain.charged.take() })
    }
}

/// The fork's precompiles. A call that reaches code native to the chain's nodes is an error, because its account's code is not what they
/// run.
pub struct BlockPrecompiles {
    op: Option<OpFork>,
    precompiles: EthPrecompiles,
}

impl PrecompileProvider<Context> for BlockPrecompiles {
    type Output = InterpreterResult;

    /// The fork is the same throughout the block.
    fn set_spec(&mut self, _spec: SpecId) -> bool {
        false
    }

    fn run(&mut self, context: &mut Context, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        if self.op.is_some_and(|fork| fork.is_native(&inputs.bytecode_address, &inputs.known_bytecode.1)) {
            context.error = Err(ContextError::Db(ReadError::NativeCode(inputs.bytecode_address)));
            let gas = Gas::new(inputs.gas_limit);
            return Ok(Some(InterpreterResult::new(InstructionResult::PrecompileError, Bytes::new(), gas)));
        }
        self.precompiles.run(context, inputs)
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.precompiles.warm_addresses()
    }

    fn contains(&self, address: &Address) -> bool {
        self.precompiles.contains(address)
    }
}
