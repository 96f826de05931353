// Checks what an assistant needs to connect by OAuth: the public URL, the discovery documents and
// the challenge.

import type { Settings } from '#config/settings.ts'
import { challenge, offersOauth } from '#oauth/oauth.ts'
import { type Aim, advice, type Finding, good, notNeeded, unknown } from './finding.ts'

const AIM: Aim = {
  check: 'assistants',
  expected: 'the public URL leads to the service, and assistants can sign in there',
}
const USER_AGENT = 'mailroom-doctor'
const PROXY_FIX =
  'A proxy in front of the service must pass on every path of the public URL, including /.well-known/, and the header WWW-Authenticate.'

export async function checkAssistants(settings: Settings, signal: AbortSignal): Promise<Finding> {
  const { publicUrl } = settings
  if (publicUrl === null) {
    return notNeeded(AIM, 'MAILROOM_PUBLIC_URL is not set: only programs on this machine connect')
  }
  if (!offersOauth(publicUrl)) {
    const fix = 'Set MAILROOM_PUBLIC_URL to an https URL. Until then, only API keys work at /mcp.'
    return advice(AIM, `${publicUrl} is not https, so assistants cannot sign in`, fix)
  }
  try {
    return await meet(publicUrl, signal)
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const found = `${publicUrl} does not answer: ${cause instanceof Error ? cause.message : cause}`
    const fix = `Start the service. If it runs, try curl ${publicUrl}/health on another machine: from within some networks, their own public address cannot be reached.`
    return unknown(AIM, found, fix)
  }
}

/** The same requests, in the same order, as an assistant makes them. */
async function meet(publicUrl: string, signal: AbortSignal): Promise<Finding> {
  const refused = await fetch(`${publicUrl}/mcp`, {
    method: 'POST',
    headers: { 'user-agent': USER_AGENT, 'content-type': 'application/json' },
    body: '{}',
    redirect: 'manual',
    signal,
  })
  const shown = refused.headers.get('www-authenticate')
  if (refused.status !== 401 || shown !== challenge(publicUrl)) {
    const field = shown === null ? 'without WWW-Authenticate' : `with ${shown}`
    const found = `${publicUrl}/mcp answers ${refused.status} ${field}, not 401 with ${challenge(publicUrl)}`
    return advice(AIM, found, PROXY_FIX)
  }
  for (const [path, field, expected] of [
    ['/.well-known/oauth-protected-resource/mcp', 'resource', `${publicUrl}/mcp`],
    ['/.well-known/oauth-authorization-server', 'issuer', publicUrl],
  ] as const) {
    const response = await fetch(publicUrl + path, {
      headers: { 'user-agent': USER_AGENT },
      redirect: 'manual',
      signal,
    })
    const document: unknown = await response.json().catch(() => null)
    const value = (document as Record<string, unknown> | null)?.[field]
    if (response.status !== 200 || value !== expected) {
      const found = `${publicUrl}${path} answers ${response.status} with ${field} ${value ?? 'missing'}, not ${expected}`
      return advice(AIM, found, PROXY_FIX)
    }
  }
  return good(AIM, `${publicUrl} shows its metadata, and /mcp asks for a sign-in`)
}
