import type { Metrics } from '@upfront/service'
import { Gauge } from 'prom-client'

const CARRY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const VISIBLE_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5]

export type Figures = ReturnType<typeof figuresOf>

/** The counters and histograms of `/metrics`. Alerts notice a first increase only if the series existed with 0: such series are listed. */
export function figuresOf(metrics: Metrics) {
  return {
    calls: metrics.tally('upfront_rpc_calls_total', 'JSON-RPC calls by method and outcome', ['method', 'outcome']),
    callTimes: metrics.timings('upfront_rpc_call_seconds', 'Time to serve a JSON-RPC call', ['method']),
    refused: metrics.tally(
      'upfront_refused_requests_total',
      'HTTP requests refused before their calls were read, by status',
      ['status'],
      [['429'], ['500'], ['503']],
    ),
    payments: metrics.tally(
      'upfront_payments_total',
      'Paid requests, by route, reason of the charge and outcome of the payment',
      ['route', 'reason', 'outcome'],
    ),
    simulations: metrics.tally(
      'upfront_simulations_total',
      'Simulations, by source of their state: all cached, or some read from the upstream',
      ['state'],
      [['cached'], ['read']],
    ),
    simulatedGas: metrics.tally('upfront_simulated_gas_total', 'Gas used by simulated calls, including failed ones'),
    simulatedBlocks: metrics.tally('upfront_simulated_blocks_total', 'Blocks simulated'),
    nativePrecompiles: metrics.tally(
      'upfront_native_precompile_rejections_total',
      "Simulations refused because they reached a native precompile of the chain (Base's B20)",
    ),
    heldReads: metrics.tally(
      'upfront_state_cache_hits_total',
      'State values that simulations were expected to read and the engine held or was already reading',
    ),
    reads: metrics.tally('upfront_state_cache_misses_total', 'State values read from the upstream node'),
    predictions: metrics.tally(
      'upfront_truth_predictions_total',
      'Predictions of mined transactions: hit, or why they were wrong',
      ['outcome'],
      [['hit'], ['ours'], ['unnamed']],
    ),
    unpredicted: metrics.tally(
      'upfront_truth_left_total',
      'Transactions not scored: crowded (no spare time), invalid on the newest state, or unanswered by the node',
      ['why'],
    ),
    upstreamTimes: metrics.timings(
      'upfront_upstream_request_seconds',
      'Time of an HTTP request to the upstream node, by outcome',
      ['upstream', 'outcome'],
    ),
    upstreamCalls: metrics.tally(
      'upfront_upstream_calls_total',
      'JSON-RPC calls to the upstream node, by method and outcome',
      ['upstream', 'method', 'outcome'],
    ),
    retries: metrics.tally(
      'upfront_upstream_retries_total',
      'JSON-RPC calls sent to the upstream node again, by fault of the attempt before',
      ['upstream', 'fault'],
    ),
    hedges: metrics.tally(
      'upfront_upstream_hedges_total',
      'HTTP requests hedged to a second node because the first was slow, by whether the second answered first',
      ['upstream', 'first'],
    ),
    leftOut: new Gauge({
      name: 'upfront_upstream_left_out',
      help: '1 while a URL is skipped in favour of others: it failed, or its head strays from theirs',
      labelNames: ['upstream', 'reason'],
      registers: [metrics.registry],
    }),
    headEvents: metrics.tally(
      'upfront_head_events_total',
      'Events of following the head: head, reorganised, missed, early, inVain, unserved, lost, unknown, failed, following, resting',
      ['event'],
    ),
    carryBlocks: metrics.tally(
      'upfront_carry_blocks_total',
      'Followed blocks: carried, or why state was not carried over them',
      ['outcome'],
    ),
    carryListed: metrics.tally(
      'upfront_carry_listed_total',
      'Blocks over which state was carried by their access list (EIP-7928), without executing them',
    ),
    carryAudits: metrics.tally(
      'upfront_carry_audits_total',
      'Comparisons of carried values with the node: confirmed or contradicted',
      ['outcome'],
      [['confirmed'], ['contradicted']],
    ),
    carryTimes: metrics.timings(
      'upfront_carry_seconds',
      'Time to execute and read for a block over which state was carried',
      [],
      CARRY_SECONDS,
    ),
    carryReads: metrics.tally(
      'upfront_carry_reads_total',
      'State values read from the node to carry state over blocks',
    ),
    arrivals: metrics.tally(
      'upfront_flashblocks_total',
      'Flashblocks received: next, first, restart, duplicate, gap, stale or ahead',
      ['arrival'],
    ),
    preconfirmedEvents: metrics.tally(
      'upfront_preconfirmed_events_total',
      'Events of the pre-confirmed chain: visible, folded, differs, reorganised, mismatch, nativePrecompile, fallback, …',
      ['event'],
      [['differs'], ['mismatch'], ['nativePrecompile']],
    ),
    visibleTimes: metrics.timings(
      'upfront_flashblock_visible_seconds',
      'Time from receiving a flashblock until pending shows it',
      [],
      VISIBLE_SECONDS,
    ),
  }
}
