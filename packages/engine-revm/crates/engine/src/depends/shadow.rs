use super::{
    labels::{Label, NONE},
    spans::Spans,
};
use alloy_primitives::Address;
use std::rc::Rc;

/// The labels of a frame.
#[derive(Debug, Default)]
pub struct Shadow {
    pub stack: Vec<Label>,
    pub memory: Spans,
    pub memory_size: Label,
    /// Whose storage it works on.
    pub account: Address,
    pub caller: Label,
    pub value: Label,
    pub input: Rc<Spans>,
    pub input_size: Label,
    /// Of a creation its init code.
    pub code: Rc<Spans>,
    pub returned: Returned,
    /// What it ends with.
    pub output: Returned,
    /// The frame that it is about to open.
    pub opens: Opening,
    /// Of the tracker's journal.
    pub journal: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Returned {
    pub data: Rc<Spans>,
    pub size: Label,
}

/// What a frame passes to the one that it opens.
#[derive(Debug, Default)]
pub struct Opening {
    pub input: Rc<Spans>,
    pub input_size: Label,
    pub value: Label,
    /// What its success hangs on beside what it does.
    pub success: Label,
    /// Of the address that it creates.
    pub created: Label,
    pub is_create: bool,
    /// Where the memory takes what it returns.
    pub output: (usize, usize),
}

impl Shadow {
    /// The label at this place below the top of the stack.
    pub fn at(&self, depth: usize) -> Label {
        self.stack.len().checked_sub(depth + 1).map_or(NONE, |index| self.stack[index])
    }

    pub fn pop(&mut self, words: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(words));
    }

    pub fn push(&mut self, label: Label) {
        self.stack.push(label);
    }
}
