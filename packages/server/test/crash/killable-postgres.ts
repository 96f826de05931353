// A PostgreSQL of one test that can be killed at any moment and started again on its data.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '#test/peers/postgres.ts'
import { guard } from './guard.ts'

export type KillablePostgres = {
  readonly url: string
  /** `kill -9` of the server and of each of its processes; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again; resolves when it takes connections. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const POLL_MS = 25
/** Catches hanging: a server that is gone refuses at once. */
const CONNECT_MS_MAX = 20_000

/** Starts a cluster of its own. */
export async function startKillablePostgres(): Promise<KillablePostgres> {
  const cluster = await startPostgres()
  const [row] = await query(cluster.url, 'show data_directory')
  const folder = String(row?.data_directory)
  let restarted: ChildProcess | null = null
  const end = async (signal: NodeJS.Signals) => {
    if (restarted === null || restarted.exitCode !== null) return
    restarted.kill(signal)
    await once(restarted, 'close')
    restarted = null
  }
  return {
    url: cluster.url,
    async kill() {
      const backends = await query(cluster.url, 'select pid from pg_stat_activity')
      const [server] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')
      // The server goes first, or it would start its processes again.
      for (const pid of [Number(server), ...backends.map(({ pid }) => Number(pid))]) killNow(pid)
      while (await isThere(cluster.url)) await sleep(POLL_MS)
    },
    async restart() {
      const { uid, gid } = await stat(folder)
      const line = await readFile(join(folder, 'postmaster.opts'), 'utf8')
      const [binary = '', ...args] = line
        .trim()
        .split(/ (?=")/)
        .map(unquote)
      const server = spawn(binary, args, {
        ...(process.getuid?.() === 0 && { uid, gid }),
        cwd: folder,
        env: { PATH: process.env.PATH, LC_ALL: 'C' },
        stdio: 'ignore',
      })
      restarted = server
      const lift = guard('kill -INT "$1"', String(server.pid))
      server.once('close', lift)
      while (!(await isThere(cluster.url))) {
        if (server.exitCode !== null) throw new Error('PostgreSQL did not start again.')
        await sleep(POLL_MS)
      }
    },
    async stop() {
      await end('SIGINT')
      await cluster.stop()
    },
  }
}

function unquote(text: string): string {
  return text.replace(/^"(.*)"$/s, '$1')
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended already.
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS_MAX })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function isThere(url: string): Promise<boolean> {
  try {
    await query(url, 'select 1')
    return true
  } catch {
    return false
  }
}
