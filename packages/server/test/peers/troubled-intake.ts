// A thread that receives mail, and that ends or hangs when a test names its index on the channel.

import { workerData } from 'node:worker_threads'
import '#app/intake-thread-entry.ts'

const channel = new BroadcastChannel('mailroom test: intake threads')
channel.unref()
channel.onmessage = ({ data }) => {
  const { index, trouble } = data as { index: number; trouble: 'end' | 'hang' }
  if (index !== workerData) return
  if (trouble === 'end') process.exit(1)
  // As an endless loop would, without the processor time.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
