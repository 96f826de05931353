// A client of the stream of server-sent events, for tests; it parses by WHATWG HTML §9.2.

export type Told = { id: string; event: string; data: Record<string, unknown> }

export type FeedClient = {
  readonly response: Response
  /** The next event; null when the stream has ended normally, rejects when it was cut. */
  next(): Promise<Told | null>
  /** Comments so far. */
  comments(): number
  commentTexts(): readonly string[]
  /** Milliseconds of the last `retry` field. */
  retryMs(): number | null
  /** Closes the connection. */
  close(): void
}

/** Connects with these headers. */
export async function openFeedClient(
  url: string,
  headers: Record<string, string>,
): Promise<FeedClient> {
  const over = new AbortController()
  const response = await fetch(url, { headers, signal: over.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const comments: string[] = []
  let retryMs: number | null = null

  function take(block: string): Told | null {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      const [name = '', value = ''] = line.split(/: ?(.*)/s)
      if (line.startsWith(':')) comments.push(line.slice(1).trim())
      else if (name === 'retry') retryMs = Number(value)
      else fields.set(name, value)
    }
    const data = fields.get('data')
    if (data === undefined) return null
    return {
      id: fields.get('id') ?? '',
      event: fields.get('event') ?? '',
      data: JSON.parse(data) as Record<string, unknown>,
    }
  }

  return {
    response,
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end !== -1) {
          const told = take(text.slice(0, end))
          text = text.slice(end + 2)
          if (told !== null) return told
          continue
        }
        const chunk = await reader?.read()
        if (chunk === undefined || chunk.done) return null
        text += chunk.value
      }
    },
    comments: () => comments.length,
    commentTexts: () => comments,
    retryMs: () => retryMs,
    close: () => over.abort(),
  }
}
