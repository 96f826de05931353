// The threads of an inbox, with the open one beside them.

import type { Inbox } from '@mailroom/sdk'
import { useEffect, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { useMailChanges } from '#data/live.ts'
import { currentInboxId, openCompose } from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { BulkBar } from '#mail/bulk-bar.tsx'
import { FilterFields } from '#mail/filter-fields.tsx'
import { InboxRetention, retentionWords } from '#mail/retention.tsx'
import { useSelection } from '#mail/selection.ts'
import { filterQuery, readFilter } from '#mail/thread-filter.ts'
import { useThreadKeys } from '#mail/thread-keys.ts'
import { readThreads, ThreadList, type ThreadOrder, threadOrders } from '#mail/thread-list.tsx'
import { ThreadPane } from '#mail/thread-pane.tsx'
import { Button, ButtonLink } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Empty, Trouble } from '#parts/notice.tsx'
import { Page, PageTitle, useTitle } from '#parts/page.tsx'
import { usePaged } from '#parts/pager.tsx'
import { Choice, CopyButton } from '#parts/small.tsx'

const THREADS_PER_PAGE = 40

export function MailPage() {
  const { params } = useRoute()
  const { route, query: asked } = useLocation()
  const { inboxId = '', threadId } = params
  const [order, setOrder] = useState<ThreadOrder>('unread-first')
  const filter = readFilter(asked)
  const query = filterQuery(filter)
  const isTrash = filter.place === 'trash'
  const listKey = `threads ${inboxId} ${isTrash ? '' : order} ${query}`
  const inbox = useResource(`inbox ${inboxId}`, (signal) => client.inboxes.get(inboxId, { signal }))
  const threads = usePaged(
    listKey,
    (bounds) => readThreads(inboxId, order, filter, bounds),
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
        <header class="mail-head">
          <a class="way-back" href={paths.inboxes}>
            <Icon name="back" size={14} />
            Inboxes
          </a>
          <div class="mail-title">
            <PageTitle>{inbox.value?.address ?? 'Inbox'}</PageTitle>
            {inbox.value && <CopyButton text={inbox.value.address} label="address" />}
          </div>
          {inbox.value && <Retention inbox={inbox.value} onChanged={inbox.reload} />}
          <div class="mail-tools">
            {isTrash ? (
              <span class="muted">Trash</span>
            ) : (
              <Choice label="Threads" value={order} options={threadOrders} onValue={setOrder} />
            )}
            <span class="row">
              <ButtonLink
                kind="quiet"
                icon="search"
                label="Search this inbox"
                href={paths.search(inboxId)}
              />
              <ButtonLink
                kind="quiet"
                icon="clock"
                label="Scheduled messages"
                href={paths.scheduled(inboxId)}
              />
              <Button
                kind="quiet"
                icon="edit"
                label="New message from this inbox"
                onClick={() => openCompose({ inboxId })}
              />
            </span>
          </div>
          <FilterFields
            filter={filter}
            onFilter={(next) => route(paths.inbox(inboxId, filterQuery(next)))}
          />
        </header>
        <BulkBar
          key={listKey}
          threads={threads.items}
          selection={selection}
          isTrash={isTrash}
          onDone={threads.reload}
        />
        <ThreadList
          list={threads}
          inboxId={inboxId}
          currentId={threadId}
          isUnreadOnly={order === 'unread'}
          filter={filter}
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

/** The inbox's retention, with a dialog to change it. */
function Retention({ inbox, onChanged }: { inbox: Inbox; onChanged: () => void }) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <>
      <p class="hint">
        {retentionWords(inbox) || 'Mail is kept.'}{' '}
        <button type="button" class="text-button" onClick={() => setIsAsking(true)}>
          Change<span class="unseen"> how long mail is kept</span>
        </button>
        {' · '}
        <a href={paths.transfers(inbox.id)}>Export and import</a>
      </p>
      {isAsking && (
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
