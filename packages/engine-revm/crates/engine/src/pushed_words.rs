//! A stack with the words that are known without running the code.

use alloy_primitives::U256;
use revm::bytecode::opcode::{self, OPCODE_INFO};

/// Depth to which words are followed.
const MAX_WORDS: usize = 64;

/// The position of the instruction after the one at this position (not the code's end); None after an invalid one.
pub fn next(code: &[u8], at: usize) -> Option<usize> {
    OPCODE_INFO[usize::from(code[at])].map(|info| at + 1 + usize::from(info.immediate_size()))
}

/// Words that the code pushed itself, None for any other. The last is the top.
#[derive(Default)]
pub struct PushedWords(Vec<Option<U256>>);

impl PushedWords {
    pub fn top(&self) -> Option<U256> {
        self.0.last().copied().flatten()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Applies the instruction at this position (not the code's end).
    /// @returns the next position; None for an invalid instruction
    pub fn step(&mut self, code: &[u8], at: usize) -> Option<usize> {
        let Self(words) = self;
        let (opcode, next) = (code[at], next(code, at)?);
        match opcode {
            opcode::PUSH0..=opcode::PUSH32 => words.push(code.get(at + 1..next).map(U256::from_be_slice)),
            opcode::DUP1..=opcode::DUP16 => {
                let depth = usize::from(opcode - opcode::DUP1);
                words.push(words.iter().rev().nth(depth).copied().flatten());
            }
            opcode::SWAP1..=opcode::SWAP16 => {
                let depth = usize::from(opcode - opcode::SWAP1) + 1;
                while words.len() <= depth {
                    words.insert(0, None);
                }
                let top = words.len() - 1;
                words.swap(top, top - depth);
            }
            _ => {
                let info = OPCODE_INFO[usize::from(opcode)]?;
                words.truncate(words.len().saturating_sub(info.inputs().into()));
                words.extend((0..info.outputs()).map(|_| None));
            }
        }
        if words.len() > 2 * MAX_WORDS {
            words.drain(..MAX_WORDS);
        }
        Some(next)
    }
}
