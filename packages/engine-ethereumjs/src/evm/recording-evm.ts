import type { EVMResult, ExecResult } from '@ethereumjs/evm'
import type { Address } from '@upfront/protocol'
import { type EthereumFork, type Halt, isForkActive } from '@upfront/simulation'
import { delegationTarget } from '../state/account-record.js'
import { EMPTY_BYTES, hash32, hexOf } from '../state/bytes.js'
import { creationAddress, creationAddress2 } from './creation-address.js'
import { haltOf } from './halt.js'
import type { OpcodeHandler, RunState } from './legacy-opcodes.js'
import { frameKindOf, type Recorder } from './recorder.js'
import { MAX_DEPTH, type PricedOpcode, SimulationEvm } from './simulation-evm.js'

type CallOptions = Parameters<SimulationEvm['runCall']>[0]

const CREATE = 0xf0
const CREATE2 = 0xf5
const SSTORE = 0x55
const SELFDESTRUCT = 0xff
const CALLS = [0xf1, 0xf2, 0xf4, 0xfa]
const ADDRESS_MASK = (1n << 160n) - 1n
const CALL_STIPEND = 2_300n
/** EIP-3860, bytes. */
const MAX_INIT_CODE = 49_152n
const MOST_PADDING = 1n << 20n

/** `SimulationEvm` that tells a recorder, where there is one, what a call does: its instructions are watched, which takes time. */
export class RecordingEvm extends SimulationEvm {
  recorder: Recorder | undefined
  /** Of the frames under way, by depth. */
  readonly #pricedAt: (PricedOpcode | undefined)[] = []
  readonly #deployedAt: (ExecResult | undefined)[] = []
  /** The opcode that opens the next frame. */
  #opening = 0
  /** Bytes, of the frame before its instruction. */
  #memoryBefore = 0n

