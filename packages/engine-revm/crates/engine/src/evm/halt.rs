//! Why the EVM halted, in geth's words (core/vm/errors.go, contracts.go).

use super::{
    last_step::LastStep,
    opcode_names,
    stack_fault::{inputs, overflow, stack_fault, underflow},
};
use alloy_primitives::U256;
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

const MAX_CODE_SIZE: usize = 24_576;

/// The words that a result alone stands for.
pub fn words(result: InstructionResult) -> &'static str {
    use InstructionResult as R;
    match result {
        R::OutOfGas | R::MemoryOOG | R::MemoryLimitOOG | R::PrecompileOOG => "out of gas",
        R::ReentrancySentryOOG => "out of gas: not enough gas for reentrancy sentry",
        R::InvalidOperandOOG => "gas uint64 overflow",
        R::InvalidJump => "invalid jump destination",
        R::StateChangeDuringStaticCall | R::CallNotAllowedInsideStatic => "write protection",
        R::OutOfOffset => "return data out of bounds",
        R::CreateCollision => "contract address collision",
        R::CreateContractSizeLimit => "max code size exceeded",
        R::CreateContractStartingWithEF => "invalid code: must not begin with 0xef",
        R::CreateInitCodeSizeLimit => "max initcode size exceeded",
        R::NonceOverflow => "nonce uint64 overflow",
        R::CallTooDeep => "max call depth exceeded",
        R::OutOfFunds => "insufficient balance for transfer",
        R::StackUnderflow => "stack underflow",
        R::StackOverflow => "stack limit reached",
        R::OpcodeNotFound | R::NotActivated | R::InvalidFEOpcode => "invalid opcode",
        R::PrecompileError => "precompile failed",
        R::OverflowPayment => "balance overflow",
        _ => "execution failed",
    }
}

/// Marks words that the halting instruction's operands may change.
const AMBIGUOUS: &str = "out of gas?";

pub fn is_ambiguous(words: &str) -> bool {
    words == AMBIGUOUS
}

/// Words for a halt of the outermost frame, as its interpreter stands: the opcode that failed is the last one stepped over.
/// `step` is what that opcode found, where it was kept.
pub fn of_frame(
    result: InstructionResult,
    interpreter: &Interpreter<EthInterpreter>,
    step: Option<&LastStep>,
    spec: SpecId,
) -> Option<String> {
    use InstructionResult as R;
    if result.is_ok_or_revert() {
        return None;
    }
    let code = interpreter.bytecode.bytecode_slice();
    let opcode = interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte);
    let depth = interpreter.stack.len();
    Some(match result {
        R::OpcodeNotFound | R::NotActivated | R::InvalidFEOpcode => {
            format!("invalid opcode: {}", opcode_names::of(opcode))
        }
        R::StackUnderflow | R::StackOverflow => match step {
            None if pops_in_parts(opcode) => AMBIGUOUS.into(),
            step => {
                let depth = step.map_or(depth, |step| step.depth);
                // revm calls a DUP or SWAP that reaches too deep an overflow.
                if depth < inputs(opcode) { underflow(opcode, depth) } else { overflow(opcode, depth) }
            }
        },
        R::OutOfGas
        | R::MemoryOOG
        | R::InvalidOperandOOG
        | R::OutOfOffset
        | R::CreateInitCodeSizeLimit
        | R::ReentrancySentryOOG => match step {
            Some(step) => step.out_of_gas(spec),
            None if has_dynamic_gas(opcode) => AMBIGUOUS.into(),
            // geth looks at the stack before it charges, revm after: what could not be paid for still has its operands there, or
            // lacks them.
            None => stack_fault(opcode, depth).unwrap_or_else(|| words(result).into()),
        },
        R::StateChangeDuringStaticCall | R::CallNotAllowedInsideStatic => words(result).into(),
        _ => words(result).into(),
    })
}

