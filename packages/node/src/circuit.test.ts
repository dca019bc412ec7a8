import { Circuit } from './circuit.js'

function circuit() {
  const clock = { now: 0 }
  const states: string[] = []
  const made = new Circuit(
    (state) => states.push(state),
    () => clock.now,
  )
  return { clock, states, circuit: made }
}

describe('Circuit', () => {
  it('doubles the pause after each failure in a row, up to a minute', () => {
    const { clock, circuit: node } = circuit()
    const rests: number[] = []
    for (let failure = 0; failure < 7; failure += 1) {
      node.failed()
      const from = clock.now
      while (!node.isDue) clock.now += 1_000
      rests.push(clock.now - from)
      node.halfOpen()
    }
    expect(rests).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })

  it('counts simultaneous failures as one', () => {
    const { clock, circuit: node } = circuit()
    for (let failure = 0; failure < 10; failure += 1) node.failed()
    clock.now = 2_000
    expect(node.isDue).toBe(true)
  })

  it('starts again at the shortest pause after a useful answer, not after a mere answer', () => {
    const { clock, states, circuit: node } = circuit()
    node.failed()
    clock.now = 2_000
    node.halfOpen()
    node.succeeded(false)
    node.failed()
    clock.now = 5_000
    expect([node.state, node.isDue]).toEqual(['open', false])
    clock.now = 6_000
    node.halfOpen()
    node.succeeded(true)
    node.failed()
    clock.now = 8_000
    expect(node.isDue).toBe(true)
    expect(states).toEqual(['open', 'half-open', 'closed', 'open', 'half-open', 'closed', 'open'])
  })

  it('pauses for as long as the failure says', () => {
    const { clock, circuit: node } = circuit()
    node.failed(60_000)
    clock.now = 59_999
    expect(node.isDue).toBe(false)
    clock.now = 60_000
    expect(node.isDue).toBe(true)
  })
})
