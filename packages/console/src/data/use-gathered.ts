// Many calls in a short time are one.

import { useCallback, useEffect, useRef } from 'preact/hooks'

/** Calls so long after the first of them; not any more when the component is gone. */
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
