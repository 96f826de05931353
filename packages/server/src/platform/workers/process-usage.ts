// The memory and processor time of another process, on Linux only.

import { readFile } from 'node:fs/promises'

const CHECK_MS = 25

/** Calls `onExceeded` above `memoryMib`; the returned function stops watching. */
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

/** Null if unknown. Linux counts hundredths of a second (proc(5)). */
export async function cpuMsOf(pid: number | undefined): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The program's name comes first, in parentheses, and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [Number(fields[11]), Number(fields[12])]
  return Number.isInteger(user) && Number.isInteger(system) ? (user + system) * 10 : null
}
