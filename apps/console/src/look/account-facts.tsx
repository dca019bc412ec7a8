import { formatEther, type Hex, hexToBigInt, hexToNumber } from 'viem'
import { Address } from '../parts/address.js'
import { Details } from '../parts/details.js'
import { Notice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import type { Operation, SafeTransaction, SimulatedCall } from './answer.js'

/** Details of a user operation or a Safe transaction in addition to its effect. */
export function AccountFacts({ outcome: { userOperation, safeTransaction } }: { outcome: SimulatedCall }) {
  if (userOperation) return <OperationFacts operation={userOperation} />
  return safeTransaction ? <SafeFacts transaction={safeTransaction} /> : null
}

function OperationFacts({ operation }: { operation: Operation }) {
  const { validation, paymaster, execution, brokenRules, actualGasCost } = operation
  const parts = [
    ...(validation ? [{ name: 'Validation', ...validation }] : []),
    ...(paymaster ? [{ name: 'Paymaster', ...paymaster }] : []),
    ...(execution ? [{ name: 'Execution', signature: undefined, ...execution }] : []),
  ]
  return (
    <div className="stack">
      {validation?.assumed && (
        <Notice level="plain" title={assumedTitle(validation.signature)}>
          Shown is what the account does once its signature is right.
        </Notice>
      )}
      {brokenRules.length > 0 && (
        <Notice level="caution" title="Bundlers would reject it as it is">
          Its validation breaks {[...new Set(brokenRules.map(({ rule }) => rule))].join(', ')} of ERC-7562.
        </Notice>
      )}
      <p className="quiet">
        {paymaster ? (
          <>
            Its fees are paid by <Address value={paymaster.address} />
          </>
        ) : (
          'The account pays its own fees'
        )}
        {actualGasCost && `: ${formatEther(hexToBigInt(actualGasCost))} ETH`}.
      </p>
      <Details title="Validation and execution">
        <Table
          caption="Parts of the operation"
          rows={parts}
          rowKey={({ name }) => name}
          columns={[
            { head: 'Part', cell: ({ name }) => name },
            { head: 'Outcome', cell: ({ status, error }) => (status === '0x1' ? '✓' : `✗ ${error ?? ''}`) },
            { head: 'Signature', cell: ({ signature }) => signature ?? '' },
            { head: 'Gas', cell: ({ gasUsed }) => hexToBigInt(gasUsed).toLocaleString('en'), isNumber: true },
          ]}
        />
        {brokenRules.length > 0 && (
          <Table
            caption="Rules of ERC-7562 that it breaks"
            rows={brokenRules}
            rowKey={(_, index) => index}
            columns={[
              { head: 'Rule', cell: ({ rule }) => rule },
              { head: 'By the', cell: ({ entity }) => entity },
              { head: 'In', cell: ({ contract }) => <Address value={contract} /> },
              { head: 'What', cell: ({ what }) => (isAddress(what) ? <Address value={what} /> : shortened(what)) },
            ]}
          />
        )}
      </Details>
    </div>
  )
}

function assumedTitle(signature: string | undefined): string {
  return signature === 'missing' ? 'It is not signed yet' : 'Its signature is not valid'
}

function isAddress(text: string): text is Hex {
  return /^0x[0-9a-f]{40}$/.test(text)
}

function shortened(text: string): string {
  return text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text
}

function SafeFacts({ transaction }: { transaction: SafeTransaction }) {
  const { safe, nonce, nextNonce, threshold, owners, guard, isGuarded, safeTxHash } = transaction
  const waits = hexToBigInt(nonce) - hexToBigInt(nextNonce)
  return (
    <div className="stack">
      {waits > 0n && (
        <Notice
          level="caution"
          title={waits === 1n ? 'Another transaction comes first' : `${waits} transactions come first`}
        >
          Its nonce is {hexToBigInt(nonce).toString()}, the Safe’s next is {hexToBigInt(nextNonce).toString()}: what
          those do is not in it.
        </Notice>
      )}
      {guard && !isGuarded && (
        <Notice level="caution" title="Without the Safe’s guard">
          The guard may refuse it: <Address value={guard} />
        </Notice>
      )}
      <p className="quiet">
        Once {hexToNumber(threshold)} of the {owners.length} owners of <Address value={safe} /> have signed
        {isGuarded ? ', checked by its guard' : ''}.
      </p>
      <Details title="What its owners sign">
        <p className="wraps">{safeTxHash}</p>
        <div className="row">
          {owners.map((owner) => (
            <Address key={owner} value={owner} />
          ))}
        </div>
      </Details>
    </div>
  )
}
