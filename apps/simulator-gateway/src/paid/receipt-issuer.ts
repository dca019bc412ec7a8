import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import { type PaidRequest, priceListHash } from '@upfront/nestjs-x402'
import type { Address } from '@upfront/protocol'
import {
  authorizationHash,
  Digester,
  type Permit2Authorization,
  type Receipt,
  type SignedReceipt,
  signReceipt,
} from '@upfront/receipt'
import { LOGGER, type Logger } from '@upfront/service'
import { LRUCache } from 'lru-cache'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { Environment } from '../environment/environment.js'

/** Most payments whose receipts are kept, the newest. A receipt takes about a kilobyte. */
const MAX_PAYMENTS = 10_000

/** Recent receipts of this process, for buyers that lost the answer. */
@Injectable()
export class IssuedReceipts {
  private readonly byPayment = new LRUCache<string, SignedReceipt[]>({ max: MAX_PAYMENTS })

  add(receipt: SignedReceipt): void {
    const key = keyOf(receipt.payer, receipt.nonce)
    this.byPayment.set(key, [...(this.byPayment.get(key) ?? []), receipt])
  }

  /** One per metered simulation of the paid request, whatever was charged in the end. */
  of(payer: string, nonce: string): readonly SignedReceipt[] {
    return this.byPayment.get(keyOf(payer, nonce)) ?? []
  }
}

function keyOf(payer: string, nonce: string): string {
  return `${payer.toLowerCase()} ${nonce}`
}

/** A receipt key of the seller, as listed in `/.well-known/upfront.json`. */
export interface PublicReceiptKey {
  address: Address
  /** When it stopped signing, in seconds since 1970; absent for the current key. */
  until?: number
}

/** The fields of a receipt that do not come from the payment. */
export type ReceiptDetails = Pick<
  Receipt,
  | 'method'
  | 'dialect'
  | 'requestHash'
  | 'resultHash'
  | 'witnessHash'
  | 'block'
  | 'usage'
  | 'amount'
  | 'maximum'
  | 'chargedBefore'
>

/** Signs the receipts of paid answers, if the seller has a receipt key. */
@Injectable()
export class ReceiptIssuer implements OnModuleInit, OnApplicationShutdown {
  readonly digester = new Digester()
  private readonly account: PrivateKeyAccount | undefined

  constructor(
    private readonly environment: Environment,
    private readonly issued: IssuedReceipts,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { RECEIPT_KEYS_FILE: receiptKeys } = environment
    if (receiptKeys !== undefined) this.account = privateKeyToAccount(receiptKeys.privateKey)
  }

  onModuleInit(): void {
    if (this.account === undefined) this.logger.warn('paid answers carry no receipt: set RECEIPT_KEYS_FILE')
    else this.logger.info({ address: this.account.address }, 'paid answers carry receipts')
  }

  async onApplicationShutdown(): Promise<void> {
    await this.digester.close()
  }

  /** All receipt keys, the current one first. */
  get keys(): PublicReceiptKey[] {
    if (this.account === undefined) return []
    const now = { address: this.account.address.toLowerCase() as Address }
    return [now, ...(this.environment.RECEIPT_KEYS_FILE?.retired ?? [])]
  }

  /** Signs and keeps a receipt. @returns undefined without a key, or without a payment (in tests) */
  async issue(
    { payload, decimals, requirements }: PaidRequest,
    details: () => Promise<ReceiptDetails>,
  ): Promise<SignedReceipt | undefined> {
    if (this.account === undefined || payload === undefined) return undefined
    const { permit2Authorization: authorization } = payload.payload as { permit2Authorization: Permit2Authorization }
    const { network, asset, payTo } = requirements
    const receipt: Receipt = {
      payer: lower(authorization.from),
      nonce: authorization.nonce,
      authorizationHash: authorizationHash(network, authorization),
      ...(await details()),
      priceListHash: priceListHash({ ...this.environment.PRICE_LIST }),
      decimals,
      asset: lower(asset),
      network,
      payTo: lower(payTo),
      issuedAt: Math.floor(Date.now() / 1_000),
    }
    const signed = await signReceipt(receipt, this.account)
    this.issued.add(signed)
    return signed
  }
}

function lower(address: string): Address {
  return address.toLowerCase() as Address
}
