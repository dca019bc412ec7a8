import {
  developmentBase,
  developmentPoint,
  developmentState,
  drive,
  planOf,
  RandomToken,
  randomNumbers,
  type TokenCall,
} from '@upfront/engine-conformance'
import { type AssetChanges, assetChanges, assetQuestions, type Engine, toProbes } from '@upfront/simulation'
import { BUILDS } from './builds.js'

// The long form is `npm run test:traces`.
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const SEEDS = Number(process.env.TRACE_SEEDS ?? 8)
const CANCELLATION = { signal: new AbortController().signal }

describe('asset changes of random tokens, lying ones included', () => {
  const engines = BUILDS.map(([, create]) => create())
  afterAll(() => Promise.all(engines.map((engine) => engine.close())))

  it.each(engines.map((engine) => [engine.name, engine] as const))(
    "match the tokens' storage, on %s",
    async (name, engine) => {
      // Views that burn all their gas take longer on the portable build.
      const seeds = Math.ceil(name === 'native' ? SEEDS : SEEDS / 4)
      const said = new Set<string>()
      for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
        const random = randomNumbers(seed)
        const tokens = Array.from(
          { length: 1 + Math.floor(random() * 3) },
          (_, index) => new RandomToken(index, random),
        )
        const calls = tokens.flatMap((token) => token.calls.map((told) => ({ token, told })))
        const shown = await shownBy(engine, tokens, calls)
        for (const [index, { token, told }] of calls.entries()) {
          const seen = seenOf(shown[index]!)
          expect({ seed, index, ...seen }).toEqual({ seed, index, ...expectedOf(token.address, told) })
          for (const balance of seen.balances) said.add(balance.split(' ').at(-1)!)
        }
      }
      expect([...said].sort()).toEqual(['agrees', 'disagrees', 'unknown'])
    },
    36_000_000,
  )
})

async function shownBy(engine: Engine, tokens: RandomToken[], calls: { told: TokenCall }[]): Promise<AssetChanges[]> {
  const payload = {
    blockStateCalls: [
      {
        stateOverrides: Object.fromEntries(tokens.map((token) => [token.address, token.override])),
        calls: calls.map(({ told }) => told.call),
      },
    ],
  }
  const run = (probes: ReturnType<typeof toProbes>) => {
    const plan = { ...planOf(payload), recording: { frames: true, state: false, balances: true }, probes }
    return drive(engine.begin(plan, developmentPoint, CANCELLATION), developmentState(developmentBase).state)
  }
  const asked = assetQuestions((await run([])).records)
  const places = calls.map((_, call) => ({ block: 0, call }))
  return assetChanges(asked, (await run(toProbes(asked, places))).records)
}

interface Seen {
  transfers: string[]
  balances: string[]
  owners: string[]
}

function seenOf({ transfers, balances, owners }: AssetChanges): Seen {
  return {
    transfers: transfers.map(({ type, address, tokenId, from, to, amount }) =>
      [type, address, numberOf(tokenId), BigInt(from), BigInt(to), BigInt(amount)].join(' '),
    ),
    balances: balances
      .map(({ type, tokenId, account, before, after, transferred, confirmation }) => {
        const sum = transferred.startsWith('-') ? -BigInt(transferred.slice(1)) : BigInt(transferred)
        return [type, numberOf(tokenId), BigInt(account), numberOf(before), numberOf(after), sum, confirmation].join(
          ' ',
        )
      })
      .sort(),
    owners: owners
      .map(({ tokenId, before, after, told, confirmation }) =>
        [numberOf(tokenId), numberOf(before), numberOf(after), BigInt(told), confirmation].join(' '),
      )
      .sort(),
  }
}

/** Expected results, from the token's program without running it. */
function expectedOf(address: string, { told, before, after }: TokenCall): Seen {
  const sums = new Map<string, { type: string; id: bigint | undefined; account: bigint; sum: bigint }>()
  const add = (type: string, id: bigint | undefined, account: bigint, amount: bigint) => {
    if (account === 0n) return
    const key = [type, id, account].join(' ')
    const entry = sums.get(key) ?? { type, id, account, sum: 0n }
    sums.set(key, { ...entry, sum: entry.sum + amount })
  }
  const owned = new Map<bigint, { first: bigint; last: bigint }>()
  for (const { type, id, from, to, amount } of told) {
    if (type === 'erc721') owned.set(id!, { first: owned.get(id!)?.first ?? from, last: to })
    else {
      add(type, id, from, -amount)
      add(type, id, to, amount)
    }
  }
  return {
    transfers: told.map(({ type, id, from, to, amount }) => [type, address, id ?? 'none', from, to, amount].join(' ')),
    balances: [...sums.values()]
      .map(({ type, id, account, sum }) => {
        const [was, is] = [before(account + (id ?? 0n)), after(account + (id ?? 0n))]
        const agrees = was === undefined || is === undefined ? undefined : is - was === sum
        return [type, id ?? 'none', account, was ?? 'none', is ?? 'none', sum, said(agrees)].join(' ')
      })
      .sort(),
    owners: [...owned]
      .map(([id, { first, last }]) => {
        // No owner if the view does not answer and the log agrees.
        const was = ownerOf(before(id)) ?? (first === 0n ? 0n : undefined)
        const is = ownerOf(after(id)) ?? (last === 0n ? 0n : undefined)
        const agrees = was === undefined || is === undefined ? undefined : was === first && is === last
        return [id, was ?? 'none', is ?? 'none', last, said(agrees)].join(' ')
      })
      .sort(),
  }
}

function said(agrees: boolean | undefined): string {
  return agrees === undefined ? 'unknown' : agrees ? 'agrees' : 'disagrees'
}

function ownerOf(word: bigint | undefined): bigint | undefined {
  return word === undefined ? undefined : BigInt.asUintN(160, word)
}

function numberOf(quantity: string | undefined): string {
  return quantity === undefined ? 'none' : BigInt(quantity).toString()
}
