// A real service and the real program: every command has an environment, pipes or a terminal, and an exit code.
// Commands without standard input run one after the other in a shared process.

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Mailroom } from '@mailroom/sdk'
import { type App, openApp } from '@mailroom/server/app/app.ts'
import { readSettings } from '@mailroom/server/config/read-settings.ts'
import { silentLog } from '@mailroom/server/platform/log.ts'
import { certificateSettings } from '@mailroom/server/test/peers/certificate.ts'
import type { HostedCommand } from '#test/cli-host.ts'

export const MAIN = fileURLToPath(import.meta.resolve('#main.mjs'))
const HOST = fileURLToPath(import.meta.resolve('#test/cli-host.ts'))
export const KEY = 'mr_KeyOfTheFirstAccountInCliTests000000000'
export const OPERATOR_TOKEN = 'operator-token-for-tests-0123456789'

export type Ended = { code: number | null; stdout: string; stderr: string }

export type RunOptions = {
  input?: string
  env?: Record<string, string>
  /** The environment without the key. */
  isSignedOut?: boolean
  cwd?: string
  /** The caller ends its standard input. */
  isInputOpen?: boolean
  /** Runs this one in a process of its own. */
  program?: Program
}

/** A Node.js, and the file that it runs. */
export type Program = { readonly node: string; readonly main: string }

export type Running = {
  readonly child: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Resolves when the output matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  readonly ended: Promise<Ended>
}

const WAIT_MS_MAX = 90_000

export class CliWorld {
  readonly home: string
  readonly baseUrl: string
  private readonly env: Record<string, string>
  private app: App | null
  private readonly running = new Set<ChildProcess>()

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
      // Nothing listens on this port, so no test asks the machine's own DNS servers.
      MAILROOM_DNS_SERVERS: '127.0.0.1:9',
      ...certificateSettings(),
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

  /** Starts it again on the same port and data. */
  async startService(): Promise<void> {
    this.app = await start({ ...this.env, MAILROOM_HTTP_PORT: new URL(this.baseUrl).port })
  }

  start(args: readonly string[], options: RunOptions = {}): Running {
    const { program: { node, main } = { node: process.execPath, main: MAIN } } = options
    return this.watch(spawn(node, [main, ...args], this.spawnOptions(options)), options)
  }

  /** Runs a command to its end, with pipes. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const isOwn = options.input !== undefined || options.program !== undefined
    if (isOwn) return this.start(args, options).ended
    if (host === null || host.hasEnded) host = new Host()
    return host.run({ args, ...this.spawnOptions(options) })
  }

  /** Runs a command that must succeed, and returns its output. */
  async good(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    if (code !== 0) throw new Error(`${args.join(' ')} exits ${code}: ${stderr}`)
    return stdout
  }

  async json<Body>(...args: string[]): Promise<Body> {
    return JSON.parse(await this.good(...args, '--json'))
  }

  /** Runs a command at a terminal of `columns` cells, which `script` of util-linux makes (a part of every Debian). */
  atTerminal(args: readonly string[], columns: number, options: RunOptions = {}): Running {
    const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
    const command = [process.execPath, MAIN, ...args].map(quote).join(' ')
    const line = `stty cols ${columns}; exec ${command}`
    const child = spawn('script', ['-qec', line, '/dev/null'], this.spawnOptions(options))
    return this.watch(child, { ...options, isInputOpen: true })
  }

