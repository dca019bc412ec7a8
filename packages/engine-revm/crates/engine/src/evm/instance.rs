//! revm's EVM with hooks where a frame opens, runs and ends.

use super::{
    context::Context,
    forced_run,
    frames::FrameStore,
    halt,
    instructions::{Instructions, record_transfer, step},
    precompiles::PrecompileSet,
    record_frame, record_step, record_uses,
    recorder::NamedOperand,
    simulation_context::{LogPosition, SimulationContext},
    step_log::StepBefore,
    wrapping,
};
use crate::{
    access_list::AccessList,
    depends, frame_end,
    last_step::LastStep,
    state::{ReadError, SimulationState},
};
use alloy_primitives::{Address, U256};
use revm::{
    context::{self, BlockEnv, CfgEnv, Journal, JournalTr, LocalContext, TxEnv},
    context_interface::{Cfg, FrameStack, context::ContextError},
    handler::{
        EthFrame, EvmTr, FrameInitOrResult, FrameResult, ItemOrResult, evm::FrameInitResult,
        instructions::InstructionProvider,
    },
    interpreter::{
        CallScheme, CallValue, FrameInput, InstructionResult, Interpreter, InterpreterAction,
        instructions::{GasTable, InstructionTable},
        interpreter::EthInterpreter,
        interpreter_action::FrameInit,
        interpreter_types::LoopControl,
    },
    primitives::{hardfork::SpecId, hints_util::cold_path},
    state::{EvmState, EvmStorageSlot},
};

/// revm with frame hooks: logs traced transfers, and keeps the reason why the outermost frame halted.
pub struct Evm {
    pub inner: context::Evm<Context, (), Instructions, PrecompileSet, EthFrame<EthInterpreter>>,
}

impl Evm {
    pub fn new(
        state: SimulationState,
        inspector: SimulationContext,
        cfg: CfgEnv,
        block: BlockEnv,
        precompiles: PrecompileSet,
    ) -> Self {
        let FrameStore { frames, memory } = FrameStore::take();
        let spec = cfg.spec;
        let mut journal = Journal::new(state);
        journal.set_spec_id(spec);
        journal.warm_precompiles(precompiles.warm());
        let context = Context {
            block,
            tx: TxEnv::default(),
            cfg,
            journaled_state: journal,
            chain: inspector,
            local: LocalContext { shared_memory_buffer: memory, precompile_error_message: None },
            error: Ok(()),
        };
        Self {
            inner: context::Evm {
                ctx: context,
                inspector: (),
                instruction: Instructions::of(spec),
                precompiles,
                frame_stack: frames,
            },
        }
    }

    /// Sets the rules of the next block.
    pub fn start_block(&mut self, cfg: CfgEnv, block: BlockEnv, precompiles: PrecompileSet) {
        let spec: SpecId = cfg.spec;
        self.inner.instruction = Instructions::of(spec);
        if self.inner.ctx.journaled_state.precompile_addresses() != precompiles.warm() {
            self.inner.ctx.journaled_state.warm_precompiles(precompiles.warm());
        }
        self.inner.precompiles = precompiles;
        self.inner.ctx.journaled_state.set_spec_id(spec);
        self.state().set_delegations(spec.is_enabled_in(SpecId::PRAGUE));
        self.inner.ctx.cfg = cfg;
        self.inner.ctx.block = block;
        self.inner.ctx.chain.log_count = 0;
        self.inner.ctx.chain.access_list = spec.is_enabled_in(SpecId::AMSTERDAM).then(AccessList::default);
    }

    pub fn state(&mut self) -> &mut SimulationState {
        &mut self.inner.ctx.journaled_state.database
    }

    /// Commits the changes of a transaction or system call.
    pub fn commit(&mut self, changes: EvmState) {
        if let Some(list) = &mut self.inner.ctx.chain.access_list {
            list.add(&changes);
        }
        self.state().commit(changes);
    }

    /// Sets the index of what follows in the block's access list.
    pub fn set_access_index(&mut self, index: u64) {
        if let Some(list) = &mut self.inner.ctx.chain.access_list {
            list.index = index;
        }
    }

    /// Returns the frames to the thread's store.
    pub fn finish(self) -> (SimulationState, SimulationContext) {
        let Context { journaled_state, chain, local, .. } = self.inner.ctx;
        FrameStore { frames: self.inner.frame_stack, memory: local.shared_memory_buffer }.give_back(chain.deepest);
        (journaled_state.database, chain)
    }
}

/// Runs a frame. Not inlined into `frame_run`: the loop needs the registers.
#[inline(never)]
fn run(
    interpreter: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, Context>,
    prices: &GasTable,
    context: &mut Context,
) -> InterpreterAction {
    let ended = loop {
        if let Err(ended) = step(interpreter, table, prices, context) {
            cold_path();
            break ended;
        }
    };
    frame_end::end(interpreter, ended);
    interpreter.take_next_action()
}

