// The sender rules of the account and of all pods and inboxes.

import { shownLine } from '@mailroom/mail/unseen.ts'
import type { Inbox, Pod, SenderRule } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { podName } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { Badge, Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'
import { ReadOnlyPolicy, usePolicyAccess } from './policy-access.tsx'
import { RuleEnd } from './policy-rules.tsx'
import { RuleDialog } from './rule-dialog.tsx'

type Places = { inboxes: readonly Inbox[]; pods: readonly Pod[] }
type Asked = { kind: 'add' } | { kind: 'change' | 'remove'; rule: SenderRule } | null

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
  const isReadOnly = usePolicyAccess() === 'read-only'
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
        !isReadOnly && (
          <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'add' })}>
            New rule
          </Button>
        )
      }
    >
      {isReadOnly && <ReadOnlyPolicy />}
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
            <RuleTable rules={list.items} places={known} ask={isReadOnly ? null : setAsked} />
          </PagedList>
        </div>
      </Section>
      {(asked?.kind === 'add' || asked?.kind === 'change') && (
        <RuleDialog
          direction="inbound"
          rule={asked.kind === 'add' ? null : asked.rule}
          places={placeOptions(known)}
          onClose={close}
          submit={async (fields, place) => {
            const { podId, inboxId } =
              asked.kind === 'change'
                ? asked.rule
                : {
                    podId: place.startsWith('pod_') ? place : null,
                    inboxId: place.startsWith('inb_') ? place : null,
                  }
            const rule = await client.senderRules.create({
              ...fields,
              ...(podId !== null && { podId }),
              ...(inboxId !== null && { inboxId }),
            })
            done(`${rule.value} is ${rule.type === 'block' ? 'blocked' : 'allowed'}`)
          }}
        />
      )}
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

function FilterMode() {
  const account = useResource('own account', (signal) => client.account.get({ signal }))
  if (account.error) return <Trouble error={account.error} retry={account.reload} />
  if (account.value === undefined) return <Skeleton rows={1} label="Loading the filter mode" />
  return (
    <p>
      {account.value.filterMode === 'none'
        ? 'All mail is delivered to the inboxes, except from senders that a rule blocks.'
        : 'Only mail from senders that a rule allows is delivered; all other mail is quarantined.'}{' '}
      <a href={paths.policy}>Change this in the policy</a>
    </p>
  )
}

function placeOptions({ inboxes, pods }: Places) {
  return [
    { value: '', text: 'All inboxes' },
    ...pods.map((pod) => ({ value: pod.id, text: `Pod ${podName(pod)}` })),
    ...inboxes.map(({ id, address }) => ({ value: id, text: address })),
  ]
}

function RuleTable({
  rules,
  places,
  ask,
}: {
  rules: readonly SenderRule[]
  places: Places
  /** Null if the person may not change rules. */
  ask: ((asked: Asked) => void) | null
}) {
  return (
    <Table columns={['Sender', 'Rule', 'Applies to', 'Created']} hasTools>
      {rules.map((rule) => (
        <tr key={rule.id}>
          <td class="main-cell">
            {rule.value}
            {isDomain(rule) && <span class="sub">and its subdomains</span>}
            {rule.note !== null && <span class="sub">{shownLine(rule.note)}</span>}
          </td>
          <td>
            {rule.type === 'block' ? (
              <Badge tone="bad">Block</Badge>
            ) : (
              <Badge tone="good">{rule.requireVerified ? 'Allow, verified' : 'Allow'}</Badge>
            )}{' '}
            <RuleEnd expiresAt={rule.expiresAt} />
          </td>
          <td data-label="Applies to" class="muted text-cell">
            {placeOf(rule, places)}
          </td>
          <td data-label="Created" class="nowrap muted">
            <Time at={rule.createdAt} />
          </td>
          <RowTools>
            {ask !== null && (
              <>
                <Button
                  kind="quiet"
                  icon="edit"
                  label={`Change the rule for ${rule.value}`}
                  onClick={() => ask({ kind: 'change', rule })}
                />
                <Button
                  kind="quiet"
                  icon="trash"
                  label={`Remove the rule for ${rule.value}`}
                  onClick={() => ask({ kind: 'remove', rule })}
                />
              </>
            )}
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function isDomain({ value }: SenderRule): boolean {
  return !value.includes('@') && !value.startsWith('*.')
}

function placeOf({ inboxId, podId }: SenderRule, { inboxes, pods }: Places): string {
  if (inboxId !== null) return inboxes.find(({ id }) => id === inboxId)?.address ?? inboxId
  if (podId === null) return 'All inboxes'
  const pod = pods.find(({ id }) => id === podId)
  return `Pod ${pod === undefined ? podId : podName(pod)}`
}
