// Telling whoever waits for a change that there may be one: those in this process at once, those in
// other processes by way of the database where they share one. A signal may be lost; it says nothing.

export type Signals = {
  /** Call it after the commit. Never fails. */
  tell(): void
  /** Runs at each signal, of this process or another. */
  listen(run: () => void): void
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
    close: () => Promise.resolve(),
  }
}
