import { ETHEREUM_FORKS, type EthereumFork } from '@upfront/simulation'

export function isActive(fork: EthereumFork, current: EthereumFork): boolean {
  return ETHEREUM_FORKS.indexOf(current) >= ETHEREUM_FORKS.indexOf(fork)
}
