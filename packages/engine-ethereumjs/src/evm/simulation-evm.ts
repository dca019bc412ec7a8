import { createCustomCommon, Mainnet } from '@ethereumjs/common'
import {
  EVM,
  EVMError,
  type EVMResult,
  type ExecResult,
  getActivePrecompiles,
  type Log,
  type Message,
  NobleBN254,
  type PrecompileFunc,
} from '@ethereumjs/evm'
import { bigIntToBytes, setLengthLeft } from '@ethereumjs/util'
import type { Address } from '@upfront/protocol'
import type { EthereumFork } from '@upfront/simulation'
import type { AccessJournal } from '../state/access-journal.js'
import { delegationTarget, MAX_NONCE } from '../state/account-record.js'
import { hexOf, uint256 } from '../state/bytes.js'
import { type WorldState } from '../state/world-state.js'
import { BlockLogs } from './block-logs.js'
import { legacyOpcodes, type OpcodeHandler, type RunState } from './legacy-opcodes.js'
import { ACCESSING_OPCODES, type AccessCounter, countPaidAccesses } from './paid-accesses.js'
import { pointEvaluation } from './point-evaluation.js'
import type { TimeSlice } from './time-slice.js'

const POINT_EVALUATION: Address = '0x000000000000000000000000000000000000000a'
const JUMPDEST = 0x5b
const LOG0 = 0xa0
const LOG4 = 0xa4
const CALL = 0xf1
const SELFDESTRUCT = 0xff
/** Stack position of the value of CREATE, CALL and CREATE2. */
const VALUE_DEPTH = [
  [0xf0, 0],
  [CALL, 2],
  [0xf5, 0],
] as const
export const MAX_DEPTH = 1_024
/** SSTORE, creations, calls and SELFDESTRUCT, with the stack position of the account that they access. */
const PRICED_OPCODES: readonly (readonly [opcode: number, addressDepth?: number])[] = [
  [0x55],
  [0xf0],
  [0xf1, 1],
  [0xf2, 1],
  [0xf4, 1],
  [0xf5],
  [0xfa, 1],
  [SELFDESTRUCT, 0],
]

/** KECCAK256, copies and memory: they have a constant price beside that of what they find. */
const MEMORY_OPCODES = [0x20, 0x37, 0x39, 0x3c, 0x3e, 0x51, 0x52, 0x53]

export interface PricedOpcode {
  opcode: number
  gas: bigint
  /** Bytes. */
  memory: number
  /** Whether the account that it accesses was not warm (EIP-2929). */
  isCold: boolean
}

export type Precompiles = Map<Address, PrecompileFunc>

/** EthereumJS under the rules of one chain and fork, changed to do as geth where the two differ. It runs one simulation at a time. */
export class SimulationEvm extends EVM {
  protected world!: WorldState
  #touched!: AccessCounter
  #accesses!: { world: WorldState; journal: AccessJournal; delegates: boolean }
  #slice!: TimeSlice
  readonly logs = new BlockLogs()
  /** What the constructor of the top frame returned, before the rules of deployment were applied to it. */
  deployed: ExecResult | undefined
  /** About the last of PRICED_OPCODES and MEMORY_OPCODES in the top frame: geth words a lack of gas by what was left before it. */
  priced: PricedOpcode | undefined
  /** Addresses of the fork's precompiles, whatever overrides move. */
  readonly precompileAddresses: readonly Address[]
  readonly #standard: Precompiles

