// Writes signatures.json: the ABIs that the authors of widely used contracts publish on npm. Fetches their packages.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { toEventSelector, toFunctionSelector } from 'viem'

const OPENZEPPELIN = '@openzeppelin/contracts@5.7.0'
const SAFE = '@safe-global/safe-deployments@1.37.56'

/** In order of preference. `files`: names of files in the package, or a test for them; `from`: the origin stated for the entries. */
const SOURCES = [
  ...[
    ['ERC-20', ['IERC20', 'IERC20Metadata', 'IERC20Permit']],
    ['ERC-721', ['IERC721', 'IERC721Metadata', 'IERC721Enumerable', 'IERC721Receiver']],
    ['ERC-1155', ['IERC1155', 'IERC1155MetadataURI', 'IERC1155Receiver']],
    ['ERC-4626', ['IERC4626']],
    ['ERC-6909', ['IERC6909', 'IERC6909Metadata']],
    ['ERC-1271', ['IERC1271']],
    ['ERC-165', ['IERC165']],
    ['ERC-2981', ['IERC2981']],
    ['ERC-1363', ['IERC1363']],
    ['ERC-3156', ['IERC3156FlashLender', 'IERC3156FlashBorrower']],
    ['ERC-6093', ['IERC20Errors', 'IERC721Errors', 'IERC1155Errors']],
  ].map(([from, names]) => ({
    package: OPENZEPPELIN,
    files: names.map((name) => `build/contracts/${name}.json`),
    from,
  })),
  { inline: 'WETH', abi: weth() },
  { inline: 'Multicall3', abi: multicall3() },
  { package: '@uniswap/permit2-sdk@1.4.0', files: ['dist/cjs/abis/Permit2.json'], from: 'Permit2' },
  {
    package: '@uniswap/v2-periphery@1.1.0-beta.0',
    files: ['build/IUniswapV2Router02.json'],
    from: 'Uniswap V2 router',
  },
  {
    package: '@uniswap/v2-core@1.0.1',
    files: ['build/IUniswapV2Pair.json', 'build/IUniswapV2Factory.json'],
    from: 'Uniswap V2',
  },
  {
    package: '@uniswap/v3-core@1.0.1',
    files: [
      'artifacts/contracts/interfaces/IUniswapV3Pool.sol/IUniswapV3Pool.json',
      'artifacts/contracts/interfaces/IUniswapV3Factory.sol/IUniswapV3Factory.json',
    ],
    from: 'Uniswap V3',
  },
  {
    package: '@uniswap/v3-periphery@1.4.4',
    files: [
      'artifacts/contracts/SwapRouter.sol/SwapRouter.json',
      'artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
    ],
    from: 'Uniswap V3 periphery',
  },
  {
    package: '@uniswap/swap-router-contracts@1.3.1',
    files: ['artifacts/contracts/SwapRouter02.sol/SwapRouter02.json'],
    from: 'Uniswap SwapRouter02',
  },
  {
    package: '@uniswap/universal-router@2.1.0',
    files: ['artifacts/contracts/UniversalRouter.sol/UniversalRouter.json'],
    from: 'Uniswap UniversalRouter',
  },
  ...[
    'v1.4.1/safe',
    'v1.4.1/multi_send',
    'v1.4.1/safe_proxy_factory',
    'v1.4.1/compatibility_fallback_handler',
    'v1.4.1/sign_message_lib',
    'v1.5.0/safe',
    'v1.3.0/gnosis_safe',
  ].map((name) => ({ package: SAFE, files: [`dist/assets/${name}.json`], from: 'Safe' })),
  ...['0.8.0', '0.7.0', '0.6.0'].map((version) => ({
    package: `@account-abstraction/contracts@${version}`,
    files: (name) => /^artifacts\/(?:EntryPoint|IAccount|IAccountExecute|IPaymaster)\.json$/.test(name),
    from: `ERC-4337 v${version.slice(0, 3)}`,
  })),
  // All errors of the library, then everything else in its contracts.
  {
    package: OPENZEPPELIN,
    files: (name) => name.startsWith('build/contracts/'),
    types: ['error'],
    from: 'OpenZeppelin',
  },
  ...[
    'AccessControl',
    'Ownable2Step',
    'Pausable',
    'TimelockController',
    'Governor',
    'IERC1967',
    'ProxyAdmin',
    'ITransparentUpgradeableProxy',
    'UUPSUpgradeable',
    'ERC20Burnable',
    'ERC20Votes',
    'IVotes',
    'Initializable',
    'VestingWallet',
    'ERC2771Forwarder',
  ].map((name) => ({ package: OPENZEPPELIN, files: [`build/contracts/${name}.json`], from: 'OpenZeppelin' })),
]

