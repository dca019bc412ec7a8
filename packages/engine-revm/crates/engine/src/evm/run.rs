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
        // The table's JUMPDEST finds where an allowance begins that began within the frame.
        let from = context.chain.run_from;
        let floor = state.allowance().map_or(0, |given| from.map_or(u64::MAX, |from| from.saturating_sub(given.gas)));
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
