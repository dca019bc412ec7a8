import { Injectable } from '@nestjs/common'
import { blockCall, type FollowedBlock, HeadFollower } from '@upfront/head'
import { UpstreamClient } from '@upfront/node'
import { Environment } from '../environment/environment.js'
import { HeadJournal } from './head-journal.js'

/** Follows the head of the chain that is served. */
@Injectable()
export class FollowedChain {
  readonly head: HeadFollower<FollowedBlock>

  constructor(environment: Environment, client: UpstreamClient, journal: HeadJournal) {
    this.head = new HeadFollower<FollowedBlock>({
      mode: environment.FOLLOW_HEAD,
      urls: environment.UPSTREAM_WS_URL ?? [],
      idleMs: environment.FOLLOW_IDLE_SECONDS * 1_000,
      latest: (limits) => client.call(blockCall('latest'), limits),
      byHash: async (hash, limits) => ({ header: await client.call({ ...blockCall({ hash }), attempts: 1 }, limits) }),
      observe: (event) => journal.observe(event),
    })
    journal.watch(() => this.head.status())
  }

  /** Nest's hook, once nothing is in flight. */
  onApplicationShutdown(): void {
    this.head.close()
  }
}
