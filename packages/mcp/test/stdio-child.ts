// What a client of stdio starts in the tests: the transport and nothing else.

import { readNarrowingSettings } from '@mailroom/mcp/narrowing.ts'
import { runStdio } from '@mailroom/mcp/stdio.ts'

const { MAILROOM_BASE_URL: baseUrl = '', MAILROOM_API_KEY: apiKey = '' } = process.env
const reading = readNarrowingSettings(process.env)
if (reading.kind === 'mistake') throw new Error(reading.message)
await runStdio({ baseUrl, apiKey, ...reading.narrowing })
