import { parentPort, workerData } from 'node:worker_threads'
import { type ReaderData, runSqliteReader } from '#platform/db/sqlite-reader.ts'
import { loadLongReads } from '#search/search.ts'

if (parentPort === null) throw new Error('This module is started as a worker thread.')
const { path } = workerData as ReaderData
runSqliteReader({ path, port: parentPort, reads: await loadLongReads() })