/// Runs a frame, with each instruction recorded.
fn run_stepwise(
    interpreter: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, Context>,
    prices: &GasTable,
    context: &mut Context,
    depth: usize,
) -> Result<InterpreterAction, ReadError> {
    if let Some(recorder) = &mut context.chain.recorder {
        recorder.start_run();
    }
    // geth does not run empty code.
    let is_empty = interpreter.bytecode.original_byte_slice().is_empty();
    let mut step = LastStep::default();
    while interpreter.bytecode.is_not_end() {
        step.update(interpreter);
        let recorder = context.chain.recorder.as_ref().filter(|_| !is_empty);
        let steps = recorder.and_then(|recorder| recorder.steps.as_ref());
        let before = steps.and_then(|steps| steps.before(interpreter));
        let tracker = context.chain.tracker.as_mut();
        let followed = tracker.map(|tracker| depends::Before::of(tracker, interpreter));
        let ended = interpreter.step(table, prices, context);
        let taken = step.gas.wrapping_sub(interpreter.gas.remaining());
        if let Err(ended) = ended {
            frame_end::end(interpreter, ended);
        }
        if !is_empty && context.chain.recorder.as_ref().is_some_and(|recorder| recorder.watches_uses()) {
            record_uses::note(context, interpreter, &step)?;
        }
        if let (Some(before), Some(tracker)) = (followed, &mut context.chain.tracker) {
            depends::note(tracker, interpreter, before, &step);
        }
        if let Some(before) = before {
            log_step(interpreter, context, &step, before, depth, taken)?;
        }
        if context.chain.recorder.as_ref().is_some_and(|recorder| recorder.recording.state)
            && let Some(named) = NamedOperand::of(&step)
        {
            record_frame::note(context, interpreter, named);
        }
    }
    if let Some(recorder) = &mut context.chain.recorder {
        recorder.end_run(interpreter.gas.refunded());
    }
    Ok(interpreter.take_next_action())
}

fn log_step(
    interpreter: &mut Interpreter<EthInterpreter>,
    context: &mut Context,
    step: &LastStep,
    before: StepBefore,
    depth: usize,
    taken: u64,
) -> Result<(), ReadError> {
    let result = match interpreter.bytecode.action() {
        Some(InterpreterAction::Return(result)) => Some(result.result),
        _ => None,
    };
    if result == Some(InstructionResult::FatalExternalError) {
        return Ok(());
    }
    let halt = result.and_then(|result| halt::of_frame(result, interpreter));
    let bytes = record_step::after(context, interpreter, step, &before, depth + 1, taken, halt)?;
    if let Some(recorder) = &mut context.chain.recorder
        && !recorder.take(bytes.div_ceil(2))
    {
        recorder.steps = None;
    }
    Ok(())
}

/// Gas that a frame passes to the frame that it opens.
fn passed_on(action: &InterpreterAction) -> u64 {
    match action {
        InterpreterAction::NewFrame(FrameInput::Call(call)) => call.gas_limit,
        InterpreterAction::NewFrame(FrameInput::Create(create)) => create.gas_limit(),
        _ => 0,
    }
}

/// Whether opening the frame moves value from one account to another.
fn transfers(input: &FrameInput) -> bool {
    match input {
        FrameInput::Call(call) => {
            matches!(call.value, CallValue::Transfer(value) if !value.is_zero()) && call.caller != call.target_address
        }
        FrameInput::Create(create) => !create.value().is_zero(),
        FrameInput::Empty => false,
    }
}

/// The value transferred when a frame is opened. No receiver for a creation: its address is known once the frame exists.
struct Transfer {
    from: Address,
    to: Option<Address>,
    value: U256,
    index: u64,
}

/// The result of a frame that ended at once. None if it is open: the frame stack has it.
type Opened = Result<Option<FrameResult>, ContextError<ReadError>>;

impl Evm {
    /// Opens a frame. If a transfer exceeds 256 bits of balance, it wraps around, as in geth.
    fn open(&mut self, mut frame_input: FrameInit) -> Opened {
        let (notes_callees, is_past_unseen) = (self.state().notes_callees(), self.state().is_past_unseen());
        if (notes_callees || is_past_unseen)
            && let FrameInput::Call(call) = &mut frame_input.frame_input
            && self.inner.precompiles.get(&call.bytecode_address).is_none()
        {
            if notes_callees {
                forced_run::note_callee(&self.inner.ctx, call);
            }
            if is_past_unseen && let Some(result) = forced_run::unknown_callee(&mut self.inner.ctx, call) {
                return Ok(Some(result));
            }
        }
        let journal = &mut self.inner.ctx.journaled_state.inner;
        let (before, logs) = (journal.journal.len(), journal.logs.len());
        let wrapped = wrapping::transfer(journal, &mut frame_input.frame_input);
        let creates = matches!(frame_input.frame_input, FrameInput::Create(_));
        let result = match self.inner.frame_init(frame_input)? {
            ItemOrResult::Item(frame) => {
                if wrapped {
                    (frame.checkpoint.journal_i, frame.checkpoint.log_i) = (before, logs);
                }
                None
            }
            ItemOrResult::Result(result) => Some(result),
        };
        if creates && result.is_none() {
            self.keep_storage();
        }
        if wrapped && result.as_ref().is_some_and(|result| !result.interpreter_result().is_ok()) {
            wrapping::revert(&mut self.inner.ctx.journaled_state.inner, before, logs);
        }
        Ok(result)
    }

