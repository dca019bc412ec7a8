import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from './retries.js'

/** A charge that billing has not acknowledged. Numbers are decimal strings. Contains no signature. */
export interface JournaledCharge {
  network: string
  payer: string
  /** Nonce of the authorization. Network, payer and nonce identify the charge. */
  nonce: string
  /** Deadline of the authorization, Unix seconds. */
  deadline: string
  /** In the asset's smallest unit. */
  amount: string
  reason: string
}

/**
 * Stores charges until billing acknowledges them. {@link FileJournal} keeps them on disk; an app with its own database can implement this
 * with one row per network, payer and nonce.
 */
export interface ChargeJournal {
  /** Resolves once the charge is durable. Adding a charge that is already stored changes nothing. */
  add(charge: JournaledCharge): Promise<void>
  /** Removing a charge that is not stored is no error. */
  remove(charge: JournaledCharge): Promise<void>
  /** Lists all stored charges, including those of earlier processes. */
  list(): Promise<JournaledCharge[]>
}

const FIELDS = ['network', 'payer', 'nonce', 'deadline', 'amount', 'reason'] as const

/** Keeps one file per charge in a directory. Several processes may share it: a charge repeated under its key is charged once. */
export class FileJournal implements ChargeJournal {
  readonly #directory: string
  readonly #log: Log

  /** @param log called for files that can't be read as charges; they are left in place */
  constructor(directory: string, log: Log = () => undefined) {
    this.#directory = directory
    this.#log = log
  }

  async add(charge: JournaledCharge): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const path = this.#pathOf(charge)
    if (existsSync(path)) return
    const draft = `${path}.${randomUUID()}.tmp`
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify(charge, [...FIELDS]))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
    // The new name is durable only after the directory is synced.
    const directory = await open(this.#directory)
    await directory.sync().finally(() => directory.close())
  }

  async remove(charge: JournaledCharge): Promise<void> {
    await rm(this.#pathOf(charge), { force: true })
  }

  async list(): Promise<JournaledCharge[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const names = (await readdir(this.#directory)).filter((name) => name.endsWith('.json'))
    const charges = await Promise.all(names.map((name) => this.#read(join(this.#directory, name))))
    return charges.filter((charge) => charge !== undefined)
  }

  async #read(path: string): Promise<JournaledCharge | undefined> {
    try {
      return decodeCharge(await readFile(path, 'utf8'))
    } catch (error) {
      this.#log('error', 'a file in the journal cannot be read as a charge', { path, error: String(error) })
      return undefined
    }
  }

  #pathOf({ network, payer, nonce }: JournaledCharge): string {
    return join(this.#directory, `${network.replace(':', '-')}-${payer}-${nonce}.json`)
  }
}

function decodeCharge(text: string): JournaledCharge {
  const charge = JSON.parse(text) as JournaledCharge
  const texts = FIELDS.every((name) => typeof charge[name] === 'string')
  const numbers = [charge.nonce, charge.deadline, charge.amount].every((number) => /^\d{1,78}$/.test(number))
  if (!texts || !numbers) throw new Error('a field is missing or no decimal number')
  return charge
}
