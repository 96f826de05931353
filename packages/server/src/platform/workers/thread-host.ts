// A guarded worker in a thread. Exceeding its heap ends the thread, not the process.

import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { WorkerHost } from './guarded-worker.ts'

const COPY_SLICE_BYTES = 1024 * 1024

export function openThreadHost<Request extends object>(
  entry: URL,
  heapMib: number,
): WorkerHost<Request> {
  const worker = new Worker(entry, {
    resourceLimits: { maxOldGenerationSizeMb: heapMib },
    // Flags of the process (a test runner's, `--input-type`) do not apply to its threads.
    execArgv: [],
  })
  let hasEnded = false
  return {
    listen({ onMessage, onEnd }) {
      worker.on('message', onMessage)
      worker.on('error', onEnd)
      worker.on('exit', (code) => {
        hasEnded = true
        onEnd(`exit ${code}`)
      })
    },
    async post(request) {
      if (!('raw' in request && request.raw instanceof Uint8Array)) {
        worker.postMessage(request)
        return
      }
      // The caller keeps using its octets, which may be a view of a larger buffer.
      const raw = await copyInSlices(request.raw)
      if (!hasEnded) worker.postMessage({ ...request, raw }, [raw.buffer])
    },
    async cpuMs() {
      try {
        const { user, system } = await worker.cpuUsage()
        return (user + system) / 1_000
      } catch {
        return null
      }
    },
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    terminate: () => worker.terminate(),
  }
}

/** Copying 30 MiB at once takes up to 20 ms, in which no connection would be served. */
async function copyInSlices(source: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const copy = Buffer.allocUnsafeSlow(source.length)
  for (let start = 0; start < source.length; start += COPY_SLICE_BYTES) {
    if (start > 0) await setImmediate()
    copy.set(source.subarray(start, start + COPY_SLICE_BYTES), start)
  }
  return copy
}
