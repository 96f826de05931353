// The program that stdio clients start in the tests: only the transport.

import { runStdio } from '@mailroom/mcp/stdio.ts'
import { readRestrictionSettings } from '@mailroom/tools/read-restriction.ts'

const { MAILROOM_BASE_URL: baseUrl = '', MAILROOM_API_KEY: apiKey = '' } = process.env
const reading = readRestrictionSettings(process.env)
if (reading.kind === 'mistake') throw new Error(reading.message)
await runStdio({ baseUrl, apiKey, restriction: reading.restriction })
