import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { DEVNET_ACCOUNTS, type DevnetAccount, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import {
  type Abi,
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  hashTypedData,
  http,
  maxUint256,
  pad,
  serializeErc6492Signature,
  type TypedDataDefinition,
  zeroAddress,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const OWNER = DEVNET_ACCOUNTS[6] as DevnetAccount

interface Artifact {
  abi: Abi
  bytecode: Hex
}

/** A Safe (1.4.1) with one owner; its signatures are checked by ERC-1271. */
export interface SmartWallet {
  address: Address
  deploy(): Promise<void>
  /** Mints test USDC to it and approves Permit2. It must be deployed. */
  fund(amount: bigint): Promise<void>
  /** The signer that @x402/evm's client takes. */
  signer: { address: Address; signTypedData(message: unknown): Promise<Hex> }
  /** Wraps a signature by ERC-6492, with the call that deploys the wallet. */
  wrap(signature: Hex): Hex
}

/** Deploys Safe's contracts and computes the address of a wallet, which is not deployed yet. */
export async function makeSmartWallet(rpcUrl: string, salt: bigint): Promise<SmartWallet> {
  const owner = privateKeyToAccount(OWNER.privateKey)
  const client = createPublicClient({ transport: http(rpcUrl) })
  const wallet = createWalletClient({ account: owner, transport: http(rpcUrl) })
  const mined = async (hash: Hex) => {
    for (let attempt = 0; attempt < 200; attempt++) {
      const receipt = await client.getTransactionReceipt({ hash }).catch(() => null)
      if (receipt?.status === 'success') return receipt
      if (receipt !== null) throw new Error(`${hash} reverted`)
      await sleep(10)
    }
    throw new Error(`${hash} is not mined`)
  }
  const deployContract = async ({ abi, bytecode }: Artifact): Promise<Address> => {
    const { contractAddress } = await mined(await wallet.deployContract({ chain: null, abi, bytecode }))
    return contractAddress as Address
  }
  const safe = readArtifact('Safe.sol/Safe')
  const factory = readArtifact('proxies/SafeProxyFactory.sol/SafeProxyFactory')
  const singleton = await deployContract(safe)
  const factoryAddress = await deployContract(factory)
  const handler = await deployContract(
    readArtifact('handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler'),
  )
  const none = [zeroAddress, '0x', handler, zeroAddress, 0n, zeroAddress] as const
  const setup = encodeFunctionData({ abi: safe.abi, functionName: 'setup', args: [[owner.address], 1n, ...none] })
  const create = { abi: factory.abi, functionName: 'createProxyWithNonce', args: [singleton, setup, salt] } as const
  const { result } = await client.simulateContract({ address: factoryAddress, account: owner, ...create })
  const address = result as Address
  const execute = async (to: Address, data: Hex) => {
    // The sender's own approval, in Safe's encoding: r is the owner, v is 1.
    const approval = `${pad(owner.address)}${'0'.repeat(64)}01` as Hex
    const args = [to, 0n, data, 0, 0n, 0n, 0n, zeroAddress, zeroAddress, approval]
    await mined(
      await wallet.writeContract({ chain: null, address, abi: safe.abi, functionName: 'execTransaction', args }),
    )
  }
  return {
    address,
    deploy: async () =>
      void (await mined(await wallet.writeContract({ chain: null, address: factoryAddress, ...create }))),
    fund: async (amount) => {
      const usdc = { chain: null, address: USDC_ADDRESS, abi: usdcAbi } as const
      await mined(await wallet.writeContract({ ...usdc, functionName: 'mint', args: [address, amount] }))
      const args = [PERMIT2, maxUint256] as const
      await execute(USDC_ADDRESS, encodeFunctionData({ abi: usdcAbi, functionName: 'approve', args }))
    },
    signer: {
      address,
      signTypedData: (message) =>
        owner.signTypedData({
          domain: { chainId: 31_337, verifyingContract: address },
          types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
          primaryType: 'SafeMessage',
          message: { message: hashTypedData(message as TypedDataDefinition) },
        }),
    },
    wrap: (signature) =>
      serializeErc6492Signature({ address: factoryAddress, data: encodeFunctionData(create), signature }),
  }
}

function readArtifact(name: string): Artifact {
  const path = createRequire(import.meta.url).resolve(
    `@safe-global/safe-contracts/build/artifacts/contracts/${name}.json`,
  )
  return JSON.parse(readFileSync(path, 'utf8'))
}
