// The yardstick of the intake benchmark: bare smtp-server that writes and syncs one file per
// message before it answers. Its fixed wait of 100 ms before the greeting is removed, because it
// would dominate the result.

import { mkdtempSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const realSetTimeout = globalThis.setTimeout
const GREETING_WAIT_MS = 100
globalThis.setTimeout = ((run: (...rest: unknown[]) => void, delayMs = 0, ...rest: unknown[]) =>
  realSetTimeout(run, delayMs === GREETING_WAIT_MS ? 0 : delayMs, ...rest)) as typeof setTimeout

const { SMTPServer } = await import('smtp-server')
const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'yardstick-'))
let serial = 0

const server = new SMTPServer({
  disableReverseLookup: true,
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  logger: false,
  onData(stream, _session, callback) {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      store(Buffer.concat(chunks)).then(() => callback(), callback)
    })
  },
})
server.on('error', () => {})
server.listen(0, '127.0.0.1', () => {
  const address = server.server.address()
  const port = typeof address === 'object' ? address?.port : 0
  process.stdout.write(`${JSON.stringify({ port })}\n`)
})

async function store(content: Buffer): Promise<void> {
  serial += 1
  const file = await open(join(folder, String(serial)), 'w')
  await file.writeFile(content)
  await file.sync()
  await file.close()
}
