import { readFileSync } from 'node:fs'
import { portableModule } from '@upfront/engine-revm'
import { checkBill } from '../src/page.js'

const module = portableModule()
const example = () => JSON.parse(readFileSync(new URL('../example.json', import.meta.url), 'utf8'))

describe('checkBill, with the WebAssembly module and without worker threads', () => {
  it('finds example.json right', async () => {
    const { verdict, calls } = await checkBill(example(), module)
    const [execution] = calls.flatMap(({ checks }) => checks.filter(({ name }) => name === 'execution'))
    expect([verdict, execution?.detail]).toEqual(['right', expect.stringMatching(/^portable: \d+ gas/)])
  })

  it('finds a changed answer wrong', async () => {
    const bill = example()
    bill.answer.result[0].calls[0].gasUsed = '0x1'
    const { verdict, calls } = await checkBill(bill, module)
    const wrong = calls.flatMap(({ checks }) =>
      checks.flatMap(({ name, outcome }) => (outcome === 'wrong' ? [name] : [])),
    )
    expect([verdict, wrong]).toEqual(['wrong', expect.arrayContaining(['execution'])])
  })
})
