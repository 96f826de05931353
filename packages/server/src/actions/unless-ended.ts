// Waiting for a store that may hang, for no longer than somebody has to.

/**
 * What was asked for, or null when `signal` is aborted before it came: what is under way then goes on, and
 * nobody hears what came of it. Rejects as `asked` does.
 */
export async function unlessEnded<Value>(
  asked: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | null> {
  const ended = Promise.withResolvers<null>()
  const end = () => ended.resolve(null)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([asked, ended.promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
