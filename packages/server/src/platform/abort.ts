/** Calls `listener` once `signal` is aborted, at once where it is already, until it is disposed of. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): Disposable {
  if (signal?.aborted === true) listener()
  else signal?.addEventListener('abort', listener, { once: true })
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', listener) }
}

/**
 * The value of `promise`, or null once `signal` is aborted or `timeoutMs` are over. The work behind the
 * promise goes on then, and its outcome is dropped.
 */
export async function raceAbort<Value>(
  promise: Promise<Value>,
  { signal, timeoutMs }: { signal?: AbortSignal; timeoutMs?: number },
): Promise<Value | null> {
  const ended = Promise.withResolvers<null>()
  using _ = onAbort(signal, () => ended.resolve(null))
  const timer = timeoutMs === undefined ? undefined : setTimeout(ended.resolve, timeoutMs, null)
  try {
    return await Promise.race([promise, ended.promise])
  } finally {
    clearTimeout(timer)
  }
}
