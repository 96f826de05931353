// The account: plan and usage, retention, pods and keys.

import type { Pod, Stats } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatDay, formatNumber, formatSize, plural, podName } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { WiderRetention } from '#mail/retention.tsx'
import { Button, ButtonLink } from '#parts/button.tsx'
import { ConfirmDialog, FormDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Loaded } from '#parts/loaded.tsx'
import { Badge, Empty } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CopyText, Facts, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

export function SettingsPage() {
  return (
    <Page title="Settings">
      <AccountSettings />
      <PodSettings />
      <KeySettings />
    </Page>
  )
}

function AccountSettings() {
  const [isOpen, setIsOpen] = useState(false)
  const account = useResource('settings', async (signal) => {
    const [own, stats, pods] = await Promise.all([
      client.account.get({ signal }),
      client.stats.get({ range: '30d', signal }),
      client.pods.list({ limit: 100, signal }).page(),
    ])
    return { own, stats, pods: pods.data }
  })
  return (
    <Loaded resource={account} label="Loading the account">
      {({ own, stats, pods }) => (
        <>
          <Section title="Account">
            <div class="panel panel-body stack">
              <Facts
                lines={[
                  ['Name', own.name],
                  ['Plan', own.plan],
                  ['Created', formatDay(own.createdAt)],
                  [
                    'Sending',
                    session.value?.isSandbox ? 'Sandbox: no mail leaves the service' : 'On',
                  ],
                  ['Version of the service', session.value?.version ?? ''],
                ]}
              />
              <div>
                <p class="hint">Account id</p>
                <CopyText text={own.id} label="account id" />
              </div>
            </div>
          </Section>
          <Section title="Limits">
            <Limits stats={stats} inboxLimit={own.inboxLimit} />
          </Section>
          <Section
            title="Retention"
            actions={
              <Button icon="clock" onClick={() => setIsOpen(true)}>
                Change
              </Button>
            }
          >
            <p>
              {own.retentionDays === null
                ? 'Messages are kept until they are deleted'
                : `Messages are deleted ${plural(own.retentionDays, 'day')} after they were stored`}
              , unless a pod or an inbox has its own setting.
            </p>
          </Section>
          {isOpen && (
            <WiderRetention
              pods={pods}
              onClose={() => setIsOpen(false)}
              onDone={() => {
                toast('Saved')
                setIsOpen(false)
                account.reload()
              }}
            />
          )}
        </>
      )}
    </Loaded>
  )
}

function Limits({ stats, inboxLimit }: { stats: Stats; inboxLimit: number }) {
  const { inboxes, storedBytes, storedBytesLimit, totals } = stats
  return (
    <div class="panel panel-body limits">
      <Limit
        name="Inboxes"
        part={inboxes / inboxLimit}
        words={`${formatNumber(inboxes)} of ${formatNumber(inboxLimit)}`}
      />
      <Limit
        name="Stored mail"
        part={storedBytesLimit === null ? null : storedBytes / storedBytesLimit}
        words={
          storedBytesLimit === null
            ? `${formatSize(storedBytes)}, without a limit`
            : `${formatSize(storedBytes)} of ${formatSize(storedBytesLimit)}`
        }
      />
      <Limit
        name="Mail in 30 days"
        part={null}
        words={`${formatNumber(totals.received)} received, ${formatNumber(totals.sent)} sent, ${formatNumber(totals.failed)} failed`}
      />
    </div>
  )
}

/** `part` is null without a limit. */
function Limit({ name, part, words }: { name: string; part: number | null; words: string }) {
  return (
    <div>
      <p>
        <strong>{name}</strong> <span class="muted">{words}</span>
      </p>
      {part !== null && <progress aria-label={`${name} used`} value={Math.min(1, part)} />}
    </div>
  )
}

type Asked = { kind: 'create' } | { kind: 'edit' | 'delete'; pod: Pod } | null

