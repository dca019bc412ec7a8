use super::context::Context;
use revm::interpreter::{
    Interpreter, InterpreterAction,
    instructions::{GasTable, InstructionTable},
    interpreter::EthInterpreter,
};

/// Runs a frame until it ends or opens another.
#[cfg(feature = "evm-loop")]
pub fn run(
    frame: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, Context>,
    prices: &GasTable,
    context: &mut Context,
) -> InterpreterAction {
    use upfront_evm_loop::Bounds;

    upfront_evm_loop::run(frame, table, prices, context, |context| {
        let state = &context.journaled_state.database;
        let floor = state.allowance().map_or(0, |allowance| context.chain.run_from.saturating_sub(allowance.gas));
        (!state.is_blind()).then(|| Bounds { stop: context.chain.stop.flag(), floor })
    })
}

/// Runs a frame until it ends or opens another.
#[cfg(not(feature = "evm-loop"))]
pub fn run(
    frame: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, Context>,
    prices: &GasTable,
    context: &mut Context,
) -> InterpreterAction {
    frame.run_plain(table, prices, context)
}

#[cfg(test)]
mod tests;
