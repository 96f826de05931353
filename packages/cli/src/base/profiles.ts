// Profiles, each with a service, its key and its default inbox, in a file that only its owner can
// read.

import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'

type Profile = {
  readonly baseUrl: string
  /** A key from the environment is not stored. */
  readonly apiKey?: string
  /** The address of the inbox for commands without --inbox. */
  readonly inbox?: string
}
export type Profiles = Readonly<Record<string, Profile>>

export const PROFILE_DEFAULT = 'default'

const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700

/** The path of the profiles, by the XDG Base Directory Specification. */
export function profilesPath(): string {
  const { XDG_CONFIG_HOME } = process.env
  const isGiven = XDG_CONFIG_HOME?.startsWith('/') === true
  return join(isGiven ? XDG_CONFIG_HOME : join(homedir(), '.config'), 'mailroom', 'config.json')
}

/** Reads the profiles. Without a file, there are none. */
export async function readProfiles(): Promise<Profiles> {
  const path = profilesPath()
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw new Failure('failed', `${path} cannot be read: ${error.message}.`)
  })
  try {
    const { profiles = {} } = JSON.parse(text) as { profiles?: Record<string, unknown> }
    return Object.fromEntries(
      Object.entries(profiles).filter((entry): entry is [string, Profile] => isProfile(entry[1])),
    )
  } catch {
    throw new Failure(
      'failed',
      `${path} is not JSON.`,
      'Correct it, or remove it and sign in again with "mailroom login".',
    )
  }
}

/** Replaces the file atomically, so that other commands never read an incomplete one. */
export async function writeProfiles(profiles: Profiles): Promise<void> {
  const path = profilesPath()
  await mkdir(dirname(path), { recursive: true, mode: OWNER_ONLY_FOLDER })
  const temporary = `${path}.${randomUUID()}`
  const text = `${JSON.stringify({ profiles }, null, 2)}\n`
  await writeFile(temporary, text, { mode: OWNER_ONLY, flag: 'wx' })
  await chmod(temporary, OWNER_ONLY)
  await rename(temporary, path)
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== 'object' || value === null) return false
  const { baseUrl, apiKey = '', inbox = '' } = value as Record<string, unknown>
  return [baseUrl, apiKey, inbox].every((text) => typeof text === 'string')
}
