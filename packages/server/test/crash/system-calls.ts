// The system calls of a running process in their order, by strace.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type SystemCall = {
  readonly name: string
  /** As strace prints them, descriptors with their files and sockets. */
  readonly args: string
  readonly result: string
}

export type Trace = {
  /** Ends the trace, not the process. Reads and syncs stand where they ended, writes where they began. */
  stop(): Promise<SystemCall[]>
}

const CALLS = 'fsync,fdatasync,read,readv,recvfrom,write,writev,sendto,sendmsg,pwrite64,pwritev'

/** Traces every thread of the process; null where strace is absent or not permitted. */
export async function traceSystemCalls(pid: number): Promise<Trace | null> {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-trace-'))
  const file = join(folder, 'trace')
  const detach = await attach(pid, ['-y', '-s', '48', '-e', `trace=${CALLS}`, '-o', file])
  if (detach === null) {
    await rm(folder, { recursive: true })
    return null
  }
  return {
    async stop() {
      await detach()
      const lines = (await readFile(file, 'utf8')).split('\n')
      await rm(folder, { recursive: true })
      return parse(lines)
    },
  }
}

/** Each sync of the process fails with EIO until the returned function is called; null as above. */
export function failSyncs(pid: number): Promise<(() => Promise<void>) | null> {
  const calls = 'fsync,fdatasync'
  return attach(pid, ['-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`, '-o', '/dev/null'])
}

async function attach(pid: number, options: string[]): Promise<(() => Promise<void>) | null> {
  const tracer = spawn('strace', ['-f', ...options, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(tracer, 'close').catch(() => {})
  const isAttached = await new Promise<boolean>((resolve) => {
    tracer.once('error', () => resolve(false))
    tracer.once('close', () => resolve(false))
    let text = ''
    tracer.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (text.includes('attached')) resolve(true)
    })
  })
  if (!isAttached) return null
  return async () => {
    // strace detaches on SIGINT, and by itself when the process is gone.
    tracer.kill('SIGINT')
    await ended
  }
}

const COMPLETE = /^(\d+) +(\w+)\((.*)\) += (.*)$/
/** A call of another thread interrupted this one, or the trace ended before it. */
const UNFINISHED = /^(\d+) +(\w+)\((.*) <(?:unfinished|detached) \.\.\.>$/
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.*)$/

function parse(lines: string[]): SystemCall[] {
  const calls: SystemCall[] = []
  const unfinished = new Map<string, string>()
  for (const line of lines) {
    const complete = COMPLETE.exec(line)
    if (complete !== null) {
      const [, , name = '', args = '', result = ''] = complete
      calls.push({ name, args, result })
      continue
    }
    const begun = UNFINISHED.exec(line)
    if (begun !== null) {
      const [, thread = '', name = '', args = ''] = begun
      if (isWrite(name)) calls.push({ name, args, result: '' })
      else unfinished.set(thread, args)
      continue
    }
    const resumed = RESUMED.exec(line)
    if (resumed === null) continue
    const [, thread = '', name = '', rest = '', result = ''] = resumed
    if (isWrite(name)) continue
    calls.push({ name, args: (unfinished.get(thread) ?? '') + rest, result })
    unfinished.delete(thread)
  }
  return calls
}

/** The peer may see what is written before the call has ended. */
function isWrite(name: string): boolean {
  return /write|send/.test(name)
}

export type AnswerOrder = {
  log: string
  /** Matches the read of the request, on the socket of the answer. */
  asked: RegExp
  /** The beginning of the answer. */
  answer: string
}

/** Counts the answers, and those before which the log was written and synced since their request. */
export function findAnswers(calls: SystemCall[], { log, asked, answer }: AnswerOrder) {
  const found = { answers: 0, synced: 0 }
  const askedAt = new Map<string, number>()
  let writtenAt = -1
  // The last write that is on the disk. Writes of other requests may follow it before the answer.
  let durableAt = -1
  calls.forEach(({ name, args, result }, at) => {
    const socket = /^\d+<socket:[^>]*>/.exec(args)?.[0]
    if (isSync(name) && args.includes(log) && result === '0') durableAt = writtenAt
    else if (name.startsWith('pwrite') && args.includes(log)) writtenAt = at
    else if (/^(read|recv)/.test(name) && socket !== undefined && asked.test(args)) {
      askedAt.set(socket, at)
    } else if (socket !== undefined && args.includes(answer)) {
      const since = askedAt.get(socket) ?? Number.POSITIVE_INFINITY
      found.answers += 1
      if (since < durableAt) found.synced += 1
    }
  })
  return found
}

export function isSync(name: string): boolean {
  return name === 'fsync' || name === 'fdatasync'
}
