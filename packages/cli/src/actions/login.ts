// Signs in to a service and out again. A key is checked with a request before it is stored.

import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mailroom, MailroomError, type OwnAccount } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { type Output, openOutput } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { PROFILE_DEFAULT, profilesPath, readProfiles, writeProfiles } from '#base/profiles.ts'
import { readHidden, readStandardInput } from '#base/read-input.ts'
import { howToSignIn, isLocal, localBaseUrl, openWith, readBaseUrl } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

export type LoginOptions = CommonOptions & { readonly key?: string; readonly pair?: true }

export async function login({ profile, url, key, pair: isPairing, color }: LoginOptions) {
  const output = openOutput({ isColored: color })
  const name = profile ?? PROFILE_DEFAULT
  const profiles = await readProfiles()
  const known = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  const baseUrl = readBaseUrl(
    url ?? (process.env.MAILROOM_BASE_URL || known?.baseUrl || localBaseUrl()),
  )
  if (baseUrl.startsWith('http:') && !isLocal(baseUrl)) {
    output.note('Without https, anyone on the network path can read the key.')
  }
  const apiKey = isPairing ? await pair(output, baseUrl) : await askForKey(output, baseUrl, key)
  const account = await check(baseUrl, apiKey)
  const inbox = known?.baseUrl === baseUrl ? known.inbox : undefined
  await writeProfiles({ ...profiles, [name]: { baseUrl, apiKey, inbox } })
  const who = plainLine(`${account.name} (${account.id}, plan ${account.plan})`)
  output.note(`Signed in to ${baseUrl} as ${who}. The key is in ${profilesPath()}.`)
  if (process.env.MAILROOM_API_KEY) {
    output.note('MAILROOM_API_KEY is set and takes precedence unless you give --profile.')
  }
}

export async function logout({ profile, color }: CommonOptions): Promise<void> {
  const output = openOutput({ isColored: color })
  const name = profile ?? PROFILE_DEFAULT
  const { [name]: gone, ...others } = await readProfiles()
  if (gone?.apiKey === undefined) {
    output.note(`No key is stored for the profile "${name}".`)
    return
  }
  await writeProfiles(others)
  output.note(`Removed the key of the profile "${name}" for ${gone.baseUrl}.`)
}

async function askForKey(output: Output, baseUrl: string, given?: string): Promise<string> {
  if (given !== undefined && given !== '-') return given
  if (given === '-') return (await readStandardInput()).toString('utf8').trim()
  if (process.stdin.isTTY !== true) {
    const fix = 'Give the key on standard input: mailroom login --key - < file'
    throw new Failure('usage', 'There is no terminal to ask for the key.', fix)
  }
  const typed = await readHidden(`API key for ${baseUrl} (hidden; no key? press Enter): `)
  return typed.trim() || pair(output, baseUrl)
}

async function check(baseUrl: string, apiKey: string): Promise<OwnAccount> {
  if (!/^[\x21-\x7e]{1,200}$/.test(apiKey)) {
    throw new Failure('usage', 'That is not a valid key.', howToSignIn(baseUrl))
  }
  try {
    return await new Mailroom({ baseUrl, apiKey, maxRetries: 1 }).account.get()
  } catch (error) {
    if (!(error instanceof MailroomError) || error.status !== 401) throw error
    const fix = `Nothing was stored. ${howToSignIn(baseUrl)}`
    throw new Failure('unauthorized', `${baseUrl} does not accept this key.`, fix)
  }
}

/** Half the rate that the service allows one address. */
const POLL_MS = 2_000
const CLIENT_NAME_LENGTH_MAX = 100

/** The key, once a person has approved this terminal in the console. */
async function pair(output: Output, baseUrl: string): Promise<string> {
  const { pairing } = openWith(baseUrl, 'none').client
  const clientName = plainLine(`mailroom on ${hostname()}`).slice(0, CLIENT_NAME_LENGTH_MAX)
  const started = await pairing.start({ clientName })
  const { requestId, userCode, verifyUrl, expiresInSeconds } = started
  output.note(`Open ${plainLine(verifyUrl)}`)
  output.note(`and approve it if it shows the code ${output.noteColors.bold(plainLine(userCode))}`)
  const endMs = performance.now() + expiresInSeconds * 1_000
  while (performance.now() < endMs) {
    output.progress('Waiting for approval …')
    await sleep(POLL_MS)
    const polled = await pairing.poll({ requestId }).catch(explainGone)
    if ('apiKey' in polled && typeof polled.apiKey === 'string') return polled.apiKey
  }
  throw new Failure(
    'timeout',
    'The request was not approved in time.',
    'Run "mailroom login" again.',
  )
}

function explainGone(error: unknown): never {
  if (!(error instanceof MailroomError) || error.status !== 404) throw error
  throw new Failure(
    'refused',
    'The request was denied or has expired.',
    'Run "mailroom login" again.',
  )
}
