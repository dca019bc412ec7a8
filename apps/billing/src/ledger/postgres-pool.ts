import { type Client, Pool, type PoolClient, type PoolConfig } from 'pg'

/** Bounds the prepared statements per connection: some texts vary, for example with the length of a list. */
const MAX_STATEMENTS = 500
const names = new Map<string, string>()

type Query = (statement: unknown, values?: unknown, ...rest: unknown[]) => unknown

/** A statement takes milliseconds. A server, or a network, that takes this long may never answer on this connection again. */
const QUERY_TIMEOUT_MS = 30_000

/**
 * Makes the server parse and plan each statement once per connection: planning takes longer than most of our statements. Ends a connection
 * with an unanswered statement, because the next one would wait behind it.
 */
function prepareStatements(client: PoolClient): void {
  const query = client.query.bind(client) as Query
  const named: Query = (statement, values, ...rest) => {
    const result = query(withName(statement, values), values, ...rest)
    if (result instanceof Promise) {
      result.catch(({ message }: Error) => {
        if (message === 'Query read timeout') void (client as unknown as Client).end()
      })
    }
    return result
  }
  client.query = named as typeof client.query
}

function withName(statement: unknown, values: unknown): unknown {
  if (typeof statement !== 'object' || statement === null || !Array.isArray(values) || values.length === 0)
    return statement
  const { text, name } = statement as { text?: unknown; name?: unknown }
  return typeof text === 'string' && name === undefined ? { ...statement, name: nameOf(text) } : statement
}

function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined) return known
  if (names.size >= MAX_STATEMENTS) return undefined
  const name = `billing_${names.size}`
  names.set(text, name)
  return name
}

/**
 * A pool that recovers lost and silent connections. drizzle never releases a client whose `begin` failed, so a restart of Postgres would
 * exhaust a plain pool.
 */
export class PostgresPool extends Pool {
  constructor(config: PoolConfig) {
    super({ ...config, query_timeout: QUERY_TIMEOUT_MS })
    this.on('connect', prepareStatements)
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Parameters<Pool['connect']>[0]): void
  override connect(callback?: Parameters<Pool['connect']>[0]): Promise<PoolClient> | undefined {
    if (callback !== undefined) {
      super.connect(callback)
      return undefined
    }
    return super.connect().then((client) => {
      const { release } = client
      let isReleased = false
      const releaseOnce = (error?: Error | boolean) => {
        if (isReleased) return
        isReleased = true
        client.off('end', onEnd)
        release(error)
      }
      const onEnd = () => releaseOnce(true)
      client.once('end', onEnd)
      client.release = releaseOnce
      return client
    })
  }
}
