import { Pool, type PoolClient } from 'pg'

/**
 * A pool that gets a lost connection back whoever holds it: drizzle never releases one whose `begin` failed, and so a restart of
 * Postgres would use the pool up.
 */
export class PostgresPool extends Pool {
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
