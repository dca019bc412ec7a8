//! Why the EVM halted. TypeScript has the messages (packages/simulation/src/present/halt-message.ts), except those of struct logger steps.

use super::opcode_name;
use crate::{
    frame_end::{last_opcode, missing_word, operand, wrong_height},
    outcome::{Halt, PrecompileFault},
};
use revm::{
    bytecode::opcode::{DUPN, EXCHANGE, LOG0, LOG4, SWAPN, TSTORE},
    interpreter::{InstructionResult, Interpreter, interpreter::EthInterpreter},
    precompile::PrecompileHalt,
};
use std::borrow::Cow;

/// The reason as far as the result alone tells it.
pub fn of_result(result: InstructionResult) -> Halt {
    use InstructionResult as R;
    match result {
        R::OutOfGas
        | R::MemoryOOG
        | R::MemoryLimitOOG
        | R::InvalidOperandOOG
        | R::PrecompileOOG
        | R::CreateInitCodeSizeLimit => Halt::OutOfGas,
        R::ReentrancySentryOOG => Halt::ReentrancySentry,
        R::OutOfOffset => Halt::ReturnDataOutOfBounds,
        R::InvalidJump => Halt::InvalidJump,
        R::CreateCollision => Halt::AddressCollision,
        R::CreateContractStartingWithEF => Halt::CodeStartsWithEf,
        R::NonceOverflow => Halt::NonceOverflow,
        R::CallTooDeep => Halt::CallTooDeep,
        R::OutOfFunds => Halt::InsufficientBalance,
        R::OverflowPayment => Halt::BalanceOverflow,
        R::PrecompileError => Halt::PrecompileFailed,
        other => Halt::Other { name: format!("execution failed: {other:?}") },
    }
}

/// Why a frame halted, from its interpreter. The failed opcode is the last one stepped over.
pub fn of_frame(result: InstructionResult, interpreter: &Interpreter<EthInterpreter>) -> Option<Halt> {
    use InstructionResult as R;
    if result.is_ok_or_revert() {
        return None;
    }
    let opcode = last_opcode(interpreter);
    Some(match result {
        R::OpcodeNotFound | R::NotActivated | R::InvalidFEOpcode => invalid(opcode_name::of(opcode)),
        R::InvalidImmediateEncoding => wrong_height(interpreter).unwrap_or_else(|| {
            invalid(format!("{} (operand: {:#04x})", opcode_name::of(opcode), operand(interpreter)))
        }),
        // revm reports a stack underflow of DUP as an overflow.
        R::StackUnderflow | R::StackOverflow => {
            wrong_height(interpreter).or_else(|| missing_word(interpreter)).unwrap_or(Halt::StackOverflow)
        }
        R::StateChangeDuringStaticCall | R::CallNotAllowedInsideStatic => {
            Halt::WriteProtection { is_priced: !matches!(opcode, LOG0..=LOG4 | TSTORE) }
        }
        result => of_result(result),
    })
}

fn invalid(opcode: impl Into<String>) -> Halt {
    Halt::InvalidOpcode { opcode: opcode.into() }
}

/// geth's message for what it finds before an instruction runs (core/vm/errors.go). Only then does its step have an error.
pub fn step_error(halt: &Halt, opcode: u8) -> Option<Cow<'static, str>> {
    Some(match *halt {
        Halt::OutOfGas => "out of gas".into(),
        Halt::ReentrancySentry => "out of gas: not enough gas for reentrancy sentry".into(),
        Halt::WriteProtection { is_priced: true } => "out of gas: write protection".into(),
        Halt::StackOverflow => "stack limit reached 1024 (1023)".into(),
        // At run time these check for the word that their immediate byte names (EIP-8024); before, only for the one or two they move.
        Halt::StackUnderflow { inputs, .. } if inputs > 2 && matches!(opcode, DUPN | SWAPN | EXCHANGE) => return None,
        Halt::StackUnderflow { height, inputs } => format!("stack underflow ({height} <=> {inputs})").into(),
        _ => return None,
    })
}

/// Why the returned code can't be deployed.
pub fn of_deployment(result: InstructionResult, size: usize, limit: usize) -> Halt {
    match result {
        InstructionResult::OutOfGas => Halt::CodeStorageOutOfGas,
        InstructionResult::CreateContractSizeLimit => Halt::CodeTooLarge { size: size as u64, limit: limit as u64 },
        _ => of_result(result),
    }
}

/// Why a precompiled contract failed.
pub fn of_precompile(reason: &PrecompileHalt) -> Halt {
    use PrecompileHalt as P;
    let fault = match reason {
        P::OutOfGas => PrecompileFault::OutOfGas,
        P::ModexpEip7823LimitSize => PrecompileFault::ModexpLength,
        P::Blake2WrongFinalIndicatorFlag => PrecompileFault::FinalFlag,
        P::Bn254PairLength => PrecompileFault::PairingLength,
        P::Bn254FieldPointNotAMember | P::NonCanonicalFp => PrecompileFault::FieldElement,
        P::Bn254AffineGFailedToCreate => PrecompileFault::NotOnCurve,
        P::BlobMismatchedVersion => PrecompileFault::VersionedHash,
        P::BlobVerifyKzgProofFailed => PrecompileFault::KzgProof,
        P::Bls12381PairingInputLength => PrecompileFault::BlsPairingLength,
        P::Bls12381FpPaddingInvalid => PrecompileFault::BlsFieldElement,
        P::Bls12381G1NotInSubgroup => PrecompileFault::G1Subgroup,
        P::Bls12381G2NotInSubgroup => PrecompileFault::G2Subgroup,
        P::Bls12381G1NotOnCurve | P::Bls12381G2NotOnCurve => PrecompileFault::BlsNotOnCurve,
        _ => PrecompileFault::InputLength,
    };
    Halt::Precompile { fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_too_small_a_stack_before_an_instruction_runs_unless_a_byte_names_the_word() {
        let words = |opcode, inputs| step_error(&Halt::StackUnderflow { height: 1, inputs }, opcode);
        assert_eq!(words(revm::bytecode::opcode::SWAP16, 17).as_deref(), Some("stack underflow (1 <=> 17)"));
        assert_eq!(words(SWAPN, 2).as_deref(), Some("stack underflow (1 <=> 2)"));
        assert_eq!(words(SWAPN, 17), None);
    }
}
