import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from './retries.js'

/** A charge that billing has not acknowledged. Every number is a decimal string; there is no signature in it. */
export interface JournaledCharge {
  network: string
  payer: string
  /** Permit2 nonce. With network and payer it names the charge for ever. */
  nonce: string
  /** Of the authorization, in seconds since 1970. */
  deadline: string
  /** Smallest unit of the asset. */
  amount: string
  reason: string
}

/**
 * Keeps charges that billing has not acknowledged until it has. {@link FileJournal} keeps them on disk; an app with a
 * database of its own can keep them there: one row for each network, payer and nonce.
 */
export interface ChargeJournal {
  /** Resolves once the charge would outlast the machine. A charge that is there already stays as it is. */
  add(charge: JournaledCharge): Promise<void>
  /** What is not there is no error. */
  remove(charge: JournaledCharge): Promise<void>
  /** What an earlier process left. */
  list(): Promise<JournaledCharge[]>
}

const FIELDS = ['network', 'payer', 'nonce', 'deadline', 'amount', 'reason'] as const

/** A directory with a file for each charge. Several processes may share it: charging twice under one key charges once. */
export class FileJournal implements ChargeJournal {
  readonly #directory: string
  readonly #log: Log

  /** @param log told of files that can't be read as a charge: they stay where they are */
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
    // The name is durable only once its directory is.
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
      this.#log('error', 'a file in the journal can not be read as a charge', { path, error: String(error) })
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
