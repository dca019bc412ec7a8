//! Why the EVM halted. TypeScript words it (packages/simulation/src/present/halt-message.ts).

use super::last_step::LastStep;
use crate::outcome::{Halt, HaltedStep, PrecompileFault};
use alloy_primitives::Bytes;
use revm::{
    bytecode::opcode::*,
    interpreter::{
        InstructionResult, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, LegacyBytecode},
    },
    precompile::{PrecompileHalt, bls12_381_const as bls, bls12_381_utils::msm_required_gas},
    primitives::hardfork::SpecId,
};

/// What a result alone says.
pub fn of_result(result: InstructionResult) -> Halt {
    use InstructionResult as R;
    match result {
        R::OutOfGas | R::MemoryOOG | R::MemoryLimitOOG | R::PrecompileOOG => Halt::OutOfGas,
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

/// Why the outermost frame halted, as its interpreter stands: the opcode that failed is the last one stepped over. `step` is
/// what that opcode found, where it was kept.
pub fn of_frame(
    result: InstructionResult,
    interpreter: &Interpreter<EthInterpreter>,
    step: Option<&LastStep>,
    fork: SpecId,
) -> Option<Halt> {
    use InstructionResult as R;
    if result.is_ok_or_revert() {
        return None;
    }
    let code = interpreter.bytecode.bytecode_slice();
    let opcode = interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte);
    let step = || match step {
        Some(step) => step.halted(fork),
        // What could not be paid for still has its operands on the stack.
        None => HaltedStep { fork, opcode, height: interpreter.stack.len() as u64, found: None },
    };
    Some(match result {
        R::OpcodeNotFound | R::NotActivated | R::InvalidFEOpcode | R::InvalidImmediateEncoding => {
            Halt::InvalidOpcode { opcode }
        }
        R::OutOfOffset if fork.is_enabled_in(SpecId::AMSTERDAM) => {
            Halt::Other { name: "return data out of bounds".into() }
        }
        // Prices of later forks are not known to whoever words the halt.
        R::OutOfGas | R::MemoryOOG | R::InvalidOperandOOG | R::CreateInitCodeSizeLimit | R::ReentrancySentryOOG
            if fork.is_enabled_in(SpecId::AMSTERDAM) =>
        {
            Halt::OutOfGas
        }
        R::StackUnderflow
        | R::StackOverflow
        | R::OutOfGas
        | R::MemoryOOG
        | R::InvalidOperandOOG
        | R::OutOfOffset
        | R::CreateInitCodeSizeLimit
        | R::ReentrancySentryOOG => Halt::Instruction { step: step() },
        R::StateChangeDuringStaticCall | R::CallNotAllowedInsideStatic => Halt::WriteProtection { step: step() },
        result => of_result(result),
    })
}

/// Whether only what the halting instruction found tells why it did: its operands decide its price, or (LOG, CREATE2, calls) it
/// takes them in several pops.
pub fn is_ambiguous(halt: &Halt) -> bool {
    let Halt::Instruction { step: HaltedStep { opcode, found: None, .. } } = halt else { return false };
    matches!(
        *opcode,
        EXP | KECCAK256
            | BALANCE
            | CALLDATACOPY
            | CODECOPY
            | EXTCODESIZE
            | EXTCODECOPY
            | RETURNDATACOPY
            | EXTCODEHASH
            | MLOAD
            | MSTORE
            | MSTORE8
            | SLOAD
            | SSTORE
            | MCOPY
            | LOG0..=LOG4
            | CREATE..=CREATE2
            | STATICCALL
            | REVERT
            | SELFDESTRUCT
    )
}

/// Why what the code returned can't be deployed.
pub fn of_deployment(result: InstructionResult, size: usize, limit: usize) -> Halt {
    match result {
        InstructionResult::OutOfGas => Halt::CodeStorageOutOfGas,
        InstructionResult::CreateContractSizeLimit => Halt::CodeTooLarge { size: size as u64, limit: limit as u64 },
        _ => of_result(result),
    }
}

/// Why a precompiled contract failed on this input with that much gas.
pub fn of_precompile(reason: &PrecompileHalt, input: Bytes, gas: u64) -> Halt {
    use PrecompileHalt as P;
    // revm looks at an input's length first, geth at its price. The prices that take no table are TypeScript's.
    let price = match reason {
        P::Bls12381G1MsmInputLength => {
            msm_required_gas(input.len() / 160, &bls::DISCOUNT_TABLE_G1_MSM, bls::G1_MSM_BASE_GAS_FEE)
        }
        P::Bls12381G2MsmInputLength => {
            msm_required_gas(input.len() / 288, &bls::DISCOUNT_TABLE_G2_MSM, bls::G2_MSM_BASE_GAS_FEE)
        }
        _ => 0,
    };
    let fault = match reason {
        _ if gas < price => PrecompileFault::OutOfGas,
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
    Halt::Precompile { fault, gas, input }
}
