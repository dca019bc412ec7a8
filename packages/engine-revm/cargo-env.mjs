import { readFileSync } from 'node:fs'

/**
 * This processor's features, beyond the baseline, that the addon may use. With AVX-512, hashing takes four fifths of the time on Intel,
 * nine tenths on AMD from family 26 (Zen 5) on; earlier AMD processors run it at half width. infra/Dockerfile and the workflow build
 * without, for other machines.
 */
export const extraFeatures = findExtraFeatures()

/** The environment for cargo, the same for the addon and for tests: otherwise each would rebuild all crates. */
export const cargoEnv = { ...process.env, ...(extraFeatures.length > 0 && { RUSTFLAGS: withExtraFeatures() }) }

/** RUSTFLAGS overrides the user's cargo configuration, so it is set only if there is something to add. */
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
