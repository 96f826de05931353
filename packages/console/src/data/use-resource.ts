// What a component needs of the service: asked for when it appears, again when what it depends on
// changes or somebody says so; the answer to a question that is not asked any more is dropped.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export type Resource<Value> = {
  /** What was answered last, also while it is asked again. */
  value: Value | undefined
  error: unknown
  isLoading: boolean
  /** While it is asked for, it is asked once more afterwards: a stream of changes delays no answer. */
  reload: () => void
  /** For what is known without asking. */
  replace: (change: (before: Value) => Value) => void
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
  const flight = useRef({ isOn: false, isAgain: false })

  useEffect(() => {
    if (key === null) return
    const leaving = new AbortController()
    const { signal } = leaving
    const own = { isOn: true, isAgain: false }
    flight.current = own
    const land = () => {
      own.isOn = false
      if (own.isAgain) setRound((before) => before + 1)
    }
    setState((before) =>
      before.key === name ? { ...before, isLoading: true, error: undefined } : startOf(name),
    )
    latest.current(signal).then(
      (value) => {
        if (signal.aborted) return
        setState({ key: name, value, error: undefined, isLoading: false })
        land()
      },
      (error) => {
        if (signal.aborted) return
        setState((before) => ({ ...before, key: name, error, isLoading: false }))
        land()
      },
    )
    return () => {
      own.isOn = false
      leaving.abort()
    }
  }, [key, round])

  const reload = useCallback(() => {
    if (flight.current.isOn) flight.current.isAgain = true
    else setRound((before) => before + 1)
  }, [])
  const replace = useCallback(
    (change: (before: Value) => Value) => {
      // What is on its way may have been read before the change.
      if (flight.current.isOn) flight.current.isAgain = true
      setState((before) =>
        before.key === name && before.value !== undefined
          ? { ...before, value: change(before.value), error: undefined }
          : before,
      )
    },
    [name],
  )
  const shown = state.key === name ? state : startOf<Value>(name)
  return { value: shown.value, error: shown.error, isLoading: shown.isLoading, reload, replace }
}

function startOf<Value>(key: string): State<Value> {
  return { key, value: undefined, error: undefined, isLoading: true }
}