  /** Runs commands one after the other at one terminal, and returns the output of each. */
  async allAtTerminal(commands: readonly (readonly string[])[], columns: number): Promise<Ended[]> {
    const { cwd, env } = this.spawnOptions({})
    const mark = randomUUID()
    const hosted = {
      ...env,
      CLI_HOST_MARK: mark,
      CLI_HOST_COMMANDS: JSON.stringify(commands.map((args) => ({ args, env, cwd }))),
    }
    const line = `stty cols ${columns}; exec '${process.execPath}' '${HOST}'`
    const child = spawn('script', ['-qec', line, '/dev/null'], { cwd, env: hosted })
    const { stdout, stderr } = await this.watch(child, { isInputOpen: true }).ended
    // Both streams end at the terminal.
    const ends = [...stdout.matchAll(new RegExp(`${mark} (\\d+)\\r?\\n`, 'g'))]
    if (ends.length !== 2 * commands.length) throw new Error(`Not all ended:\n${stdout}${stderr}`)
    return commands.map((_, at) => {
      const before = ends[2 * at - 1]
      const from = before === undefined ? 0 : before.index + before[0].length
      const shown = stdout.slice(from, ends[2 * at]?.index)
      return { code: Number(ends[2 * at]?.[1]), stdout: shown, stderr: '' }
    })
  }

  async close(): Promise<void> {
    for (const child of this.running) child.kill('SIGKILL')
    await this.stopService()
    await rm(this.home, { recursive: true, force: true })
  }

  /** The environment of commands. */
  envOf({ env = {}, isSignedOut = false }: RunOptions = {}): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      HOME: this.home,
      XDG_CONFIG_HOME: join(this.home, 'config'),
      SHELL: '/bin/sh',
      TERM: 'xterm',
      MAILROOM_BASE_URL: this.baseUrl,
      ...(isSignedOut ? {} : { MAILROOM_API_KEY: KEY }),
      ...env,
    }
  }

  private spawnOptions(options: RunOptions) {
    return { cwd: options.cwd ?? this.home, env: this.envOf(options) }
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

/** Runs commands one after the other in one lasting process. */
class Host {
  readonly child: ChildProcess
  private readonly mark = randomUUID()
  private readonly texts = { stdout: '', stderr: '' }
  private last: Promise<unknown> = Promise.resolve()
  private look = () => {}

  constructor() {
    const { NODE_COMPILE_CACHE = '', PATH = '' } = process.env
    this.child = spawn(process.execPath, [HOST], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { PATH, NODE_COMPILE_CACHE, CLI_HOST_MARK: this.mark },
    })
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.texts[name] += text
        this.look()
      })
    }
    this.child.on('close', () => this.look())
    this.keepAlive(false)
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  run(command: HostedCommand): Promise<Ended> {
    const ended = this.last.then(async () => {
      this.keepAlive(true)
      try {
        return await this.runNext(command)
      } finally {
        this.keepAlive(false)
      }
    })
    this.last = ended.catch(() => {})
    return ended
  }

  private runNext(command: HostedCommand): Promise<Ended> {
    const { texts } = this
    texts.stdout = ''
    texts.stderr = ''
    return new Promise((resolve, reject) => {
      this.look = () => {
        const [told, noted] = [texts.stdout, texts.stderr].map((text) => {
          const at = text.indexOf(this.mark)
          return at === -1 || !text.endsWith('\n') ? null : text.slice(0, at)
        })
        if (told != null && noted != null) {
          const code = Number(texts.stdout.slice(told.length + this.mark.length))
          resolve({ code, stdout: told, stderr: noted })
        } else if (this.hasEnded) {
          reject(new Error(`${command.args.join(' ')} ended the process: ${texts.stderr}`))
        }
      }
      this.look()
      this.child.send(command)
    })
  }

  /** Between commands the child does not keep the process of the tests alive, and ends with it. */
  private keepAlive(keeps: boolean): void {
    const { child } = this
    for (const handle of [child, child.channel, child.stdout, child.stderr]) {
      if (!isReferable(handle)) continue
      if (keeps) handle.ref()
      else handle.unref()
    }
  }
}

type Referable = { ref(): unknown; unref(): unknown }

function isReferable(handle: unknown): handle is Referable {
  return typeof handle === 'object' && handle !== null && 'ref' in handle && 'unref' in handle
}

/** Shared by all worlds of this process: each command is given its environment and folder. */
let host: Host | null = null

async function start(env: Record<string, string>): Promise<App> {
  const reading = readSettings(env)
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  return openApp(reading.settings, { log: silentLog })
}
