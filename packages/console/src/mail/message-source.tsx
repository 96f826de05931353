// The source of a message: its header and its first bytes.

import type { Message } from '@mailroom/sdk'
import { MailroomError } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatSize } from '#data/format.ts'
import { rawPath } from '#data/paths.ts'
import { client, consoleFetch } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button, ButtonLink } from '#parts/button.tsx'
import { Skeleton, Trouble } from '#parts/notice.tsx'
import { CodeBlock, CopyButton } from '#parts/small.tsx'

const HEADER_BYTES_MAX = 512 * 1024
const SHOWN_BYTES_MAX = 200_000

export function MessageHeaders({ message }: { message: Message }) {
  const source = useResource(`headers ${message.id}`, (signal) =>
    readSource(message.id, { bytesMax: HEADER_BYTES_MAX, isHeaderOnly: true }, signal),
  )
  if (source.error) return <Trouble error={source.error} retry={source.reload} />
  if (source.value === undefined) return <Skeleton rows={5} label="Loading the header" />
  return (
    <dl class="header-fields">
      {readFields(source.value.text).map(({ name, value }, index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>
            <code>{value}</code>
          </dd>
        </div>
      ))}
    </dl>
  )
}

export function MessageSource({ message }: { message: Message }) {
  const source = useResource(`source ${message.id}`, (signal) =>
    readSource(message.id, { bytesMax: SHOWN_BYTES_MAX, isHeaderOnly: false }, signal),
  )
  if (source.error) return <Trouble error={source.error} retry={source.reload} />
  if (source.value === undefined) return <Skeleton rows={5} label="Loading the message" />
  const { text, isWhole } = source.value
  return (
    <div class="stack">
      <div class="row">
        <ButtonLink icon="download" href={rawPath(message.id)} download={`${message.id}.eml`}>
          Download
        </ButtonLink>
        <CopyButton text={text} label="raw message">
          Copy
        </CopyButton>
        {!isWhole && <span class="muted">The first {formatSize(SHOWN_BYTES_MAX)} are shown.</span>}
      </div>
      <CodeBlock label="Raw message" text={text} />
    </div>
  )
}

/** The pages that an MCP client gets for the message. */
export function AgentView({ message: { id } }: { message: Message }) {
  const [offset, setOffset] = useState(0)
  const view = useResource(`view ${id} ${offset}`, (signal) =>
    client.messages.view(id, { offset, signal }),
  )
  if (view.error) return <Trouble error={view.error} retry={view.reload} />
  if (view.value === undefined) return <Skeleton rows={5} label="Loading the view" />
  const { text, nextOffset } = view.value
  return (
    <div class="stack">
      <CodeBlock label="What the agent reads" text={text} />
      <div class="row">
        {offset > 0 && <Button onClick={() => setOffset(0)}>First page</Button>}
        {nextOffset !== null && <Button onClick={() => setOffset(nextOffset)}>Next page</Button>}
      </div>
    </div>
  )
}

export type Source = { text: string; isWhole: boolean }

const HEADER_END = /\r?\n\r?\n/

/** Bytes that are not UTF-8 are shown as Latin-1. */
async function readSource(
  id: string,
  { bytesMax, isHeaderOnly }: { bytesMax: number; isHeaderOnly: boolean },
  signal: AbortSignal,
): Promise<Source> {
  const response = await consoleFetch(rawPath(id), { signal })
  if (!response.ok || response.body === null) {
    throw new MailroomError(response.status, response.headers, await response.text())
  }
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isWhole: true }
    bytes += value.length
    text += decoder.decode(value, { stream: true })
    const end = isHeaderOnly ? HEADER_END.exec(text) : null
    if (end !== null) {
      await reader.cancel()
      return { text: text.slice(0, end.index), isWhole: true }
    }
    if (bytes >= bytesMax) {
      await reader.cancel()
      return { text: text.slice(0, bytesMax), isWhole: false }
    }
  }
}

export type HeaderField = { name: string; value: string }

/** Header fields in order, unfolded (RFC 5322 §2.2.3). */
function readFields(header: string): HeaderField[] {
  const fields: HeaderField[] = []
  for (const line of header.split(/\r?\n/)) {
    const last = fields.at(-1)
    if (/^[ \t]/.test(line) && last !== undefined) {
      last.value += ` ${line.trim()}`
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0) fields.push({ name: line.slice(0, colon), value: line.slice(colon + 1).trim() })
  }
  return fields
}
