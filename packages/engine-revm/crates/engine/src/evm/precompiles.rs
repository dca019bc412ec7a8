//! The precompiles of one block, moved or removed by overrides.

use super::{context::Context, halt};
use crate::{
    plan::{BlockRules, OpFork},
    precompile_price,
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

/// The precompiles under these rules.
pub fn for_rules(rules: &BlockRules) -> &'static Precompiles {
    match rules.op {
        Some(op) => op.precompiles(),
        None => Precompiles::new(rules.spec.into()),
    }
}

/// A block's precompiles if overrides move or remove some, by their addresses there.
pub type Moved = AddressMap<Precompile>;

/// The precompiles of one block. The fork's own addresses stay warm even if overrides move the precompiles.
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

    /// Addresses that are warm when a transaction begins.
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
        let mut output = {
            let input = inputs.input.as_bytes(context);
            let paid = if precompile_price::is_beyond(precompile.id(), &input) { 0 } else { gas };
            let output = precompile.execute(&input, paid, inputs.reservoir).map_err(|error| error.to_string())?;
            match output.halt_reason() {
                Some(reason) if precompile_price::of_refused(reason, &input) > gas => {
                    PrecompileOutput::halt(PrecompileHalt::OutOfGas, inputs.reservoir)
                }
                _ => output,
            }
        };
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
            let halt = halt::of_precompile(reason);
            if let Some(recorder) = &mut context.chain.recorder {
                recorder.precompile_halt = Some(halt.clone());
            }
            if context.journaled_state.inner.depth == 1 {
                context.chain.halt = Some(halt);
            }
        }
        Ok(Some(precompile_output_to_interpreter_result(output, inputs.gas_limit)))
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.warm()
    }

    fn contains(&self, address: &Address) -> bool {
        self.get(address).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;
    use revm::precompile::kzg_point_evaluation::{ADDRESS, GAS_COST, kzg_to_versioned_hash};

    const INFINITY: [u8; 48] =
        hex!("c00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    /// Five times the generator of G1: the commitment to the constant polynomial 5.
    const FIVE: [u8; 48] =
        hex!("b0e7791fb972fe014159aa33a98622da3cdc98ff707965e536d8636b5fcc5ac7a91a8c46e59a00dca575af0f18fb13dc");

    fn word(last: u8) -> [u8; 32] {
        let mut word = [0; 32];
        word[31] = last;
        word
    }

    fn opens(commitment: &[u8; 48], z: [u8; 32], y: [u8; 32], proof: &[u8; 48]) -> bool {
        let input = [&kzg_to_versioned_hash(commitment)[..], &z, &y, commitment, proof].concat();
        let rules = BlockRules { spec: SpecId::OSAKA, op: None, blob: None };
        let output = for_rules(&rules).get(&ADDRESS).unwrap().execute(&input, GAS_COST, 0).unwrap();
        assert!(output.is_success() || output.halt_reason() == Some(&PrecompileHalt::BlobVerifyKzgProofFailed));
        output.is_success()
    }

    /// EIP-4844. The second is verify_kzg_proof_case_correct_proof_4_4 of c-kzg-4844's tests.
    #[test]
    fn point_evaluation_takes_openings_and_nothing_else() {
        assert!(opens(&FIVE, word(3), word(5), &INFINITY));
        let commitment =
            hex!("8f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7");
        let z = hex!("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000");
        let y = hex!("1522a4a7f34e1ea350ae07c29c96c7e79655aa926122e95fe69fcbd932ca49e9");
        let proof =
            hex!("a62ad71d14c5719385c0686f1871430475bf3a00f0aa3f7b8dd99a9abc2160744faf0070725e00b60ad9a026a15b1a8c");
        assert!(opens(&commitment, z, y, &proof));
        assert!(opens(&INFINITY, z, word(0), &INFINITY));
        assert!(!opens(&commitment, z, word(1), &proof), "another value");
        assert!(!opens(&commitment, z, y, &FIVE), "another proof");
        assert!(!opens(&FIVE, word(3), [0xff; 32], &INFINITY), "a value beyond the field");
        assert!(!opens(&[1; 48], word(3), word(5), &INFINITY), "what is no point");
        assert!(!opens(&FIVE, word(1), word(0), &INFINITY), "another value, with nothing to pair");
    }
}
