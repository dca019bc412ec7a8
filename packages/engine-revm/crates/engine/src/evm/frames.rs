//! Reuse of EVM frames between simulations: at most 8 frames of 32 KiB, and 64 KiB of memory per thread.

use revm::{context_interface::FrameStack, handler::EthFrame, interpreter::interpreter::EthInterpreter};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Frames and their memory, which are costly to allocate. Each thread keeps them for its next simulation, unless they grew too large.
pub struct FrameStore {
    pub frames: FrameStack<EthFrame<EthInterpreter>>,
    pub memory: Rc<RefCell<Vec<u8>>>,
}

/// Each has 32 KiB of EVM stack.
const KEPT_FRAMES: usize = 8;
const KEPT_MEMORY: usize = 64 * 1024;

thread_local! {
    static KEPT: Cell<Option<FrameStore>> = const { Cell::new(None) };
}

impl FrameStore {
    pub fn take() -> Self {
        KEPT.take().unwrap_or_else(|| Self {
            frames: FrameStack::new(),
            memory: Rc::new(RefCell::new(Vec::with_capacity(4096))),
        })
    }

    /// `deepest`: depth of the deepest frame that ran, 0 for the outermost.
    pub fn give_back(mut self, deepest: usize) {
        if deepest >= KEPT_FRAMES {
            return;
        }
        self.frames.clear();
        if let Ok(mut memory) = self.memory.try_borrow_mut() {
            memory.clear();
            if memory.capacity() > KEPT_MEMORY {
                *memory = Vec::with_capacity(4096);
            }
        }
        KEPT.set(Some(self));
    }
}
