// Loaded into the gateway with `--import`: on SIGUSR2, writes the event loop's delay since the last signal to a file.
import { renameSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** Sampling interval. The histogram contains it, so it is subtracted. */
const RESOLUTION = 1
const file = process.env.EVENT_LOOP_PROBE_FILE

if (isMainThread && file !== undefined) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  histogram.enable()
  process.on('SIGUSR2', () => {
    const milliseconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION)
    writeFileSync(
      `${file}.part`,
      JSON.stringify({ p99: milliseconds(histogram.percentile(99)), max: milliseconds(histogram.max) }),
    )
    renameSync(`${file}.part`, file)
    histogram.reset()
  })
}
