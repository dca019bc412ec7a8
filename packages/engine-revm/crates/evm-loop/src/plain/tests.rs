use super::*;
use revm_interpreter::{
    SharedMemory,
    bytecode::{Bytecode, opcode::*},
    instructions::gas_table_spec,
    interpreter::{ExtBytecode, InputsImpl},
};
use std::sync::atomic::AtomicBool;

const FORKS: [SpecId; 6] =
    [SpecId::MERGE, SpecId::SHANGHAI, SpecId::CANCUN, SpecId::PRAGUE, SpecId::OSAKA, SpecId::AMSTERDAM];

/// A destination, an offset within memory, and not zero.
const WORD: u8 = 40;
const MEMORY: usize = 96;
static LOWERED: AtomicBool = AtomicBool::new(false);

fn frame(start: &[u8], spec: SpecId, gas: u64) -> Interpreter<EthInterpreter> {
    let mut code = start.to_vec();
    code.resize(WORD.into(), STOP);
    code.push(JUMPDEST);
    let bytecode = ExtBytecode::new(Bytecode::new_legacy(code.into()));
    let mut frame = Interpreter::new(SharedMemory::new(), bytecode, InputsImpl::default(), false, spec, gas);
    frame.memory.resize(MEMORY);
    for _ in 0..20 {
        assert!(frame.stack.push(U256::from(WORD)));
    }
    frame
}

fn plain(frame: &mut Interpreter<EthInterpreter>, bounds: Bounds<'_>) {
    assert!(frame.stack.data().capacity() >= STACK_LIMIT);
    // SAFETY: there is room.
    unsafe { run(frame, bounds) }
}

/// What the loop charges for the program's start, up to the STOP that ends it; none if it carries out nothing of it.
fn charged(start: &[u8], spec: SpecId, gas: u64) -> Option<u64> {
    let mut frame = frame(start, spec, gas);
    plain(&mut frame, Bounds { stop: &LOWERED, floor: 0 });
    let spent = gas - frame.gas.remaining();
    if frame.bytecode.pc() == 0 {
        assert_eq!(spent, 0);
        assert_eq!(frame.stack.len(), 20);
        return None;
    }
    assert_eq!(frame.bytecode.opcode(), STOP);
    Some(spent)
}

fn is_plain(opcode: u8, spec: SpecId) -> bool {
    match opcode {
        ADD | MUL | SUB | LT..=SHR | POP | MLOAD | MSTORE | JUMP | JUMPI | JUMPDEST => opcode != BYTE,
        PUSH0 => spec.is_enabled_in(SpecId::SHANGHAI),
        PUSH1..=PUSH4 | PUSH8 | PUSH16 | PUSH20 | PUSH32 | DUP1..=SWAP16 => true,
        _ => false,
    }
}

#[test]
fn charges_what_revms_table_says_in_every_fork() {
    for spec in FORKS {
        let prices = gas_table_spec(spec);
        let price = |opcode: u8| u64::from(prices[usize::from(opcode)]);
        for opcode in 0..=u8::MAX {
            let expected = match opcode {
                JUMP | JUMPI => price(opcode) + price(JUMPDEST),
                _ => price(opcode),
            };
            let found = charged(&[opcode], spec, 1_000);
            assert_eq!(found, is_plain(opcode, spec).then_some(expected), "{opcode:#x} in {spec:?}");
            if found.is_some() && !matches!(opcode, JUMP | JUMPI) {
                assert_eq!(charged(&[opcode], spec, expected), Some(expected), "{opcode:#x} in {spec:?}");
                assert_eq!(charged(&[opcode], spec, expected - 1), None, "{opcode:#x} in {spec:?}");
            }
        }
        let push = price(PUSH2);
        let cases: [(&[u8], u64); 3] = [
            (&[PUSH2, 0, WORD, JUMP], push + price(JUMP)),
            (&[PUSH2, 0, WORD, JUMPI], push + price(JUMPI)),
            (&[PUSH0, PUSH2, 0, WORD, JUMPI], price(PUSH0) + push + price(JUMPI)),
        ];
        for (program, expected) in cases {
            let arrives = program[0] != PUSH0;
            if arrives || is_plain(PUSH0, spec) {
                let arrival = if arrives { price(JUMPDEST) } else { 0 };
                assert_eq!(charged(program, spec, 1_000), Some(expected + arrival), "{program:x?} in {spec:?}");
                assert_eq!(charged(program, spec, expected + arrival), Some(expected + arrival));
            }
        }
    }
}

#[test]
fn leaves_the_jumpdest_to_the_table_where_it_is_bounded() {
    let jumps: [&[u8]; 4] = [&[JUMP], &[JUMPI], &[PUSH2, 0, WORD, JUMP], &[PUSH2, 0, WORD, JUMPI]];
    let raised = AtomicBool::new(true);
    for jump in jumps {
        let spec = SpecId::OSAKA;
        let unbounded = charged(jump, spec, 1_000).unwrap();
        let left = 1_000 - unbounded + gas::JUMPDEST;
        for bounds in [Bounds { stop: &raised, floor: 0 }, Bounds { stop: &LOWERED, floor: left }] {
            let mut frame = frame(jump, spec, 1_000);
            plain(&mut frame, bounds);
            assert_eq!(frame.bytecode.pc(), usize::from(WORD), "{jump:x?}");
            assert_eq!(frame.gas.remaining(), left, "{jump:x?}");
        }
        let mut frame = frame(jump, spec, 1_000);
        plain(&mut frame, Bounds { stop: &LOWERED, floor: left - 1 });
        assert_eq!(frame.gas.remaining(), left - gas::JUMPDEST, "{jump:x?}");
    }
}
