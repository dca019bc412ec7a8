//! Why the EVM halted. TypeScript words it (packages/simulation/src/present/halt-message.ts).

use super::opcode_name;
use crate::outcome::{Halt, PrecompileFault};
use revm::{
    bytecode::opcode::{LOG0, LOG4, OPCODE_INFO, TSTORE},
    interpreter::{
        InstructionResult, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, LegacyBytecode},
    },
    precompile::PrecompileHalt,
};

/// What a result alone says.
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

/// Why a frame halted, as its interpreter stands: the opcode that failed is the last one stepped over.
pub fn of_frame(result: InstructionResult, interpreter: &Interpreter<EthInterpreter>) -> Option<Halt> {
    use InstructionResult as R;
    if result.is_ok_or_revert() {
        return None;
    }
    let code = interpreter.bytecode.bytecode_slice();
    let opcode = interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte);
    Some(match result {
        R::OpcodeNotFound | R::NotActivated | R::InvalidFEOpcode | R::InvalidImmediateEncoding => {
            Halt::InvalidOpcode { opcode: opcode_name::of(opcode).into() }
        }
        // revm takes a DUP that finds too little for one that finds too much.
        R::StackUnderflow | R::StackOverflow => {
            match OPCODE_INFO[usize::from(opcode)].map_or(0, |info| info.inputs()) {
                inputs if interpreter.stack.len() < usize::from(inputs) => {
                    Halt::StackUnderflow { height: interpreter.stack.len() as u64, inputs: inputs.into() }
                }
                _ => Halt::StackOverflow,
            }
        }
        R::StateChangeDuringStaticCall | R::CallNotAllowedInsideStatic => {
            Halt::WriteProtection { is_priced: !matches!(opcode, LOG0..=LOG4 | TSTORE) }
        }
        result => of_result(result),
    })
}

/// Why what the code returned can't be deployed.
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
