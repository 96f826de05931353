// The frame of every page: navigation, session, connection state, keyboard help.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { inboxList, unreadTotal } from '#data/inbox-list.ts'
import { shortcuts, useKeys } from '#data/keyboard.ts'
import { liveState } from '#data/live.ts'
import { currentInboxId, openCompose } from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { pendingReviews } from '#data/reviews.ts'
import { isApprover, session, signOut } from '#data/session.ts'
import { storedTheme, storeTheme, type Theme } from '#data/theme.ts'
import { toastFailure } from '#data/toasts.ts'
import { ComposeLayer } from '#mail/composer.tsx'
import { folderOf, InboxNav, MailFolders, UnreadCount } from '#mail/inbox-nav.tsx'
import { type Action, Palette, usePaletteKey } from '#pages/palette.tsx'
import { ActionButton, Button } from '#parts/button.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { Icon, type IconName } from '#parts/icon.tsx'
import { Key } from '#parts/small.tsx'

type Place = { text: string; icon: IconName; href: string; letter?: string; count?: number | null }
type Group = { title: string | null; places: readonly Place[] }

const policyPlace: Place = { text: 'Policy', icon: 'shield', href: paths.policy, letter: 'p' }
const approversPlace: Place = {
  text: 'Approvers',
  icon: 'shield',
  href: paths.approvers,
  letter: 'a',
}

const groups: readonly Group[] = [
  {
    title: null,
    places: [
      { text: 'Overview', icon: 'overview', href: paths.overview, letter: 'o' },
      { text: 'All mail', icon: 'mail', href: paths.allMail(), letter: 'm' },
      { text: 'Inboxes', icon: 'inbox', href: paths.inboxes, letter: 'i' },
      { text: 'Drafts', icon: 'edit', href: paths.drafts(), letter: 't' },
      { text: 'Search', icon: 'search', href: paths.search(), letter: 's' },
    ],
  },
  {
    title: 'Mail flow',
    places: [
      { text: 'Domains', icon: 'globe', href: paths.domains, letter: 'd' },
      { text: 'Suppressions', icon: 'block', href: paths.suppressions, letter: 'u' },
      { text: 'Quarantine', icon: 'shield', href: paths.quarantine, letter: 'q' },
      policyPlace,
      { text: 'Sender rules', icon: 'filter', href: paths.rules, letter: 'r' },
    ],
  },
  {
    title: 'Developers',
    places: [
      { text: 'Webhooks', icon: 'webhook', href: paths.webhooks, letter: 'w' },
      { text: 'Events', icon: 'activity', href: paths.events, letter: 'e' },
      { text: 'API keys', icon: 'key', href: paths.keys, letter: 'k' },
      { text: 'Connections', icon: 'link', href: paths.connections, letter: 'n' },
      approversPlace,
      { text: 'Settings', icon: 'settings', href: paths.settings, letter: 'x' },
    ],
  },
]
const sandboxPlace: Place = { text: 'Sandbox', icon: 'flask', href: paths.sandbox, letter: 'b' }

function placesShown(): readonly Group[] {
  const reviews: Place = {
    text: 'Reviews',
    icon: 'check',
    href: paths.reviews,
    letter: 'v',
    count: pendingReviews.value,
  }
  if (isApprover.value) return [{ title: null, places: [reviews, policyPlace, approversPlace] }]
  return groups.map((group) => {
    if (group.title === null) return { ...group, places: [...group.places, reviews] }
    if (group.title !== 'Developers' || !session.value?.isSandbox) return group
    return { ...group, places: [...group.places, sandboxPlace] }
  })
}

export function Shell({ children }: { children: ComponentChildren }) {
  const { path, route } = useLocation()
  const isHelpOpen = useSignal(false)
  const isMenuOpen = useSignal(false)
  const isPaletteOpen = useSignal(false)
  const openPalette = () => {
    isPaletteOpen.value = true
  }
  usePaletteKey(openPalette)
  const actions: Action[] = [
    ...(isApprover.value
      ? []
      : [{ text: 'Compose', icon: 'edit', run: () => openCompose({}) } as const]),
    {
      text: 'Keyboard shortcuts',
      icon: 'keyboard',
      run: () => {
        isHelpOpen.value = true
      },
    },
    {
      text: 'Sign out',
      icon: 'leave',
      run: () => {
        signOut().catch(toastFailure)
      },
    },
  ]
  const places = placesShown().flatMap((group) => group.places)
  useKeys({
    ...Object.fromEntries(places.map(({ letter, href }) => [`g ${letter}`, () => route(href)])),
    '?': () => {
      isHelpOpen.value = true
    },
    c: isApprover.value ? undefined : () => openCompose({}),
    '/': isApprover.value
      ? undefined
      : () => focusSearch(() => route(paths.search(currentInboxId.value ?? undefined))),
  })
  useEffect(() => {
    isMenuOpen.value = false
  }, [path])
  return (
    <div class={isMenuOpen.value ? 'shell open' : 'shell'}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="topbar">
        <Button
          kind="quiet"
          icon={isMenuOpen.value ? 'close' : 'menu'}
          label={isMenuOpen.value ? 'Close the menu' : 'Open the menu'}
          onClick={() => {
            isMenuOpen.value = !isMenuOpen.value
          }}
        />
        <Brand />
        <Button kind="quiet" icon="search" label="Find" onClick={openPalette} />
        {!isApprover.value && (
          <Button kind="quiet" icon="edit" label="Compose" onClick={() => openCompose({})} />
        )}
      </header>
      <Sidebar
        path={path}
        onHelp={() => {
          isHelpOpen.value = true
        }}
        onFind={openPalette}
      />
      <main id="content" class="content" tabIndex={-1}>
        {children}
      </main>
      {isHelpOpen.value && (
        <HelpDialog
          places={places}
          onClose={() => {
            isHelpOpen.value = false
          }}
        />
      )}
      {isPaletteOpen.value && (
        <Palette
          places={places}
          actions={actions}
          onClose={() => {
            isPaletteOpen.value = false
          }}
        />
      )}
      <ComposeLayer />
    </div>
  )
}

