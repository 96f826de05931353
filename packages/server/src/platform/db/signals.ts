// Telling whoever waits for a change that there may be one: those in this process at once, those in
// other processes by way of the database where they share one. A signal may be lost; it says nothing.
// Beside it what one process tells the others in a word, which may be lost, too.

export type Signals = {
  /** Call it after the commit. Never fails. */
  tell(): void
  /** Runs at each signal, of this process or another. */
  listen(run: () => void): void
  /** Tells other processes; `text` has at most SIGNAL_TEXT_LENGTH_MAX characters. Never fails. */
  say(topic: string, text: string): void
  /** Runs at each word on the topic from another process. */
  hear(topic: string, run: (text: string) => void): void
  close(): Promise<void>
}

/** Of a process that is alone with its database. */
export function openOwnSignals(): Signals {
  const listeners: (() => void)[] = []
  return {
    tell() {
      for (const run of listeners) run()
    },
    listen: (run) => void listeners.push(run),
    say() {},
    hear() {},
    close: () => Promise.resolve(),
  }
}
