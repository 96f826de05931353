// Sender rules, and the mode for senders without a rule.

import type { Inbox, Pod, SenderRule } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { podName } from '#data/format.ts'
import { client } from '#data/session.ts'
import { toast, toastFailure } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, FormDialog } from '#parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '#parts/field.tsx'
import { Badge, Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Choice, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

type Places = { inboxes: readonly Inbox[]; pods: readonly Pod[] }
type Asked = { kind: 'add' } | { kind: 'remove'; rule: SenderRule } | null

const PLACES_MAX = 100

export function RulesPage() {
  const [asked, setAsked] = useState<Asked>(null)
  const list = usePaged('sender rules', (bounds) => client.senderRules.list(bounds).page())
  const places = useResource('places of rules', async (signal): Promise<Places> => {
    const [inboxes, pods] = await Promise.all([
      client.inboxes.list({ limit: PLACES_MAX, signal }).page(),
      client.pods.list({ limit: PLACES_MAX, signal }).page(),
    ])
    return { inboxes: inboxes.data, pods: pods.data }
  })
  const known = places.value ?? { inboxes: [], pods: [] }
  const close = () => setAsked(null)
  const done = (text: string) => {
    toast(text)
    close()
    list.reload()
  }
  return (
    <Page
      title="Sender rules"
      intro="Rules apply to mail that arrives after they were added. A rule for an inbox overrides a rule for its pod, which overrides a rule for all inboxes."
      actions={
        <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'add' })}>
          New rule
        </Button>
      }
    >
      <FilterMode />
      <Section title="Rules">
        <div class="panel">
          <PagedList
            list={list}
            label="sender rules"
            empty={
              <Empty icon="filter" title="No rules yet">
                Block an address or a whole domain, or allow those you trust.
              </Empty>
            }
          >
            <RuleTable
              rules={list.items}
              places={known}
              remove={(rule) => setAsked({ kind: 'remove', rule })}
            />
          </PagedList>
        </div>
      </Section>
      {asked?.kind === 'add' && <AddRule places={known} onClose={close} onDone={done} />}
      {asked?.kind === 'remove' && (
        <ConfirmDialog
          title="Remove this rule?"
          action="Remove rule"
          onClose={close}
          submit={async () => {
            await client.senderRules.delete(asked.rule.id)
            done('Rule removed')
          }}
        >
          <p>
            The rule for <strong>{asked.rule.value}</strong> no longer applies to new mail. Messages
            that it quarantined stay in quarantine.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

const modes = [
  { value: 'none', text: 'Everyone except blocked senders' },
  { value: 'allowlist', text: 'Allowed senders only' },
] as const

function FilterMode() {
  const account = useResource('own account', (signal) => client.account.get({ signal }))
  if (account.error) return <Trouble error={account.error} retry={account.reload} />
  if (account.value === undefined) return <Skeleton rows={1} label="Loading the filter mode" />
  const { filterMode } = account.value
  const change = async (mode: typeof filterMode) => {
    try {
      const changed = await client.account.update({ filterMode: mode })
      account.replace(() => changed)
      toast(
        mode === 'none'
          ? 'Mail is accepted from everyone'
          : 'Mail is accepted from allowed senders only',
      )
    } catch (error) {
      toastFailure(error)
    }
  }
  return (
    <div class="panel panel-body stack">
      <div class="row">
        <h2>Accept mail from</h2>
        <Choice
          label="Accept mail from"
          value={filterMode}
          options={modes}
          onValue={(mode) => {
            if (mode !== filterMode) void change(mode)
          }}
        />
      </div>
      <p class="hint">
        {filterMode === 'none'
          ? 'All mail is delivered to the inboxes, except from senders that a rule blocks.'
          : 'Only mail from senders that a rule allows is delivered; all other mail is quarantined.'}
      </p>
    </div>
  )
}

function RuleTable({
  rules,
  places,
  remove,
}: {
  rules: readonly SenderRule[]
  places: Places
  remove: (rule: SenderRule) => void
}) {
  return (
    <Table columns={['Sender', 'Rule', 'Applies to', 'Created']} hasTools>
      {rules.map((rule) => (
        <tr key={rule.id}>
          <td class="main-cell">
            {rule.value}
            {!rule.value.includes('@') && <span class="sub">and its subdomains</span>}
          </td>
          <td>
            {rule.type === 'block' ? (
              <Badge tone="bad">Block</Badge>
            ) : (
              <Badge tone="good">{rule.requireVerified ? 'Allow, verified' : 'Allow'}</Badge>
            )}
          </td>
          <td data-label="Applies to" class="muted text-cell">
            {placeOf(rule, places)}
          </td>
          <td data-label="Created" class="nowrap muted">
            <Time at={rule.createdAt} />
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="trash"
              label={`Remove the rule for ${rule.value}`}
              onClick={() => remove(rule)}
            />
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function placeOf({ inboxId, podId }: SenderRule, { inboxes, pods }: Places): string {
  if (inboxId !== null) return inboxes.find(({ id }) => id === inboxId)?.address ?? inboxId
  if (podId === null) return 'All inboxes'
  const pod = pods.find(({ id }) => id === podId)
  return `Pod ${pod === undefined ? podId : podName(pod)}`
}

function AddRule({
  places,
  onClose,
  onDone,
}: {
  places: Places
  onClose: () => void
  onDone: (text: string) => void
}) {
  const [type, setType] = useState<SenderRule['type']>('block')
  const [value, setValue] = useState('')
  const [place, setPlace] = useState('')
  const [isVerifiedOnly, setIsVerifiedOnly] = useState(true)
  return (
    <FormDialog
      title="New sender rule"
      action={type === 'block' ? 'Block' : 'Allow'}
      onClose={onClose}
      isDisabled={value.trim() === ''}
      submit={async () => {
        const rule = await client.senderRules.create({
          type,
          value: value.trim(),
          ...(place.startsWith('pod_') && { podId: place }),
          ...(place.startsWith('inb_') && { inboxId: place }),
          ...(type === 'allow' && { requireVerified: isVerifiedOnly }),
        })
        onDone(`${rule.value} is ${type === 'block' ? 'blocked' : 'allowed'}`)
      }}
    >
      {(fields) => (
        <>
          <Choice
            label="Action"
            value={type}
            options={[
              { value: 'block', text: 'Block' },
              { value: 'allow', text: 'Allow' },
            ]}
            onValue={setType}
          />
          <TextField
            label="Address or domain"
            name="value"
            value={value}
            onValue={setValue}
            error={fields.value}
            hint="ann@example.com, or example.com with all its subdomains."
            spellcheck={false}
            autocomplete="off"
            autofocus
          />
          <SelectField
            label="Applies to"
            name="place"
            value={place}
            onValue={setPlace}
            options={[
              { value: '', text: 'All inboxes' },
              ...places.pods.map((pod) => ({ value: pod.id, text: `Pod ${podName(pod)}` })),
              ...places.inboxes.map(({ id, address }) => ({ value: id, text: address })),
            ]}
          />
          {type === 'allow' && (
            <CheckField
              label="Only if the sender is verified"
              name="requireVerified"
              hint="Otherwise anyone can bypass the rule with that address in the From header."
              isChecked={isVerifiedOnly}
              onChecked={setIsVerifiedOnly}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