function PodSettings() {
  const [asked, setAsked] = useState<Asked>(null)
  const list = usePaged('pod settings', (bounds) => client.pods.list(bounds).page(), 25)
  const done = (text: string) => {
    toast(text)
    setAsked(null)
    list.reload()
  }
  const close = () => setAsked(null)
  return (
    <Section
      title="Pods"
      actions={
        <Button icon="plus" onClick={() => setAsked({ kind: 'create' })}>
          New pod
        </Button>
      }
    >
      <p class="hint">
        A pod contains inboxes that belong together, such as those of one customer.
      </p>
      <div class="panel below">
        <PagedList list={list} label="pods" empty={<Empty icon="inbox" title="No pods" />}>
          <PodTable pods={list.items} ask={setAsked} />
        </PagedList>
      </div>
      {asked?.kind === 'create' && (
        <PodForm title="New pod" action="Create pod" onClose={close} onDone={done} />
      )}
      {asked?.kind === 'edit' && (
        <PodForm title="Edit pod" action="Save" pod={asked.pod} onClose={close} onDone={done} />
      )}
      {asked?.kind === 'delete' && (
        <ConfirmDialog
          title="Delete this pod?"
          action="Delete pod"
          onClose={close}
          submit={async () => {
            await client.pods.delete(asked.pod.id)
            done('Pod deleted')
          }}
        >
          <p>
            <strong>{podName(asked.pod)}</strong> can be deleted when it has no inboxes and no
            domains.
          </p>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function PodTable({ pods, ask }: { pods: readonly Pod[]; ask: (asked: Asked) => void }) {
  return (
    <Table columns={['Name', 'Client id', 'Retention', 'Created']} hasTools>
      {pods.map((pod) => (
        <tr key={pod.id}>
          <td class="main-cell">
            {podName(pod)} {pod.isDefault && pod.name !== null && <Badge>Default</Badge>}
            <span class="sub">
              <code>{pod.id}</code>
            </span>
          </td>
          <td data-label="Client id" class="muted text-cell">
            {pod.clientId ?? 'None'}
          </td>
          <td data-label="Retention" class="muted nowrap">
            {pod.retentionDays === null ? 'Same as the account' : plural(pod.retentionDays, 'day')}
          </td>
          <td data-label="Created" class="muted nowrap">
            <Time at={pod.createdAt} />
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="edit"
              label={`Edit ${podName(pod)}`}
              onClick={() => ask({ kind: 'edit', pod })}
            />
            {!pod.isDefault && (
              <Button
                kind="quiet"
                icon="trash"
                label={`Delete ${podName(pod)}`}
                onClick={() => ask({ kind: 'delete', pod })}
              />
            )}
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function PodForm({
  title,
  action,
  pod,
  onClose,
  onDone,
}: {
  title: string
  action: string
  pod?: Pod
  onClose: () => void
  onDone: (text: string) => void
}) {
  const [name, setName] = useState(pod?.name ?? '')
  const [clientId, setClientId] = useState(pod?.clientId ?? '')
  const orNull = (text: string) => (text.trim() === '' ? null : text.trim())
  const save = async () => {
    const [ownName, ownId] = [orNull(name), orNull(clientId)]
    if (pod !== undefined) {
      await client.pods.update(pod.id, { name: ownName, clientId: ownId })
      return onDone('Pod saved')
    }
    await client.pods.create({
      ...(ownName !== null && { name: ownName }),
      ...(ownId !== null && { clientId: ownId }),
    })
    onDone('Pod created')
  }
  return (
    <FormDialog title={title} action={action} onClose={onClose} submit={save}>
      {(fields) => (
        <>
          <TextField
            label="Name"
            name="name"
            value={name}
            onValue={setName}
            error={fields.name}
            autocomplete="off"
            autofocus
          />
          <TextField
            label="Client id"
            name="clientId"
            value={clientId}
            onValue={setClientId}
            error={fields.clientId}
            hint="An id of your own, which programs may use in place of the pod’s."
            autocomplete="off"
            spellcheck={false}
          />
        </>
      )}
    </FormDialog>
  )
}

function KeySettings() {
  const keys = useResource('settings keys', (signal) =>
    client.apiKeys.list({ limit: 1, signal }).page(),
  )
  return (
    <Section title="API keys" actions={<ButtonLink href={paths.keys}>Manage keys</ButtonLink>}>
      <p>
        {keys.value === undefined ? '…' : plural(keys.value.total, 'active key')}. Each has full
        access to the account.
      </p>
    </Section>
  )
}
