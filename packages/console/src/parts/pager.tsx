// Paged lists. Only one page is in memory.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatNumber } from '#data/format.ts'
import { type Resource, useResource } from '#data/use-resource.ts'
import { Button } from './button.tsx'
import { Skeleton, Trouble } from './notice.tsx'

const PAGE_SIZE = 50

type PageOf<Item> = {
  readonly data: readonly Item[]
  readonly total: number
  /** False if the service stopped counting at this total. */
  readonly totalIsExact?: boolean
  /** False if a search ended before it had read everything. */
  readonly isComplete?: boolean
}
export type PageBounds = { limit: number; offset: number; signal: AbortSignal }

export type Paged<Item> = Resource<PageOf<Item>> & {
  items: readonly Item[]
  total: number
  offset: number
  size: number
  goTo: (offset: number) => void
}

/** Like `useResource`, for one page of a list. A new key starts at the first page. */
export function usePaged<Item>(
  key: string | null,
  load: (bounds: PageBounds) => Promise<PageOf<Item>>,
  size: number = PAGE_SIZE,
): Paged<Item> {
  const [place, setPlace] = useState({ key, offset: 0 })
  const offset = place.key === key ? place.offset : 0
  const resource = useResource(key === null ? null : `${key} ${offset}`, (signal) =>
    load({ limit: size, offset, signal }),
  )
  return {
    ...resource,
    items: resource.value?.data ?? [],
    total: resource.value?.total ?? 0,
    offset,
    size,
    goTo: (next) => setPlace({ key, offset: Math.max(0, next) }),
  }
}

/** One page of a list with its pager, or its loading, failed or empty state. */
export function PagedList<Item>({
  list,
  label,
  rows,
  empty,
  children,
}: {
  list: Paged<Item>
  label: string
  /** Rows of the loading state. */
  rows?: number
  empty: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <>
      {list.value !== undefined ? (
        list.items.length === 0 ? (
          empty
        ) : (
          children
        )
      ) : list.error ? (
        <Trouble error={list.error} retry={list.reload} />
      ) : (
        <Skeleton {...(rows !== undefined && { rows })} label={`Loading ${label}`} />
      )}
      <Pager list={list} label={label} />
    </>
  )
}

/** Renders nothing if all items fit on one page. */
export function Pager<Item>({ list, label }: { list: Paged<Item>; label: string }) {
  const { total, offset, size, items, goTo, isLoading } = list
  if (offset === 0 && total <= size) return null
  const last = offset + items.length
  const isOpen = list.value?.totalIsExact === false
  return (
    <nav class="pager" aria-label={`Pages of ${label}`}>
      <span class="pager-place" aria-live="polite">
        {items.length === 0 && isLoading
          ? 'Loading…'
          : `${formatNumber(Math.min(offset + 1, last))}–${formatNumber(last)} of ${formatNumber(total)}${isOpen ? ' or more' : ''}`}
      </span>
      <Button
        kind="quiet"
        icon="back"
        label="Previous page"
        isDisabled={offset === 0}
        onClick={() => goTo(offset - size)}
      />
      <Button
        kind="quiet"
        icon="forward"
        label="Next page"
        isDisabled={isOpen ? items.length < size : last >= total}
        onClick={() => goTo(offset + size)}
      />
    </nav>
  )
}
