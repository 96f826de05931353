// A reader of the documentation, who runs its commands and programs exactly as they are printed, in a
// folder that looks like the checkout. Only the ports of the service are replaced.

import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openWorld, WIDE_LIMITS, type World } from '@mailroom/server/test/world.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const ENDED_MS_MAX = 120_000

export type Block = { readonly language: string; readonly code: string }

/** The code blocks of a page, or of its section with this heading. */
export function blocksOf(page: string, heading?: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const section =
    heading === undefined
      ? text
      : (text.split(/^(?=## )/m).find((part) => part.startsWith(`## ${heading}\n`)) ?? '')
  return [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({
    language,
    code,
  }))
}

/** The only block of this language. */
export function blockOf(page: string, heading: string, language: string): string {
  const [block, ...others] = blocksOf(page, heading).filter((one) => one.language === language)
  assert.ok(block !== undefined && others.length === 0, `${page} ${heading} ${language}`)
  return block.code
}

/** Ids and keys that the reader must fill in, and commands that never end or change the machine. */
const NOT_RUN = /…|npm ci|npm pack|docker|mailroom log(?:in|out)|mailroom listen|\bjq\b/

/** The commands of a page, or of its section, without those that the reader cannot run at once. */
export function commandsOf(page: string, heading?: string): string {
  return blocksOf(page, heading)
    .filter(({ language, code }) => language === 'sh' && !NOT_RUN.test(code))
    .map(({ code }) => code)
    .join('')
}

export function isInstalled(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A Python with httpx, if there is one. On Debian it may not be the first on the path. */
export const PYTHON = ['python3', '/usr/bin/python3'].find((python) =>
  isInstalled(python, '-c', 'import httpx'),
)

/** Complaints that a page announces: the name of an inbox is taken when the page is read again. */
const ANNOUNCED = /address_taken|already in use|in use or reserved|Choose another mailboxName/
/** What commands report on standard error when they succeed. */
const REPORTED = /^(?:Idempotency-Key: .*|The thread: .*|To approve: .*| {2}Request req_\w+)?$/

export type Program = {
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Ends the program as Ctrl-C does, and returns its output. */
  interrupt(): Promise<string>
  /** The output of a program that ends by itself without an error. */
  readonly ended: Promise<string>
}

export class Reader implements AsyncDisposable {
  readonly world: World
  private readonly folder: string
  private readonly env: Record<string, string>
  private readonly running = new Set<ChildProcess>()

  private constructor(world: World) {
    this.world = world
    this.folder = mkdtempSync(join(tmpdir(), 'mailroom-reader-'))
    for (const name of ['node_modules', 'packages', 'package.json']) {
      symlinkSync(join(ROOT, name), join(this.folder, name))
    }
    this.env = {
      PATH: `${join(process.execPath, '..')}:${process.env.PATH ?? ''}`,
      HOME: this.folder,
      PYTHONPATH: 'packages/sdk-python/src',
      // A terminal shows each line at once.
      PYTHONUNBUFFERED: '1',
      MAILROOM_API_KEY: world.key,
      MAILROOM_BASE_URL: world.baseUrl,
      MAILROOM_DATA_DIR: world.dataDir,
    }
  }

  /** With a service of its own, which has the limits that every first start has. */
  static async open(): Promise<Reader> {
    const usual = Object.keys(WIDE_LIMITS).map((name) => [name, ''] as const)
    return new Reader(await openWorld('sqlite', { env: Object.fromEntries(usual) }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.running) child.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
    await this.world.close()
  }

  /** The output of the commands; fails if one of them fails in a way that the page does not announce. */
  async shell(script: string): Promise<string> {
    const child = this.spawn('sh', ['-c', this.here(script)])
    let problems = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (problems += text))
    const output = await this.outputOf(child)
    const complaints = problems
      .split('\n')
      .filter((line) => !REPORTED.test(line) && !ANNOUNCED.test(line))
    assert.deepEqual(complaints, [], output)
    for (const [, code] of output.matchAll(/"error":"(\w+)"/g)) {
      assert.equal(code, 'address_taken', output)
    }
    return output
  }

  /** Starts the program from a file of this name. */
  start(name: string, code: string): Program {
    writeFileSync(join(this.folder, name), this.here(code))
    const child = this.spawn(name.endsWith('.py') ? (PYTHON ?? 'python3') : 'node', [name])
    child.stderr.setEncoding('utf8').pipe(process.stderr)
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    const ended = this.outputOf(child)
    ended.catch(() => {})
    return {
      ended,
      until: async (pattern) => {
        for (const deadlineMs = performance.now() + ENDED_MS_MAX; ; ) {
          const found = pattern.exec(output)
          if (found !== null) return found
          assert.ok(child.exitCode === null && performance.now() < deadlineMs, output)
          await sleep(50)
        }
      },
      interrupt: () => {
        child.kill('SIGINT')
        return ended
      },
    }
  }

  /** Keeps a variable for the shells and programs that follow. */
  export(name: string, value: string): void {
    this.env[name] = value
  }

  private here(code: string): string {
    const { baseUrl, smtpPort } = this.world
    return code
      .replaceAll('http://127.0.0.1:8080', baseUrl)
      .replaceAll('127.0.0.1:2525', `127.0.0.1:${smtpPort}`)
  }

  private spawn(command: string, args: string[]) {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
    const child = spawn(command, args, { cwd: this.folder, env: this.env, stdio })
    this.running.add(child)
    child.on('close', () => this.running.delete(child))
    return child
  }

  private async outputOf(child: ReturnType<Reader['spawn']>): Promise<string> {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    const [code] = await once(child, 'close')
    assert.equal(code, 0, output)
    return output
  }
}
