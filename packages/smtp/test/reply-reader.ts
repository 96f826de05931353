// Splits the output of a server into replies (RFC 5321 §4.2.1) and refuses anything else.

const LINE = /^([2-5]\d\d)([ -])[\x20-\x7e]*$/

export class ReplyReader {
  #buffer = ''
  #lines: string[] = []
  #replies: string[] = []
  #isClosed = false
  #waiting: (() => void)[] = []

  /** The server's output since the last `take`. */
  push(text: string): void {
    this.#buffer += text
    for (let end = this.#buffer.indexOf('\n'); end !== -1; end = this.#buffer.indexOf('\n')) {
      const line = this.#buffer.slice(0, end + 1)
      this.#buffer = this.#buffer.slice(end + 1)
      this.#takeLine(line)
    }
    this.#wake()
  }

  close(): void {
    this.#isClosed = true
    this.#wake()
  }

  /** The next whole reply, its lines joined by LF; rejects when the server closed before it. */
  async next(): Promise<string> {
    while (this.#replies.length === 0) {
      if (this.#isClosed) throw new Error('closed before a reply')
      await this.#change()
    }
    return this.#replies.shift() ?? ''
  }

  /** All replies that have arrived already. */
  take(): string[] {
    const taken = this.#replies
    this.#replies = []
    return taken
  }

  /** Resolves with the replies that were not taken once the server has closed. */
  async end(): Promise<string[]> {
    while (!this.#isClosed) await this.#change()
    return this.take()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #takeLine(line: string): void {
    const match = line.endsWith('\r\n') ? LINE.exec(line.slice(0, -2)) : null
    if (match === null) throw new Error(`not a reply line: ${JSON.stringify(line)}`)
    const code = this.#lines[0]?.slice(0, 3) ?? match[1]
    if (code !== match[1]) throw new Error(`codes differ within a reply: ${JSON.stringify(line)}`)
    this.#lines.push(line.slice(0, -2))
    if (match[2] === '-') return
    this.#replies.push(this.#lines.join('\n'))
    this.#lines = []
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
