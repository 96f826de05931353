// Search in one inbox or all.

import type { SearchHit } from '@mailroom/contract/search.ts'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatNumber, readPerson, subjectOf } from '#data/format.ts'
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
  const inboxId = query.inbox ?? ''
  const hits = usePaged(
    words === '' ? null : `search ${inboxId} ${sort} ${words}`,
    (bounds) =>
      client.messages
        .search({ ...bounds, q: words, sort, ...(inboxId !== '' && { inboxId }) })
        .page(),
    30,
  )
  const addressOf = (id: string) => inboxes.value?.find((inbox) => inbox.id === id)?.address ?? null
  return (
    <Page
      title="Search"
      intro="Searches the subjects, addresses and text of received and sent mail."
    >
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
            options={[{ value: '', text: 'All inboxes' }, ...inboxOptions(inboxes.value)]}
          />
          <div class="grow">
            <TextField
              label="Search for"
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
      {words === '' ? (
        <Empty icon="search" title="Search your mail">
          Finds messages that contain all of the words. Try <code>from:ana</code>,{' '}
          <code>"exact phrase"</code>, <code>-without</code>, <code>this OR that</code>,{' '}
          <code>has:attachment</code>, <code>after:2026-05-31</code> or <code>invo*</code>.
        </Empty>
      ) : hits.error ? (
        <Trouble error={hits.error} retry={hits.reload} />
      ) : hits.value === undefined ? (
        <Skeleton rows={6} label="Searching" />
      ) : hits.items.length === 0 ? (
        <Empty icon="search" title={`No results for “${words}”`}>
          {hits.value.isComplete === false
            ? 'Not all mail has been searched yet. Try again in a few seconds.'
            : inboxId === ''
              ? 'Try fewer words, or the beginning of a word with *.'
              : 'Try fewer words, or search all inboxes.'}
        </Empty>
      ) : (
        <>
          <div class="result-head">
            <p class="muted" role="status">
              {formatNumber(hits.total)}
              {hits.value.totalIsExact === false && ' or more'}{' '}
              {hits.total === 1 ? 'result' : 'results'}
            </p>
            <Choice label="Order" value={sort} options={sorts} onValue={setSort} />
          </div>
          <ul class="panel hits">
            {hits.items.map((hit) => (
              <HitItem
                key={hit.messageId}
                hit={hit}
                inbox={inboxId === '' ? addressOf(hit.inboxId) : null}
              />
            ))}
          </ul>
          <Pager list={hits} label="results" />
        </>
      )}
    </Page>
  )
}

/** `inbox` is shown if the hits come from several inboxes. */
function HitItem({ hit, inbox }: { hit: SearchHit; inbox: string | null }) {
  const { direction, fromAddr, toAddr, createdAt } = hit
  const isOwn = direction === 'outbound'
  const { name, address } = readPerson(isOwn ? toAddr : fromAddr)
  return (
    <li>
      <a href={paths.thread(hit.inboxId, hit.threadId)}>
        <span class="thread-top">
          <span class="thread-who" dir="auto">
            {isOwn && <span dir="ltr">To </span>}
            {name ?? address}
          </span>
          {isOwn && <Badge>Sent</Badge>}
          {inbox !== null && <span class="hit-inbox muted">{inbox}</span>}
          <span class="thread-time">
            <Time at={createdAt} isInList />
          </span>
        </span>
        <span class="hit-subject bounded">{subjectOf(hit)}</span>
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
