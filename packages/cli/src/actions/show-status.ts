// Shows whether and how fast the service responds, and the account of the key.

import { Mailroom, MailroomConnectionError, MailroomError, type OwnAccount } from '@mailroom/sdk'
import { exitCodes, Failure } from '#base/failure.ts'
import { formatPairs, openOutput } from '#base/output.ts'
import { findService, howToSignIn } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

type Status = {
  readonly baseUrl: string
  readonly healthy: boolean
  readonly ready: boolean
  readonly latencyMs: number
  /** The version of the service's program. */
  readonly version: string | null
  readonly apiVersion: string | null
  readonly account: OwnAccount | null
  readonly keySource: string | null
}

export async function showStatus(options: CommonOptions): Promise<void> {
  const output = openOutput({ isColored: options.color })
  const { baseUrl, apiKey, keySource } = await findService(options)
  const client = new Mailroom({ baseUrl, apiKey: apiKey ?? 'none', maxRetries: 0 })
  const startMs = performance.now()
  await client.service.health()
  const latencyMs = Math.round((performance.now() - startMs) * 10) / 10
  const isReady = await client.service.ready().then(() => true, isAway)
  const account = apiKey === null ? null : await client.account.get().catch(nullWhenUnknown)
  const versions = await readVersions(client)
  const status: Status = {
    baseUrl,
    healthy: true,
    ready: isReady,
    latencyMs,
    ...versions,
    account,
    keySource,
  }
  if (options.json) output.json(status)
  else output.write(formatPairs(pairsOf(status), output))
  if (account === null) {
    const what = apiKey === null ? 'There is no key for' : 'The key is not valid for'
    throw new Failure('unauthorized', `${what} ${baseUrl}.`, howToSignIn(baseUrl))
  }
  if (!isReady) process.exitCode = exitCodes.unavailable.code
}

function pairsOf({ baseUrl, ready, latencyMs, account, keySource, ...versions }: Status) {
  const who = account === null ? 'not signed in' : `${account.name} (${account.id})`
  const pairs: [string, string][] = [
    ['service', baseUrl],
    ['ready', ready ? 'yes' : 'no'],
    ['latency', `${latencyMs} ms`],
    ['version', versions.version ?? 'unknown'],
    ['API version', versions.apiVersion ?? 'unknown'],
    ['account', who],
  ]
  if (account !== null) pairs.push(['plan', account.plan], ['key', `from ${keySource}`])
  return pairs
}

/** False if the service responds that it is not ready; rethrows if it does not respond. */
function isAway(error: unknown): false {
  if (error instanceof MailroomError) return false
  throw error
}

function nullWhenUnknown(error: unknown): null {
  if (error instanceof MailroomError && error.status === 401) return null
  throw error
}

type Versions = Pick<Status, 'version' | 'apiVersion'>

async function readVersions(client: Mailroom): Promise<Versions> {
  try {
    const { info = {} }: { info?: Record<string, string> } = JSON.parse(
      await client.service.openapi(),
    )
    return { version: info['x-mailroom-version'] ?? null, apiVersion: info.version ?? null }
  } catch (error) {
    if (!(error instanceof MailroomError || error instanceof MailroomConnectionError)) throw error
    return { version: null, apiVersion: null }
  }
}
