// The threads of an inbox, with the open one beside them.

import type { Inbox, Thread } from '@mailroom/sdk'
import { useEffect, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { useMailChanges } from '#data/live.ts'
import { currentInboxId, openCompose } from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { BulkBar } from '#mail/bulk-bar.tsx'
import { ListHead } from '#mail/list-head.tsx'
import { InboxRetention, retentionWords } from '#mail/retention.tsx'
import { useSelection } from '#mail/selection.ts'
import { filterQuery, readFilter, type ThreadFilter } from '#mail/thread-filter.ts'
import { useThreadKeys } from '#mail/thread-keys.ts'
import { canOrder, readThreads, ThreadList, type ThreadOrder } from '#mail/thread-list.tsx'
import { ThreadPane } from '#mail/thread-pane.tsx'
import { Button } from '#parts/button.tsx'
import type { MenuItem } from '#parts/menu.tsx'
import { Empty, Trouble } from '#parts/notice.tsx'
import { Page, useTitle } from '#parts/page.tsx'
import { type Paged, usePaged } from '#parts/pager.tsx'

const THREADS_PER_PAGE = 40

export function MailPage() {
  const { params } = useRoute()
  const { route, query: asked } = useLocation()
  const { inboxId = '', threadId } = params
  const [order, setOrder] = useState<ThreadOrder>('unread-first')
  const filter = readFilter(asked)
  const query = filterQuery(filter)
  const onFilter = (next: ThreadFilter) => route(paths.inbox(inboxId, filterQuery(next)))
  const listKey = `threads ${inboxId} ${canOrder(filter) ? order : ''} ${query}`
  const inbox = useResource(`inbox ${inboxId}`, (signal) => client.inboxes.get(inboxId, { signal }))
  const threads: Paged<Thread> = usePaged(
    listKey,
    (bounds) => readThreads(inboxId, order, filter, bounds, threads.items),
    THREADS_PER_PAGE,
  )
  const selection = useSelection(
    `${listKey} ${threads.offset}`,
    threads.items.map(({ id }) => id),
  )
  useMailChanges(inboxId, threads.reload)
  useTitle(inbox.value?.address ?? 'Inbox')
  useEffect(() => {
    currentInboxId.value = inboxId
    return () => {
      currentInboxId.value = null
    }
  }, [inboxId])

  useThreadKeys({
    key: `${listKey} ${threads.offset}`,
    threads: threads.items,
    open: threadId === undefined ? null : { id: threadId, inboxId },
    hrefOf: ({ id }) => paths.thread(inboxId, id, query),
    listHref: paths.inbox(inboxId, query),
    selection,
  })

  if (inbox.error !== undefined && inbox.value === undefined) {
    return (
      <Page title="Inbox">
        <Trouble error={inbox.error} retry={inbox.reload} />
      </Page>
    )
  }
  return (
    <div class={threadId === undefined ? 'mail' : 'mail reading'}>
      <div class="mail-list">
        <BulkBar
          key={listKey}
          threads={threads.items}
          selection={selection}
          isTrash={filter.place === 'trash'}
          onDone={threads.reload}
        />
        <InboxHead
          inboxId={inboxId}
          inbox={inbox.value}
          onChanged={inbox.reload}
          filter={filter}
          onFilter={onFilter}
          order={order}
          onOrder={setOrder}
        />
        <ThreadList
          list={threads}
          inboxId={inboxId}
          currentId={threadId}
          filter={filter}
          onFilter={onFilter}
          address={inbox.value?.address ?? null}
          selection={selection}
        />
      </div>
      <div class="mail-pane">
        {threadId === undefined ? (
          threads.items.length > 0 && (
            <Empty icon="mail" title="No thread selected">
              Select a thread, or move with <kbd>j</kbd> and <kbd>k</kbd>.
            </Empty>
          )
        ) : (
          <ThreadPane
            key={threadId}
            threadId={threadId}
            inboxId={inboxId}
            listHref={paths.inbox(inboxId, query)}
          />
        )}
      </div>
    </div>
  )
}

function InboxHead({
  inboxId,
  inbox,
  onChanged,
  filter,
  onFilter,
  order,
  onOrder,
}: {
  inboxId: string
  inbox: Inbox | undefined
  onChanged: () => void
  filter: ThreadFilter
  onFilter: (filter: ThreadFilter) => void
  order: ThreadOrder
  onOrder: (order: ThreadOrder) => void
}) {
  const [isAsking, setIsAsking] = useState(false)
  const other = order === 'newest' ? 'unread-first' : 'newest'
  const items: MenuItem[] = [
    { text: 'Search this inbox', icon: 'search', href: paths.search(inboxId) },
    ...(canOrder(filter)
      ? [{ text: orderWords[other], icon: 'filter', run: () => onOrder(other) } as const]
      : []),
    { text: 'Scheduled messages', icon: 'clock', href: paths.scheduled(inboxId) },
    { text: 'How long mail is kept', icon: 'calendar', run: () => setIsAsking(true) },
    { text: 'Export and import', icon: 'download', href: paths.transfers(inboxId) },
  ]
  return (
    <>
      <ListHead
        title={inbox?.address ?? 'Inbox'}
        address={inbox?.address}
        filter={filter}
        onFilter={onFilter}
        tools={
          <Button
            kind="quiet"
            icon="edit"
            label="New message from this inbox"
            onClick={() => openCompose({ inboxId })}
          />
        }
        menu={{ label: 'Inbox menu', items }}
        hint={inbox === undefined ? '' : retentionWords(inbox)}
      />
      {isAsking && inbox !== undefined && (
        <InboxRetention
          inbox={inbox}
          onClose={() => setIsAsking(false)}
          onDone={() => {
            toast('Saved')
            setIsAsking(false)
            onChanged()
          }}
        />
      )}
    </>
  )
}

const orderWords: Readonly<Record<ThreadOrder, string>> = {
  'unread-first': 'Unread first',
  newest: 'Newest first',
}
