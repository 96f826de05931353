// What a component needs of the service: asked for when it appears, again when what it depends on
// changes or somebody says so; an answer that is overtaken by another question is dropped.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export type Resource<Value> = {
  /** What was answered last, also while it is asked again. */
  value: Value | undefined
  error: unknown
  isLoading: boolean
  reload: () => void
  /** For what is known before it is asked for. */
  replace: (value: Value) => void
}

type State<Value> = { key: string; value: Value | undefined; error: unknown; isLoading: boolean }

/** `key` names what is asked for: under another one what was known is forgotten. Null: not yet. */
export function useResource<Value>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Value>,
): Resource<Value> {
  const name = key ?? ''
  const [state, setState] = useState<State<Value>>(() => startOf(name))
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load

  useEffect(() => {
    if (key === null) return
    const leaving = new AbortController()
    const { signal } = leaving
    setState((before) =>
      before.key === name ? { ...before, isLoading: true, error: undefined } : startOf(name),
    )
    latest.current(signal).then(
      (value) => {
        if (!signal.aborted) setState({ key: name, value, error: undefined, isLoading: false })
      },
      (error) => {
        if (signal.aborted) return
        setState((before) => ({ ...before, key: name, error, isLoading: false }))
      },
    )
    return () => leaving.abort()
  }, [key, round])

  const reload = useCallback(() => setRound((before) => before + 1), [])
  const replace = useCallback(
    (value: Value) => setState({ key: name, value, error: undefined, isLoading: false }),
    [name],
  )
  const shown = state.key === name ? state : startOf<Value>(name)
  return { value: shown.value, error: shown.error, isLoading: shown.isLoading, reload, replace }
}

function startOf<Value>(key: string): State<Value> {
  return { key, value: undefined, error: undefined, isLoading: true }
}