function Sidebar({
  path,
  onHelp,
  onFind,
}: {
  path: string
  onHelp: () => void
  onFind: () => void
}) {
  const { query } = useLocation()
  const current = session.value
  const isShown = ({ href }: Place) =>
    isAt(path, href) && (href !== paths.allMail() || folderOf(query) === null)
  const hasInboxes = inboxList.value !== null
  useEffect(() => {
    document.querySelector('.nav [aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [path, hasInboxes])
  return (
    <div class="sidebar">
      <div class="sidebar-head">
        <Brand />
        <p class="account" title={current?.account.name}>
          <span class="nav-text">{current?.account.name}</span>
          {current?.isSandbox && <span class="account-mode">Sandbox</span>}
        </p>
        {isApprover.value ? (
          <p class="hint">Signed in as approver {current?.approver?.name}</p>
        ) : (
          <Button kind="primary" icon="edit" onClick={() => openCompose({})}>
            Compose
          </Button>
        )}
        <button type="button" class="find-box" onClick={onFind}>
          <Icon name="search" size={16} />
          <span>Find</span>
          <Key>Ctrl K</Key>
        </button>
      </div>
      <nav class="nav" aria-label="Pages">
        {placesShown().map(({ title, places }) => (
          <div key={title} class="nav-group">
            {title && <p class="nav-title">{title}</p>}
            <ul>
              {places.map((place) => (
                <li key={place.href}>
                  <a href={place.href} aria-current={isShown(place) ? 'page' : undefined}>
                    <Icon name={place.icon} />
                    <span class="nav-text">{place.text}</span>
                    {place.href === paths.allMail() && Boolean(unreadTotal.value) && (
                      <UnreadCount count={unreadTotal.value ?? 0} />
                    )}
                    {Boolean(place.count) && (
                      <span class="nav-count">
                        {place.count}
                        <span class="unseen"> pending</span>
                      </span>
                    )}
                  </a>
                  {place.href === paths.allMail() && isAt(path, place.href) && (
                    <MailFolders label="Lists of all mail" hrefOf={paths.allMail} />
                  )}
                </li>
              ))}
            </ul>
            {title === null && !isApprover.value && <InboxNav path={path} />}
          </div>
        ))}
      </nav>
      <footer class="sidebar-foot">
        {isApprover.value ? <span /> : <LiveMark />}
        <div class="sidebar-tools">
          <ThemeButton />
          <Button kind="quiet" icon="keyboard" label="Keyboard shortcuts" onClick={onHelp} />
          <ActionButton kind="quiet" icon="leave" label="Sign out" action={signOut} />
        </div>
      </footer>
    </div>
  )
}

function Brand() {
  return (
    <a class="brand" href={paths.overview}>
      <span class="brand-mark">
        <Icon name="mail" size={16} />
      </span>
      Mailroom
    </a>
  )
}

const liveWords = {
  live: 'Live',
  connecting: 'Connecting…',
  offline: 'Offline',
} as const

function LiveMark() {
  const state = liveState.value
  return (
    <p class={`live ${state}`} role="status">
      <span class="live-dot" aria-hidden="true" />
      {liveWords[state]}
    </p>
  )
}

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const themeIcons: Record<Theme, IconName> = { system: 'screen', light: 'sun', dark: 'moon' }

function ThemeButton() {
  const theme = useSignal(storedTheme())
  return (
    <Button
      kind="quiet"
      icon={themeIcons[theme.value]}
      label={`Theme: ${theme.value}`}
      onClick={() => {
        theme.value = nextTheme[theme.value]
        storeTheme(theme.value)
      }}
    />
  )
}

function isAt(path: string, href: string): boolean {
  const place = href.replace(/\/$/, '')
  // Inboxes have their own links.
  if (place === '/console' || place === paths.inboxes) return path === place
  return path === place || path.startsWith(`${place}/`)
}

/** The search field of the page, if it has one. */
function focusSearch(goThere: () => void): void {
  const field = document.querySelector<HTMLInputElement>('input[type="search"]')
  if (field === null) goThere()
  else field.focus()
}

function HelpDialog({
  places,
  onClose,
}: {
  places: readonly { text: string; letter?: string }[]
  onClose: () => void
}) {
  const { everywhere, mail, reviews } = shortcuts
  const ofKeys = isApprover.value ? {} : shortcuts.ofKeys
  const goes = places.flatMap(({ text, letter }) => (letter ? [[`g ${letter}`, text]] : []))
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} size="wide">
      <div class="help">
        <Keys title="Everywhere" keys={Object.entries({ ...ofKeys, ...everywhere })} />
        {!isApprover.value && <Keys title="Mail" keys={Object.entries(mail)} />}
        <Keys title="Reviews" keys={Object.entries(reviews)} />
        <Keys title="Go to" keys={goes} />
      </div>
    </Dialog>
  )
}

const shownKeys: Readonly<Record<string, string>> = { Control: 'Ctrl', Escape: 'Esc' }

function Keys({ title, keys }: { title: string; keys: readonly (readonly string[])[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {keys.map(([keyed = '', text]) => (
          <div key={keyed}>
            <dt>
              {keyed.split(' ').map((one) => (
                <Key key={one}>{shownKeys[one] ?? one}</Key>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
