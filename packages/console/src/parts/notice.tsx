// States of a page: notices, empty, failed, loading.

import type { ComponentChildren } from 'preact'
import { describeFailure } from '#data/failure.ts'
import { paths } from '#data/paths.ts'
import { Button, ButtonLink } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'calm'

const toneIcons: Record<Tone, IconName> = {
  good: 'check',
  warn: 'warning',
  bad: 'warning',
  info: 'info',
  calm: 'info',
}

export function Notice({
  tone,
  title,
  children,
  actions,
}: {
  tone: Tone
  title: ComponentChildren
  children?: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={toneIcons[tone]} />
      <div class="notice-body">
        <p class="notice-title">{title}</p>
        {children && <div class="notice-text">{children}</div>}
      </div>
      {actions && <div class="notice-actions">{actions}</div>}
    </div>
  )
}

export function Badge({ tone = 'calm', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** Explains what will appear here, and when. */
export function Empty({
  icon,
  title,
  children,
  actions,
}: {
  icon: IconName
  title: string
  children?: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
      {actions && <div class="empty-actions">{actions}</div>}
    </div>
  )
}

export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message, fix, isGone } = describeFailure(error)
  if (isGone) {
    return (
      <Empty
        icon="search"
        title="Not found"
        actions={<ButtonLink href={paths.overview}>Go to overview</ButtonLink>}
      >
        It was deleted, belongs to another account, or its address is incomplete.
      </Empty>
    )
  }
  return (
    <div class="empty" role="alert">
      <span class="empty-icon bad">
        <Icon name="warning" size={24} />
      </span>
      <p class="empty-title">{message}</p>
      {fix && <div class="empty-text">{fix}</div>}
      {retry && (
        <div class="empty-actions">
          <Button icon="refresh" onClick={retry}>
            Try again
          </Button>
        </div>
      )}
    </div>
  )
}

/** Placeholders for rows that are loading. */
export function Skeleton({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{label}</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton-row" aria-hidden="true">
          <span />
          <span />
        </div>
      ))}
    </div>
  )
}
