/** Calls `listener` on abort, or immediately if already aborted, until the result is disposed. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): Disposable {
  if (signal?.aborted === true) listener()
  else signal?.addEventListener('abort', listener, { once: true })
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', listener) }
}

/** Resolves to null after an abort or `timeoutMs`. The work continues; its outcome is ignored. */
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
