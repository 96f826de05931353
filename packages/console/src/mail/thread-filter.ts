// The filter of a thread list. It is part of the address, so that lists can be linked.

import { type Category, isCategory } from './category.tsx'

/** The names of the lists that a filter can select. */
export const placeWords = {
  all: 'All threads',
  unread: 'Unread',
  sent: 'Sent',
  awake: 'Not snoozed',
  snoozed: 'Snoozed',
  trash: 'Trash',
} as const
export type ThreadPlace = keyof typeof placeWords

export function isPlace(text: string): text is ThreadPlace {
  return Object.hasOwn(placeWords, text)
}

export type ThreadFilter = {
  readonly place: ThreadPlace
  readonly category: Category | null
  /** '' for any category. */
  readonly label: string
  /** '' for any label. */
  readonly assignee: string
}

export const noFilter: ThreadFilter = { place: 'all', category: null, label: '', assignee: '' }

export function readFilter(query: Readonly<Record<string, string>>): ThreadFilter {
  const { show = '', category = '', label = '', assignee = '' } = query
  return {
    place: isPlace(show) ? show : 'all',
    category: isCategory(category) ? category : null,
    label,
    assignee,
  }
}

/** The query of an address, '' without a filter. */
export function filterQuery({ place, category, label, assignee }: ThreadFilter): string {
  const query = new URLSearchParams()
  if (place !== 'all') query.set('show', place)
  if (category !== null) query.set('category', category)
  if (label !== '') query.set('label', label)
  if (assignee !== '') query.set('assignee', assignee)
  return query.size > 0 ? `?${query}` : ''
}

/** Whether the filter does more than select a list. */
export function isNarrowed({ category, label, assignee }: ThreadFilter): boolean {
  return category !== null || label !== '' || assignee !== ''
}

/** The query of the API. */
export function askedOf({ place, category, label, assignee }: ThreadFilter) {
  return {
    ...(place === 'unread' && { is_read: false }),
    ...(place === 'sent' && { direction: 'outbound' as const }),
    ...(place === 'trash' && { trashed: true }),
    ...(place === 'snoozed' && { snoozed: true }),
    ...(place === 'awake' && { snoozed: false }),
    ...(category !== null && { category }),
    ...(label !== '' && { labels: label }),
    ...(assignee !== '' && { assignee }),
  }
}
