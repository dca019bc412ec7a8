import { encodePaymentRequiredHeader } from '@x402/core/http'
import { failedSettlement } from './payment-results.js'

it('failedSettlement returns the reason together with the payment offer', () => {
  const required = {
    x402Version: 2,
    resource: { url: 'http://gateway/v1/simulate' },
    accepts: [],
    error: 'payment_required',
  }
  const headers = { 'payment-required': encodePaymentRequiredHeader(required) }
  const receipt = {
    success: false,
    errorReason: 'permit2_insufficient_balance',
    transaction: '',
    network: 'eip155:1' as const,
  }
  const body = JSON.stringify({ error: 'permit2_insufficient_balance', message: 'Nothing was charged.' })
  const unpaid = { status: 402, headers, body: '{}' }
  const result = failedSettlement('simulate', { status: 402, headers: {}, body }, receipt, unpaid)
  const data = {
    ...required,
    resource: { url: 'mcp://tool/simulate' },
    error: 'permit2_insufficient_balance',
    'x402/payment-response': receipt,
  }
  expect(result).toMatchObject({ isError: true, structuredContent: data })
  const [forPrograms, forModels] = result.content as { text: string }[]
  expect(JSON.parse(forPrograms!.text)).toEqual(data)
  expect(forModels!.text).toBe('Nothing was charged.')
})
