// Which service a command speaks to, and with which key. A key is only ever sent to the service that
// it was given for.

import { Failure } from '#base/failure.ts'
import { PROFILE_DEFAULT, readProfiles } from './profiles.ts'

export const BASE_URL_DEFAULT = 'http://127.0.0.1:8080'

export type ServiceOptions = {
  readonly profile?: string
  readonly url?: string
}

export type FoundService = {
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** Null where none is known. */
  readonly apiKey: string | null
  /** Where the key is from, in words; null without a key. */
  readonly keySource: string | null
}

/**
 * A profile that is named counts before the environment, the environment before the profile "default".
 * With a URL from somewhere else the stored key counts only if it is for that URL.
 */
export async function findService({ profile, url }: ServiceOptions): Promise<FoundService> {
  const { MAILROOM_API_KEY, MAILROOM_BASE_URL } = process.env
  if (MAILROOM_API_KEY && profile === undefined) {
    const baseUrl = readBaseUrl(url ?? (MAILROOM_BASE_URL || BASE_URL_DEFAULT))
    return { baseUrl, apiKey: MAILROOM_API_KEY, keySource: 'MAILROOM_API_KEY' }
  }
  const name = profile ?? PROFILE_DEFAULT
  const profiles = await readProfiles()
  const stored = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (stored === undefined && profile !== undefined) {
    const names = Object.keys(profiles).join(', ') || 'none'
    const fix = `Existing profiles: ${names}. Create it with "mailroom login --profile ${profile}".`
    throw new Failure('unauthorized', `There is no profile ${JSON.stringify(profile)}.`, fix)
  }
  const wantedUrl = url ?? (profile === undefined ? MAILROOM_BASE_URL || undefined : undefined)
  if (wantedUrl === undefined) {
    return {
      baseUrl: stored?.baseUrl ?? BASE_URL_DEFAULT,
      apiKey: stored?.apiKey ?? null,
      keySource: stored === undefined ? null : `the profile "${name}"`,
    }
  }
  const baseUrl = readBaseUrl(wantedUrl)
  const isForIt = stored !== undefined && stored.baseUrl === baseUrl
  return {
    baseUrl,
    apiKey: isForIt ? stored.apiKey : null,
    keySource: isForIt ? `the profile "${name}"` : null,
  }
}

/** An absolute URL of http or https. */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isNamed = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === ''
  if (isNamed && url.username + url.password !== '') {
    const fix = 'Store the key with "mailroom login" instead.'
    throw new Failure('usage', 'The URL of a service must not contain a user or password.', fix)
  }
  if (!isNamed) {
    throw new Failure(
      'usage',
      `${JSON.stringify(text)} is not the URL of a service.`,
      `Write it like ${BASE_URL_DEFAULT} or https://mail.example.com.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}

export function isLocal(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl)
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) || hostname.endsWith('.localhost')
}
