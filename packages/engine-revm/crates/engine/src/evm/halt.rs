//! Why the EVM halted, in geth's words (core/vm/errors.go, contracts.go).

use super::opcode_names;
use revm::{
    bytecode::opcode::OpCode,
    interpreter::{
        InstructionResult, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, LegacyBytecode},
    },
    precompile::PrecompileHalt,
};

const STACK_LIMIT: usize = 1024;
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

/// Words for a halt of the outermost frame, as its interpreter stands: the opcode that failed is the last one stepped over.
pub fn of_frame(result: InstructionResult, interpreter: &Interpreter<EthInterpreter>) -> Option<String> {
    use InstructionResult as R;
    if result.is_ok_or_revert() {
        return None;
    }
    let code = interpreter.bytecode.bytecode_slice();
    let opcode = interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte);
    let depth = interpreter.stack.len();
    Some(match result {
        R::OpcodeNotFound | R::NotActivated | R::InvalidFEOpcode => format!("invalid opcode: {}", opcode_names::of(opcode)),
        R::StackUnderflow => underflow(opcode, depth),
        R::StackOverflow => overflow(opcode, depth),
        R::OutOfGas => match stack_fault(opcode, depth) {
            Some(words) => words,
            None => words(result).into(),
        },
        _ => words(result).into(),
    })
}

fn inputs(opcode: u8) -> usize {
    OpCode::info_by_op(opcode).map_or(0, |info| usize::from(info.inputs()))
}

fn underflow(opcode: u8, depth: usize) -> String {
    format!("stack underflow ({depth} <=> {})", inputs(opcode))
}

fn overflow(opcode: u8, depth: usize) -> String {
    let grown = OpCode::info_by_op(opcode).map_or(0, |info| info.io_diff());
    format!("stack limit reached {depth} ({})", STACK_LIMIT as i64 - i64::from(grown))
}

/// geth looks at the stack before it charges, revm after: an opcode without dynamic gas that was not charged for still has
/// its operands on the stack, or lacks them.
fn stack_fault(opcode: u8, depth: usize) -> Option<String> {
    if has_dynamic_gas(opcode) {
        return None;
    }
    let info = OpCode::info_by_op(opcode)?;
    if depth < usize::from(info.inputs()) {
        Some(underflow(opcode, depth))
    } else if depth as i64 + i64::from(info.io_diff()) > STACK_LIMIT as i64 {
        Some(overflow(opcode, depth))
    } else {
        None
    }
}

fn has_dynamic_gas(opcode: u8) -> bool {
    matches!(opcode, 0x0a | 0x20 | 0x31 | 0x37 | 0x39 | 0x3b | 0x3c | 0x3e | 0x3f | 0x51..=0x55 | 0x5e | 0xa0..=0xa4 | 0xf0..=0xf5 | 0xfa | 0xfd | 0xff)
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

pub fn of_precompile(reason: &PrecompileHalt) -> String {
    use PrecompileHalt as P;
    match reason {
        P::OutOfGas => "out of gas",
        P::ModexpEip7823LimitSize => "one or more of base/exponent/modulus length exceeded 1024 bytes",
        P::Blake2WrongFinalIndicatorFlag => "invalid final flag",
        P::Bn254PairLength => "bad elliptic curve pairing size",
        P::Bn254FieldPointNotAMember => "bn256: coordinate exceeds modulus",
        P::Bn254AffineGFailedToCreate => "bn256: malformed point",
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
