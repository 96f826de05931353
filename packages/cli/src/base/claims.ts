// Stores the claims made by commands, so later commands in a claimed thread need no token. Each
// thread has one file, readable only by its owner, until the claim is released or expires.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

type KeptClaim = {
  readonly baseUrl: string
  readonly leaseToken: string
  readonly expiresAt: string
}

type ApiRequest = {
  readonly method: string
  /** The segments of the path after `/v1`. */
  readonly path: readonly string[]
  readonly body: unknown
}

/** Sends requests with the tokens of stored claims, and stores the claims in responses. */
export function fetchWithClaims(baseUrl: string): typeof fetch {
  return async (url, init = {}) => {
    const { method = 'GET', body } = init
    const path = new URL(String(url)).pathname.replace(/^.*\/v1\//, '').split('/')
    const request = { method, path, body }
    const headers = new Headers(init.headers)
    const leaseToken = await tokenFor(request, baseUrl, headers).catch(() => null)
    if (leaseToken !== null) headers.set('lease-token', leaseToken)
    const response = await fetch(url, { ...init, headers })
    // If the claim cannot be stored, the printed token still works.
    if (response.ok) await keepChanges(request, baseUrl, response.clone()).catch(() => {})
    return response
  }
}

/** The token for the thread that the request changes or sends in; null without a stored claim. */
async function tokenFor(
  { method, path, body }: ApiRequest,
  baseUrl: string,
  headers: Headers,
): Promise<string | null> {
  if (method === 'GET') return null
  const kept = await readClaims(baseUrl)
  if (kept.size === 0) return null
  const [kind = '', id = '', action] = path
  if (kind === 'threads') return kept.get(id) ?? null
  if (kind === 'inboxes' && action === 'send') return kept.get(threadOf(body)) ?? null
  if (kind !== 'messages' && kind !== 'drafts') return null
  const authorization = headers.get('authorization') ?? ''
  const found = await fetch(`${baseUrl}/v1/${kind}/${id}`, { headers: { authorization } })
  return kept.get(threadOf(await found.text())) ?? null
}

function threadOf(body: unknown): string {
  if (typeof body !== 'string') return ''
  const { threadId } = JSON.parse(body) as { threadId?: unknown }
  return typeof threadId === 'string' ? threadId : ''
}

async function keepChanges(
  { method, path: [kind = '', id = '', noun, verb] }: ApiRequest,
  baseUrl: string,
  response: Response,
): Promise<void> {
  if (method === 'DELETE' && kind === 'threads') return forget(id)
  if (method !== 'POST' || (noun !== 'claim' && noun !== 'claims')) return
  if (verb === 'release') return forget(id)
  const answer = (await response.json()) as Made & { data?: Made[] }
  if (verb === 'renew') return renew(id, answer.expiresAt)
  for (const { threadId, leaseToken, expiresAt } of answer.data ?? [answer]) {
    await write(threadId, { baseUrl, leaseToken, expiresAt })
  }
}

type Made = Omit<KeptClaim, 'baseUrl'> & { readonly threadId: string }

async function renew(threadId: string, expiresAt: string): Promise<void> {
  const kept = await read(threadId)
  if (kept !== null) await write(threadId, { ...kept, expiresAt })
}

/** Returns the tokens of the service's claims by thread, and removes files of expired claims. */
async function readClaims(baseUrl: string): Promise<Map<string, string>> {
  const tokens = new Map<string, string>()
  for (const threadId of await readdir(folder())) {
    const kept = await read(threadId)
    if (kept === null) continue
    if (Date.parse(kept.expiresAt) <= Date.now()) await forget(threadId)
    else if (kept.baseUrl === baseUrl) tokens.set(threadId, kept.leaseToken)
  }
  return tokens
}

/** Returns null if there is no claim or another command is writing the file. */
async function read(threadId: string): Promise<KeptClaim | null> {
  try {
    return JSON.parse(await readFile(pathOf(threadId), 'utf8'))
  } catch {
    return null
  }
}

async function write(threadId: string, kept: KeptClaim): Promise<void> {
  await mkdir(folder(), { recursive: true, mode: 0o700 })
  await writeFile(pathOf(threadId), JSON.stringify(kept), { mode: 0o600 })
}

async function forget(threadId: string): Promise<void> {
  await rm(pathOf(threadId), { force: true })
}

/** Throws for an id from a service that is unsafe as a file name. */
function pathOf(threadId: string): string {
  if (!/^\w+$/.test(threadId)) throw new Error('The thread id is not a single word.')
  return join(folder(), threadId)
}

/** The folder of claims, by the XDG Base Directory Specification. */
function folder(): string {
  const { XDG_STATE_HOME } = process.env
  const isGiven = XDG_STATE_HOME?.startsWith('/') === true
  const state = isGiven ? XDG_STATE_HOME : join(homedir(), '.local', 'state')
  return join(state, 'mailroom', 'claims')
}
