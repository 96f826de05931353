import { parentPort, workerData } from 'node:worker_threads'
import type { WriterData } from '#platform/db/sqlite.ts'
import { runSqliteWriter } from '#platform/db/sqlite-writer.ts'
import { transactions } from './transactions.ts'

if (parentPort === null) throw new Error('This module is started as a worker thread.')
runSqliteWriter({ ...(workerData as WriterData), port: parentPort, transactions })
