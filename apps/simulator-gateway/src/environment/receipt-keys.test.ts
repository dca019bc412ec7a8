import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readReceiptKeysFile } from './receipt-keys.js'

const key = `0x${'42'.repeat(32)}`
const address = `0x${'Ab'.repeat(20)}`
const path = join(mkdtempSync(join(tmpdir(), 'receipt-keys-')), 'keys.json')

function read(content: unknown) {
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return readReceiptKeysFile(path)
}

it('reads the signing key and retired addresses with their dates', () => {
  expect(read({ key })).toEqual({ privateKey: key, retired: [] })
  expect(read({ key, retired: [{ address, until: '2026-11-22T00:00:00Z' }] })).toEqual({
    privateKey: key,
    retired: [{ address: address.toLowerCase(), until: 1_795_305_600 }],
  })
})

it.each([
  ['{', 'the file is not JSON'],
  [[], 'the file: expected an object'],
  [JSON.stringify(key), 'the file: expected an object, got a string'],
  [{ key: '0x12' }, 'expected a private key'],
  [{ key: `0x${'00'.repeat(32)}` }, 'expected a private key'],
  [{ key, old: [] }, 'old: unknown field'],
  [{ key, retired: {} }, 'retired: expected an array'],
  [{ key, retired: [{ address: key, until: '2026-11-22' }] }, 'retired[0].address: expected an address'],
  [{ key, retired: [{ address, until: 'soon' }] }, 'retired[0].until: expected a time'],
])('rejects a key file with %j', (content, problem) => {
  expect(() => read(content)).toThrow(problem)
})

it('reports why the file cannot be read', () => {
  expect(() => readReceiptKeysFile(`${path}.none`)).toThrow("the file can't be read (ENOENT)")
})
