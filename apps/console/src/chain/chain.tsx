import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { type Hex, hexToNumber } from 'viem'
import { call } from '../rpc.js'
import { chainName } from './chain-names.js'

/** The chain that this gateway simulates on. */
export interface Chain {
  id: number
  name: string
}

const ChainContext = createContext<Chain | undefined>(undefined)
const RETRY_MS = 3_000

/** Asks the gateway for its chain until it answers. */
export function ChainProvider({ children }: { children: ReactNode }) {
  const [chain, setChain] = useState<Chain>()
  useEffect(() => {
    const left = new AbortController()
    let retry: ReturnType<typeof setTimeout>
    const ask = () => {
      call<Hex>('eth_chainId', [], left.signal).then(
        ({ result }) => {
          const id = hexToNumber(result)
          setChain({ id, name: chainName(id) })
        },
        () => {
          if (!left.signal.aborted) retry = setTimeout(ask, RETRY_MS)
        },
      )
    }
    ask()
    return () => {
      left.abort()
      clearTimeout(retry)
    }
  }, [])
  return <ChainContext value={chain}>{children}</ChainContext>
}

/** Undefined until the gateway has answered. */
export function useChain(): Chain | undefined {
  return useContext(ChainContext)
}
