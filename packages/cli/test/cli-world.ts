// A real service and the real program: every command is a process of its own with an environment, pipes
// or a terminal, and an exit code.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Mailroom } from '@mailroom/sdk'
import { type App, openApp } from '@mailroom/server/app.ts'
import { silentLog } from '@mailroom/server/base/log.ts'
import { readSettings } from '@mailroom/server/config/read-settings.ts'

export const MAIN = fileURLToPath(import.meta.resolve('#main.mjs'))
export const KEY = 'mr_KeyOfTheFirstAccountInCliTests000000000'
export const OPERATOR_TOKEN = 'operator-token-for-tests-0123456789'

export type Ended = { code: number | null; stdout: string; stderr: string }

export type RunOptions = {
  input?: string
  env?: Record<string, string>
  /** Without the key in the environment. */
  isSignedOut?: boolean
  cwd?: string
  /** Whoever starts it ends its standard input. */
  isInputOpen?: boolean
}

export type Running = {
  readonly child: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Resolves when what was written matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  readonly ended: Promise<Ended>
}

const WAIT_MS_MAX = 90_000

export class CliWorld {
  readonly home: string
  readonly baseUrl: string
  private readonly env: Record<string, string>
  private app: App | null
  private readonly running = new Set<ChildProcessWithoutNullStreams>()

  private constructor(home: string, app: App, env: Record<string, string>) {
    this.home = home
    this.app = app
    this.env = env
    this.baseUrl = app.http?.address ?? ''
  }

  static async open(env: Record<string, string> = {}): Promise<CliWorld> {
    const home = await mkdtemp(join(tmpdir(), 'mailroom-cli-'))
    const given = {
      MAILROOM_DATA_DIR: join(home, 'data'),
      MAILROOM_HTTP_PORT: '0',
      MAILROOM_SMTP_PORT: '0',
      MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
      MAILROOM_BOOTSTRAP_API_KEY: KEY,
      MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
      // A port that nobody listens on: no test asks the machine's own servers.
      MAILROOM_DNS_SERVERS: '127.0.0.1:9',
      ...env,
    }
    return new CliWorld(home, await start(given), given)
  }

  get client(): Mailroom {
    return new Mailroom({ baseUrl: this.baseUrl, apiKey: KEY, maxRetries: 0 })
  }

  /** Ends the service as SIGTERM does. */
  async stopService(): Promise<void> {
    await this.app?.close(1_000)
    this.app = null
  }

  /** On the same port and data. */
  async startService(): Promise<void> {
    this.app = await start({ ...this.env, MAILROOM_HTTP_PORT: new URL(this.baseUrl).port })
  }

  start(args: readonly string[], options: RunOptions = {}): Running {
    return this.watch(spawn(process.execPath, [MAIN, ...args], this.spawnOptions(options)), options)
  }

  /** To its end, with pipes. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    return this.start(args, options).ended
  }

  /** A command that must succeed, and what it wrote. */
  async good(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    if (code !== 0) throw new Error(`${args.join(' ')} exits ${code}: ${stderr}`)
    return stdout
  }

  async json<Body>(...args: string[]): Promise<Body> {
    return JSON.parse(await this.good(...args, '--json'))
  }

  /** At a terminal of `columns` cells, which `script` of util-linux makes (a part of every Debian). */
  atTerminal(args: readonly string[], columns: number, options: RunOptions = {}): Running {
    const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
    const command = [process.execPath, MAIN, ...args].map(quote).join(' ')
    const line = `stty cols ${columns}; exec ${command}`
    const child = spawn('script', ['-qec', line, '/dev/null'], this.spawnOptions(options))
    return this.watch(child, { ...options, isInputOpen: true })
  }

  async close(): Promise<void> {
    for (const child of this.running) child.kill('SIGKILL')
    await this.stopService()
    await rm(this.home, { recursive: true, force: true })
  }

  private spawnOptions({ env = {}, isSignedOut = false, cwd }: RunOptions) {
    return {
      cwd: cwd ?? this.home,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: this.home,
        XDG_CONFIG_HOME: join(this.home, 'config'),
        SHELL: '/bin/sh',
        TERM: 'xterm',
        MAILROOM_BASE_URL: this.baseUrl,
        ...(isSignedOut ? {} : { MAILROOM_API_KEY: KEY }),
        ...env,
      },
    }
  }

  private watch(
    child: ChildProcessWithoutNullStreams,
    { input, isInputOpen = false }: RunOptions,
  ): Running {
    this.running.add(child)
    let stdout = ''
    let stderr = ''
    let look = () => {}
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      look()
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      look()
    })
    child.stdin.on('error', () => {})
    if (input !== undefined) child.stdin.end(input)
    else if (!isInputOpen) child.stdin.end()
    const ended = once(child, 'close').then(([code]) => {
      this.running.delete(child)
      return { code: code as number | null, stdout, stderr }
    })
    const until = (pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        const fail = () => reject(new Error(`No ${pattern} in:\n${stdout}\n${stderr}`))
        const timer = setTimeout(fail, WAIT_MS_MAX)
        look = () => {
          const match = pattern.exec(stdout) ?? pattern.exec(stderr)
          if (match === null) return
          clearTimeout(timer)
          resolve(match)
        }
        look()
        void ended.then(() => {
          look()
          clearTimeout(timer)
          fail()
        })
      })
    return { child, stdout: () => stdout, stderr: () => stderr, until, ended }
  }
}

async function start(env: Record<string, string>): Promise<App> {
  const reading = readSettings(env)
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  return openApp(reading.settings, { log: silentLog })
}
