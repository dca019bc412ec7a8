import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PAYMENT_STATES } from '@upfront/protocol'
import { useStand } from './support/stand.js'
import { oneStore, type Store } from './support/stores.js'
import { until } from './support/until.js'

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[]
}

const dashboard = JSON.parse(
  readFileSync(new URL('../../../infra/dashboards/billing.json', import.meta.url), 'utf8'),
) as Dashboard
const panels = dashboard.panels.map(
  ({ title, targets }) => [title, targets.map(({ expr }) => expr).join('\n')] as const,
)
/** Added by Prometheus when it scrapes. */
const SCRAPED_LABELS = ['job', 'instance']
const [store] = oneStore()

describe('the dashboard of billing', () => {
  const stand = useStand(store as Store)
  /** Before the first payment. */
  let fresh: string
  let metrics: string

  beforeAll(async () => {
    fresh = String((await stand.billing.send('/metrics')).body)
    const { id } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '5')
    // The answer may arrive before the counter changes.
    const read = async () => String((await stand.billing.send('/metrics')).body)
    metrics = await until(read, (text) => text.includes('state="settled"} 1'))
  })

  test.each(panels)('panel "%s" uses existing metrics and labels', (_, expressions) => {
    const names = expressions.match(/\b(billing|process|nodejs)_[a-z0-9_]+/g) ?? []
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) expect(metrics).toMatch(new RegExp(`^# HELP ${name.replace(/_bucket$/, '')} `, 'm'))
    for (const [, labels] of expressions.matchAll(/by \(([^)]*)\)/g)) {
      for (const label of (labels ?? '').split(', ').filter((name) => !SCRAPED_LABELS.includes(name))) {
        const declared = names.some((name) => metrics.match(new RegExp(`^${name}\\{[^}]*\\b${label}="`, 'm')))
        const silent = names.every((name) => !new RegExp(`^${name}[{ ]`, 'm').test(metrics))
        expect({ label, names, known: declared || silent }).toMatchObject({ known: true })
      }
    }
  })

  test('the alert rules use existing metrics', () => {
    const rules = readFileSync(new URL('../../../infra/alerts.yaml', import.meta.url), 'utf8')
    const names = new Set(rules.match(/\bbilling_[a-z0-9_]+/g))
    expect(names.size).toBeGreaterThan(5)
    for (const name of names) expect(metrics).toMatch(new RegExp(`^# HELP ${name} `, 'm'))
  })

  test('counters used by alerts, and payments by state, start at 0', () => {
    const rules = readFileSync(new URL('../../../infra/alerts.yaml', import.meta.url), 'utf8')
    const watched = [...rules.matchAll(/increase\((billing_[a-z_]+_total)\b/g)].map(([, name]) => String(name))
    expect(watched.length).toBeGreaterThanOrEqual(3)
    for (const name of watched) {
      const values = fresh.split('\n').filter((line) => line.startsWith(`${name}{network="eip155:31337"`))
      expect({ name, values: new Set(values.map((line) => line.split(' ').at(-1))) }).toEqual({
        name,
        values: new Set(['0']),
      })
    }
    for (const state of PAYMENT_STATES) expect(fresh).toContain(`billing_payment_transitions_total{state="${state}"} 0`)
  })

  const hasPromtool = spawnSync('promtool', ['--version']).error === undefined
  // Prometheus' own syntax check; the tests above check what the rules use.
  ;(hasPromtool ? test : test.skip)('promtool accepts the alert rules', () => {
    const rules = fileURLToPath(new URL('../../../infra/alerts.yaml', import.meta.url))
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', rules], { encoding: 'utf8' })
    expect({ status, said: stdout + stderr }).toMatchObject({ status: 0, said: expect.stringContaining('SUCCESS') })
  })

  test('a settlement is counted in the metrics', () => {
    for (const line of [
      /^billing_payment_transitions_total\{state="authorized"\} 1$/m,
      /^billing_payment_transitions_total\{state="charging"\} 1$/m,
      /^billing_payment_transitions_total\{state="settled"\} 1$/m,
      /^billing_gas_used_total\{network="eip155:31337"\} [1-9]/m,
      /^billing_fees_paid_wei_total\{network="eip155:31337"\} [1-9]/m,
      /^billing_signer_next_nonce\{network="eip155:31337",signer="0x[0-9a-f]{40}"\} [0-9]/m,
      /^billing_oldest_unsettled_seconds 0/m,
    ]) {
      expect(metrics).toMatch(line)
    }
  })
})
