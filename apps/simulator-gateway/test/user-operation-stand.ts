import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, startAnvil } from '@upfront/devnet'
import {
  type Abi,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  type PublicClient,
  parseAbi,
  parseEther,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  type Transport,
  toHex,
  type WalletClient,
} from 'viem'
import {
  entryPoint07Abi,
  type entryPoint08Abi,
  toPackedUserOperation,
  type UserOperation,
} from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'

export const VERSIONS = ['0.7', '0.8', '0.9'] as const
export type Version = (typeof VERSIONS)[number]

const require = createRequire(import.meta.url)

interface Artifact {
  abi: Abi
  bytecode: Hex
}

/** A compiled contract of the account-abstraction package. */
export function accountArtifact(version: Version, name: string): Artifact {
  return JSON.parse(readFileSync(require.resolve(`entry-point-${version}/artifacts/${name}.json`), 'utf8'))
}

export const owner = privateKeyToAccount(keccak256(toHex('owner')))
export const deployer = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')

export const FACTORY_ABI = parseAbi([
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function getAddress(address owner, uint256 salt) view returns (address)',
])
export const ACCOUNT_ABI = parseAbi(['function execute(address dest, uint256 value, bytes func)'])

export interface ChainStand {
  anvil: Anvil
  node: PublicClient
  wallet: WalletClient<Transport, typeof foundry, typeof deployer>
  mined(hash: Hex): Promise<TransactionReceipt>
  /** @returns the address, in lower case */
  deploy(artifact: Artifact, args?: unknown[]): Promise<Hex>
}

/** anvil, and helpers to deploy on it. */
export async function startChain(): Promise<ChainStand> {
  const anvil: Anvil = await startAnvil(['--port', '0', '--hardfork', 'prague'])
  const transport = http(anvil.rpcUrl)
  const node = createPublicClient({ chain: foundry, transport, pollingInterval: 20 }) as PublicClient
  const wallet = createWalletClient({ account: deployer, chain: foundry, transport })
  // viem polls for a receipt once per block: if that is too early and no other block comes, it never polls again.
  const mined = async (hash: Hex) => {
    for (;;) {
      const receipt = await node.getTransactionReceipt({ hash }).catch((error) => {
        if (!(error instanceof TransactionReceiptNotFoundError)) throw error
      })
      if (receipt !== undefined) return receipt
      await sleep(20)
    }
  }
  return {
    anvil,
    node,
    wallet,
    mined,
    async deploy({ abi, bytecode }: Artifact, args: unknown[] = []): Promise<Hex> {
      const { contractAddress } = await mined(await wallet.deployContract({ abi, bytecode, args } as never))
      return contractAddress!.toLowerCase() as Hex
    },
  }
}

/** An EntryPoint with the account factory of its package, and an account of the owner. */
export async function deployEntryPoint(chain: ChainStand, version: Version) {
  const { deploy, node, wallet, mined } = chain
  const entryPoint = await deploy(accountArtifact(version, 'EntryPoint'))
  const { bytecode, abi } = accountArtifact(version, 'SimpleAccountFactory')
  const factory = await deploy({ abi, bytecode }, [entryPoint])
  const accountOf = async (salt: bigint) =>
    (
      await node.readContract({
        address: factory,
        abi: FACTORY_ABI,
        functionName: 'getAddress',
        args: [owner.address, salt],
      })
    ).toLowerCase() as Hex
  const createCall = (salt: bigint) =>
    encodeFunctionData({ abi: FACTORY_ABI, functionName: 'createAccount', args: [owner.address, salt] })
  // In later versions, only the EntryPoint's SenderCreator may call the factory.
  const senderCreator =
    version === '0.7'
      ? undefined
      : await node.readContract({
          address: entryPoint,
          abi: parseAbi(['function senderCreator() view returns (address)']),
          functionName: 'senderCreator',
        })
  const create = async (salt: bigint) => {
    if (senderCreator === undefined) await mined(await wallet.sendTransaction({ to: factory, data: createCall(salt) }))
    else {
      await node.request({ method: 'anvil_impersonateAccount' as never, params: [senderCreator] as never })
      await node.request({
        method: 'anvil_setBalance' as never,
        params: [senderCreator, toHex(parseEther('1'))] as never,
      })
      const hash = await node.request({
        method: 'eth_sendTransaction' as never,
        params: [{ from: senderCreator, to: factory, data: createCall(salt) }] as never,
      })
      await mined(hash as Hex)
    }
    const account = await accountOf(salt)
    await mined(await wallet.sendTransaction({ to: account, value: parseEther('2') }))
    return account
  }
  const packedOf = (operation: UserOperation) => toPackedUserOperation(operation as UserOperation<'0.7'>)
  return {
    version,
    entryPoint,
    factory,
    create,
    accountOf,
    createCall,
    /** In the contract's packed format. */
    packedOf,
    /** Signed by the owner, by this version's rules. */
    async signed<T extends object>(operation: T): Promise<T & { signature: Hex }> {
      const hash = await node.readContract({
        address: entryPoint,
        abi: entryPoint07Abi,
        functionName: 'getUserOpHash',
        args: [packedOf({ signature: '0x', ...operation } as never)],
      })
      const signature =
        version === '0.7' ? await owner.signMessage({ message: { raw: hash } }) : await owner.sign({ hash })
      return { ...operation, signature }
    },
    /** Sends it in a bundle of its own. */
    async bundle(operation: object) {
      const hash = await wallet.writeContract({
        address: entryPoint,
        abi: entryPoint07Abi as unknown as typeof entryPoint08Abi,
        functionName: 'handleOps',
        args: [[packedOf(operation as never)], deployer.address],
        gas: 12_000_000n,
      } as never)
      return mined(hash)
    },
  }
}
