import { useEffect, useRef } from 'preact/hooks'

/** Calls the function every `ms` while the component is mounted; null pauses. */
export function useEvery(ms: number | null, call: () => void): void {
  const latest = useRef(call)
  latest.current = call
  useEffect(() => {
    if (ms === null) return
    const timer = setInterval(() => latest.current(), ms)
    return () => clearInterval(timer)
  }, [ms])
}
