import { readFileSync } from 'node:fs'
import type { Hex } from '@upfront/protocol'
import { chainRulesFromGenesis } from '@upfront/simulation'
import { GENESIS_FILE } from './development-chain.js'
import type { GethChain } from './geth.js'
import { StateValues, valueOfAccounts } from './state-values.js'

const { config, alloc, ...block } = JSON.parse(readFileSync(GENESIS_FILE, 'utf8'))

/** EIP-8282: code of the contracts for builder deposits and exits. */
const BUILDER_DEPOSITS: Hex =
  '0x3373fffffffffffffffffffffffffffffffffffffffe1461011c575f54807fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff146102705760015460088111605257506058565b60089003015b601190600182026001905f5b5f821115607f57810190830284830290049160010191906064565b90939004925050503660b814609f57366102705734610270575f5260205ff35b8034106102705760383567ffffffffffffffff1680633b9aca001161027057633b9aca00029034031061027057600154600101600155600354806006026004015f358155600101602035815560010160403581556001016060358155600101608035815560010160a035905560b85f5f3760b85fa0600101600355005b60035460025480820380604011610131575060405b5f5b8181146101d7578281016006026004018160b8028154815260200181600101548152602001816002015480825260401c67ffffffffffffffff16816010018160381c81600701538160301c81600601538160281c81600501538160201c81600401538160181c81600301538160101c81600201538160081c816001015353602001816003015481526020018160040154815260200190600501549052600101610133565b91018092146101e957906002556101f4565b90505f6002555f6003555b36610242575f54600154817fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff1461023057600882820111610238575b50505f610264565b0160089003610264565b7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5b5f555f60015560b8025ff35b5f5ffd'
const BUILDER_EXITS: Hex =
  '0x3373fffffffffffffffffffffffffffffffffffffffe1460e1575f54807fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff146101c65760015460028111605157506057565b60029003015b601190600182026001905f5b5f821115607e57810190830284830290049160010191906063565b909390049250505036603014609e57366101c657346101c6575f5260205ff35b34106101c657600154600101600155600354806003026004013381556001015f35815560010160203590553360601b5f5260305f60143760445fa0600101600355005b6003546002548082038060101160f5575060105b5f5b81811461012d5782810160030260040181604402815460601b8152601401816001015481526020019060020154905260010160f7565b910180921461013f579060025561014a565b90505f6002555f6003555b36610198575f54600154817fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff146101865760028282011161018e575b50505f6101ba565b01600290036101ba565b7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5b5f555f6001556044025ff35b5f5ffd'

const EARLIER = ['shanghai', 'cancun', 'prague', 'osaka', 'bpo1', 'bpo2']

/** A genesis with Amsterdam from this timestamp on (seconds), and the contracts that it requires. */
export function withAmsterdam<T extends { config: object; alloc?: object }>(genesis: T, amsterdamTime: number) {
  const { blobSchedule = {} } = genesis.config as { blobSchedule?: Record<string, unknown> }
  const amsterdam = Object.values(blobSchedule).at(-1)
  return {
    ...genesis,
    config: { ...genesis.config, amsterdamTime, blobSchedule: { ...blobSchedule, amsterdam } },
    alloc: {
      ...genesis.alloc,
      '0x0000bff46984e3725691fa540a8c7589300d8282': { nonce: '0x1', balance: '0x0', code: BUILDER_DEPOSITS },
      '0x000064d678505ad48f8ccb093bc65613800e8282': { nonce: '0x1', balance: '0x0', code: BUILDER_EXITS },
    },
  }
}

/** The development chain with all forks up to BPO 2 from genesis on, and Amsterdam from this timestamp on (seconds). */
export function amsterdamChain(amsterdamTime: number): GethChain {
  const times = Object.fromEntries(EARLIER.map((fork) => [`${fork}Time`, 0]))
  const genesis = withAmsterdam({ ...block, config: { ...config, ...times }, alloc }, amsterdamTime)
  const rules = chainRulesFromGenesis(genesis)
  return { genesis, baseStateOn: (base) => ({ rules, base, state: new StateValues(valueOfAccounts(genesis.alloc)) }) }
}
