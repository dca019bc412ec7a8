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

/** Of so many payments, the newest. A receipt takes about a kilobyte. */
const MOST_PAYMENTS = 10_000

/** The receipts that this process signed lately, for buyers whose answer was lost. */
@Injectable()
export class IssuedReceipts {
  private readonly byPayment = new LRUCache<string, SignedReceipt[]>({ max: MOST_PAYMENTS })

  add(receipt: SignedReceipt): void {
    const key = keyOf(receipt.payer, receipt.nonce)
    this.byPayment.set(key, [...(this.byPayment.get(key) ?? []), receipt])
  }

  /** One for each call that the payment was charged for. */
  of(payer: string, nonce: string): readonly SignedReceipt[] {
    return this.byPayment.get(keyOf(payer, nonce)) ?? []
  }
}

function keyOf(payer: string, nonce: string): string {
  return `${payer.toLowerCase()} ${nonce}`
}

/** A key of the seller's, as `/.well-known/upfront.json` lists it. */
export interface PublicReceiptKey {
  address: Address
  /** Until when it signed, seconds since 1970; absent for the key that signs now. */
  until?: number
}

/** What the payment does not say of a receipt. */
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

/** Signs the receipts of paid answers, where the seller has a key for them. */
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

  /** All that signed, the present one first. */
  get keys(): PublicReceiptKey[] {
    if (this.account === undefined) return []
    const now = { address: this.account.address.toLowerCase() as Address }
    return [now, ...(this.environment.RECEIPT_KEYS_FILE?.retired ?? [])]
  }

  /** Undefined without a key, and where no payment was made (in tests). */
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
