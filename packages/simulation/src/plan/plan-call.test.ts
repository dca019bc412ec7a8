import { type Call, type Hash, ZERO_ADDRESS } from '@upfront/protocol'
import { contradictionOf, planCall } from './plan-call.js'

const to = `0x${'22'.repeat(20)}` as const
const blob: Hash = `0x01${'00'.repeat(31)}`
const authorization = { chainId: 0n, address: ZERO_ADDRESS, nonce: 0n, yParity: 0n, r: 1n, s: 1n }
const accessList = [{ address: to, storageKeys: [] }]

const plan = planCall

describe('planCall', () => {
  it('fills in an empty call like geth', () => {
    expect(plan({})).toEqual({
      type: 2,
      from: ZERO_ADDRESS,
      to: null,
      input: '0x',
      value: 0n,
      maxFeePerGas: 0n,
      maxPriorityFeePerGas: 0n,
      accessList: [],
    })
  })

  it.each<[string, Call, number]>([
    ['nothing', { to }, 2],
    ['an access list', { to, accessList }, 2],
    ['a gas price', { to, gasPrice: 0n }, 0],
    ['a gas price and an access list', { to, gasPrice: 1n, accessList }, 0],
    ['a gas price and authorizations', { to, gasPrice: 1n, authorizationList: [authorization] }, 0],
    ['blobs', { to, blobVersionedHashes: [blob] }, 3],
    ['authorizations', { to, authorizationList: [authorization] }, 4],
    ['both', { to, blobVersionedHashes: [blob], authorizationList: [authorization] }, 4],
    ['a blob fee without blobs', { to, maxFeePerBlobGas: 1n }, 2],
  ])('derives the transaction type from the fields: %s', (_name, call, type) => {
    expect(plan(call).type).toBe(type)
  })

  it('keeps the access list, authorizations and blobs of a call with a gas price', () => {
    const planned = plan({
      to,
      gasPrice: 5n,
      accessList,
      authorizationList: [authorization],
      blobVersionedHashes: [blob],
    })
    expect(planned).toMatchObject({
      type: 0,
      gasPrice: 5n,
      accessList,
      authorizationList: [authorization],
      blobVersionedHashes: [blob],
      maxFeePerBlobGas: 0n,
    })
    expect(planned).not.toHaveProperty('maxFeePerGas')
  })

  it.each<[Call, string]>([
    [{ to, gasPrice: 1n, maxFeePerGas: 1n }, 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified'],
    [
      { to, gasPrice: 1n, maxPriorityFeePerGas: 0n },
      'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
    ],
    [{ blobVersionedHashes: [blob] }, 'blob transaction of type create'],
    [{ authorizationList: [authorization] }, 'EIP-7702 transaction cannot be used to create contract'],
    [{ to, chainId: 2n }, "chainId does not match node's (have=2, want=1)"],
  ])('contradictionOf returns geth’s error: case %#', (call, message) => {
    expect(contradictionOf(call, 1n)).toBe(message)
    expect(contradictionOf({ to, chainId: 1n }, 1n)).toBeUndefined()
  })
})
