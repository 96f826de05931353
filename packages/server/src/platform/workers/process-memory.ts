// The memory of another process, which is known on Linux alone.

import { readFile } from 'node:fs/promises'

const CHECK_MS = 25

/** Calls `onExceeded` once the process has more than so much memory in use; ends by the returned function. */
export function watchMemory(
  pid: number | undefined,
  { memoryMib, onExceeded }: { memoryMib: number; onExceeded: () => void },
): () => void {
  const check = async () => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    const usedMib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? '0') / 1024
    if (usedMib > memoryMib) onExceeded()
  }
  const timer = setInterval(() => void check(), CHECK_MS)
  return () => clearInterval(timer)
}
