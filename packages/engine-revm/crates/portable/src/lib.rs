//! The engine as a WebAssembly module. JavaScript writes a text to `allocate` and calls `ask`; the answer is in `text` and, if it is long,
//! `json`. Nothing waits here: work that needs values of state ends with the reads, and is requested again with them.
//!
//! A panic ends the instance.

mod instance;

use instance::{AnswerKind, Instance};
use std::cell::RefCell;
use upfront_engine_border::Payload;

#[derive(Default)]
struct Memory {
    question: Vec<u8>,
    answer: Payload,
    instance: Option<Instance>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(|memory| work(&mut memory.borrow_mut()))
}

/// Allocates `length` bytes for the next question, and returns their address.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    with(|memory| {
        memory.question = vec![0; length];
        memory.question.as_mut_ptr()
    })
}

/// Answers the question written there. Returns the kind of the answer, see `AnswerKind`.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> u32 {
    with(|memory| {
        memory.answer = Payload::default();
        let question = std::mem::take(&mut memory.question);
        let instance = memory.instance.get_or_insert_default();
        let (answer_of, answer) = match std::str::from_utf8(&question) {
            Ok(question) => instance.answer(question),
            Err(_) => (AnswerKind::Refused, b"MALFORMED\nnot ASCII".to_vec().into()),
        };
        memory.answer = answer;
        answer_of as u32
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    with(|memory| memory.answer.text.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    with(|memory| memory.answer.text.len())
}

#[unsafe(no_mangle)]
pub extern "C" fn json() -> *const u8 {
    with(|memory| memory.answer.json.as_ref().map_or(std::ptr::null(), |json| json.as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn json_length() -> usize {
    with(|memory| memory.answer.json.as_ref().map_or(0, Vec::len))
}
