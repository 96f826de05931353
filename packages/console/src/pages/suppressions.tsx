// Suppressed addresses.

import type { Suppression } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, FormDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Badge, Empty, type Tone } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

type Asked = { kind: 'add' } | { kind: 'remove'; suppression: Suppression } | null

const types: Record<Suppression['type'], { tone: Tone; text: string }> = {
  bounce: { tone: 'bad', text: 'Bounced' },
  complaint: { tone: 'bad', text: 'Complained' },
  unsub: { tone: 'warn', text: 'Unsubscribed' },
  manual: { tone: 'calm', text: 'Added by hand' },
}

export function SuppressionsPage() {
  const [asked, setAsked] = useState<Asked>(null)
  const [address, setAddress] = useState('')
  const wanted = address.trim()
  const list = usePaged(`suppressions ${wanted}`, (bounds) =>
    client.suppressions.list({ ...bounds, ...(wanted !== '' && { address: wanted }) }).page(),
  )
  const close = () => setAsked(null)
  const done = (text: string) => {
    toast(text)
    close()
    list.reload()
  }
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'add' })}>
      Suppress an address
    </Button>
  )
  return (
    <Page
      title="Suppressions"
      intro="Addresses that no inbox of this account sends to: they bounced, complained, unsubscribed, or were added by hand."
      actions={add}
    >
      <div class="toolbar">
        <div class="grow">
          <TextField
            type="search"
            label="Find an address"
            name="address"
            value={address}
            onValue={setAddress}
            placeholder="ann@example.com"
            spellcheck={false}
            autocomplete="off"
          />
        </div>
      </div>
      <div class="panel">
        <PagedList
          list={list}
          label="suppressions"
          empty={
            <Empty
              icon="block"
              title={wanted === '' ? 'No address is suppressed' : `${wanted} is not suppressed`}
            >
              {wanted === ''
                ? 'Addresses are added automatically after a hard bounce, a complaint or an unsubscribe.'
                : 'Enter the exact address; upper and lower case do not matter.'}
            </Empty>
          }
        >
          <SuppressionTable
            items={list.items}
            remove={(suppression) => setAsked({ kind: 'remove', suppression })}
          />
        </PagedList>
      </div>
      {asked?.kind === 'add' && <AddSuppression onClose={close} onDone={done} />}
      {asked?.kind === 'remove' && (
        <ConfirmDialog
          title="Allow sending to this address?"
          action="Remove from the list"
          onClose={close}
          submit={async () => {
            await client.suppressions.delete(asked.suppression.address)
            done(`${asked.suppression.address} can be sent to again`)
          }}
        >
          <p>
            Messages to <strong>{asked.suppression.address}</strong> will be sent again. If the
            reason still applies, sending to it harms the reputation of your domain.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function SuppressionTable({
  items,
  remove,
}: {
  items: readonly Suppression[]
  remove: (suppression: Suppression) => void
}) {
  return (
    <Table columns={['Address', 'Reason', 'Since']} hasTools>
      {items.map((one) => (
        <tr key={one.id}>
          <td class="main-cell">
            {one.address}
            {one.reason && <span class="sub">{one.reason}</span>}
          </td>
          <td>
            <Badge tone={types[one.type].tone}>{types[one.type].text}</Badge>
          </td>
          <td data-label="Since" class="nowrap muted">
            <Time at={one.createdAt} />
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="trash"
              label={`Remove ${one.address} from the list`}
              onClick={() => remove(one)}
            />
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function AddSuppression({
  onClose,
  onDone,
}: {
  onClose: () => void
  onDone: (text: string) => void
}) {
  const [address, setAddress] = useState('')
  return (
    <FormDialog
      title="Suppress an address"
      action="Suppress"
      onClose={onClose}
      isDisabled={address.trim() === ''}
      submit={async () => {
        const made = await client.suppressions.create({ address: address.trim() })
        onDone(`${made.address} is suppressed`)
      }}
    >
      {(fields) => (
        <TextField
          label="Address"
          name="address"
          value={address}
          onValue={setAddress}
          error={fields.address}
          hint="Every inbox will refuse to send to this address."
          spellcheck={false}
          autocomplete="off"
          autofocus
        />
      )}
    </FormDialog>
  )
}
