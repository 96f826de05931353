// The files of a new PostgreSQL cluster, copied from the last ones, because `initdb` takes seconds.

import { execFile } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export type Owner = { uid: number; gid: number }

/** Folder and owner; `initdb` is the binary, whose path contains its version. */
export type ClusterPlan = { home: string; initdb: string; owner: Owner | null }

const CACHE = fileURLToPath(
  new URL('../../../../node_modules/.cache/mailroom-clusters/', import.meta.url),
)
// A linguistic collation, as on most servers, so that nothing relies on byte order by accident.
const COLLATION = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US']
const run = promisify(execFile)

/** Creates `home/data`; the password of its superuser is `postgres`. */
export async function makeCluster(plan: ClusterPlan): Promise<string> {
  const kept = join(CACHE, await nameOf(plan))
  const known = await copyCluster(kept, plan.home).catch(() => null)
  if (known !== null) return known
  await rm(join(plan.home, 'data'), { recursive: true, force: true })
  const password = await initialise(plan)
  // If nothing can be kept, the next one is created again.
  await keepCluster(plan.home, kept, password).catch(() => {})
  return password
}

/** English messages, because readiness is read from the log. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C' }
}

async function nameOf({ initdb, owner }: ClusterPlan): Promise<string> {
  const { stdout } = await run(initdb, ['--version'], { ...owner })
  const owned = owner?.uid ?? process.getuid?.() ?? 0
  return hash('sha256', [stdout, process.arch, owned, ...COLLATION].join('\n'), 'hex').slice(0, 16)
}

async function copyCluster(kept: string, home: string): Promise<string> {
  const password = await readFile(join(kept, 'password'), 'utf8')
  await run('cp', ['-a', join(kept, 'data'), home])
  return password
}

async function keepCluster(home: string, kept: string, password: string): Promise<void> {
  const next = `${kept}-${randomBytes(4).toString('hex')}`
  await mkdir(next, { recursive: true, mode: 0o700 })
  try {
    await run('cp', ['-a', join(home, 'data'), next])
    await writeFile(join(next, 'password'), password, { mode: 0o600 })
    await rename(next, kept)
  } finally {
    // Another run was faster, or there was no space.
    await rm(next, { recursive: true, force: true })
  }
}

async function initialise({ home, initdb, owner }: ClusterPlan): Promise<string> {
  const password = randomBytes(16).toString('hex')
  const passwordFile = join(home, 'password')
  await writeFile(passwordFile, password)
  if (owner !== null) await chown(passwordFile, owner.uid, owner.gid)
  await run(
    initdb,
    [
      `--pgdata=${join(home, 'data')}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      ...COLLATION,
    ],
    { ...owner, cwd: dirname(passwordFile), env: serverEnvironment() },
  )
  return password
}