    /// revm assumes that a created account has no storage. An override may have set some, which geth keeps.
    fn keep_storage(&mut self) {
        let created = self.inner.frame_stack.get().interpreter.input.target_address;
        let Journal { database, inner } = &mut self.inner.ctx.journaled_state;
        let Some(account) = inner.state.get_mut(&created) else { return };
        for (slot, value) in database.changed_storage(created) {
            account.storage.entry(slot).or_insert_with(|| {
                let mut held = EvmStorageSlot::new(value, inner.transaction_id);
                held.mark_cold();
                held
            });
        }
    }

    /// Opens a frame, and logs its transfer if transfers are traced.
    fn open_logged(&mut self, frame_input: FrameInit) -> Opened {
        if self.inner.ctx.cfg.spec.is_enabled_in(SpecId::AMSTERDAM) {
            return self.open_with_log(frame_input);
        }
        if !self.inner.ctx.chain.trace_transfers {
            return self.open(frame_input);
        }
        let transfer = self.transfer_of(&frame_input.frame_input);
        let result = self.open(frame_input)?;
        let opened = || self.inner.frame_stack.get().interpreter.input.target_address;
        if result.as_ref().is_none_or(|result| result.interpreter_result().is_ok())
            && let Some(Transfer { from, to, value, index }) = transfer
            && let Some(to) = to.or_else(|| result.is_none().then(opened))
        {
            record_transfer(&mut self.inner.ctx, from, to, value, index);
        }
        Ok(result)
    }

    /// Opens a frame whose transfer the protocol logs (EIP-7708). If a precompile fails, the log is reverted, but its index stays used.
    fn open_with_log(&mut self, frame_input: FrameInit) -> Opened {
        let before = self.inner.ctx.journaled_state.logs().len();
        let transfers = transfers(&frame_input.frame_input);
        let result = self.open(frame_input)?;
        let context = &mut self.inner.ctx;
        let count = context.journaled_state.logs().len();
        if count > before {
            let index = context.chain.next_index();
            context.chain.set_log_position(count, LogPosition { synthetic: false, index });
            record_frame::log(context);
        } else if transfers
            && let Some(FrameResult::Call(outcome)) = &result
            && outcome.was_precompile_called
        {
            context.chain.next_index();
        }
        Ok(result)
    }

    /// Opens a frame, and records it.
    fn open_recorded(&mut self, frame_input: FrameInit) -> Opened {
        record_frame::enter(&mut self.inner.ctx, &frame_input, &self.inner.precompiles);
        let Context { tx, journaled_state, chain, .. } = &mut self.inner.ctx;
        if let Some(tracker) = &mut chain.tracker {
            depends::enter(tracker, tx.caller, &journaled_state.inner.state, &frame_input);
        }
        let called = match &frame_input.frame_input {
            FrameInput::Call(call) => Some(call.bytecode_address),
            _ => None,
        };
        let result = self.open_logged(frame_input)?;
        if let Some(result) = &result {
            let SimulationContext { recorder, tracker, .. } = &mut self.inner.ctx.chain;
            if let Some(recorder) = recorder {
                recorder.exit_at_once(result);
            }
            if let Some(tracker) = tracker {
                let is_precompile = called.is_some_and(|called| self.inner.precompiles.get(&called).is_some());
                depends::exit(tracker, result, is_precompile);
            }
        }
        Ok(result)
    }

    fn transfer_of(&mut self, input: &FrameInput) -> Option<Transfer> {
        let (from, to, value) = match input {
            FrameInput::Call(call) => match call.value {
                CallValue::Transfer(value) if call.scheme == CallScheme::Call => {
                    (call.caller, Some(call.target_address), value)
                }
                _ => return None,
            },
            FrameInput::Create(create) => (create.caller(), None, create.value()),
            FrameInput::Empty => return None,
        };
        if value.is_zero() {
            return None;
        }
        let index = self.inner.ctx.chain.next_index();
        Some(Transfer { from, to, value, index })
    }
}

