// Writes artifacts/ExactPermit2Proxy.json: the code of x402's exact proxy on every chain. `node scripts/extract-exact-proxy.mjs X402`,
// where X402 is a checkout of github.com/coinbase/x402 at that commit, which contains the init code of its deployment.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPublicClient, getCreate2Address, http } from 'viem'
import { EXACT_PERMIT2_PROXY_ADDRESS, startAnvil } from '../dist/index.js'

const path = 'contracts/evm/script/data/exact-proxy-initcode.hex'
const [checkout] = process.argv.slice(2)
if (checkout === undefined) throw new Error('where is the checkout of x402?')
const bytecode = readFileSync(join(checkout, path), 'utf8').trim()
const commit = 'dd927a26cfefc98c24b3ec38b3a8f204dad0c60d'
// CREATE2 deployer and salt from contracts/evm/script/Deploy.s.sol: the resulting address proves the code.
const from = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const salt = '0x0000000000000000000000000000000000000000000000003000000007263b0e'
const address = getCreate2Address({ from, salt, bytecode })
if (address !== EXACT_PERMIT2_PROXY_ADDRESS) throw new Error(`that code would be at ${address}`)
const anvil = await startAnvil(['--port', '0'])
try {
  const { data: deployedBytecode } = await createPublicClient({ transport: http(anvil.rpcUrl) }).call({
    data: bytecode,
  })
  const source = { repository: 'https://github.com/coinbase/x402', commit, path, license: 'MIT' }
  const artifact = { contractName: 'x402ExactPermit2Proxy', source, deployedBytecode }
  writeFileSync(new URL('../artifacts/ExactPermit2Proxy.json', import.meta.url), `${JSON.stringify(artifact)}\n`)
} finally {
  await anvil.stop()
}
