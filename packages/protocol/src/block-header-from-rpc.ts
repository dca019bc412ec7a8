import type { BlockHeader } from './block-header.js'
import { decodeAddress, decodeBytes, decodeBytes32 } from './decode/bytes.js'
import { mismatch, Place } from './decode/decode-error.js'
import { decodeQuantity } from './decode/quantity.js'
import { decodeObject } from './decode/structure.js'

const BLOOM_LENGTH = 2 + 2 * 256
const NONCE_LENGTH = 2 + 2 * 8

/**
 * Decodes the header in a node's answer to `eth_getBlockBy…` or `eth_getHeaderBy…`. Fields added by later forks may be absent or null;
 * those present must be well formed. Does not verify `hash`.
 * @throws DecodeError whose message begins with `block`
 */
export function blockHeaderFromRpc(value: unknown): BlockHeader {
  const place = new Place(undefined, 'block')
  const block = decodeObject(value, 'a block object', place)
  const quantity = (key: string, bits: 64 | 256 = 64) => decodeQuantity(block[key], bits, place, key)
  const hash = (key: string) => decodeBytes32(block[key], place, key)
  const bytes = (key: string, length?: number) => {
    const decoded = decodeBytes(block[key], place, key)
    if (length !== undefined && decoded.length !== length)
      throw mismatch(new Place(place, key), `${length / 2 - 1} bytes in hex`, block[key])
    return decoded
  }
  const has = (key: string) => block[key] !== undefined && block[key] !== null
  const header: BlockHeader = {
    hash: hash('hash'),
    parentHash: hash('parentHash'),
    sha3Uncles: hash('sha3Uncles'),
    miner: decodeAddress(block.miner, place, 'miner'),
    stateRoot: hash('stateRoot'),
    transactionsRoot: hash('transactionsRoot'),
    receiptsRoot: hash('receiptsRoot'),
    logsBloom: bytes('logsBloom', BLOOM_LENGTH),
    difficulty: quantity('difficulty', 256),
    number: quantity('number'),
    gasLimit: quantity('gasLimit'),
    gasUsed: quantity('gasUsed'),
    timestamp: quantity('timestamp'),
    extraData: bytes('extraData'),
    mixHash: hash('mixHash'),
    nonce: bytes('nonce', NONCE_LENGTH),
  }
  if (has('baseFeePerGas')) header.baseFeePerGas = quantity('baseFeePerGas', 256)
  if (has('withdrawalsRoot')) header.withdrawalsRoot = hash('withdrawalsRoot')
  if (has('blobGasUsed')) header.blobGasUsed = quantity('blobGasUsed')
  if (has('excessBlobGas')) header.excessBlobGas = quantity('excessBlobGas')
  if (has('parentBeaconBlockRoot')) header.parentBeaconBlockRoot = hash('parentBeaconBlockRoot')
  if (has('requestsHash')) header.requestsHash = hash('requestsHash')
  if (has('blockAccessListHash')) header.blockAccessListHash = hash('blockAccessListHash')
  if (has('slotNumber')) header.slotNumber = quantity('slotNumber')
  return header
}
