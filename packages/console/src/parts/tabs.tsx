// Tabs, chosen with the arrow keys (WAI-ARIA, tabs).

import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

import { reachable } from './small.tsx'

export type Tab<Name extends string> = {
  name: Name
  text: ComponentChildren
  body: () => ComponentChildren
}

export function Tabs<Name extends string>({
  label,
  tabs,
  current,
  onCurrent,
}: {
  label: string
  tabs: readonly Tab<Name>[]
  current: Name
  onCurrent: (name: Name) => void
}) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const shown = tabs.find(({ name }) => name === current) ?? tabs[0]
  const move = (step: number) => {
    const at = tabs.findIndex(({ name }) => name === shown?.name)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (next === undefined) return
    onCurrent(next.name)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.name}"]`)?.focus()
  }
  return (
    <div class="tabs">
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        class="tab-list"
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
          if (step === undefined) return
          event.preventDefault()
          move(step)
        }}
      >
        {tabs.map(({ name, text }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            data-tab={name}
            aria-selected={name === shown?.name}
            aria-controls={`${id}-body`}
            tabIndex={name === shown?.name ? 0 : -1}
            onClick={() => onCurrent(name)}
          >
            {text}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${id}-body`}
        aria-labelledby={`${id}-${shown?.name}`}
        class="tab-body"
        {...reachable}
      >
        {shown?.body()}
      </div>
    </div>
  )
}
