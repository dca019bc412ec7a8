// Compiles contracts/*.sol of this package, or of the given folder, into its artifacts/*.json. `--check` compares
// instead of writing; `--evm=cancun` selects another fork than paris.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import solc from 'solc'

const given = process.argv.slice(2).find((argument) => !argument.startsWith('--'))
const root = given === undefined ? new URL('../', import.meta.url) : pathToFileURL(`${resolve(given)}/`)
const contracts = new URL('contracts/', root)
const artifacts = new URL('artifacts/', root)
const check = process.argv.includes('--check')
const fork = process.argv.find((argument) => argument.startsWith('--evm='))?.slice(6)

const names = readdirSync(contracts).filter((name) => name.endsWith('.sol'))
const output = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: 'Solidity',
      sources: Object.fromEntries(
        names.map((name) => [name, { content: readFileSync(new URL(name, contracts), 'utf8') }]),
      ),
      settings: {
        // The oldest fork that tests use: without PUSH0 and transient storage.
        evmVersion: fork ?? 'paris',
        optimizer: { enabled: true, runs: 1_000_000 },
        metadata: { bytecodeHash: 'none', appendCBOR: false },
        outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
      },
    }),
  ),
)
for (const problem of output.errors ?? []) console.error(problem.formattedMessage)
if (output.errors?.some((problem) => problem.severity === 'error')) process.exit(1)

let stale = 0
for (const file of names) {
  const name = basename(file, '.sol')
  const { abi, evm } = output.contracts[file][name]
  const path = new URL(`${name}.json`, artifacts)
  const text = `${JSON.stringify({
    contractName: name,
    compiler: solc.version(),
    abi,
    bytecode: `0x${evm.bytecode.object}`,
    deployedBytecode: `0x${evm.deployedBytecode.object}`,
  })}\n`
  if (!check) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    stale++
    console.error(`artifacts/${name}.json differs from what contracts/${file} compiles to: run \`pnpm compile\``)
  }
}
if (stale > 0) process.exit(1)
console.log(`${names.length} contracts ${check ? 'checked' : 'compiled'}`)
