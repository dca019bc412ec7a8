import type { FollowerEvent, HeadEvent, Straying } from '@upfront/chain'
import type { PaymentRecord } from '@upfront/nestjs-x402'
import type { UpstreamObserver } from '@upfront/node'
import type { CarryEvent, ChainRules, Rejection } from '@upfront/simulation'
import type { Figures } from './figures.js'

export type Level = 'debug' | 'info' | 'warn' | 'error'

type ByKind<P extends string, E extends { kind: string }> = {
  [K in E['kind'] as `${P}.${K}`]: Extract<E, { kind: K }>
}
type OfUpstream = {
  [K in keyof Required<UpstreamObserver> as K extends `on${infer N}`
    ? `upstream.${Uncapitalize<N>}`
    : never]: Parameters<Required<UpstreamObserver>[K]>[0]
}

interface OfRequests {
  /** `method` and `outcome` come from closed sets, never from client input. */
  'call.served': { method: string; requestId: string; milliseconds: number }
  'call.failed': {
    method: string
    requestId: string
    milliseconds: number
    outcome: string
    reason: string
    /** Set if the gateway is at fault. */
    err?: unknown
  }
  'request.refused': { status: number; requestId: string; err?: unknown }
  /** `isHeld`: all its state was held, none had to be read. */
  'simulation.done': { blocks: number; gasUsed: bigint; isHeld: boolean }
  'simulation.rejected': Rejection
  'payment.record': PaymentRecord
  'upstream.straying': { upstream: string; strays: Straying | undefined }
  'chain.rules': ChainRules
  /** `hit` for a correct prediction, otherwise the reason why it was wrong, from a closed set. */
  'truth.judged': { transaction: string; block: bigint; outcome: string }
  /** Transactions that are not scored, with the reason. */
  'truth.left': { count: number; why: 'crowded' | 'invalid' | 'unanswered'; reason?: string }
  /** The state of a source of transactions or blocks: open, or lost for a reason. */
  'truth.source': { what: string; lost?: string }
}

/** The gateway's events, by name. */
export type Events = ByKind<'carry', CarryEvent> &
  ByKind<'head', HeadEvent> &
  ByKind<'preconfirmed', FollowerEvent> &
  OfUpstream &
  OfRequests

/** How an event is reported. It is logged only if it has a level; by default with its name as the message and its own fields. */
export interface Told<E> {
  level?: Level | ((event: E) => Level | undefined)
  message?: string | ((event: E) => string)
  fields?: (event: E) => object
  /** Logged once at its level, then at debug. */
  once?: true
  count?: (figures: Figures, event: E) => void
}

/** The host of a stream's URL: the rest may hold a key and is never logged. */
const hostOf = (url: string) => new URL(url).host

/** Counters for events that have no `count` of their own, by family; the label is the event's kind. */
export const BY_KIND: Record<string, 'headEvents' | 'preconfirmedEvents'> = {
  head: 'headEvents',
  preconfirmed: 'preconfirmedEvents',
}

