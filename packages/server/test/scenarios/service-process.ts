// The service as its operator runs it: a process of its own with an environment, an output and an exit code. Other
// commands share a process, one after the other.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Mailroom } from '@mailroom/sdk'
import type { Engine } from '#platform/db/db.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { sharedCommands } from './command-host.ts'

export type ServiceProcess = {
  /** All output on both streams so far. */
  output(): string
  /** Where it listens; rejects with the output when it ends before it is ready. */
  readonly ready: Promise<{ http: string; smtpPort: number }>
  /** Ends it with SIGKILL, as in a crash; does nothing after its end. */
  kill(): Promise<number | null>
  /** Ends it with SIGTERM and returns its exit code. */
  stop(): Promise<number | null>
  /** The exit code of a process that ends by itself. */
  readonly ended: Promise<number | null>
}

export type Place = {
  readonly dataDir: string
  /** Null on SQLite. */
  readonly databaseUrl: string | null
  /** Starts a process on this data, with further settings. */
  start(env?: Record<string, string>): ServiceProcess
  /** The same at a terminal, where "ready" is not read from the output. */
  startAtTerminal(): ServiceProcess
  /** Runs another command of the program to its end, with the settings of this place. */
  command(...args: string[]): Promise<{ code: number | null; output: string }>
  /** The same, with further settings. */
  commandWith(
    env: Record<string, string>,
    ...args: string[]
  ): Promise<{ code: number | null; output: string }>
  /** Kills the processes that still run here and removes the files. */
  remove(): Promise<void>
}

/** An empty data directory, and an empty database where the engine needs one. */
export async function emptyPlace(engine: Engine): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const own: Record<string, string> = {
    MAILROOM_DATA_DIR: dataDir,
    MAILROOM_HTTP_PORT: '0',
    MAILROOM_SMTP_PORT: '0',
  }
  if (engine === 'postgres') own.MAILROOM_DATABASE_URL = await createTestDatabase()
  const started: ServiceProcess[] = []
  const commandWith: Place['commandWith'] = async (env, ...args) => {
    const given = { PATH: process.env.PATH ?? '', ...own, ...env }
    return sharedCommands.run({ args, env: given })
  }
  return {
    dataDir,
    databaseUrl: own.MAILROOM_DATABASE_URL ?? null,
    start(env = {}) {
      const settings = { ...own, ...certificateSettings(), ...env }
      const service = startProcess([process.execPath, MAIN, 'serve'], settings)
      started.push(service)
      return service
    },
    startAtTerminal() {
      const line = `exec '${process.execPath}' '${MAIN}' serve`
      const settings = { ...own, ...certificateSettings() }
      const service = startProcess(['script', '-qec', line, '/dev/null'], settings)
      started.push(service)
      return service
    },
    command: (...args) => commandWith({}, ...args),
    commandWith,
    async remove() {
      await Promise.all(started.map((service) => service.kill()))
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

const MAIN = fileURLToPath(import.meta.resolve('#main.mjs'))

/** A process with only these settings. */
function startProcess(
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
): ServiceProcess {
  const child = spawn(command, args, {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ready = new Promise<{ http: string; smtpPort: number }>((resolve, reject) => {
    const take = (text: string) => {
      output += text
      const lines = output.split('\n').slice(0, -1)
      const line = lines.find((text) => text.includes('"Mailroom is ready"'))
      if (line === undefined) return
      const { http, smtp } = JSON.parse(line) as { http: string; smtp: string }
      resolve({ http, smtpPort: Number(smtp.split(':').at(-1)) })
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    void ended.then((code) => reject(new Error(`It ended with ${code}:\n${output}`)))
  })
  // A caller that waits for a failed start does not await this promise.
  ready.catch(() => {})
  return {
    output: () => output,
    ready,
    ended,
    kill() {
      child.kill('SIGKILL')
      return ended
    },
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** A client of a process, which repeats nothing. */
export function clientOf(http: string, apiKey: string): Mailroom {
  return new Mailroom({ baseUrl: http, apiKey, maxRetries: 0 })
}
