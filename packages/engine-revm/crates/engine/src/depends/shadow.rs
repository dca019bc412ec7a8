use super::{
    labels::{Label, NONE},
    spans::Spans,
};
use alloy_primitives::Address;
use revm::bytecode::opcode::*;
use std::rc::Rc;

/// The labels of a frame.
#[derive(Debug, Default)]
pub struct ShadowFrame {
    pub stack: Vec<Label>,
    pub memory: Spans,
    pub memory_size: Label,
    /// The account whose storage it uses.
    pub account: Address,
    pub caller: Label,
    pub value: Label,
    pub input: Rc<Spans>,
    pub input_size: Label,
    /// Labels of the code; for a creation of its init code.
    pub code: Rc<Spans>,
    pub returned: Returned,
    /// Labels of its output.
    pub output: Returned,
    /// The frame that it is about to open.
    pub opens: Opening,
    /// Length of the tracker's journal when it began.
    pub journal: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Returned {
    pub data: Rc<Spans>,
    pub size: Label,
}

/// What a frame passes to the frame that it opens.
#[derive(Debug, Default)]
pub struct Opening {
    pub input: Rc<Spans>,
    pub input_size: Label,
    pub value: Label,
    /// What its success depends on, apart from its own execution.
    pub success: Label,
    /// The label of the address that it creates.
    pub created: Label,
    pub is_create: bool,
    /// The memory range that receives its output.
    pub output: (usize, usize),
}

impl ShadowFrame {
    /// The label at this depth below the top of the stack.
    pub fn at(&self, depth: usize) -> Label {
        self.stack.len().checked_sub(depth + 1).map_or(NONE, |index| self.stack[index])
    }

    pub fn pop(&mut self, words: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(words));
    }

    pub fn push(&mut self, label: Label) {
        self.stack.push(label);
    }

    pub fn swap(&mut self, first: usize, second: usize) {
        let height = self.stack.len();
        if height > second {
            self.stack.swap(height - 1 - first, height - 1 - second);
        }
    }

    /// Handles instructions that only move words, or produce and take words without labels, as nearly all do.
    /// @returns whether the instruction is one
    #[inline]
    pub fn moves(&mut self, opcode: u8) -> bool {
        match opcode {
            JUMPDEST => {}
            PUSH0..=PUSH32 | ADDRESS | CODESIZE | PC | CHAINID => self.push(NONE),
            POP => self.pop(1),
            DUP1..=DUP16 => self.push(self.at(usize::from(opcode - DUP1))),
            SWAP1..=SWAP16 => self.swap(0, usize::from(opcode - SWAP1) + 1),
            CALLER => self.push(self.caller),
            CALLVALUE => self.push(self.value),
            CALLDATASIZE => self.push(self.input_size),
            RETURNDATASIZE => self.push(self.returned.size),
            MSIZE => self.push(self.memory_size),
            ADD | MUL | SUB | DIV | SDIV | MOD | SMOD | EXP | SIGNEXTEND | LT | GT | SLT | SGT | EQ | AND | OR
            | XOR | BYTE | SHL | SHR | SAR => return self.makes_clean(2),
            ISZERO | NOT | CLZ => return self.makes_clean(1),
            ADDMOD | MULMOD => return self.makes_clean(3),
            JUMP => return self.takes_clean(1),
            JUMPI => return self.takes_clean(2),
            MLOAD => return self.memory.is_empty() && self.makes_clean(1),
            CALLDATALOAD => return self.input.is_empty() && self.makes_clean(1),
            KECCAK256 => return self.memory.is_empty() && self.makes_clean(2),
            MSTORE | MSTORE8 => return self.memory.is_empty() && self.takes_clean(2),
            CALLDATACOPY => return self.copies_clean(self.input.is_empty()),
            CODECOPY => return self.copies_clean(self.code.is_empty()),
            RETURNDATACOPY => return self.copies_clean(self.returned.data.is_empty()),
            _ => return false,
        }
        true
    }

    fn makes_clean(&mut self, words: usize) -> bool {
        let is_clean = self.takes_clean(words);
        if is_clean {
            self.push(NONE);
        }
        is_clean
    }

    fn takes_clean(&mut self, words: usize) -> bool {
        let from = self.stack.len().saturating_sub(words);
        let is_clean = self.stack[from..].iter().all(|label| *label == NONE);
        if is_clean {
            self.stack.truncate(from);
        }
        is_clean
    }

    fn copies_clean(&mut self, is_clean: bool) -> bool {
        is_clean && self.memory.is_empty() && self.takes_clean(3)
    }
}
