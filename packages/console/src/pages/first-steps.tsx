// First steps of a new account. The list disappears once all are done, or when it is dismissed.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useMailChanges } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { SimulateButton } from '#mail/simulate-mail.tsx'
import { Button } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { CodeBlock, CopyButton } from '#parts/small.tsx'
import { Tabs } from '#parts/tabs.tsx'
import { CreateInbox } from './create-inbox.tsx'

/** Stored in this browser: the list was shown, a program connected, or the list is finished. */
type Known = 'shown' | 'connected' | 'over' | null

function useKnown(): [Known, (known: Exclude<Known, null>) => void] {
  const name = `mailroom first steps ${session.value?.account.id}`
  const [known, setKnown] = useState(() => readKnown(name))
  const keep = (now: Exclude<Known, null>) => {
    setKnown(now)
    try {
      localStorage.setItem(name, now)
    } catch {
      // Without storage the state lasts until the page is reloaded.
    }
  }
  return [known, keep]
}

function readKnown(name: string): Known {
  try {
    return localStorage.getItem(name) as Known
  } catch {
    return null
  }
}

export function FirstSteps() {
  const [known, keep] = useKnown()
  const inboxes = useResource(known === 'over' ? null : 'first inboxes', (signal) =>
    client.inboxes.list({ limit: 20, signal }).page(),
  )
  const keys = useResource(known === 'shown' ? 'first keys' : null, (signal) =>
    client.apiKeys.list({ limit: 20, signal }).page(),
  )
  useMailChanges(null, () => {
    inboxes.reload()
    keys.reload()
  })
  const list = inboxes.value?.data
  const hasInbox = list !== undefined && list.length > 0
  const hasMail = list?.some(({ lastMessageAt }) => lastMessageAt !== null) ?? false
  // Requests of this session count as uses of its own key.
  const hasUsedKey = keys.value?.data.some(
    ({ id, lastUsedAt }) => lastUsedAt !== null && id !== session.value?.key?.id,
  )
  useEffect(() => {
    if (list === undefined) return
    // An inbox that exists before this page is first shown was created by a program.
    if (known === null && !hasMail) keep(hasInbox ? 'connected' : 'shown')
    if (known === 'shown' && hasUsedKey) keep('connected')
    if (known === 'connected' && hasMail) keep('over')
  }, [list, known, hasUsedKey])
  // An account in use needs no first steps in a second browser.
  if (known === 'over' || list === undefined || (known === null && hasMail)) return null
  return (
    <section class="panel first-steps" aria-labelledby="first-steps">
      <header class="section-head panel-body">
        <h2 id="first-steps">First steps</h2>
        <Button kind="quiet" onClick={() => keep('over')}>
          Dismiss
        </Button>
      </header>
      <ol class="steps">
        <FirstInbox isDone={hasInbox} />
        <FirstMail isDone={hasMail} address={list[0]?.address ?? null} />
        <Step isDone={known === 'connected'} title="Connect your program or your model">
          <Snippets inboxId={list[0]?.id ?? null} onCopied={() => keep('connected')} />
        </Step>
      </ol>
    </section>
  )
}

function Step({
  isDone,
  title,
  children,
}: {
  isDone: boolean
  title: string
  children: ComponentChildren
}) {
  return (
    <li>
      <span class={isDone ? 'record-mark valid' : 'record-mark open'}>
        {isDone && <Icon name="check" size={16} />}
      </span>
      <div class="record-body">
        <p>
          <strong>{title}</strong>
          <span class="unseen">{isDone ? ' (done)' : ' (to do)'}</span>
        </p>
        {children}
      </div>
    </li>
  )
}

function FirstInbox({ isDone }: { isDone: boolean }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <Step isDone={isDone} title="Create an inbox">
      {!isDone && (
        <div>
          <Button onClick={() => setIsOpen(true)}>Create an inbox</Button>
        </div>
      )}
      {isOpen && <CreateInbox onClose={() => setIsOpen(false)} />}
    </Step>
  )
}

function FirstMail({ isDone, address }: { isDone: boolean; address: string | null }) {
  if (!session.value?.isSandbox) {
    return (
      <Step isDone={isDone} title="Receive mail">
        {!isDone && <p class="muted">Send a message to {address ?? 'its address'}.</p>}
      </Step>
    )
  }
  return (
    <Step isDone={isDone} title="Simulate inbound mail">
      {!isDone && (
        <div>
          <SimulateButton isDisabled={address === null} />
        </div>
      )}
    </Step>
  )
}

const kinds = [
  { name: 'curl', text: 'curl' },
  { name: 'sdk', text: 'SDK' },
  { name: 'mcp', text: 'MCP' },
] as const
type Kind = (typeof kinds)[number]['name']

function Snippets({ inboxId, onCopied }: { inboxId: string | null; onCopied: () => void }) {
  const [kind, setKind] = useState<Kind>('curl')
  const body = (name: Kind) => () => {
    const text = snippetOf(name, inboxId ?? '$INBOX')
    return (
      <div class="stack">
        <CodeBlock label={`Snippet for ${name}`} text={text} />
        <div>
          <CopyButton text={text} label="snippet" onCopied={onCopied}>
            Copy
          </CopyButton>
        </div>
      </div>
    )
  }
  return (
    <>
      <p class="muted">
        Each program gets <a href={paths.keys}>an API key</a> of its own.
      </p>
      <Tabs<Kind>
        label="Snippets"
        current={kind}
        onCurrent={setKind}
        tabs={kinds.map(({ name, text }) => ({ name, text, body: body(name) }))}
      />
    </>
  )
}

function snippetOf(kind: Kind, inboxId: string): string {
  const { origin } = location
  if (kind === 'curl') {
    return `curl ${origin}/v1/inboxes/${inboxId}/messages \\
  -H "Authorization: Bearer $MAILROOM_API_KEY"`
  }
  if (kind === 'sdk') {
    return `import { Mailroom } from '@mailroom/sdk'

const mailroom = new Mailroom({ baseUrl: '${origin}' }) // The key is in MAILROOM_API_KEY.
const message = await mailroom.inboxes.waitForMessage('${inboxId}')`
  }
  const headers = { Authorization: `Bearer \${MAILROOM_API_KEY}` }
  const mailroom = { type: 'http', url: `${origin}/mcp`, headers }
  return JSON.stringify({ mcpServers: { mailroom } }, null, 2)
}