impl EvmTr for Evm {
    type Context = Context;
    type Instructions = Instructions;
    type Precompiles = PrecompileSet;
    type Frame = EthFrame<EthInterpreter>;

    #[inline]
    fn all(&self) -> (&Context, &Instructions, &PrecompileSet, &FrameStack<Self::Frame>) {
        self.inner.all()
    }

    #[inline]
    fn all_mut(&mut self) -> (&mut Context, &mut Instructions, &mut PrecompileSet, &mut FrameStack<Self::Frame>) {
        self.inner.all_mut()
    }

    fn frame_init(
        &mut self,
        frame_input: FrameInit,
    ) -> Result<FrameInitResult<'_, Self::Frame>, ContextError<ReadError>> {
        let inspector = &mut self.inner.ctx.chain;
        inspector.deepest = inspector.deepest.max(frame_input.depth);
        if inspector.stop.must_stop() {
            return Err(ContextError::Db(ReadError::Cancelled));
        }
        let bytes = self.inner.ctx.local.shared_memory_buffer.borrow().len();
        if !inspector.reservation.admits(bytes, &inspector.stop) {
            return Err(ContextError::Db(ReadError::Cancelled));
        }
        if let Some(allowance) = self.state().allowance_mut() {
            match allowance.frames.checked_sub(1) {
                Some(left) => allowance.frames = left,
                None => return Err(ContextError::Db(ReadError::TooMuch)),
            }
        }
        if let (FrameInput::Call(call), Some(fork)) = (&frame_input.frame_input, self.inner.precompiles.op)
            && fork.is_native(&call.bytecode_address, &call.known_bytecode.1)
        {
            return Err(ContextError::Db(ReadError::NativeCode(call.bytecode_address)));
        }
        let is_recorded = self.inner.ctx.chain.recorder.is_some();
        let result = if is_recorded { self.open_recorded(frame_input)? } else { self.open_logged(frame_input)? };
        Ok(match result {
            None => ItemOrResult::Item(self.inner.frame_stack.get()),
            Some(result) => ItemOrResult::Result(result),
        })
    }

    fn frame_run(&mut self) -> Result<FrameInitOrResult<Self::Frame>, ContextError<ReadError>> {
        let context::Evm { ctx, instruction, frame_stack, .. } = &mut self.inner;
        let frame = frame_stack.get();
        let outermost = frame.depth == 0;
        let counts = ctx.journaled_state.database.allowance().is_some();
        ctx.chain.run_from = counts.then(|| frame.interpreter.gas.remaining());
        let (table, prices) = (instruction.instruction_table(), instruction.gas_table());
        let recorded = ctx.chain.recorder.is_some();
        let action = if ctx.chain.recorder.as_ref().is_some_and(|recorder| recorder.watches_steps()) {
            run_stepwise(&mut frame.interpreter, table, prices, ctx, frame.depth).map_err(ContextError::Db)?
        } else if recorded && let Some(mut tracker) = ctx.chain.tracker.take() {
            let action = depends::run(&mut tracker, &mut frame.interpreter, table, prices, ctx);
            ctx.chain.tracker = Some(tracker);
            action
        } else {
            run(&mut frame.interpreter, table, prices, ctx)
        };
        if let Some(allowance) = ctx.journaled_state.database.allowance_mut() {
            let left = frame.interpreter.gas.remaining();
            let spent = ctx.chain.run_from.unwrap_or(left).saturating_sub(left);
            if !allowance.spend(spent.saturating_sub(passed_on(&action))) {
                return Err(ContextError::Db(ReadError::TooMuch));
            }
        }
        let stopped = match &action {
            InterpreterAction::Return(result) if outermost || recorded => Some((result.result, result.output.len())),
            _ => None,
        };
        let mut halt = stopped.and_then(|(result, _)| halt::of_frame(result, &frame.interpreter));
        let next: FrameInitOrResult<Self::Frame> =
            frame.process_next_action::<_, ContextError<ReadError>>(ctx, action)?;
        if let ItemOrResult::Result(result) = &next {
            frame.set_finished(true);
            if let (Some((before, output)), FrameResult::Create(created)) = (stopped, result) {
                let after = created.result.result;
                if before.is_ok() && !after.is_ok() {
                    halt = Some(halt::of_deployment(after, output, ctx.cfg.max_code_size()));
                }
            }
            if let Some(recorder) = &mut ctx.chain.recorder {
                recorder.exit(result, halt.clone());
            }
            if let Some(tracker) = &mut ctx.chain.tracker {
                depends::exit(tracker, result, false);
            }
        }
        if outermost {
            ctx.chain.halt = halt;
        }
        Ok(next)
    }

    fn frame_return_result(&mut self, result: FrameResult) -> Result<Option<FrameResult>, ContextError<ReadError>> {
        self.inner.frame_return_result(result)
    }
}
