// `npm run test:compose`: infra/compose.yaml up, a purchase, down, and the same again, as after a fresh start.
//   npm run test:compose -- --no-build     with existing images
// COMPOSE: another command than `docker compose`. For engines other than Docker see infra/README.md.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './install.mjs'

const [program, ...words] = (process.env.COMPOSE || 'docker compose').split(' ')
const compose = (args, stdio) =>
  spawnSync(program, [...words, '-f', join(root, 'infra/compose.yaml'), ...args], { encoding: 'utf8', stdio })

/** @throws Error if it fails */
function run(...args) {
  if (compose(args, 'inherit').status !== 0) throw new Error(`${args.join(' ')} failed`)
}

const running = compose(['ps', '--quiet'], 'pipe')
if (running.status !== 0) {
  const reason = running.error?.message ?? running.stderr.trim().split('\n')[0]
  console.log(`skipped: no container engine answers (${reason})`)
  process.exit(0)
}
if (running.stdout.trim() !== '') throw new Error('the local stand is already running: stop it first')
const [build = '--build'] = process.argv.slice(2)
for (const time of ['first', 'second']) {
  try {
    run('up', '--detach', '--wait', time === 'first' ? build : '--no-build')
    // The gateway's user must be able to write the charge journal.
    run('exec', '-T', 'gateway', 'sh', '-c', 'mkdir -p "$CHARGE_JOURNAL_DIR" && test -w "$CHARGE_JOURNAL_DIR"')
    const demo = spawnSync(process.execPath, [join(root, 'examples/paying-buyer/dist/main.js')], { encoding: 'utf8' })
    if (!demo.stdout.includes('The bill is right.')) throw new Error(`the demo failed: ${demo.stdout}${demo.stderr}`)
    console.log(`${time} start: the services are up, and the demo's bill is right.`)
  } finally {
    run('down')
  }
}
