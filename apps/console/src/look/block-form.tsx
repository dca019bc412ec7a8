import { Button } from '@mantine/core'
import type { AbiFunction } from 'viem'
import { type AccountDraft, type BlockDraft, EMPTY_ACCOUNT, EMPTY_CALL } from '../request/draft.js'
import { CallForm } from './call-form.js'
import { Field, mark } from './field.js'

interface Props {
  number: number
  block: BlockDraft
  functions: ReadonlyMap<string, AbiFunction>
  onEdit(block: BlockDraft): void
  /** Absent for the only block. */
  onRemove: (() => void) | undefined
}

const ACCOUNT_FIELDS: { name: keyof AccountDraft; label: string }[] = [
  { name: 'address', label: 'Address' },
  { name: 'balance', label: 'Balance (ether, or wei as 0x-hex)' },
  { name: 'nonce', label: 'Nonce' },
  { name: 'code', label: 'Code (0x-hex)' },
  { name: 'slot', label: 'Storage slot' },
  { name: 'value', label: 'Value of the slot' },
]
const BLOCK_FIELDS = [
  { name: 'number', label: 'Block number' },
  { name: 'time', label: 'Time (seconds since 1970)' },
  { name: 'baseFee', label: 'Base fee (wei)' },
] as const

/** One block of the request: calls, state overrides and block fields. */
export function BlockForm({ number, block, functions, onEdit, onRemove }: Props) {
  const { calls, accounts } = block
  const field = `blocks.${number - 1}`
  return (
    <section aria-label={`Block ${number}`} className="stack">
      {onRemove && <h3>Block {number}</h3>}
      {block.before !== '' && (
        <details>
          <summary>What comes before it in its block</summary>
          <Field
            field={`${field}.before`}
            label="Calls as JSON"
            rows={3}
            value={block.before}
            onEdit={(value) => onEdit({ ...block, before: value })}
          />
        </details>
      )}
      {calls.map((call, index) => (
        <CallForm
          key={index}
          number={index + 1}
          field={`${field}.calls.${index}`}
          call={call}
          functions={functions}
          isWhole
          onEdit={(changed) => onEdit({ ...block, calls: calls.with(index, changed) })}
          onRemove={calls.length > 1 ? () => onEdit({ ...block, calls: calls.toSpliced(index, 1) }) : undefined}
        />
      ))}
      <details>
        <summary>State overrides{mark(block.overrides !== '' || accounts.length > 0)}</summary>
        <div className="stack">
          {accounts.map((account, index) => (
            <fieldset key={index} className="call">
              <legend>Account {index + 1}</legend>
              <div className="fields">
                {ACCOUNT_FIELDS.map(({ name, label }) => (
                  <Field
                    key={name}
                    field={`${field}.accounts.${index}.${name}`}
                    label={label}
                    value={account[name]}
                    onEdit={(value) =>
                      onEdit({ ...block, accounts: accounts.with(index, { ...account, [name]: value }) })
                    }
                  />
                ))}
              </div>
              <Button
                variant="default"
                size="xs"
                mt="xs"
                onClick={() => onEdit({ ...block, accounts: accounts.toSpliced(index, 1) })}
              >
                Remove account {index + 1}
              </Button>
            </fieldset>
          ))}
          <div>
            <Button
              variant="default"
              size="xs"
              onClick={() => onEdit({ ...block, accounts: [...accounts, EMPTY_ACCOUNT] })}
            >
              Override an account
            </Button>
          </div>
          <Field
            field={`${field}.overrides`}
            label="JSON by address, as in eth_simulateV1"
            rows={4}
            value={block.overrides}
            onEdit={(value) => onEdit({ ...block, overrides: value })}
          />
        </div>
      </details>
      <details>
        <summary>
          The block itself{mark(BLOCK_FIELDS.some(({ name }) => block[name] !== '') || block.more !== '')}
        </summary>
        <div className="stack">
          <div className="fields">
            {BLOCK_FIELDS.map(({ name, label }) => (
              <Field
                key={name}
                field={`${field}.${name}`}
                label={label}
                value={block[name]}
                onEdit={(value) => onEdit({ ...block, [name]: value })}
              />
            ))}
          </div>
          <Field
            field={`${field}.more`}
            label="Other block overrides as JSON: gasLimit, feeRecipient, prevRandao"
            rows={2}
            value={block.more}
            onEdit={(value) => onEdit({ ...block, more: value })}
          />
        </div>
      </details>
      <div className="row">
        <Button variant="default" size="xs" onClick={() => onEdit({ ...block, calls: [...calls, EMPTY_CALL] })}>
          Add a call
        </Button>
        {onRemove && (
          <Button variant="default" size="xs" onClick={onRemove}>
            Remove block {number}
          </Button>
        )}
      </div>
    </section>
  )
}
