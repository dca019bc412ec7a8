import { describePolicy } from './charge-policy.js'

it('describePolicy describes each case to buyers', () => {
  expect(describePolicy({ unset: 'maximum', failure: 'nothing', timeout: '$0.01', partial: '$0.001' })).toEqual([
    'If it meters nothing, you pay the maximum.',
    'If it fails, you pay nothing.',
    'If it takes too long, you pay $0.01.',
    'If you disconnect before the answer is complete, you pay $0.001.',
    'If you disconnect while the payment settles, you pay the metered amount.',
    'If the payment is not on chain soon, you get 402 with settlement_pending.',
    "If the seller sets an amount that can't be charged, you pay nothing, and you get no answer.",
  ])
})

it('describePolicy distinguishes 4xx and 5xx if the policy does', () => {
  const failure = { '4xx': '$0.01', '5xx': 'nothing' } as const
  const sentences = describePolicy({ unset: 'nothing', failure, timeout: 'nothing', partial: 'nothing' })
  expect(sentences.slice(1, 3)).toEqual(['If it refuses (4xx), you pay $0.01.', 'If it fails (5xx), you pay nothing.'])
})