fn has_dynamic_gas(opcode: u8) -> bool {
    matches!(
        opcode,
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

/// LOG, CREATE2 and calls take their operands in several pops: how many there were, only a look before them tells.
fn pops_in_parts(opcode: u8) -> bool {
    matches!(opcode, LOG0..=LOG4 | CREATE..=CALLCODE | DELEGATECALL | CREATE2 | STATICCALL)
}

/// Words where the code ran but what it returned can't be deployed.
pub fn of_deployment(result: InstructionResult, size: usize) -> Option<String> {
    match result {
        InstructionResult::OutOfGas => Some("contract creation code storage out of gas".into()),
        InstructionResult::CreateContractSizeLimit => {
            Some(format!("max code size exceeded: code size {size} limit {MAX_CODE_SIZE}"))
        }
        _ => Some(words(result).into()),
    }
}

/// Why a precompiled contract failed on this input with that much gas.
pub fn of_precompile(reason: &PrecompileHalt, input: &[u8], gas: u64) -> String {
    use PrecompileHalt as P;
    // revm looks at an input's length first, geth at its price.
    let price = match reason {
        P::ModexpEip7823LimitSize => modexp_gas(input),
        P::Bls12381PairingInputLength => 37_700 + 32_600 * (input.len() as u64 / 384),
        P::Bls12381G1MsmInputLength => {
            msm_required_gas(input.len() / 160, &bls::DISCOUNT_TABLE_G1_MSM, bls::G1_MSM_BASE_GAS_FEE)
        }
        P::Bls12381G2MsmInputLength => {
            msm_required_gas(input.len() / 288, &bls::DISCOUNT_TABLE_G2_MSM, bls::G2_MSM_BASE_GAS_FEE)
        }
        P::Bn254PairLength => 45_000 + 34_000 * (input.len() as u64 / 192),
        _ => 0,
    };
    if gas < price {
        return "out of gas".into();
    }
    match reason {
        P::OutOfGas => "out of gas",
        P::ModexpEip7823LimitSize => "one or more of base/exponent/modulus length exceeded 1024 bytes",
        P::Blake2WrongFinalIndicatorFlag => "invalid final flag",
        P::Bn254PairLength => "bad elliptic curve pairing size",
        P::Bn254FieldPointNotAMember => "invalid fp.Element encoding",
        P::Bn254AffineGFailedToCreate => "point is not on curve",
        P::BlobMismatchedVersion => "mismatched versioned hash",
        P::BlobVerifyKzgProofFailed => "error verifying kzg proof: can't verify opening proof",
        P::Bls12381FpPaddingInvalid => "invalid field element top bytes",
        P::Bls12381G1NotInSubgroup => "g1 point is not on correct subgroup",
        P::Bls12381G2NotInSubgroup => "g2 point is not on correct subgroup",
        P::Bls12381G1NotOnCurve | P::Bls12381G2NotOnCurve => "invalid point: not on curve",
        P::NonCanonicalFp => "invalid fp.Element encoding",
        _ => "invalid input length",
    }
    .into()
}

/// EIP-7883. revm looks at the lengths first, geth at the price.
fn modexp_gas(input: &[u8]) -> u64 {
    let word = |at: usize| {
        let mut bytes = [0u8; 32];
        for (to, from) in bytes.iter_mut().zip(input.iter().skip(at)) {
            *to = *from;
        }
        U256::from_be_bytes(bytes)
    };
    let (base, exponent, modulus) = (word(0), word(32), word(64));
    let longest = base.max(modulus);
    let words: U256 = longest.saturating_add(U256::from(7)) >> 3;
    let complexity = if longest > U256::from(32) {
        words.saturating_mul(words).saturating_mul(U256::from(2))
    } else {
        U256::from(16)
    };
    let head_at = U256::from(96).saturating_add(base);
    let head = if head_at < U256::from(input.len()) { word(head_at.to()) } else { U256::ZERO };
    let head = if exponent < U256::from(32) { head >> (256 - 8 * exponent.to::<usize>()) } else { head };
    let head_bits = U256::from(head.bit_len().saturating_sub(1));
    let rounds = if exponent > U256::from(32) {
        (exponent - U256::from(32)).saturating_mul(U256::from(16)).saturating_add(head_bits)
    } else {
        head_bits
    };
    complexity.saturating_mul(rounds.max(U256::from(1))).max(U256::from(500)).saturating_to()
}