/** For each event, its log line and its metrics. */
export const EVENTS: { [N in keyof Events]: Told<Events[N]> } = {
  'call.served': {
    level: 'debug',
    message: 'call',
    fields: (event) => ({ ...event, outcome: 'ok' }),
    count({ calls, callTimes }, { method, milliseconds }) {
      calls.add(method, 'ok')
      callTimes.add(milliseconds, method)
    },
  },
  'call.failed': {
    level: ({ outcome }) => (outcome === 'internal_error' ? 'error' : outcome === 'upstream_failed' ? 'warn' : 'debug'),
    message: ({ outcome }) => (/internal_error|upstream_failed/.test(outcome) ? outcome.replace('_', ' ') : 'call'),
    count({ calls, callTimes }, { method, outcome, milliseconds }) {
      calls.add(method, outcome)
      callTimes.add(milliseconds, method)
    },
  },
  'request.refused': {
    level: ({ err }) => (err === undefined ? undefined : 'error'),
    message: 'internal error',
    count: ({ refused }, { status }) => refused.add(String(status)),
  },
  'payment.record': {
    level: 'info',
    message: 'payment',
    count: ({ payments }, { route, reason, outcome }) => payments.add(route, reason, outcome),
  },
  'simulation.done': {
    count({ simulations, simulatedBlocks, simulatedGas }, { blocks, gasUsed, isHeld }) {
      simulations.add(isHeld ? 'cached' : 'read')
      simulatedBlocks.addMany(blocks)
      simulatedGas.addMany(Number(gasUsed))
    },
  },
  'simulation.rejected': {
    count({ nativePrecompiles }, { kind }) {
      if (kind === 'nativePrecompile') nativePrecompiles.add()
    },
  },

  'truth.judged': {
    level: ({ outcome }) => (outcome === 'ours' ? 'warn' : 'debug'),
    message: ({ outcome }) =>
      outcome === 'ours' ? 'our engine’s result differs from the chain’s' : 'a prediction was compared with the chain',
    count: ({ predictions }, { outcome }) => predictions.add(outcome),
  },
  'truth.left': {
    level: 'debug',
    message: 'transactions are not scored',
    count: ({ unpredicted }, { count, why }) => unpredicted.addMany(count, why),
  },
  'truth.source': {
    level: ({ lost }) => (lost === undefined ? 'info' : 'warn'),
    message: ({ lost }) =>
      lost === undefined
        ? 'a source of the prediction score is open'
        : 'a source of the prediction score is lost; scoring waits for it',
  },

  'upstream.httpRequest': {
    count: ({ upstreamTimes }, { upstream, outcome, milliseconds }) =>
      upstreamTimes.add(milliseconds, upstream, outcome),
  },
  'upstream.call': {
    count: ({ upstreamCalls }, { upstream, method, outcome }) => upstreamCalls.add(upstream, method, outcome),
  },
  'upstream.retry': { count: ({ retries }, { upstream, fault }) => retries.add(upstream, fault) },
  'upstream.hedge': { count: ({ hedges }, { upstream, isFirst }) => hedges.add(upstream, String(isFirst)) },
  'upstream.reads': {
    count({ heldReads, reads }, { hits, misses }) {
      heldReads.addMany(hits)
      reads.addMany(misses)
    },
  },
  'upstream.circuit': {
    level: 'info',
    message: 'the circuit breaker of the upstream changed its state',
    fields: ({ upstream, state }) => ({ upstream, circuit: state }),
    count: ({ leftOut }, { upstream, state }) => leftOut.labels(upstream, 'failed').set(state === 'closed' ? 0 : 1),
  },
  'upstream.straying': {
    level: ({ strays }) => (strays === undefined ? 'info' : 'warn'),
    message: ({ strays }) =>
      strays === undefined
        ? 'the upstream’s head agrees with the others again'
        : 'the upstream’s head differs from the others and is not used',
    count: ({ leftOut }, { upstream, strays }) => leftOut.labels(upstream, 'strays').set(strays === undefined ? 0 : 1),
  },
  'upstream.workaround': { level: 'warn', message: 'the upstream lacks a feature; a workaround is used' },

  'chain.rules': {
    level: ({ caveats }) => (caveats === undefined ? 'info' : 'warn'),
    message: ({ chainId, source }) => `the rules of chain ${chainId} come from ${source}`,
    fields: ({ chainId, stack, source, forks, schedule, caveats }) => ({
      ...{ chainId, stack, source, newestFork: forks.at(-1)?.fork, blockTime: Number(schedule.blockTime), caveats },
    }),
  },

  'head.head': {
    level: ({ reorganised }) => (reorganised ? 'warn' : 'debug'),
    message: ({ reorganised }) => (reorganised ? 'the new head is not a child of the previous one' : 'a new head'),
    count({ headEvents }, { reorganised, missed }) {
      headEvents.add('head')
      if (reorganised) headEvents.add('reorganised')
      headEvents.addMany(missed, 'missed')
    },
  },
  'head.lost': {
    level: 'warn',
    message: 'the subscription to new heads was lost; reconnecting',
    fields: ({ host, reason }) => ({ upstream: host, reason }),
  },
  'head.early': {},
  'head.inVain': {},
  'head.unserved': { level: 'warn', message: 'the upstream does not serve a block that was announced' },
  'head.unknown': { level: 'warn', message: 'asking the upstream for its head failed' },
  'head.untold': { level: 'warn', message: 'a followed block could not be announced yet' },
  'head.failed': { level: 'error', message: 'following the head failed' },
  'head.following': { level: 'debug', message: 'the head is followed' },
  'head.resting': { level: 'debug', message: 'no requests: the head is not followed until the next one' },

  'carry.carried': {
    level: 'debug',
    message: 'state was carried over a block',
    count({ carryBlocks, carryListed, carryTimes, carryReads }, { isListed, tookMs, read }) {
      carryBlocks.add('carried')
      if (isListed) carryListed.add()
      carryTimes.add(tookMs)
      carryReads.addMany(read)
    },
  },
  'carry.listRefused': {
    level: 'warn',
    message: "the node's access list of a block does not match its header: the block is executed instead",
  },
  'carry.notCarried': {
    level: ({ isFirst }) => (isFirst ? 'info' : 'debug'),
    message: 'state is not carried over a block; further blocks with this reason are logged at debug',
    count: ({ carryBlocks }, { reason }) => carryBlocks.add(reason),
  },
  'carry.pace': { level: 'warn', message: 'the pace of carrying state changed' },
  'carry.audited': { count: ({ carryAudits }) => carryAudits.add('confirmed') },
  'carry.distrusted': {
    level: 'error',
    message: 'the node contradicts carried state: it is dropped, and nothing is carried until a restart',
    count: ({ carryAudits }) => carryAudits.add('contradicted'),
  },

  'preconfirmed.arrival': { count: ({ arrivals }, { arrival }) => arrivals.add(arrival) },
  'preconfirmed.visible': {
    level: 'debug',
    message: 'pending shows a flashblock',
    count({ preconfirmedEvents, visibleTimes }, { kind, afterMs }) {
      preconfirmedEvents.add(kind)
      visibleTimes.add(afterMs)
    },
  },
  'preconfirmed.mismatch': {
    level: 'warn',
    message: ({ index, blockNumber }) => `flashblock ${index} of block ${blockNumber} is not used`,
  },
  'preconfirmed.nativePrecompile': {
    level: 'warn',
    once: true,
    message: 'a flashblock that reaches a native precompile is not used; further ones are logged at debug',
  },
  'preconfirmed.reorganised': { level: 'warn', message: 'the new head is not a child of the previous one' },
  'preconfirmed.differs': { level: 'info', message: 'the head differs from the pre-confirmed block' },
  'preconfirmed.connected': {
    level: 'info',
    message: 'the flashblocks stream is connected',
    fields: ({ url }) => ({ stream: hostOf(url) }),
  },
  'preconfirmed.lost': {
    level: 'warn',
    message: 'the connection to the flashblocks stream was lost',
    fields: ({ url, reason, retryInMs }) => ({ stream: hostOf(url), reason, retryInMs }),
  },
  'preconfirmed.undecodable': { level: 'warn', message: "a message of the stream can't be decoded" },
  'preconfirmed.head-unknown': {
    level: 'warn',
    message: 'asking the node for the rules of the chain failed; trying again',
  },
  'preconfirmed.unreadable': { level: 'warn', message: 'reading from the node for a flashblock failed; trying again' },
  'preconfirmed.failed': { level: 'error', message: 'following the stream failed' },
  'preconfirmed.head': { level: 'debug' },
  'preconfirmed.folded': { level: 'debug' },
  'preconfirmed.fallback': { level: 'debug' },
}
