// The claims that commands made, so that later commands in a claimed thread need no token: one file
// for each thread, which only its owner can read, until the release or the end of the lease.

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

/** Sends requests with the tokens of kept claims, and keeps the claims that responses contain. */
export function fetchWithClaims(baseUrl: string): typeof fetch {
  return async (url, init = {}) => {
    const { method = 'GET', body } = init
    const path = new URL(String(url)).pathname.replace(/^.*\/v1\//, '').split('/')
    const request = { method, path, body }
    const headers = new Headers(init.headers)
    const leaseToken = await tokenFor(request, baseUrl, headers).catch(() => null)
    if (leaseToken !== null) headers.set('lease-token', leaseToken)
    const response = await fetch(url, { ...init, headers })
    // Without its file, a claim works as before: with the printed token.
    if (response.ok) await keepChanges(request, baseUrl, response.clone()).catch(() => {})
    return response
  }
}

/** The token of the thread that the request changes or sends in; null without a kept claim. */
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

/** The tokens of the service's claims by thread. Files of expired claims are removed. */
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

/** Null without a claim, and while another command writes the file. */
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

/** Ids of a service are not trusted as names of files. */
function pathOf(threadId: string): string {
  if (!/^\w+$/.test(threadId)) throw new Error('The id of a thread is a word.')
  return join(folder(), threadId)
}

/** In the state folder of the XDG Base Directory Specification. */
function folder(): string {
  const { XDG_STATE_HOME } = process.env
  const isGiven = XDG_STATE_HOME?.startsWith('/') === true
  const state = isGiven ? XDG_STATE_HOME : join(homedir(), '.local', 'state')
  return join(state, 'mailroom', 'claims')
}
