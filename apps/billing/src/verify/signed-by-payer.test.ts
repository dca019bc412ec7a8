import type { Permit2Authorization } from '@upfront/protocol'
import { PERMIT2_ADDRESS, permit2WitnessTypes } from '@x402/evm'
import { concatHex, type Hex, hashTypedData, numberToHex, recoverAddress, slice } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { recoverSigned } from './signed-by-payer.js'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const word = (value: bigint) => numberToHex(value, { size: 32 })
const account = privateKeyToAccount(generatePrivateKey())
const authorization: Permit2Authorization = {
  kind: 'exact-permit2',
  payer: account.address.toLowerCase() as Hex,
  token: '0x00000000000000000000000000000000000000aa',
  maximum: 1_000n,
  spender: '0x00000000000000000000000000000000000000bb',
  nonce: 7n,
  deadline: 2_000_000_000n,
  payTo: '0x00000000000000000000000000000000000000cc',
  facilitator: null,
  validAfter: 0n,
  signature: '0x',
}

async function sign(): Promise<{ hash: Hex; r: bigint; s: bigint; parity: number }> {
  const { token, maximum, spender, nonce, deadline, payTo: to, validAfter } = authorization
  const data = {
    domain: { name: 'Permit2', chainId: 1, verifyingContract: PERMIT2_ADDRESS },
    types: permit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom' as const,
    message: { permitted: { token, amount: maximum }, spender, nonce, deadline, witness: { to, validAfter } },
  }
  const signature = await account.signTypedData(data)
  const [r, s] = [BigInt(slice(signature, 0, 32)), BigInt(slice(signature, 32, 64))]
  return { hash: hashTypedData(data), r, s, parity: Number(slice(signature, 64)) - 27 }
}

test("recoverSigned agrees with viem's recoverAddress on every form of a signature", async () => {
  const { hash, r, s, parity } = await sign()
  const parts: [bigint, bigint][] = [
    [r, s],
    [r, ORDER - s],
    [r, 0n],
    [0n, s],
    [r, ORDER],
    [ORDER, s],
    [ORDER - 1n, ORDER - 1n],
    [s, r],
    [r + 1n, s],
    [2n ** 256n - 1n, s],
  ]
  let found = 0
  for (const [first, second] of parts) {
    for (const v of [0, 1, 2, 3, 4, 26, 27, 28, 29, 30, 35, 54, 55, 255]) {
      const signature = concatHex([word(first), word(second), numberToHex(v, { size: 1 })])
      const signer = await recoverAddress({ hash, signature }).catch(() => null)
      const expected = signer?.toLowerCase() === authorization.payer ? hash : null
      expect([v, first, second, recoverSigned({ ...authorization, signature }, 1, {})]).toEqual([
        v,
        first,
        second,
        expected,
      ])
      if (expected !== null) found += 1
      expect(expected !== null && second === s && v % 27 !== parity).toBe(false)
    }
  }
  // The signature and its mirror (s negated, other parity), each with v as 27 or 28 and as 0 or 1.
  expect(found).toBe(4)
})

test('recoverSigned returns null for a shorter or longer signature, or another chain', async () => {
  const { r, s, parity, hash } = await sign()
  const signature = concatHex([word(r), word(s), numberToHex(27 + parity, { size: 1 })])
  expect(recoverSigned({ ...authorization, signature }, 1, {})).toBe(hash)
  expect(recoverSigned({ ...authorization, signature }, 2, {})).toBeNull()
  expect(recoverSigned({ ...authorization, signature: concatHex([signature, '0x00']) }, 1, {})).toBeNull()
  expect(recoverSigned({ ...authorization, signature: slice(signature, 0, 64) }, 1, {})).toBeNull()
  expect(recoverSigned({ ...authorization, signature: '0x' }, 1, {})).toBeNull()
})
