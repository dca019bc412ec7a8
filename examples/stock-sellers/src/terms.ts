const {
  FACILITATOR_URL = '',
  NETWORK = '',
  ASSET = '',
  PAY_TO = '',
  TOKEN_NAME = 'USDC',
  TOKEN_VERSION = '2',
} = process.env

/** URL with the token of a seller's account in its path: `https://billing.example/s/<token>`. */
export const facilitatorUrl = FACILITATOR_URL
export const network = NETWORK as `eip155:${number}`
export const port = Number(process.env.PORT ?? 4021)

const extra = { name: TOKEN_NAME, version: TOKEN_VERSION }
const price = (amount: string, method?: 'permit2') => ({
  amount,
  asset: ASSET,
  extra: method === undefined ? extra : { ...extra, assetTransferMethod: method },
})
const terms = { network, payTo: PAY_TO, maxTimeoutSeconds: 60 }

/** At a fixed price: by EIP-3009, which needs no approval, or by Permit2. */
export const fixed = [
  { ...terms, scheme: 'exact', price: price('2000') },
  { ...terms, scheme: 'exact', price: price('2000', 'permit2') },
]

/** By use: the amount set by the handler, at most 100,000 (10 cents of USDC). */
export const metered = { ...terms, scheme: 'upto', price: price('100000', 'permit2') }
