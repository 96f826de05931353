// The head of a thread list: one row with its title and tools, and the filter below it.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '#parts/button.tsx'
import { Menu, type MenuItem } from '#parts/menu.tsx'
import { PageTitle } from '#parts/page.tsx'
import { CopyButton } from '#parts/small.tsx'
import { FilterChips, FilterFields } from './filter-fields.tsx'
import type { ThreadFilter } from './thread-filter.ts'

export function ListHead({
  title,
  address,
  filter,
  onFilter,
  tools,
  menu,
  hint,
}: {
  title: string
  /** Adds a button that copies this address. */
  address?: string | undefined
  filter: ThreadFilter
  onFilter: (filter: ThreadFilter) => void
  tools: ComponentChildren
  menu?: { label: string; items: readonly MenuItem[] }
  hint?: string
}) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <header class="mail-head">
      <div class="mail-title">
        <span class="mail-name" title={title}>
          <PageTitle>{title}</PageTitle>
          {address !== undefined && <CopyButton text={address} label="address" />}
        </span>
        <span class="mail-tools">
          <Button
            kind="quiet"
            icon="filter"
            label="Filter"
            isPressed={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          />
          {tools}
          {menu && <Menu {...menu} />}
        </span>
      </div>
      {isOpen && <FilterFields filter={filter} onFilter={onFilter} />}
      <FilterChips filter={filter} onFilter={onFilter} />
      {hint && <p class="hint">{hint}</p>}
    </header>
  )
}
