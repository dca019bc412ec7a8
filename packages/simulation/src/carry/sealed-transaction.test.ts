import { sealedTransactionFromRpc, UnknownTransactionType, withdrawalFromRpc } from './sealed-transaction.js'

const word = (digit: string) => `0x${digit.repeat(64)}`
const address = `0x${'a'.repeat(40)}`
const common = {
  hash: word('1'),
  nonce: '0x5',
  gas: '0x5208',
  to: address,
  value: '0x0',
  input: '0x',
  r: '0x1',
  s: '0x02',
}

describe('sealedTransactionFromRpc', () => {
  it('reads the fields of each transaction type and ignores others', () => {
    const fees = { maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x1', gasPrice: '0x7' }
    const typed = {
      ...common,
      ...fees,
      chainId: '0x1',
      accessList: [{ address, storageKeys: [word('2')] }],
      yParity: '0x1',
    }
    const read = (fields: object) => sealedTransactionFromRpc({ ...fields, blockTimestampMs: '0x1' }, 0)
    expect(read({ ...common, gasPrice: '0x7', v: '0x25', chainId: '0x99' })).toMatchObject({
      type: 0,
      gasPrice: 7n,
      v: 37n,
    })
    expect(read({ ...common, gasPrice: '0x7', v: '0x25', chainId: '0x99' })).not.toHaveProperty('chainId')
    expect(read({ ...typed, type: '0x2' })).not.toHaveProperty('gasPrice')
    expect(read({ ...typed, type: '0x1' })).toMatchObject({
      chainId: 1n,
      gasPrice: 7n,
      accessList: typed.accessList,
      v: 1n,
    })
    const blobs = { maxFeePerBlobGas: '0x3', blobVersionedHashes: [word('3')] }
    expect(read({ ...typed, ...blobs, type: '0x3' })).toMatchObject({
      maxFeePerBlobGas: 3n,
      blobVersionedHashes: [word('3')],
    })
    const authorization = { chainId: '0x0', address, nonce: '0x1', yParity: '0x0', r: '0x5', s: '0x6' }
    expect(read({ ...typed, type: '0x4', authorizationList: [authorization] })).toMatchObject({
      authorizationList: [{ chainId: 0n, address, nonce: 1n, yParity: 0n, r: 5n, s: 6n }],
    })
  })

  it('reads a deposit in RPC form: ignores its nonce and defaults missing fields to zero', () => {
    const deposit = { ...common, type: '0x7e', to: null, sourceHash: word('4'), from: address, nonce: '0x77' }
    expect(sealedTransactionFromRpc(deposit, 0)).toMatchObject({
      ...{ nonce: 0n, to: null },
      deposit: { sourceHash: word('4'), from: address, mint: 0n, isSystemTransaction: false },
    })
  })

  it('names the invalid field, and refuses unknown transaction types', () => {
    expect(() => sealedTransactionFromRpc({ ...common, type: '0x0', gasPrice: 7 }, 3)).toThrow(
      'transactions[3].gasPrice: ',
    )
    expect(() => sealedTransactionFromRpc({ ...common, type: '0x2', maxFeePerGas: '0x1' }, 3)).toThrow(
      'transactions[3]',
    )
    expect(() => sealedTransactionFromRpc(`0x${'1'.repeat(64)}`, 3)).toThrow('transactions[3]: expected an object')
    expect(() => sealedTransactionFromRpc({ ...common, type: '0x7d' }, 0)).toThrow(UnknownTransactionType)
    expect(() => withdrawalFromRpc({ index: '0x1' }, 2)).toThrow('withdrawals[2].validatorIndex: ')
  })
})
