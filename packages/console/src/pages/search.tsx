// Words in the mail of one inbox: where they are found, with what stands around them.

import type { SearchHit } from '@mailroom/contract/shapes/search.ts'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatNumber, readPerson } from '#data/format.ts'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { Badge, Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Pager, usePaged } from '#parts/pager.tsx'
import { Choice, Time } from '#parts/small.tsx'

const sorts = [
  { value: 'newest', text: 'Newest' },
  { value: 'rank', text: 'Best match' },
] as const

export function SearchPage() {
  const { query, route } = useLocation()
  const words = query.q ?? ''
  const [typed, setTyped] = useState(words)
  useEffect(() => setTyped(words), [words])
  const [sort, setSort] = useState<(typeof sorts)[number]['value']>('newest')
  const inboxes = useResource('search inboxes', (signal) =>
    readInboxChoices([query.inbox ?? ''], signal),
  )
  const inboxId = query.inbox ?? inboxes.value?.[0]?.id ?? ''
  const hits = usePaged(
    inboxId === '' || words === '' ? null : `search ${inboxId} ${sort} ${words}`,
    (bounds) => client.inboxes.search(inboxId, { ...bounds, q: words, sort }).page(),
    30,
  )
  return (
    <Page title="Search" intro="Subjects, addresses and texts of the mail of an inbox.">
      <search>
        <form
          class="toolbar"
          onSubmit={(event) => {
            event.preventDefault()
            route(paths.search(inboxId, typed.trim()))
          }}
        >
          <SelectField
            label="Inbox"
            name="inbox"
            value={inboxId}
            onValue={(id) => route(paths.search(id, words), true)}
            options={inboxOptions(inboxes.value)}
          />
          <div class="grow">
            <TextField
              label="Words"
              name="q"
              type="search"
              value={typed}
              onValue={setTyped}
              maxLength={500}
              autocomplete="off"
              autofocus
            />
          </div>
          <Button type="submit" kind="primary" icon="search">
            Search
          </Button>
        </form>
      </search>
      {words === '' || inboxId === '' ? (
        <Empty
          icon="search"
          title={inboxes.value?.length === 0 ? 'No inbox yet' : 'Look for words'}
        >
          {inboxes.value?.length === 0
            ? 'Make an inbox first; its mail can be searched as soon as it comes.'
            : 'All of the words have to stand in a message. Letters may be large or small.'}
        </Empty>
      ) : hits.error ? (
        <Trouble error={hits.error} retry={hits.reload} />
      ) : hits.value === undefined ? (
        <Skeleton rows={6} label="Searching" />
      ) : hits.items.length === 0 ? (
        <Empty icon="search" title={`Nothing found for “${words}”`}>
          Try fewer words, or another inbox. New mail can be found some seconds after it came.
        </Empty>
      ) : (
        <>
          <div class="result-head">
            <p class="muted" role="status">
              {formatNumber(hits.total)}
              {hits.value.totalIsExact === false && ' or more'} found
            </p>
            <Choice label="Order" value={sort} options={sorts} onValue={setSort} />
          </div>
          <ul class="panel hits">
            {hits.items.map((hit) => (
              <HitItem key={hit.messageId} hit={hit} />
            ))}
          </ul>
          <Pager list={hits} label="results" />
        </>
      )}
    </Page>
  )
}

function HitItem({ hit }: { hit: SearchHit }) {
  const { direction, fromAddr, toAddr, subject, createdAt } = hit
  const isOwn = direction === 'outbound'
  const { name, address } = readPerson(isOwn ? toAddr : fromAddr)
  return (
    <li>
      <a href={paths.thread(hit.inboxId, hit.threadId)}>
        <span class="thread-top">
          <span class="thread-who">
            {isOwn && 'To '}
            {name ?? address}
          </span>
          {isOwn && <Badge>Sent</Badge>}
          <span class="thread-time">
            <Time at={createdAt} isInList />
          </span>
        </span>
        <span class="hit-subject">{subject === '' ? '(no subject)' : subject}</span>
        <span class="hit-snippet">
          <Snippet {...hit} />
        </span>
      </a>
    </li>
  )
}

function Snippet({ snippet, highlights }: SearchHit) {
  const points = Array.from(snippet)
  const cut = (start: number, end?: number) => points.slice(start, end).join('')
  let at = 0
  const parts = highlights.flatMap(({ start, end }) => {
    const before = cut(at, start)
    at = end
    return [before, <mark key={start}>{cut(start, end)}</mark>]
  })
  return (
    <>
      {parts}
      {cut(at)}
    </>
  )
}
