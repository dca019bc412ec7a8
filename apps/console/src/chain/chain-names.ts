/** Names of chains by id, as wallets use them. */
const NAMES: Record<number, string> = {
  1: 'Ethereum',
  10: 'OP Mainnet',
  56: 'BNB Smart Chain',
  100: 'Gnosis',
  130: 'Unichain',
  137: 'Polygon',
  480: 'World Chain',
  1301: 'Unichain Sepolia',
  8453: 'Base',
  17000: 'Holesky',
  31337: 'Local chain',
  42161: 'Arbitrum One',
  43114: 'Avalanche',
  57073: 'Ink',
  59144: 'Linea',
  84532: 'Base Sepolia',
  421614: 'Arbitrum Sepolia',
  534352: 'Scroll',
  560048: 'Hoodi',
  7777777: 'Zora',
  11155111: 'Sepolia',
  11155420: 'OP Sepolia',
}

/** For example `Base`, or `Chain 12345`. */
export function chainName(id: number): string {
  return NAMES[id] ?? `Chain ${id}`
}