  constructor(
    chainId: bigint,
    readonly fork: EthereumFork,
  ) {
    const common = createCustomCommon({ chainId: chainId.toString() }, Mainnet, { hardfork: fork })
    super({ common, bn254: new NobleBN254() })
    this.#standard = this.activePrecompiles()
    this.precompileAddresses = [...this.#standard.keys()]
    const maxInitCodeSize = common.isActivatedEIP(3860) ? Number(common.param('maxInitCodeSize')) : undefined
    for (const [opcode, handler] of legacyOpcodes(() => this.world, maxInitCodeSize))
      this.#replaceOpcode(opcode, handler)
    for (let opcode = LOG0; opcode <= LOG4; opcode++) {
      this.wrapOpcode(opcode, async (runState, log) => {
        // EthereumJS takes them one after the other.
        if (runState.stack.length < opcode - LOG0 + 2) throw new EVMError(EVMError.errorMessages.STACK_UNDERFLOW)
        await log(runState)
        this.logs.count(runState.interpreter._result.logs.at(-1)!)
      })
    }
    for (const [opcode, valueDepth] of VALUE_DEPTH) {
      this.wrapOpcode(opcode, async (runState, transfer) => {
        if (this.logs.tracesTransfers && failsToTransfer(runState, valueDepth)) this.logs.countFailedTransfer()
        await transfer(runState)
      })
    }
    this.#replaceOpcode(JUMPDEST, () => this.#slice.check())
    for (const [opcode, addressDepth] of PRICED_OPCODES) this.#notePrice(opcode, addressDepth)
    for (const opcode of MEMORY_OPCODES) this.#noteGas(opcode)
    for (const opcode of ACCESSING_OPCODES) {
      this.beforeGas(opcode, (runState) => countPaidAccesses(runState, this.#accesses, this.#touched))
    }
    this.wrapOpcode(SELFDESTRUCT, async (runState, selfdestruct) => {
      if (this.logs.tracesTransfers) this.#logSelfdestruct(runState)
      await selfdestruct(runState)
    })
  }

  /** Begins a simulation. */
  begin(
    world: WorldState,
    journal: AccessJournal,
    touched: AccessCounter,
    slice: TimeSlice,
    blockHash: (number: bigint) => Promise<Uint8Array>,
  ): void {
    this.world = world
    this.#touched = touched
    this.#accesses = { world, journal, delegates: this.common.isActivatedEIP(7702) }
    this.#slice = slice
    this.stateManager = world
    // EthereumJS' class has private members: TypeScript takes no other class for it.
    this.journal = journal as unknown as EVM['journal']
    this.blockchain = {
      getBlock: async (number: number) => {
        const hash = await blockHash(BigInt(number))
        return { hash: () => hash }
      },
      putBlock: async () => {},
      shallowCopy: () => this.blockchain,
    }
  }

  /** A new map of the fork's precompiles, for overrides to change. */
  activePrecompiles(): Precompiles {
    const precompiles: Precompiles = new Map(
      [...getActivePrecompiles(this.common)].map(([address, run]) => [`0x${address}`, run]),
    )
    if (precompiles.has(POINT_EVALUATION)) precompiles.set(POINT_EVALUATION, pointEvaluation)
    return precompiles
  }

  usePrecompiles(precompiles: Precompiles): void {
    this._precompiles = new Map([...precompiles].map(([address, run]) => [address.slice(2), run]))
  }

  /** The address at which the fork has the precompile that is at `address` now. */
  originOf(address: Address): Address | undefined {
    const run = this.getPrecompile(address)
    return run && this.precompileAddresses.find((origin) => this.#standard.get(origin) === run)
  }

  protected override async _executeCall(message: MessageWithTo): Promise<EVMResult> {
    const { caller, to, value } = message
    // CALLCODE and DELEGATECALL name an address of code and move nothing.
    const moves = this.logs.tracesTransfers && value > 0n && message._codeAddress === undefined
    const log = moves ? this.logs.transfer(caller.bytes, to.bytes, value) : undefined
    return withTransfer(log, await super._executeCall(message))
  }

  protected override async _executeCreate(message: Message): Promise<EVMResult> {
    const { caller, value } = message
    const moves = this.logs.tracesTransfers && value > 0n
    const log = moves
      ? this.logs.transfer(caller.bytes, (await this._generateAddress(message)).bytes, value)
      : undefined
    const result = await super._executeCreate(message)
    if (message.to) this.#touched.account(hexOf(message.to.bytes))
    return withTransfer(log, result)
  }

  protected override async runInterpreter(
    ...[message, options]: Parameters<EVM['runInterpreter']>
  ): Promise<ExecResult> {
    const result = await super.runInterpreter(message, options)
    if (message.depth === 0) this.deployed = message.isCreate ? { ...result } : undefined
    return result
  }

  /** A balance beyond 256 bits wraps around, as in geth; EthereumJS would fail the call. */
  protected override async _addToBalance(...[account, message]: Parameters<EVM['_addToBalance']>): Promise<void> {
    account.balance = uint256(account.balance + message.value)
    await this.journal.putAccount(message.to, account)
  }

  protected override async _loadCode(message: Message): Promise<void> {
    if (message.code) return
    const precompile = this.getPrecompile(message.codeAddress)
    if (precompile) {
      message.code = precompile
      message.isCompiled = true
      return
    }
    const { code } = await this.world.account(hexOf(message.codeAddress.bytes))
    const target = this.common.isActivatedEIP(7702) ? delegationTarget(code) : undefined
    message.code = target ? (await this.world.account(target)).code : code
    message.isCompiled = false
  }

  protected notesPriceAt(depth: number): boolean {
    return depth === 0
  }

  protected notePriced(_depth: number, priced: PricedOpcode): void {
    this.priced = priced
  }

  #replaceOpcode(opcode: number, opHandler: OpcodeHandler): void {
    const entry = this._opcodeMap[opcode]!
    this._opcodeMap[opcode] = { ...entry, opHandler, opcodeInfo: Object.freeze({ ...entry.opcodeInfo, isAsync: true }) }
  }

  protected wrapOpcode(opcode: number, wrapper: (runState: RunState, original: OpcodeHandler) => Promise<void>): void {
    const original = this._opcodeMap[opcode]!.opHandler
    this.#replaceOpcode(opcode, (runState) => wrapper(runState, async (state) => original(state, this.common)))
  }

  #notePrice(opcode: number, addressDepth: number | undefined): void {
    this.beforeGas(opcode, async (runState) => {
      await this.#slice.check()
      const { depth } = runState.interpreter._env
      if (this.notesPriceAt(depth))
        this.notePriced(depth, pricedOf(opcode, runState, this.#accessesCold(runState, addressDepth)))
    })
  }

  /** Of what runs often: nothing is waited for. */
  #noteGas(opcode: number): void {
    const entry = this._opcodeMap[opcode]!
    this._opcodeMap[opcode] = {
      ...entry,
      gasHandler: ((runState, gas, common) => {
        const { depth } = runState.interpreter._env
        if (this.notesPriceAt(depth)) this.notePriced(depth, pricedOf(opcode, runState, false))
        return entry.gasHandler(runState, gas, common)
      }) as typeof entry.gasHandler,
    }
  }

  protected beforeGas(opcode: number, look: (runState: RunState) => Promise<void>): void {
    const entry = this._opcodeMap[opcode]!
    this._opcodeMap[opcode] = {
      ...entry,
      gasHandler: async (runState, gas, common) => {
        await look(runState)
        return entry.gasHandler(runState, gas, common)
      },
    }
  }

  #accessesCold({ stack }: RunState, addressDepth: number | undefined): boolean {
    if (addressDepth === undefined || stack.length <= addressDepth) return false
    return !this.journal.isWarmedAddress(this.#addressBytes(stack.peek(addressDepth + 1)[addressDepth]!))
  }

  #addressBytes(word: bigint): Uint8Array {
    return setLengthLeft(bigIntToBytes(word), 32).subarray(12)
  }

  #logSelfdestruct({ interpreter, stack }: RunState): void {
    const balance = interpreter._env.contract.balance
    if (balance === 0n) return
    const beneficiary = this.#addressBytes(stack.peek()[0]!)
    interpreter._result.logs.push(this.logs.transfer(interpreter._env.address.bytes, beneficiary, balance))
  }
}

function pricedOf(opcode: number, { gasLeft, memoryWordCount }: RunState, isCold: boolean): PricedOpcode {
  return { opcode, gas: gasLeft, memory: Number(memoryWordCount) * 32, isCold }
}

/** Whether EthereumJS gives up a call or creation with value before it enters a frame. */
function failsToTransfer({ interpreter, stack, opCode }: RunState, valueDepth: number): boolean {
  const value = stack.peek(valueDepth + 1)[valueDepth]!
  const { depth, contract } = interpreter._env
  const isLastNonce = opCode !== CALL && contract.nonce === MAX_NONCE
  return value > 0n && (depth >= MAX_DEPTH || contract.balance < value || isLastNonce)
}

/** Puts the log of a frame's transfer before the logs that the frame emitted, unless it failed. */
function withTransfer(log: Log | undefined, result: EVMResult): EVMResult {
  const { execResult } = result
  if (log && !execResult.exceptionError) execResult.logs = [log, ...(execResult.logs ?? [])]
  return result
}

type MessageWithTo = Parameters<EVM['_executeCall']>[0]