const folder = mkdtempSync(join(tmpdir(), 'signatures-'))
const unpacked = new Map()
try {
  const found = new Map()
  for (const source of SOURCES)
    for (const [from, abi] of abisOf(source)) for (const entry of abi) add(found, entry, from, source.types)
  const entries = [...found.values()].flat()
  const lines = entries.map((entry) => JSON.stringify(entry))
  writeFileSync(new URL('../signatures.json', import.meta.url), `[\n${lines.join(',\n')}\n]\n`)
  console.log(`${entries.length} signatures`)
} finally {
  rmSync(folder, { recursive: true })
}

/** Of several entries with the same selector the first counts. An entry of another standard with other names is kept too. */
function add(found, { type, name, inputs, anonymous }, from, types = ['function', 'event', 'error']) {
  if (!types.includes(type) || anonymous || name === undefined) return
  const entry = { type, name, inputs: inputs.map(parameter), from }
  const abi = [entry]
  const selector =
    type === 'event'
      ? `${toEventSelector(entry)} ${inputs.filter(({ indexed }) => indexed).length}`
      : toFunctionSelector({ ...abi[0], type: 'function' })
  const key = `${type === 'error' ? 'error' : type} ${selector}`
  const known = found.get(key)
  if (known === undefined) found.set(key, [entry])
  else if (known.every((other) => isOther(other, entry))) known.push(entry)
}

function isOther(one, other) {
  const written = ({ name, inputs }) => name + JSON.stringify(inputs.map(({ type, name: of }) => [type, of]))
  const standard = ({ from }) => from.startsWith('ERC-') && !from.startsWith('ERC-4337')
  const types = ({ name, inputs }) => name + JSON.stringify(inputs.map(({ type }) => type))
  return (
    written(one) !== written(other) &&
    one.from !== other.from &&
    ((standard(one) && standard(other)) || types(one) !== types(other))
  )
}

function parameter({ type, name, indexed, components }) {
  return {
    type,
    ...(name && { name }),
    ...(indexed && { indexed }),
    ...(components && { components: components.map(parameter) }),
  }
}

function abisOf({ package: name, files, from, inline, abi }) {
  if (inline !== undefined) return [[inline, abi]]
  const root = unpack(name)
  const names = Array.isArray(files) ? files : listed(root).filter(files)
  return names.map((file) => {
    const content = JSON.parse(readFileSync(join(root, file), 'utf8'))
    const entries = Array.isArray(content) ? content : content.abi
    if (entries === undefined) throw new Error(`no ABI in ${name} ${file}`)
    return [from, entries]
  })
}

function unpack(name) {
  if (!unpacked.has(name)) {
    const tarball = execFileSync('npm', ['pack', '--silent', name], { cwd: folder, encoding: 'utf8' }).trim()
    const into = join(folder, basename(tarball, '.tgz'))
    execFileSync('sh', ['-c', `mkdir '${into}' && tar xzf '${tarball}' -C '${into}' --strip-components 1`], {
      cwd: folder,
    })
    unpacked.set(name, into)
  }
  return unpacked.get(name)
}

function listed(root) {
  return readdirSync(root, { recursive: true })
    .filter((name) => name.endsWith('.json'))
    .sort()
}

/** Deployed before npm packages of it existed: https://etherscan.io/address/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2#code */
function weth() {
  return [
    { type: 'function', name: 'deposit', inputs: [] },
    { type: 'function', name: 'withdraw', inputs: [{ type: 'uint256', name: 'wad' }] },
    {
      type: 'event',
      name: 'Deposit',
      inputs: [
        { type: 'address', name: 'dst', indexed: true },
        { type: 'uint256', name: 'wad' },
      ],
    },
    {
      type: 'event',
      name: 'Withdrawal',
      inputs: [
        { type: 'address', name: 'src', indexed: true },
        { type: 'uint256', name: 'wad' },
      ],
    },
  ]
}

/** https://github.com/mds1/multicall3 */
function multicall3() {
  const call = (...names) => ({
    type: 'tuple[]',
    name: 'calls',
    components: names.map((name) => ({
      type: { target: 'address', allowFailure: 'bool', value: 'uint256', callData: 'bytes' }[name],
      name,
    })),
  })
  const required = { type: 'bool', name: 'requireSuccess' }
  const plain = call('target', 'callData')
  const functions = {
    aggregate: [plain],
    aggregate3: [call('target', 'allowFailure', 'callData')],
    aggregate3Value: [call('target', 'allowFailure', 'value', 'callData')],
    blockAndAggregate: [plain],
    tryAggregate: [required, plain],
    tryBlockAndAggregate: [required, plain],
    getBasefee: [],
    getBlockHash: [{ type: 'uint256', name: 'blockNumber' }],
    getBlockNumber: [],
    getChainId: [],
    getCurrentBlockCoinbase: [],
    getCurrentBlockDifficulty: [],
    getCurrentBlockGasLimit: [],
    getCurrentBlockTimestamp: [],
    getEthBalance: [{ type: 'address', name: 'addr' }],
    getLastBlockHash: [],
  }
  return Object.entries(functions).map(([name, inputs]) => ({ type: 'function', name, inputs }))
}
