// Addresses that the account does not write to, and why.

import type { Suppression } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, FormDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Badge, Empty, Skeleton, type Tone, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Pager, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'

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
      intro="No inbox of the account writes to these addresses: mail to them bounced for good, or they asked for no more."
      actions={add}
    >
      <div class="toolbar">
        <div class="grow">
          <TextField
            type="search"
            label="Find an address, whole"
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
        {list.error && list.value === undefined ? (
          <Trouble error={list.error} retry={list.reload} />
        ) : list.value === undefined ? (
          <Skeleton label="Loading suppressions" />
        ) : list.items.length === 0 ? (
          <Empty
            icon="block"
            title={wanted === '' ? 'No address is suppressed' : `${wanted} is not suppressed`}
          >
            {wanted === ''
              ? 'An address comes here by itself when mail to it bounces for good, and on a complaint or an unsubscribe.'
              : 'Only whole addresses are found, in any case of their letters.'}
          </Empty>
        ) : (
          <SuppressionTable
            items={list.items}
            remove={(suppression) => setAsked({ kind: 'remove', suppression })}
          />
        )}
        <Pager list={list} label="suppressions" />
      </div>
      {asked?.kind === 'add' && <AddSuppression onClose={close} onDone={done} />}
      {asked?.kind === 'remove' && (
        <ConfirmDialog
          title="Write to this address again?"
          action="Remove from the list"
          onClose={close}
          submit={async () => {
            await client.suppressions.delete(asked.suppression.address)
            done(`${asked.suppression.address} may be written to again`)
          }}
        >
          <p>
            Mail to <strong>{asked.suppression.address}</strong> is taken again. If the reason still
            stands, sending to it harms the reputation of your domain.
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
    <div class="table-wrap">
      <table class="table cards">
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">Why</th>
            <th scope="col">Since</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
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
              <td class="tools">
                <div>
                  <Button
                    kind="quiet"
                    icon="trash"
                    label={`Remove ${one.address} from the list`}
                    onClick={() => remove(one)}
                  />
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
          hint="Sends to it are refused from then on, from every inbox."
          spellcheck={false}
          autocomplete="off"
          autofocus
        />
      )}
    </FormDialog>
  )
}
