// A reader thread for tests: the service's own long reads, and some of which the end is known.

import { parentPort, threadId, workerData } from 'node:worker_threads'
import type { LongRead } from '#platform/db/db.ts'
import { type ReaderData, runSqliteReader } from '#platform/db/sqlite-reader.ts'
import { loadLongReads } from '#search/search.ts'
import type { Tables } from '#store/tables.ts'

type TestRead<Value> = LongRead<Tables, Record<never, never>, Value>

export const tellThread: TestRead<number> = {
  name: 'tellThread',
  run: async () => threadId,
}

export const waitForAbort: TestRead<'aborted'> = {
  name: 'waitForAbort',
  run: (_db, _input, signal) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
}

export const failRead: TestRead<never> = {
  name: 'failRead',
  run: () => Promise.reject(new Error('this read fails')),
}

/** In a worker thread it ends that thread alone. */
export const endThread: TestRead<never> = {
  name: 'endThread',
  run: async () => process.exit(),
}

if (parentPort !== null) {
  const { path } = workerData as ReaderData
  const reads = [...(await loadLongReads()), tellThread, waitForAbort, failRead, endThread]
  runSqliteReader({ path, port: parentPort, reads })
}
