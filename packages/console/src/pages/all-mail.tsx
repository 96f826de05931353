// The threads of all inboxes, with the open one beside them.

import { useEffect, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { readAllThreads } from '#data/all-threads.ts'
import { formatNumber } from '#data/format.ts'
import { inboxList, KNOWN_MAX, readAllInboxes, shortAddress } from '#data/inbox-list.ts'
import { useMailChanges } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { useResource } from '#data/use-resource.ts'
import { BulkBar } from '#mail/bulk-bar.tsx'
import { ListHead } from '#mail/list-head.tsx'
import { useSelection } from '#mail/selection.ts'
import { askedOf, filterQuery, readFilter, type ThreadFilter } from '#mail/thread-filter.ts'
import { useThreadKeys } from '#mail/thread-keys.ts'
import { NoThreads } from '#mail/thread-list.tsx'
import { ThreadPane } from '#mail/thread-pane.tsx'
import { ThreadRow } from '#mail/thread-row.tsx'
import { Button, ButtonLink } from '#parts/button.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { useTitle } from '#parts/page.tsx'

const STEP = 30
/**
 * The list costs a request for each inbox with new mail, so it is not reloaded after every message.
 */
const GATHER_MS = 3_000

export function AllMailPage() {
  const { params } = useRoute()
  const { route, query } = useLocation()
  const { inboxId = '', threadId } = params
  const filter = readFilter(query)
  const shown = filterQuery(filter)
  const onFilter = (next: ThreadFilter) => route(paths.allMail(filterQuery(next)))
  const [count, setCount] = useState(STEP)
  const list = useResource(`all threads ${shown}`, async (signal) => {
    await readAllInboxes()
    const inboxes = inboxList.value?.inboxes ?? []
    return readAllThreads(inboxes, { count, filter: askedOf(filter), signal })
  })
  useMailChanges(null, list.reload, GATHER_MS)
  useEffect(() => {
    if (count !== STEP) list.reload()
  }, [count])
  const threads = list.value?.threads ?? []
  const selection = useSelection(
    `all ${shown}`,
    threads.map(({ id }) => id),
  )
  useTitle('All mail')
  const listHref = paths.allMail(shown)
  const open = threadId === undefined ? null : { id: threadId, inboxId }
  useThreadKeys({
    key: `all ${shown} ${threads.length}`,
    threads,
    open,
    hrefOf: (thread) => paths.allMailThread(thread.inboxId, thread.id, shown),
    listHref,
    selection,
  })
  const addresses = new Map(inboxList.value?.inboxes.map((one) => [one.id, shortAddress(one)]))
  const isBeyond = (inboxList.value?.total ?? 0) > KNOWN_MAX
  return (
    <div class={open === null ? 'mail' : 'mail reading'}>
      <div class="mail-list">
        <BulkBar
          key={shown}
          threads={threads}
          selection={selection}
          isTrash={filter.place === 'trash'}
          onDone={list.reload}
        />
        <ListHead
          title="All mail"
          filter={filter}
          onFilter={onFilter}
          tools={
            <ButtonLink kind="quiet" icon="search" label="Search all mail" href={paths.search()} />
          }
          hint={isBeyond ? `The threads of the newest ${formatNumber(KNOWN_MAX)} inboxes.` : ''}
        />
        <div class={`threads${selection.ids.size > 0 ? ' selecting' : ''}`}>
          {list.value === undefined ? (
            list.error ? (
              <Trouble error={list.error} retry={list.reload} />
            ) : (
              <Skeleton rows={8} label="Loading threads" />
            )
          ) : threads.length === 0 ? (
            <NoThreads
              filter={filter}
              onFilter={onFilter}
              address={null}
              actions={
                inboxList.value?.total === 0 && (
                  <ButtonLink href={paths.inboxes}>Go to inboxes</ButtonLink>
                )
              }
            />
          ) : (
            <ul aria-label="Threads">
              {threads.map((thread) => (
                <ThreadRow
                  key={thread.id}
                  thread={thread}
                  inbox={addresses.get(thread.inboxId)}
                  href={paths.allMailThread(thread.inboxId, thread.id, shown)}
                  isCurrent={thread.id === threadId}
                  isSelected={selection.ids.has(thread.id)}
                  onToggle={(isRange) => selection.toggle(thread.id, isRange)}
                />
              ))}
            </ul>
          )}
          {list.value?.hasMore && (
            <div class="earlier">
              <Button isBusy={list.isLoading} onClick={() => setCount(count + STEP)}>
                Show older threads
              </Button>
            </div>
          )}
        </div>
      </div>
      <div class="mail-pane">
        {open === null ? (
          threads.length > 0 && (
            <Empty icon="mail" title="No thread selected">
              Select a thread, or move with <kbd>j</kbd> and <kbd>k</kbd>.
            </Empty>
          )
        ) : (
          <ThreadPane key={open.id} threadId={open.id} inboxId={inboxId} listHref={listHref} />
        )}
      </div>
    </div>
  )
}
