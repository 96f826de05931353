// The service under test, as a user starts it, in a separate process with a data directory and
// default durability.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Mailroom } from '@mailroom/sdk'
import { startServer } from './child.ts'

const KEY = 'bench-key-0123456789-0123456789'
/**
 * A fixed key, so that a kept folder can be used again, and PostgreSQL starts without a warning.
 */
const SECRET_KEY = Buffer.alloc(32, 'bench').toString('base64')

export type RunningMailroom = {
  client: Mailroom
  key: string
  httpPort: number
  smtpPort: number
  dataDir: string
  pid: number
  /** Stops the service and, unless `keeps` is set, removes its data. */
  stop(options?: { keeps: boolean }): Promise<void>
}

/**
 * Starts the service on an empty data directory, or on the kept directory of an earlier run. Limits
 * that would stop a benchmark are raised.
 */
export async function startMailroom(
  env: Record<string, string> = {},
  kept?: string,
): Promise<RunningMailroom> {
  const dataDir = kept ?? mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'mailroom-bench-'))
  const [httpPort, smtpPort] = [await freePort(), await freePort()]
  const main = fileURLToPath(import.meta.resolve('@mailroom/server/main.mjs'))
  const server = await startServer(main, {
    arguments: ['serve'],
    flags: startFlags(),
    env: {
      MAILROOM_DATA_DIR: dataDir,
      MAILROOM_HTTP_PORT: String(httpPort),
      MAILROOM_SMTP_PORT: String(smtpPort),
      MAILROOM_BOOTSTRAP_API_KEY: KEY,
      MAILROOM_SECRET_KEY: SECRET_KEY,
      MAILROOM_LIMIT_API_PER_MINUTE: '100000000',
      // Refuses immediately, so that the machine's DNS has no effect.
      MAILROOM_DNS_SERVERS: '127.0.0.1:9',
      ...env,
    },
  })
  return {
    client: new Mailroom({ baseUrl: `http://127.0.0.1:${httpPort}`, apiKey: KEY }),
    key: KEY,
    httpPort,
    smtpPort,
    dataDir,
    pid: server.child.pid ?? 0,
    async stop({ keeps } = { keeps: false }) {
      await server.stop()
      if (!keeps) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The runtime flags of `npm start`. */
function startFlags(): string[] {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const { scripts } = JSON.parse(text) as { scripts: { start: string } }
  return scripts.start.match(/--\S+/g) ?? []
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
}
