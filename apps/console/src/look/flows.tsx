import { type Address as Account, toHex } from 'viem'
import { Address } from '../parts/address.js'
import { type AssetChanges, amountText } from './assets.js'
import type { NameOf } from './name-of.js'
import { flowsOf } from './sentence.js'

/** Net amounts that the account gives and receives, one line per asset, given ones first. */
export function Flows({ changes, account, nameOf }: { changes: AssetChanges; account: Account; nameOf: NameOf }) {
  const flows = flowsOf(changes, account).filter(({ net }) => net !== 0n)
  if (flows.length === 0) return null
  return (
    <ul className="flows" aria-label="Gives and receives in total">
      {flows
        .toSorted((one, other) => (one.net < other.net ? -1 : 1))
        .map(({ asset, net, isDoubtful }) => (
          <li key={[asset.type, asset.address, asset.tokenId].join()}>
            <span className={isDoubtful ? 'caution' : net < 0n ? 'bad' : 'good'}>
              {net < 0n ? '−' : '+'} {amountText(asset, toHex(net < 0n ? -net : net))}
            </span>
            {asset.address && <Address value={asset.address} name={nameOf(asset.address)} />}
            {isDoubtful && <span className="caution">⚠ the token’s balances say otherwise</span>}
          </li>
        ))}
    </ul>
  )
}
