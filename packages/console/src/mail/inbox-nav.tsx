// The inboxes in the sidebar, with their unread threads, and the lists of the open inbox.

import type { Inbox } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatNumber, plural } from '#data/format.ts'
import { inboxList, isInboxLike, KNOWN_MAX, shortAddress } from '#data/inbox-list.ts'
import { useMailChanges } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { Icon, type IconName } from '#parts/icon.tsx'
import { useLabelsInUse } from './labels.tsx'
import { filterQuery, noFilter, placeWords, readFilter } from './thread-filter.ts'

const SHOWN_MAX = 10

export function InboxNav({ path }: { path: string }) {
  const [typed, setTyped] = useState('')
  const list = inboxList.value
  const isLooking = typed.trim() !== ''
  if (list === null || list.total === 0) return null
  const isMany = list.total > SHOWN_MAX
  const found = list.inboxes.filter((inbox) => isInboxLike(inbox, typed))
  const shown = inOrder(found, isMany, path)
  const rest = isLooking ? found.length - shown.length : list.total - shown.length
  return (
    <div class="nav-group">
      <p class="nav-title" id="nav-inboxes">
        By inbox
      </p>
      {isMany && (
        <input
          class="input nav-filter"
          type="text"
          aria-label="Filter inboxes"
          placeholder={`Filter ${formatNumber(list.total)} inboxes`}
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setTyped('')
          }}
        />
      )}
      <ul aria-labelledby="nav-inboxes">
        {shown.map((inbox) => (
          <InboxLink key={inbox.id} inbox={inbox} path={path} />
        ))}
      </ul>
      {isLooking && found.length === 0 && (
        <p class="nav-note" role="status">
          {list.total > KNOWN_MAX
            ? `None of the newest ${formatNumber(KNOWN_MAX)}`
            : 'No such inbox'}
        </p>
      )}
      {rest > 0 && (
        <p class="nav-note">
          <a href={paths.inboxes}>{plural(rest, 'other', 'others')}</a>
        </p>
      )}
    </div>
  )
}

function InboxLink({ inbox, path }: { inbox: Inbox; path: string }) {
  const { query } = useLocation()
  const { id, address, unreadThreads } = inbox
  const isOpen = isIn(path, inbox)
  const isScheduled = path === paths.scheduled(id)
  const isCurrent = isOpen && !isScheduled && folderOf(query) === null
  return (
    <li>
      <a href={paths.inbox(id)} title={address} aria-current={isCurrent ? 'page' : undefined}>
        <Icon name="inbox" />
        <span class="nav-text">{shortAddress(inbox)}</span>
        {unreadThreads > 0 && <UnreadCount count={unreadThreads} />}
      </a>
      {isOpen && (
        <MailFolders
          label={`Lists of ${address}`}
          inboxId={id}
          hrefOf={(asked) => paths.inbox(id, asked)}
        >
          <FolderLink
            icon="clock"
            text="Scheduled"
            href={paths.scheduled(id)}
            isCurrent={isScheduled}
          />
        </MailFolders>
      )}
    </li>
  )
}

const folders = [
  { place: 'unread', icon: 'unread' },
  { place: 'sent', icon: 'send' },
  { place: 'trash', icon: 'trash' },
] as const

/** The query of the sidebar list that the URL shows; null for the whole inbox. */
export function folderOf(query: Readonly<Record<string, string>>): string | null {
  const filter = readFilter(query)
  const isFolder = filter.label !== '' || folders.some(({ place }) => place === filter.place)
  return isFolder ? filterQuery(filter) : null
}

const LABELS_SHOWN = 12
/** The delay between a change of mail or flags and the next read of the labels. */
const GATHER_MS = 3_000

/** Links to the lists of an inbox, or of all mail. */
export function MailFolders({
  label,
  inboxId,
  hrefOf,
  children,
}: {
  label: string
  inboxId?: string
  hrefOf: (query: string) => string
  children?: ComponentChildren
}) {
  const { query } = useLocation()
  const current = folderOf(query)
  const labels = useLabelsInUse(inboxId)
  useMailChanges(inboxId ?? null, labels.reload, GATHER_MS)
  return (
    <ul class="nav-folders" aria-label={label}>
      {folders.map(({ place, icon }) => {
        const asked = filterQuery({ ...noFilter, place })
        return (
          <>
            {place === 'trash' && children}
            <FolderLink
              key={place}
              icon={icon}
              text={placeWords[place]}
              href={hrefOf(asked)}
              isCurrent={asked === current}
            />
          </>
        )
      })}
      {labels.value?.slice(0, LABELS_SHOWN).map((text) => {
        const asked = filterQuery({ ...noFilter, label: text })
        return (
          <FolderLink
            key={text}
            icon="label"
            text={text}
            href={hrefOf(asked)}
            isCurrent={asked === current}
          />
        )
      })}
    </ul>
  )
}

function FolderLink({
  icon,
  text,
  href,
  isCurrent,
}: {
  icon: IconName
  text: string
  href: string
  isCurrent: boolean
}) {
  return (
    <li>
      <a href={href} aria-current={isCurrent ? 'page' : undefined}>
        <Icon name={icon} size={16} />
        <span class="nav-text">{text}</span>
      </a>
    </li>
  )
}

export function UnreadCount({ count }: { count: number }) {
  return (
    <span class="nav-count unread">
      {count > 999 ? '999+' : count}
      <span class="unseen"> unread</span>
    </span>
  )
}

function isIn(path: string, { id }: Inbox): boolean {
  const own = paths.inbox(id)
  return path === own || path.startsWith(`${own}/`)
}

/**
 * All inboxes by name if there are few, else the inboxes with the newest mail and the open one.
 */
function inOrder(inboxes: readonly Inbox[], isMany: boolean, path: string): Inbox[] {
  const order = isMany
    ? (a: Inbox, b: Inbox) => (b.lastMessageAt ?? '').localeCompare(a.lastMessageAt ?? '')
    : (a: Inbox, b: Inbox) => a.address.localeCompare(b.address)
  const sorted = [...inboxes].sort(order)
  const open = sorted.findIndex((inbox) => isIn(path, inbox))
  if (open < SHOWN_MAX) return sorted.slice(0, SHOWN_MAX)
  return [...sorted.slice(0, SHOWN_MAX - 1), ...sorted.slice(open, open + 1)]
}
