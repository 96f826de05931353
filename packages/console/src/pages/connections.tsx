// Assistants that are connected by OAuth, how to connect one, and where a sign-in ended.

import type { Connection } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatDay, plural } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { Badge, Empty, Notice } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CopyText, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'
import { ConnectAssistant } from './connect-assistant.tsx'
import { SignInSteps } from './sign-in-steps.tsx'

export function ConnectionsPage() {
  const [revoked, setRevoked] = useState<Connection | null>(null)
  const list = usePaged('connections', (bounds) => client.connections.list(bounds).page())
  const publicUrl = new URL(session.value?.publicUrl ?? location.origin)
  const url = `${session.value?.publicUrl ?? location.origin}/mcp`
  return (
    <Page
      title="Connections"
      intro="Assistants that were connected to the mail of this account. Each can read, draft, send or organise mail, as far as it was granted. None can approve held mail or change settings."
    >
      <div class="panel">
        <PagedList
          list={list}
          label="connections"
          empty={
            <Empty icon="link" title="No assistant is connected">
              Give an assistant the URL below. It opens a page of this service, where you choose
              what it may do.
            </Empty>
          }
        >
          <ConnectionTable connections={list.items} revoke={setRevoked} />
        </PagedList>
      </div>
      <Section title="Connect an assistant">
        <div class="stack">
          <Reach url={publicUrl} />
          <div>
            <p class="hint">URL of the MCP server</p>
            <CopyText text={url} label="URL of the MCP server" />
          </div>
          <ConnectAssistant url={url} />
        </div>
      </Section>
      <SignInSteps unused={list.items.filter(({ lastUsedAt }) => lastUsedAt === null)} />
      {revoked !== null && (
        <ConfirmDialog
          title="Revoke this connection?"
          action="Revoke connection"
          onClose={() => setRevoked(null)}
          submit={async () => {
            await client.connections.delete(revoked.id)
            toast('Connection revoked')
            setRevoked(null)
            list.reload()
          }}
        >
          <p>
            <strong>{revoked.clientName}</strong> loses its access immediately. To use it again, a
            person must connect it anew.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

/** A notice if the public URL keeps assistants from signing in. */
function Reach({ url: { protocol, hostname } }: { url: URL }) {
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (isLoopback) {
    return (
      <Notice tone="info" title="Only programs on this machine reach the service">
        claude.ai and ChatGPT connect from the Internet: set <code>MAILROOM_PUBLIC_URL</code> to an
        https URL that leads here.
      </Notice>
    )
  }
  if (protocol === 'https:') return null
  return (
    <Notice tone="warn" title="Assistants cannot sign in: the public URL is not https">
      Set <code>MAILROOM_PUBLIC_URL</code> to an https URL. Until then, programs connect with an{' '}
      <a href={paths.keys}>API key</a>.
    </Notice>
  )
}

function ConnectionTable({
  connections,
  revoke,
}: {
  connections: readonly Connection[]
  revoke: (connection: Connection) => void
}) {
  return (
    <Table columns={['Assistant', 'May', 'Inboxes', 'Ends', 'Last used']} hasTools>
      {connections.map((connection) => (
        <tr key={connection.id}>
          <td class="main-cell">
            {connection.clientName}
            <p class="muted text-cell">{connection.clientId}</p>
          </td>
          <td data-label="May">{connection.scopes.map((scope) => scopeTexts[scope]).join(', ')}</td>
          <td data-label="Inboxes" class="muted">
            {connection.inboxIds === null ? 'All' : plural(connection.inboxIds.length, 'inbox')}
          </td>
          <td data-label="Ends" class="nowrap muted">
            {connection.expiresAt === null ? 'When revoked' : formatDay(connection.expiresAt)}
          </td>
          <td data-label="Last used" class="nowrap muted">
            {connection.lastUsedAt === null ? (
              <Badge tone="warn">Never called</Badge>
            ) : (
              <Time at={connection.lastUsedAt} />
            )}
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="trash"
              label={`Revoke ${connection.clientName}`}
              onClick={() => revoke(connection)}
            />
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

const scopeTexts: Record<Connection['scopes'][number], string> = {
  'mail:read': 'read',
  'mail:draft': 'draft',
  'mail:send': 'send',
  'mail:organise': 'organise',
}
