import type { Address } from 'viem'
import type { AssetChanges, Transfer } from './assets.js'
import { shortTexts, transferGraph } from './transfer-graph.js'

const address = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const [SIGNER, POOL, TOKEN] = [address(1), address(2), address(3)]
const changesOf = (transfers: Transfer[], more: Partial<AssetChanges> = {}): AssetChanges => ({
  ...{ transfers, balances: [], owners: [], approvals: [] },
  ...more,
})
const ether = (from: Address, to: Address, amount: `0x${string}` = '0xde0b6b3a7640000'): Transfer => ({
  ...{ type: 'native', from, to, amount },
})

describe('transferGraph', () => {
  it('draws each transfer between its addresses, in both directions, and marks the signer', () => {
    const token = { type: 'erc20', address: TOKEN, symbol: 'USDC', decimals: 6 } as const
    const changes = changesOf([ether(SIGNER, POOL), { ...token, from: POOL, to: SIGNER, amount: '0xf4240' }])
    const { places, arrows, total } = transferGraph(changes, SIGNER)
    expect(places.map(({ address, isSigner }) => [address, isSigner])).toEqual([
      [SIGNER, true],
      [POOL, false],
    ])
    expect(arrows.map(({ from, to, text }) => [from, to, text])).toEqual([
      [SIGNER, POOL, '1 ETH'],
      [POOL, SIGNER, '1 USDC'],
    ])
    expect(total).toBe(2)
  })

  it('draws everything within the picture, without overlapping addresses', () => {
    const around = [0, 1, 2, 3, 4].map((at) => ether(address(at + 1), address(((at + 1) % 5) + 1)))
    const changes = changesOf([...around, ether(SIGNER, SIGNER), ether(SIGNER, POOL, '0x1')])
    const { places, arrows, width, height } = transferGraph(changes, SIGNER)
    const boxes = places.map(({ x, y, width, height }) => ({
      ...{ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 },
    }))
    for (const { left, right, top, bottom } of boxes) {
      expect(Math.min(left, top)).toBeGreaterThanOrEqual(0)
      expect([right <= width, bottom <= height]).toEqual([true, true])
      const others = boxes.filter((box) => box.left < right && left < box.right && box.top < bottom && top < box.bottom)
      expect(others).toHaveLength(1)
    }
    for (const { points } of arrows) {
      expect(points.length).toBeGreaterThan(1)
      const [first, last] = [points[0]!, points.at(-1)!]
      for (const { x, y } of [first, last])
        expect(
          boxes.some((box) => x >= box.left - 1 && x <= box.right + 1 && y >= box.top - 1 && y <= box.bottom + 1),
        ).toBe(true)
      for (const { x, y } of points) expect([x >= 0, x <= width, y >= 0, y <= height]).not.toContain(false)
    }
  })

  it('draws 40 of thousands of arrows, the contradicted ones first, then the signer’s', () => {
    const lie: Transfer = { type: 'erc20', address: TOKEN, from: address(9_998), to: address(9_999), amount: '0x1' }
    const crowd = Array.from({ length: 5_000 }, (_, at) => ether(address(at + 10), address(at + 11)))
    const changes = changesOf([...crowd, ether(POOL, SIGNER), lie], {
      balances: [{ type: 'erc20', address: TOKEN, account: lie.to, confirmation: 'disagrees' }],
      approvals: [{ token: { type: 'erc20', address: TOKEN }, owner: SIGNER, spender: POOL, confirmation: 'agrees' }],
    })
    const { arrows, total } = transferGraph(changes, SIGNER)
    expect(total).toBe(5_003)
    expect(arrows).toHaveLength(40)
    expect(arrows.slice(0, 3).map(({ kind, text, isContradicted }) => [kind, text, isContradicted])).toEqual([
      ['transfer', '⚠ 1 units', true],
      ['transfer', '1 ETH', false],
      ['approval', 'may take all of 0x0000…0003', false],
    ])
  })
})

describe('shortTexts', () => {
  it('shortens an address in the middle', () => expect([...shortTexts([POOL, POOL]).values()]).toEqual(['0x0000…0002']))

  it('shows more digits of similar addresses', () => {
    const [one, other] = [`0xabcd${'1'.repeat(32)}1234`, `0xabcd${'2'.repeat(32)}1234`] as const
    expect([...shortTexts([one, other]).values()]).toEqual(['0xaBcD1111…11111234', '0xAbcD2222…22221234'])
  })
})
