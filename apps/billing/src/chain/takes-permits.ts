import type { Hex, Token } from '@upfront/protocol'
import { encodeFunctionData, keccak256, parseAbi, parseSignature, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Node } from './node.js'
import { NodeRefusal } from './node-error.js'
import { PERMIT2, toUint } from './settlement-call.js'

/** A key without funds. Its permit is never sent. */
const OWNER = privateKeyToAccount(keccak256(stringToHex('upfront: does this token take permits?')))
const abi = parseAbi([
  'function nonces(address) view returns (uint256)',
  'function permit(address, address, uint256, uint256, uint8, bytes32, bytes32)',
])
const types = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
}

/** Whether the token takes an EIP-2612 permit for its configured EIP-712 name and version, by `eth_call`. Throws `NodeFault`. */
export async function takesPermits(node: Node, chainId: number, token: Token): Promise<boolean> {
  const { asset, name, version } = token
  const call = (data: Hex) => node.request<Hex>('eth_call', [{ to: asset, data }, 'latest'])
  try {
    const nonce = await call(encodeFunctionData({ abi, functionName: 'nonces', args: [OWNER.address] }))
    // A token without `nonces` may return empty data for unknown functions, as WETH does.
    if (nonce.length !== 66) return false
    const [value, deadline] = [1n, 2n ** 48n]
    const { r, s, v } = parseSignature(
      await OWNER.signTypedData({
        domain: { name, version, chainId, verifyingContract: asset },
        types,
        primaryType: 'Permit',
        message: { owner: OWNER.address, spender: PERMIT2, value, nonce: toUint(nonce), deadline },
      }),
    )
    const args = [OWNER.address, PERMIT2, value, deadline, Number(v), r, s] as const
    await call(encodeFunctionData({ abi, functionName: 'permit', args }))
    return true
  } catch (error) {
    if (error instanceof NodeRefusal) return false
    throw error
  }
}
