import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Abi, encodeFunctionData, type Hex, parseAbi, parseEther, toHex, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { ChainStand } from './user-operation-stand.js'

/** Compiled contracts by Safe version, from its packages: the Safe and its proxy factory. */
const PACKAGES = {
  '1.0.0': ['safe-1.0/build/contracts', 'GnosisSafe', 'ProxyFactory'],
  '1.1.1': ['safe-1.1/build/contracts', 'GnosisSafe', 'ProxyFactory'],
  '1.3.0': [
    'safe-1.3/build/artifacts/contracts',
    'GnosisSafe.sol/GnosisSafe',
    'proxies/GnosisSafeProxyFactory.sol/GnosisSafeProxyFactory',
  ],
  '1.4.1': ['safe-1.4/build/artifacts/contracts', 'Safe.sol/Safe', 'proxies/SafeProxyFactory.sol/SafeProxyFactory'],
  '1.5.0': [
    '@safe-global/safe-smart-account/build/artifacts/contracts',
    'Safe.sol/Safe',
    'proxies/SafeProxyFactory.sol/SafeProxyFactory',
  ],
} as const

export type SafeVersion = keyof typeof PACKAGES
export const SAFE_VERSIONS = Object.keys(PACKAGES) as SafeVersion[]

export const EXECUTE_ABI = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)',
])

/** Sorted by address. */
export const safeOwners = [1n, 2n, 3n]
  .map((key) => privateKeyToAccount(toHex(key, { size: 32 })))
  .sort((one, other) => (one.address.toLowerCase() < other.address.toLowerCase() ? -1 : 1))

const require = createRequire(import.meta.url)
const artifact = (path: string): { abi: Abi; bytecode: Hex } =>
  JSON.parse(readFileSync(require.resolve(`${path}.json`), 'utf8'))

/** Deploys a Safe with a threshold of two of the three owners, behind a proxy, with 2 ether. */
export async function deploySafe(chain: ChainStand, version: SafeVersion): Promise<Hex> {
  const [folder, safePath, factoryPath] = PACKAGES[version]
  const safe = artifact(`${folder}/${safePath}`)
  const factory = artifact(`${folder}/${factoryPath}`)
  const factoryAddress = await chain.deploy(factory)
  const owners = safeOwners.map(({ address }) => address)
  const payment = [zeroAddress, 0n, zeroAddress]
  // 1.0.0 has no fallback handler yet.
  const handled = version === '1.0.0' ? [] : [zeroAddress]
  const initializer = encodeFunctionData({
    abi: safe.abi,
    functionName: 'setup',
    args: [owners, 2n, zeroAddress, '0x', ...handled, ...payment],
  })
  const { request, result } = await chain.node.simulateContract({
    account: chain.wallet.account,
    address: factoryAddress,
    abi: factory.abi,
    functionName: 'createProxyWithNonce',
    args: [await chain.deploy(safe), initializer, 1n],
  })
  await chain.mined(await chain.wallet.writeContract(request as never))
  const proxy = (result as Hex).toLowerCase() as Hex
  await chain.mined(await chain.wallet.sendTransaction({ to: proxy, value: parseEther('2') }))
  return proxy
}
