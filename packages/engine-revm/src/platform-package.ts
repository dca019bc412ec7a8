/** The packages with prebuilt addons, by platform in napi-rs' naming; the workflow `engine-revm-addon.yml` packs them. */
const PACKAGES: Record<string, string> = {
  'linux-x64': '@upfront/engine-revm-linux-x64-gnu',
  'linux-arm64': '@upfront/engine-revm-linux-arm64-gnu',
  'darwin-x64': '@upfront/engine-revm-darwin-x64',
  'darwin-arm64': '@upfront/engine-revm-darwin-arm64',
  'win32-x64': '@upfront/engine-revm-win32-x64-msvc',
}

/** The package that may have a prebuilt addon for this platform; undefined for platforms without one, such as Linux with musl. */
export function platformPackage(
  platform: string = process.platform,
  arch: string = process.arch,
  glibc: boolean = hasGlibc(),
): string | undefined {
  return platform === 'linux' && !glibc ? undefined : PACKAGES[`${platform}-${arch}`]
}

function hasGlibc(): boolean {
  if (process.platform !== 'linux') return false
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return header?.glibcVersionRuntime !== undefined
}
