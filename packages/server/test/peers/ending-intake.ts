// A thread that receives mail, and that ends at once when a test names its index on the channel.

import { workerData } from 'node:worker_threads'
import type { IntakeThreadData } from '#inbound/inbound.ts'
import '#intake-thread-entry.ts'

const channel = new BroadcastChannel('mailroom test: end this intake thread')
channel.unref()
channel.onmessage = ({ data }) => {
  if (data === (workerData as IntakeThreadData).index) process.exit(1)
}