  constructor(chainId: bigint, fork: EthereumFork) {
    super(chainId, fork)
    for (let opcode = 0xa0; opcode <= 0xa4; opcode++) {
      this.wrapOpcode(opcode, async (runState, log) => {
        await log(runState)
        this.recorder?.log(runState.interpreter._result.logs.at(-1)!)
      })
    }
    for (const opcode of [0x31, 0x3b, 0x3c, 0x3f, 0x54, SSTORE]) this.#watchNames(opcode)
    for (const opcode of [...CALLS, CREATE, CREATE2]) {
      this.#watchNames(opcode)
      this.wrapOpcode(opcode, (runState, open) => this.#openFrame(opcode, runState, open))
    }
    this.#watchNames(SELFDESTRUCT)
    this.wrapOpcode(SELFDESTRUCT, async (runState, selfdestruct) => {
      if (!runState.interpreter.isStatic()) this.#recordSelfdestruct(runState)
      await selfdestruct(runState)
    })
  }

  override async runCall(options: CallOptions): Promise<EVMResult> {
    const { recorder } = this
    if (recorder === undefined) return super.runCall(options)
    const { message } = options
    const depth = message?.depth ?? 0
    const isCreation = (message ? message.to : options.to) === undefined
    const kind = message ? frameKindOf(this.#opening) : isCreation ? 'CREATE' : 'CALL'
    const from = hexOf((kind === 'DELEGATECALL' ? message!.to! : (message?.caller ?? options.caller!)).bytes)
    const code = message ? (message._codeAddress ?? message.to) : options.to
    const data = (message ? message.data : options.data) ?? EMPTY_BYTES
    const to = code ? hexOf(code.bytes) : await this.#addressOfCreation(message, options)
    const gas = message?.gasLimit ?? options.gasLimit!
    const value = message?.value ?? options.value ?? 0n
    const isPrecompile = !isCreation && this.precompileAddresses.includes(to)
    recorder.enter({ kind, from, to, input: hexOf(data), gas, isPrecompile, ...(kind !== 'STATICCALL' && { value }) })
    this.#pricedAt[depth] = undefined
    this.#deployedAt[depth] = undefined
    const result = await super.runCall(options)
    const { execResult } = result
    const gasUsed = execResult.executionGasUsed
    const error = execResult.exceptionError
    if (error === undefined || (error.error === 'revert' && execResult.runState !== undefined)) {
      recorder.exit({ gasUsed, output: hexOf(execResult.returnValue), reverted: error !== undefined })
    } else {
      const precompile = isCreation ? undefined : this.originOf(to)
      recorder.exit({ gasUsed, output: '0x', halt: this.haltAt(depth, execResult, precompile, data, gas) })
    }
    return result
  }

  protected override async runInterpreter(
    ...[message, options]: Parameters<SimulationEvm['runInterpreter']>
  ): Promise<ExecResult> {
    const result = await super.runInterpreter(message, options)
    if (this.recorder && message.isCreate) this.#deployedAt[message.depth] = { ...result }
    return result
  }

  protected override notesPriceAt(depth: number): boolean {
    return depth === 0 || this.recorder !== undefined
  }

  protected override notePriced(depth: number, priced: PricedOpcode): void {
    if (depth === 0) super.notePriced(depth, priced)
    this.#pricedAt[depth] = priced
  }

  protected haltAt(
    depth: number,
    result: ExecResult,
    precompile: Address | undefined,
    input: Uint8Array,
    gas: bigint,
  ): Halt {
    const context = { fork: this.fork, deployed: this.#deployedAt[depth], priced: this.#pricedAt[depth] }
    return haltOf(result, { ...context, precompile, input, gas })
  }

  async #addressOfCreation(message: CallOptions['message'], options: CallOptions): Promise<Address> {
    const caller = hexOf((message?.caller ?? options.caller!).bytes)
    if (message?.salt) return creationAddress2(caller, message.salt, message.data)
    // The creator's nonce has counted this creation already.
    const { nonce } = await this.world.account(caller)
    return creationAddress(caller, nonce - 1n)
  }

  /** A call or creation that has no depth, balance or nonce left opens no frame in EthereumJS; geth shows one. */
  async #openFrame(opcode: number, runState: RunState, open: OpcodeHandler): Promise<void> {
    const { recorder } = this
    if (recorder === undefined) return open(runState)
    const isCreation = opcode === CREATE || opcode === CREATE2
    const words = runState.stack.peek(isCreation ? (opcode === CREATE2 ? 4 : 3) : CALLS.indexOf(opcode) < 2 ? 7 : 6)
    const gasLimit = runState.messageGasLimit ?? 0n
    const { depth, contract, address } = runState.interpreter._env
    const self = hexOf(address.bytes)
    const { nonce, balance } = contract
    const before = recorder.children
    this.#opening = opcode
    await open(runState)
    if (recorder.children > before) return
    const hasValue = isCreation || opcode === 0xf1 || opcode === 0xf2
    const value = hasValue ? words[isCreation ? 0 : 2]! : 0n
    const [offset, length] = isCreation
      ? [words[1]!, words[2]!]
      : hasValue
        ? [words[3]!, words[4]!]
        : [words[2]!, words[3]!]
    const data = length === 0n ? EMPTY_BYTES : runState.memory.read(Number(offset), Number(length))
    const to = isCreation
      ? opcode === CREATE2
        ? creationAddress2(self, bytes32(words[3]!), data)
        : creationAddress(self, nonce)
      : addressOf(words[1]!)
    const shown = opcode === 0xf4 ? runState.interpreter._env.callValue : value
    recorder.enter({
      kind: frameKindOf(opcode),
      from: self,
      to,
      input: hexOf(data),
      gas: gasLimit + (!isCreation && value > 0n ? CALL_STIPEND : 0n),
      isPrecompile: !isCreation && this.precompileAddresses.includes(to),
      ...(opcode !== 0xfa && { value: shown }),
    })
    recorder.exit({ gasUsed: 0n, output: '0x', halt: refusalOf(depth, balance, value) })
  }

  #recordSelfdestruct({ interpreter, stack }: RunState): void {
    if (this.recorder === undefined) return
    const { address, contract } = interpreter._env
    this.recorder.enter({
      kind: 'SELFDESTRUCT',
      from: hexOf(address.bytes),
      to: addressOf(stack.peek()[0]!),
      input: '0x',
      gas: 0n,
      value: contract.balance,
      isPrecompile: false,
    })
    this.recorder.exit({ gasUsed: 0n, output: '0x' })
  }

