// Loads a component's data when it is mounted, when its key changes and on request. Responses to
// outdated requests are dropped.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export type Resource<Value> = {
  /** The last response, which is kept while reloading. */
  value: Value | undefined
  error: unknown
  isLoading: boolean
  /**
   * A call during a request causes one more request after it, so a stream of changes delays no
   * response.
   */
  reload: () => void
  /** Changes the value without a request. */
  replace: (change: (before: Value) => Value) => void
}

type State<Value> = { key: string; value: Value | undefined; error: unknown; isLoading: boolean }

/** `key` identifies the data. A new key drops the old value; null loads nothing. */
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
      // The pending response may have been computed before the change.
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

/** Merges calls within `afterMs` of the first into one. There is no call after unmounting. */
export function useGathered(call: () => void, afterMs: number): () => void {
  const latest = useRef(call)
  latest.current = call
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  return useCallback(() => {
    if (timer.current !== 0) return
    timer.current = window.setTimeout(() => {
      timer.current = 0
      latest.current()
    }, afterMs)
  }, [afterMs])
}
