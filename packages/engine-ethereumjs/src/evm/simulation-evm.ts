import { createCustomCommon, Mainnet } from '@ethereumjs/common'
import {
  EVM,
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
import type { TimeSlice } from '../execute/time-slice.js'
import type { AccessJournal } from '../state/access-journal.js'
import { delegationTarget } from '../state/account-record.js'
import { bytesOf, hexOf, uint256 } from '../state/bytes.js'
import { type WorldState } from '../state/world-state.js'
import { legacyOpcodes, type OpcodeHandler, type RunState } from './legacy-opcodes.js'
import { ACCESSING_OPCODES, type AccessCounter, countPaidAccesses } from './paid-accesses.js'
import { pointEvaluation } from './point-evaluation.js'

const POINT_EVALUATION: Address = '0x000000000000000000000000000000000000000a'
/** ERC-7528: where a log of a native transfer claims to come from. */
const TRANSFER_EMITTER = bytesOf('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
/** keccak256('Transfer(address,address,uint256)') */
const TRANSFER_TOPIC = bytesOf('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')
const JUMPDEST = 0x5b
const LOG0 = 0xa0
const LOG4 = 0xa4
const SELFDESTRUCT = 0xff
/** Where CREATE, CALL and CREATE2 have the value on the stack. */
const VALUE_DEPTH = [
  [0xf0, 0],
  [0xf1, 2],
  [0xf5, 0],
] as const
const MAX_DEPTH = 1_024
/** SSTORE, creations, calls and SELFDESTRUCT, with where the account that they access stands on the stack. */
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

export interface PricedOpcode {
  gas: bigint
  /** Whether the account that it accesses was not warm (EIP-2929). */
  cold: boolean
}

export type Precompiles = Map<Address, PrecompileFunc>

/** Made by this file, not emitted by a contract: it is no part of a receipt. */
export function isTransferLog(log: Log): boolean {
  return log[0] === TRANSFER_EMITTER
}

/** EthereumJS under the rules of one chain and fork, bent to geth where the two differ. One simulation at a time. */
export class SimulationEvm extends EVM {
  private world!: WorldState
  private touched!: AccessCounter
  private accesses!: { world: WorldState; journal: AccessJournal; delegates: boolean }
  private slice!: TimeSlice
  private traceTransfers = false
  /** Logs of the running block so far, reverted ones included: geth counts them all. */
  private logCount = 0
  private readonly logIndices = new WeakMap<Log, number>()
  /** What a contract's constructor returned, before the rules of deployment judged it. */
  deployed: ExecResult | undefined
  /** Gas that the top frame had before the opcode that ran last among those whose price geth refuses in two ways. */
  priced: PricedOpcode | undefined
  /** As the fork has them, wherever overrides move them. */
  readonly precompileAddresses: readonly Address[]
  private readonly standard: Precompiles

  constructor(
    chainId: bigint,
    readonly fork: EthereumFork,
  ) {
    const common = createCustomCommon({ chainId: chainId.toString() }, Mainnet, { hardfork: fork })
    super({ common, bn254: new NobleBN254() })
    this.standard = this.activePrecompiles()
    this.precompileAddresses = [...this.standard.keys()]
    const maxInitCodeSize = common.isActivatedEIP(3860) ? Number(common.param('maxInitCodeSize')) : undefined
    for (const [opcode, handler] of legacyOpcodes(() => this.world, maxInitCodeSize))
      this.replaceOpcode(opcode, handler)
    for (let opcode = LOG0; opcode <= LOG4; opcode++) {
      this.wrapOpcode(opcode, async (runState, log) => {
        await log(runState)
        this.countLog(runState.interpreter._result.logs.at(-1)!)
      })
    }
    for (const [opcode, valueDepth] of VALUE_DEPTH) {
      this.wrapOpcode(opcode, async (runState, transfer) => {
        if (this.traceTransfers) this.countFailedTransfer(runState, valueDepth)
        await transfer(runState)
      })
    }
    this.replaceOpcode(JUMPDEST, () => this.slice.check())
    for (const [opcode, addressDepth] of PRICED_OPCODES) this.notePrice(opcode, addressDepth)
    for (const opcode of ACCESSING_OPCODES) {
      this.beforeGas(opcode, (runState) => countPaidAccesses(runState, this.accesses, this.touched))
    }
    this.wrapOpcode(SELFDESTRUCT, async (runState, selfdestruct) => {
      if (this.traceTransfers) this.logSelfdestruct(runState)
      await selfdestruct(runState)
    })
  }

  /** The simulation that follows. */
  begin(
    world: WorldState,
    journal: AccessJournal,
    touched: AccessCounter,
    slice: TimeSlice,
    blockHash: (number: bigint) => Promise<Uint8Array>,
  ): void {
    this.world = world
    this.touched = touched
    this.accesses = { world, journal, delegates: this.common.isActivatedEIP(7702) }
    this.slice = slice
    this.stateManager = world
    // EthereumJS' class has private members, so that nothing else can be of its type.
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

  /** @param traceTransfers whether native transfers become logs, in execution order, gone with their frame */
  beginBlock(traceTransfers: boolean): void {
    this.traceTransfers = traceTransfers
    this.logCount = 0
  }

  /** How many logs of the block were emitted before this one. */
  logIndex(log: Log): number {
    return this.logIndices.get(log) ?? 0
  }

  /** As the fork has them, to be moved and removed by overrides. */
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

  /** The address at which the fork has the precompile that now stands at `address`. */
  originOf(address: Address): Address | undefined {
    const run = this.getPrecompile(address)
    return run && this.precompileAddresses.find((origin) => this.standard.get(origin) === run)
  }

  protected override async _executeCall(message: MessageWithTo): Promise<EVMResult> {
    const { caller, to, value, delegatecall, codeAddress } = message
    const moves = this.traceTransfers && value > 0n && !delegatecall && codeAddress.equals(to)
    const log = moves ? this.transferLog(caller.bytes, to.bytes, value) : undefined
    return withTransfer(log, await super._executeCall(message))
  }

  protected override async _executeCreate(message: Message): Promise<EVMResult> {
    const { caller, value } = message
    const moves = this.traceTransfers && value > 0n
    const log = moves ? this.transferLog(caller.bytes, (await this._generateAddress(message)).bytes, value) : undefined
    const result = await super._executeCreate(message)
    if (message.to) this.touched.account(hexOf(message.to.bytes))
    return withTransfer(log, result)
  }

  protected override async runInterpreter(
    ...[message, options]: Parameters<EVM['runInterpreter']>
  ): Promise<ExecResult> {
    const result = await super.runInterpreter(message, options)
    if (message.depth === 0) this.deployed = message.isCreate ? { ...result } : undefined
    return result
  }

  /** Wraps, where EthereumJS would fail the call. */
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

  private replaceOpcode(opcode: number, opHandler: OpcodeHandler): void {
    const entry = this._opcodeMap[opcode]!
    this._opcodeMap[opcode] = { ...entry, opHandler, opcodeInfo: Object.freeze({ ...entry.opcodeInfo, isAsync: true }) }
  }

  private wrapOpcode(opcode: number, wrapper: (runState: RunState, original: OpcodeHandler) => Promise<void>): void {
    const original = this._opcodeMap[opcode]!.opHandler
    this.replaceOpcode(opcode, (runState) => wrapper(runState, async (state) => original(state, this.common)))
  }

  private notePrice(opcode: number, addressDepth: number | undefined): void {
    this.beforeGas(opcode, async (runState) => {
      await this.slice.check()
      if (runState.interpreter._env.depth > 0) return
      this.priced = { gas: runState.gasLeft, cold: this.accessesCold(runState, addressDepth) }
    })
  }

  private beforeGas(opcode: number, look: (runState: RunState) => Promise<void>): void {
    const entry = this._opcodeMap[opcode]!
    this._opcodeMap[opcode] = {
      ...entry,
      gasHandler: async (runState, gas, common) => {
        await look(runState)
        return entry.gasHandler(runState, gas, common)
      },
    }
  }

  private accessesCold({ stack }: RunState, addressDepth: number | undefined): boolean {
    if (addressDepth === undefined || stack.length <= addressDepth) return false
    return !this.journal.isWarmedAddress(this.addressBytes(stack.peek(addressDepth + 1)[addressDepth]!))
  }

  private addressBytes(word: bigint): Uint8Array {
    return setLengthLeft(bigIntToBytes(word), 32).subarray(12)
  }

  private countLog(log: Log): void {
    this.logIndices.set(log, this.logCount++)
  }

  /** A call or creation that fails before its frame is entered: geth has counted its transfer by then. */
  private countFailedTransfer({ interpreter, stack }: RunState, valueDepth: number): void {
    const value = stack.peek(valueDepth + 1)[valueDepth]!
    const { depth, contract } = interpreter._env
    if (value > 0n && (depth >= MAX_DEPTH || contract.balance < value)) this.logCount++
  }

  private logSelfdestruct({ interpreter, stack }: RunState): void {
    const balance = interpreter._env.contract.balance
    if (balance === 0n) return
    const beneficiary = this.addressBytes(stack.peek()[0]!)
    interpreter._result.logs.push(this.transferLog(interpreter._env.address.bytes, beneficiary, balance))
  }

  private transferLog(from: Uint8Array, to: Uint8Array, value: bigint): Log {
    const topics = [TRANSFER_TOPIC, setLengthLeft(from, 32), setLengthLeft(to, 32)]
    const log: Log = [TRANSFER_EMITTER, topics, setLengthLeft(bigIntToBytes(value), 32)]
    this.countLog(log)
    return log
  }
}

/** What a frame that did not fail moved comes before all that it emitted. */
function withTransfer(log: Log | undefined, result: EVMResult): EVMResult {
  const { execResult } = result
  if (log && !execResult.exceptionError) execResult.logs = [log, ...(execResult.logs ?? [])]
  return result
}

type MessageWithTo = Parameters<EVM['_executeCall']>[0]
