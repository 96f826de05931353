// The command palette: searches mail, inboxes and pages, with the keyboard alone.

import { useEffect, useId, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { describeFailure } from '#data/failure.ts'
import { formatNumber, readPerson, subjectOf } from '#data/format.ts'
import { inboxList, isInboxLike } from '#data/inbox-list.ts'
import { paths } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Dialog } from '#parts/dialog.tsx'
import { Icon, type IconName } from '#parts/icon.tsx'

type Place = { text: string; icon: IconName; href: string }
/** An action without a page of its own. */
export type Action = { text: string; icon: IconName; run: () => void }
type Option = { text: string; icon: IconName; detail?: string; go: string | (() => void) }

const SHOWN_MAX = 5
const HITS_MAX = 8
/** Pause in typing before mail is searched. */
const PAUSE_MS = 200

/** Calls `open` at Ctrl-K or Cmd-K, unless another dialog is open. */
export function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isAsked = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
      if (!isAsked || event.defaultPrevented || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      if (document.querySelector('dialog[open]') === null) open()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

export function Palette({
  places,
  actions,
  onClose,
}: {
  places: readonly Place[]
  actions: readonly Action[]
  onClose: () => void
}) {
  const { route } = useLocation()
  const id = useId()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const words = typed.trim()
  const mail = useMail(words)
  const inboxes = inboxesLike(words)
  const groups = [
    {
      title: 'Pages',
      options: namedLike(
        places.map(({ href, ...place }) => ({ ...place, go: href })),
        words,
      ),
    },
    { title: 'Inboxes', options: inboxes },
    {
      title: 'Actions',
      options: namedLike(
        actions.map(({ run, ...action }) => ({ ...action, go: run })),
        words,
      ),
    },
    { title: 'Mail', options: mail.options },
  ].filter(({ options }) => options.length > 0)
  const options = groups.flatMap((group) => group.options)
  const current = Math.min(at, options.length - 1)
  const go = (option: Option | undefined) => {
    if (option === undefined) return
    onClose()
    if (typeof option.go === 'string') route(option.go)
    else option.go()
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && options.length > 0) {
      event.preventDefault()
      const next = (current + step + options.length) % options.length
      setAt(next)
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      go(options[current])
    } else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      onClose()
    }
  }
  let index = 0
  return (
    <Dialog title="Find" onClose={onClose} size="palette">
      <input
        class="input"
        autofocus
        type="text"
        role="combobox"
        aria-label={isApprover.value ? 'Find pages' : 'Find mail, inboxes and pages'}
        aria-expanded={options.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={options.length > 0 ? `${id}-${current}` : undefined}
        placeholder={isApprover.value ? 'Pages' : 'Mail, inboxes, pages'}
        autocomplete="off"
        spellcheck={false}
        maxLength={500}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <div id={`${id}-list`} class="found" role="listbox" aria-label="Found">
        {groups.map(({ title, options: own }) => (
          // biome-ignore lint/a11y/useSemanticElements: a list box has groups, and no fieldset
          <div key={title} role="group" aria-labelledby={`${id}-${title}`}>
            <p id={`${id}-${title}`} class="found-title" role="presentation">
              {title}
            </p>
            {own.map((option) => {
              const own = index
              index += 1
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and its keys
                <div
                  key={`${title} ${option.text} ${own}`}
                  id={`${id}-${own}`}
                  class="found-option"
                  role="option"
                  tabIndex={-1}
                  aria-selected={own === current}
                  onClick={() => go(option)}
                  onMouseMove={() => setAt(own)}
                >
                  <Icon name={option.icon} />
                  <span class="found-text">{option.text}</span>
                  {option.detail && <span class="found-detail">{option.detail}</span>}
                </div>
              )
            })}
          </div>
        ))}
      </div>
      <p class="muted found-state" role="status">
        {mail.state ?? (options.length === 0 ? 'Nothing found' : '')}
      </p>
    </Dialog>
  )
}

/** Entries that begin with the typed words come first. */
function namedLike(options: readonly Option[], words: string): Option[] {
  const wanted = words.toLowerCase()
  const place = ({ text }: Option) => text.toLowerCase().indexOf(wanted)
  return options
    .filter((option) => place(option) !== -1)
    .sort((a, b) => Number(place(a) > 0) - Number(place(b) > 0))
    .slice(0, words === '' ? options.length : SHOWN_MAX)
}

function inboxesLike(words: string): Option[] {
  return (inboxList.value?.inboxes ?? [])
    .filter((inbox) => isInboxLike(inbox, words))
    .slice(0, SHOWN_MAX)
    .map(({ id, address, displayName, unreadThreads }) => ({
      text: address,
      icon: 'inbox',
      go: paths.inbox(id),
      ...(unreadThreads > 0
        ? { detail: `${formatNumber(unreadThreads)} unread` }
        : displayName && { detail: displayName }),
    }))
}

/** Searches mail after a pause in typing. `state` describes what the list does not show. */
function useMail(words: string): { options: Option[]; state: string | null } {
  const asked = usePaused(words)
  const isAsked = asked !== '' && !isApprover.value
  const hits = useResource(isAsked ? `palette ${asked}` : null, (signal) =>
    client.messages.search({ q: asked, limit: HITS_MAX, signal }).page(),
  )
  if (words === '' || isApprover.value) return { options: [], state: null }
  if (asked !== words || (hits.isLoading && hits.value === undefined)) {
    return { options: [], state: 'Searching…' }
  }
  if (hits.error) return { options: [], state: describeFailure(hits.error).message }
  const { data = [], total = 0, totalIsExact } = hits.value ?? {}
  const found = data.map((hit): Option => {
    const { name, address } = readPerson(hit.direction === 'outbound' ? hit.toAddr : hit.fromAddr)
    return {
      text: subjectOf(hit),
      detail: `${hit.direction === 'outbound' ? 'To ' : ''}${name ?? address}`,
      icon: 'mail',
      go: paths.thread(hit.inboxId, hit.threadId),
    }
  })
  const count = `${formatNumber(total)}${totalIsExact === false ? ' or more' : ''}`
  const all: Option = {
    text: 'Show all results',
    detail: count,
    icon: 'search',
    go: paths.search(undefined, words),
  }
  return found.length === 0
    ? { options: [], state: 'No mail found' }
    : { options: [...found, all], state: `${count} in mail` }
}

function usePaused(words: string): string {
  const [paused, setPaused] = useState(words)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(words), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [words])
  return paused
}
