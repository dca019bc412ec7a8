import type { Devnet } from '@upfront/devnet'
import { x402Facilitator } from '@x402/core/facilitator'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { createPublicClient, createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export const NETWORK = 'eip155:31337'

/** @x402/evm's own facilitator on the local chain, in process: a plain `FacilitatorClient` without storage. */
export function referenceFacilitator(devnet: Devnet): FacilitatorClient {
  const account = privateKeyToAccount(devnet.accounts.facilitators[0]!.privateKey)
  const chain = {
    id: devnet.chainId,
    name: 'devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [devnet.rpcUrl] } },
  }
  const client = createWalletClient({ account, chain, transport: http(devnet.rpcUrl), pollingInterval: 50 }).extend(
    publicActions,
  )
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: (args) => client.getCode(args),
    readContract: (args) => client.readContract({ ...args, args: args.args ?? [] } as never),
    verifyTypedData: (args) => client.verifyTypedData(args as never),
    writeContract: (args) => client.writeContract({ ...args, args: args.args ?? [] } as never),
    sendTransaction: (args) => client.sendTransaction(args as never),
    waitForTransactionReceipt: (args) => client.waitForTransactionReceipt(args),
  })
  const facilitator = new x402Facilitator()
    .register(NETWORK, new UptoEvmScheme(signer))
    .register(NETWORK, new ExactEvmScheme(signer))
  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () => facilitator.getSupported() as never,
  }
}

export function balanceReader(devnet: Devnet) {
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  const abi = [
    {
      type: 'function',
      name: 'balanceOf',
      stateMutability: 'view',
      inputs: [{ name: 'account', type: 'address' }],
      outputs: [{ type: 'uint256' }],
    },
  ] as const
  return (account: `0x${string}`) =>
    client.readContract({ address: devnet.contracts.usdc, abi, functionName: 'balanceOf', args: [account] })
}

/** Accepts everything and records the calls; needs no chain. */
export class ScriptedFacilitator implements FacilitatorClient {
  readonly verified: PaymentPayload[] = []
  readonly settled: PaymentRequirements[] = []
  readonly released: string[] = []
  onVerify: (payload: PaymentPayload) => Promise<VerifyResponse> = async () => ({ isValid: true })
  onSettle: (requirements: PaymentRequirements) => Promise<SettleResponse> = async ({ amount, network }) => ({
    success: true,
    transaction: amount === '0' ? '' : `0x${'ab'.repeat(32)}`,
    network,
    amount,
  })
  supported = () =>
    Promise.resolve({
      kinds: [
        { x402Version: 2, scheme: 'upto', network: NETWORK, extra: { facilitatorAddress: `0x${'fa'.repeat(20)}` } },
      ],
      extensions: [],
      signers: {},
    } as Awaited<ReturnType<FacilitatorClient['getSupported']>>)

  async verify(payload: PaymentPayload): Promise<VerifyResponse> {
    this.verified.push(payload)
    return this.onVerify(payload)
  }

  async settle(_payload: PaymentPayload, requirements: PaymentRequirements): Promise<SettleResponse> {
    this.settled.push(requirements)
    return this.onSettle(requirements)
  }

  getSupported() {
    return this.supported()
  }
}

/** A durable {@link ScriptedFacilitator}: also releases and describes assets. */
export class DurableScriptedFacilitator extends ScriptedFacilitator {
  async release(_payload: PaymentPayload, _requirements: PaymentRequirements, reason: string): Promise<void> {
    this.released.push(reason)
  }

  async describeAsset() {
    return { decimals: 6, name: 'USDC', version: '2' }
  }
}
