// A message as it came over the wire: its header, and its octets.

import type { Message } from '@mailroom/sdk'
import { formatSize } from '#data/format.ts'
import { useResource } from '#data/use-resource.ts'
import { ButtonLink } from '#parts/button.tsx'
import { CodeBlock } from '#parts/code-block.tsx'
import { Skeleton, Trouble } from '#parts/notice.tsx'
import { CopyButton } from '#parts/small.tsx'
import { rawPath, readFields, readSource } from './read-source.ts'

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
