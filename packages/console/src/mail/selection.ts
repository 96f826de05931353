// The selected threads of a page.

import { useEffect, useRef, useState } from 'preact/hooks'

export type Selection = {
  ids: ReadonlySet<string>
  /** With `isRange`, applies the new state to every thread from the last one toggled. */
  toggle: (id: string, isRange: boolean) => void
  /** Selects or deselects the whole page. */
  setAll: (isSelected: boolean) => void
  set: (ids: readonly string[]) => void
}

/**
 * `key` names the list; a new key clears the selection. Threads that leave the page are deselected.
 */
export function useSelection(key: string, shown: readonly string[]): Selection {
  const [state, setState] = useState<{ key: string; ids: readonly string[] }>({ key, ids: [] })
  const last = useRef<string | null>(null)
  const ids = state.key === key ? state.ids.filter((id) => shown.includes(id)) : []
  const set = (next: readonly string[]) => setState({ key, ids: next })
  useEffect(() => {
    last.current = null
  }, [key])
  return {
    ids: new Set(ids),
    toggle(id, isRange) {
      const isSelected = !ids.includes(id)
      const range = isRange ? between(shown, last.current, id) : [id]
      last.current = id
      const others = ids.filter((one) => !range.includes(one))
      set(isSelected ? [...others, ...range] : others)
    },
    setAll: (isSelected) => set(isSelected ? shown : []),
    set,
  }
}

function between(shown: readonly string[], from: string | null, to: string): readonly string[] {
  const start = shown.indexOf(from ?? to)
  const end = shown.indexOf(to)
  if (start === -1) return [to]
  return shown.slice(Math.min(start, end), Math.max(start, end) + 1)
}
