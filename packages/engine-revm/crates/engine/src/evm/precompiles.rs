use super::{context::Context, halt};
use crate::{
    plan::{BlockRules, OpFork},
    state::ReadError,
};
use alloy_primitives::{
    Address,
    map::{AddressMap, AddressSet},
};
use revm::{
    context_interface::context::ContextError,
    handler::{PrecompileProvider, precompile_output_to_interpreter_result},
    interpreter::{CallInputs, InterpreterResult},
    precompile::{Precompile, PrecompileHalt, PrecompileOutput, Precompiles},
    primitives::hardfork::SpecId,
};

/// The precompiled contracts under these rules.
pub fn for_rules(rules: &BlockRules) -> &'static Precompiles {
    match rules.op {
        Some(op) => op.precompiles(),
        None => Precompiles::new(rules.spec.into()),
    }
}

/// The precompiles of a block whose overrides move or remove some, by their addresses there.
pub type Moved = AddressMap<Precompile>;

/// The precompiles of one block. The fork's own addresses stay the warm ones, wherever overrides move them.
#[derive(Debug)]
pub struct PrecompileSet {
    active: &'static Precompiles,
    moved: Option<Moved>,
    /// Set on OP-stack chains.
    pub op: Option<OpFork>,
}

impl PrecompileSet {
    pub fn new(rules: &BlockRules, moved: Option<Moved>) -> Self {
        Self { active: for_rules(rules), moved, op: rules.op }
    }

    /// Addresses that every transaction starts with warm.
    pub fn warm(&self) -> &'static AddressSet {
        self.active.addresses_set()
    }

    #[inline]
    pub fn get(&self, address: &Address) -> Option<&Precompile> {
        match &self.moved {
            Some(moved) => moved.get(address),
            None => self.active.get(address),
        }
    }
}

impl PrecompileProvider<Context> for PrecompileSet {
    type Output = InterpreterResult;

    fn set_spec(&mut self, _spec: SpecId) -> bool {
        false
    }

    fn run(&mut self, context: &mut Context, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        let Some(precompile) = self.get(&inputs.bytecode_address) else {
            return Ok(None);
        };
        let allowance = context.journaled_state.database.allowance();
        let gas = allowance.map_or(u64::MAX, |allowance| allowance.precompile_gas).min(inputs.gas_limit);
        let mut output = precompile
            .execute(&inputs.input.as_bytes(context), gas, inputs.reservoir)
            .map_err(|error| error.to_string())?;
        if gas < inputs.gas_limit && output.halt_reason().is_some_and(|reason| reason.is_oog()) {
            context.error = Err(ContextError::Db(ReadError::TooMuch));
            output = PrecompileOutput::halt(PrecompileHalt::OutOfGas, inputs.reservoir);
        }
        if let Some(allowance) = context.journaled_state.database.allowance_mut() {
            allowance.precompile_gas =
                allowance.precompile_gas.saturating_sub(if output.is_halt() { gas } else { output.gas_used });
        }
        if let Some(reason) = output.halt_reason()
            && (context.journaled_state.inner.depth == 1 || context.chain.recorder.is_some())
        {
            let input = inputs.input.bytes(context);
            let halt = halt::of_precompile(reason, input, inputs.gas_limit);
            if let Some(recorder) = &mut context.chain.recorder {
                recorder.precompile_halt = Some(halt.clone());
            }
            if context.journaled_state.inner.depth == 1 {
                context.chain.halt = Some(halt);
            }
        }
        Ok(Some(precompile_output_to_interpreter_result(output, inputs.gas_limit)))
    }

    fn warm_addresses(&self) -> Box<impl Iterator<Item = Address>> {
        Box::new(self.active.addresses().copied())
    }

    fn contains(&self, address: &Address) -> bool {
        self.get(address).is_some()
    }
}
