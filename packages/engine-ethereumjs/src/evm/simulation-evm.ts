import { createCustomCommon, Mainnet } from '@ethereumjs/common'
import { EVM, type EVMResult, type ExecResult, getActivePrecompiles, type Log, type Message, NobleBN254, type PrecompileFunc } from '@ethereumjs/evm'
import { bigIntToBytes, setLengthLeft } from '@ethereumjs/util'
import type { Address } from '@upfront/protocol'
import type { EthereumFork } from '@upfront/simulation'
import type { AccessJournal } from '../state/access-journal.js'
import { bytesOf, EMPTY_BYTES, hexOf, uint256 } from '../state/bytes.js'
import { delegationTarget, type WorldState } from '../state/world-state.js'
import { legacyOpcodes, type OpcodeHandler, type RunState } from './legacy-opcodes.js'

/** ERC-7528: where a log of a native transfer claims to come from. */
const TRANSFER_EMITTER = bytesOf('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
/** keccak256('Transfer(address,address,uint256)') */
const TRANSFER_TOPIC = bytesOf('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')
const SELFDESTRUCT = 0xff

export type Precompiles = Map<Address, PrecompileFunc>

/** Made by this file, not emitted by a contract: it is no part of a receipt. */
export function isTransferLog(log: Log): boolean {
  return log[0] === TRANSFER_EMITTER
}

/** EthereumJS under the rules of one chain and fork, bent to geth where the two differ. One simulation at a time. */
export class SimulationEvm extends EVM {
  private world!: WorldState
  /** Whether native transfers become logs, in execution order, gone with their frame. */
  traceTransfers = false
  /** What a contract's constructor returned, before the rules of deployment judged it. */
  deployed: ExecResult | undefined
  /** As the fork has them, wherever overrides move them. */
  readonly precompileAddresses: readonly Address[]

  constructor(
    chainId: bigint,
    readonly fork: EthereumFork,
  ) {
    const common = createCustomCommon({ chainId: chainId.toString() }, Mainnet, { hardfork: fork })
    super({ common, bn254: new NobleBN254() })
    this.precompileAddresses = [...this.activePrecompiles().keys()]
    const maxInitCodeSize = common.isActivatedEIP(3860) ? Number(common.param('maxInitCodeSize')) : undefined
    for (const [opcode, handler] of legacyOpcodes(() => this.world, maxInitCodeSize)) this.replaceOpcode(opcode, handler)
    const selfdestruct = this._opcodeMap[SELFDESTRUCT]!.opHandler as OpcodeHandler
    this.replaceOpcode(SELFDESTRUCT, async (runState) => {
      this.logSelfdestruct(runState)
      await selfdestruct(runState)
    })
  }

  /** The simulation that follows. */
  begin(world: WorldState, journal: AccessJournal, blockHash: (number: bigint) => Promise<Uint8Array>): void {
    this.world = world
    this.stateManager = world
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

  /** As the fork has them, to be moved and removed by overrides. */
  activePrecompiles(): Precompiles {
    return new Map([...getActivePrecompiles(this.common)].map(([address, run]) => [`0x${address}`, run]))
  }

  usePrecompiles(precompiles: Precompiles): void {
    this._precompiles = new Map([...precompiles].map(([address, run]) => [address.slice(2), run]))
  }

  protected override async _executeCall(message: MessageWithTo): Promise<EVMResult> {
    const { caller, to, value, delegatecall, codeAddress } = message
    const result = await super._executeCall(message)
    if (!delegatecall && codeAddress.equals(to)) this.logTransfer(result, caller.bytes, to.bytes, value)
    return result
  }

  protected override async _executeCreate(message: Message): Promise<EVMResult> {
    const { caller, value } = message
    const result = await super._executeCreate(message)
    if (result.createdAddress) this.logTransfer(result, caller.bytes, result.createdAddress.bytes, value)
    return result
  }

  protected override async runInterpreter(...[message, options]: Parameters<EVM['runInterpreter']>): Promise<ExecResult> {
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
    this._opcodeMap[opcode] = { ...this._opcodeMap[opcode]!, opHandler }
  }

  private logTransfer({ execResult }: EVMResult, from: Uint8Array, to: Uint8Array, value: bigint): void {
    if (!this.traceTransfers || value === 0n || execResult.exceptionError) return
    execResult.logs = [transferLog(from, to, value), ...(execResult.logs ?? [])]
  }

  private logSelfdestruct({ interpreter, stack }: RunState): void {
    const balance = interpreter._env.contract.balance
    if (!this.traceTransfers || balance === 0n || stack.length === 0) return
    const beneficiary = setLengthLeft(bigIntToBytes(stack.peek()[0]!), 32).subarray(12)
    interpreter._result.logs.push(transferLog(interpreter._env.address.bytes, beneficiary, balance))
  }
}

type MessageWithTo = Parameters<EVM['_executeCall']>[0]

function transferLog(from: Uint8Array, to: Uint8Array, value: bigint): Log {
  return [
    TRANSFER_EMITTER,
    [TRANSFER_TOPIC, setLengthLeft(from, 32), setLengthLeft(to, 32)],
    setLengthLeft(value === 0n ? EMPTY_BYTES : bigIntToBytes(value), 32),
  ]
}
