import { Pool, type PoolClient, type PoolConfig } from 'pg'

/** Bounds the prepared statements per connection: some texts vary, for example with the length of a list. */
const MAX_STATEMENTS = 500
const names = new Map<string, string>()

type Query = (statement: unknown, values?: unknown, ...rest: unknown[]) => unknown

/** Makes the server parse and plan each statement once per connection: planning takes longer than most of our statements. */
function prepareStatements(client: PoolClient): void {
  const query = client.query.bind(client) as Query
  const named: Query = (statement, values, ...rest) => query(withName(statement, values), values, ...rest)
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
 * A pool that recovers lost connections. drizzle never releases a client whose `begin` failed, so a restart of Postgres would exhaust a
 * plain pool.
 */
export class PostgresPool extends Pool {
  constructor(config: PoolConfig) {
    super(config)
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
