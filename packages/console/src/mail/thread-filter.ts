// The filter of a thread list. It is part of the address, so that lists can be linked.

import { type Category, isCategory } from './category.tsx'

export const threadPlaces = ['all', 'awake', 'snoozed', 'trash'] as const
export type ThreadPlace = (typeof threadPlaces)[number]

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
  const { show, category = '', label = '', assignee = '' } = query
  return {
    place: threadPlaces.find((place) => place === show) ?? 'all',
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

/** The query of the API. */
export function askedOf({ place, category, label, assignee }: ThreadFilter) {
  return {
    ...(place === 'trash' && { trashed: true }),
    ...(place === 'snoozed' && { snoozed: true }),
    ...(place === 'awake' && { snoozed: false }),
    ...(category !== null && { category }),
    ...(label !== '' && { labels: label }),
    ...(assignee !== '' && { assignee }),
  }
}