  /** Has the recorder know what an instruction names: before its price is known, and once that is paid. */
  #watchNames(opcode: number): void {
    this.beforeGas(opcode, async (runState) => {
      if (this.recorder?.recording.state) this.#nameAccessed(opcode, runState, this.recorder)
    })
    this.wrapOpcode(opcode, async (runState, original) => {
      const { recorder } = this
      if (recorder?.recording.state && !this.#mayNotRun(opcode, runState))
        await this.#nameRead(opcode, runState, recorder)
      await original(runState)
    })
  }

  /** What geth refuses as it computes the price. */
  #mayNotRun(opcode: number, { interpreter, stack }: RunState): boolean {
    const isCreation = opcode === CREATE || opcode === CREATE2
    if (isCreation && isForkActive(this.fork, 'shanghai') && stack.peek(3)[2]! > MAX_INIT_CODE) return true
    if (!interpreter.isStatic()) return false
    if (opcode === 0xf1) return stack.peek(3)[2]! > 0n
    return isCreation || opcode === SSTORE || opcode === SELFDESTRUCT
  }

  #nameAccessed(opcode: number, { stack, interpreter, memoryWordCount }: RunState, recorder: Recorder): void {
    this.#memoryBefore = memoryWordCount * 32n
    const isCall = CALLS.includes(opcode)
    if (opcode === CREATE || opcode === CREATE2 || stack.length < (isCall ? 5 : 1)) return
    const word = isCall ? stack.peek(2)[1]! : stack.peek()[0]!
    if (opcode === 0x54 || opcode === SSTORE)
      recorder.nameSlot(hexOf(interpreter.getAddress().bytes), hash32(word), { isAccessed: true })
    else recorder.name(addressOf(word), { isAccessed: true })
  }

  async #nameRead(opcode: number, runState: RunState, recorder: Recorder): Promise<void> {
    const { stack, interpreter } = runState
    const self = hexOf(interpreter.getAddress().bytes)
    if (opcode === CREATE || opcode === CREATE2) {
      const [, offset, length, salt] = stack.peek(opcode === CREATE ? 3 : 4) as [bigint, bigint, bigint, bigint]
      const { nonce } = interpreter._env.contract
      // geth's prestateTracer reads no init code that is so far beyond the memory: its memoryPadLimit.
      if (opcode === CREATE2 && offset + length > this.#memoryBefore + MOST_PADDING) return
      const code = length === 0n ? EMPTY_BYTES : runState.memory.read(Number(offset), Number(length))
      const created = opcode === CREATE ? creationAddress(self, nonce) : creationAddress2(self, bytes32(salt), code)
      recorder.name(created, { isRead: true })
      recorder.created.add(created)
      return
    }
    const word = CALLS.includes(opcode) ? stack.peek(2)[1]! : stack.peek()[0]!
    if (opcode === 0x54 || opcode === SSTORE) return recorder.nameSlot(self, hash32(word), { isRead: true })
    const address = addressOf(word)
    recorder.name(address, { isRead: true })
    if (opcode === SELFDESTRUCT) {
      if (!isForkActive(this.fork, 'cancun') || recorder.created.has(self)) recorder.removed.add(self)
    } else if (CALLS.includes(opcode) && isForkActive(this.fork, 'prague')) {
      const target = delegationTarget((await this.world.account(address)).code)
      if (target) recorder.name(target, { isRead: true })
    }
  }
}

function refusalOf(depth: number, balance: bigint, value: bigint): Halt {
  if (depth >= MAX_DEPTH) return { kind: 'callTooDeep' }
  return balance < value ? { kind: 'insufficientBalance' } : { kind: 'nonceOverflow' }
}

function addressOf(word: bigint): Address {
  return `0x${(word & ADDRESS_MASK).toString(16).padStart(40, '0')}`
}

function bytes32(word: bigint): Uint8Array {
  return Buffer.from(hash32(word).slice(2), 'hex')
}
