import { readFileSync } from 'node:fs'

/**
 * What the addon may ask of this machine's processor beyond what all of its kind have. With AVX-512 hashes take four fifths of
 * the time on Intel's, nine tenths on AMD's from family 26 (Zen 5) on; earlier ones of AMD's run it at half the width. What is
 * built to travel, by infra/Dockerfile and the workflow, does without.
 */
export const extraFeatures = findExtraFeatures()

/** The environment for cargo. The same for the addon and for tests: else each would have all crates built anew. */
export const cargoEnv = { ...process.env, ...(extraFeatures.length > 0 && { RUSTFLAGS: withExtraFeatures() }) }

/** Set, it goes before what the user's cargo configuration says: so only where there is something to add. */
function withExtraFeatures() {
  const flags = extraFeatures.map((feature) => `-C target-feature=+${feature}`)
  return [process.env.RUSTFLAGS, ...flags].filter(Boolean).join(' ')
}

function findExtraFeatures() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return []
  const processor = readFileSync('/proc/cpuinfo', 'utf8')
  const [, family = '0'] = /^cpu family\s*: (\d+)$/m.exec(processor) ?? []
  const isWide = processor.includes('GenuineIntel') || (processor.includes('AuthenticAMD') && Number(family) >= 26)
  return isWide && /^flags.* avx512f .*avx512vl( |$)/m.test(processor) ? ['avx512f', 'avx512vl'] : []
}
