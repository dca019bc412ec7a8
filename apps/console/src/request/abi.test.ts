import { abiOf, argumentsOf, callTextOf, functionsOf, textOfCall } from './abi.js'
import { DraftError } from './draft-error.js'

const LINES = 'function mint(uint256)\nerror Nope(address)'

it('reads an ABI as signatures, as JSON and as compiler output', () => {
  const lines = abiOf(LINES)
  expect(lines.map(({ type }) => type)).toEqual(['function', 'error'])
  for (const text of [JSON.stringify(lines), JSON.stringify({ contractName: 'X', abi: lines })])
    expect(abiOf(text)).toEqual(lines)
  expect([...functionsOf(LINES).keys()]).toEqual(['mint(uint256)'])
  expect(abiOf(' ')).toEqual([])
})

it.each(['function', '[', '{}', '{"abi":1}'])('rejects the ABI %j', (text) => {
  expect(() => abiOf(text)).toThrow(DraftError)
  expect(functionsOf(text).size).toBe(0)
})

it.each([
  ['transfer(address,uint256) ["0x1", "2"]', 'transfer(address,uint256)', '["0x1", "2"]'],
  ['f(uint256[]) [[1,2]]', 'f(uint256[])', '[[1,2]]'],
  ['function g((uint256,address)[] list) [[["1","0x2"]]]', 'g((uint256,address)[] list)', '[[["1","0x2"]]]'],
  ['totalSupply()', 'totalSupply()', '[]'],
])('splits %s into signature and arguments', (text, signature, args) =>
  expect(callTextOf(text)).toEqual({ signature, args }),
)

it.each(['', '0x12', 'f(', 'f() x', '(uint256) [1]', 'transfer'])('finds no function call in %j', (text) =>
  expect(callTextOf(text)).toBeUndefined(),
)

it('keeps the texts of argument fields, with lists and tuples as JSON', () => {
  const fields = ['1', '["2","3"]', 'true', '0x04', '[bro']
  const text = textOfCall('f', ['uint256', 'uint256[]', 'bool', 'address', 'tuple[]'], fields)
  expect(text).toBe('f ["1",["2","3"],true,"0x04","[bro"]')
  expect(argumentsOf(text.slice(2))).toEqual(fields)
  expect(argumentsOf('[1')).toEqual([])
})
