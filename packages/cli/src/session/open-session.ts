// The service as the commands use it: the SDK's client, and its transport for what is printed as it came.

import { Mailroom } from '@mailroom/sdk'
import { Transport } from '@mailroom/sdk/transport.ts'
import { Failure } from '#base/failure.ts'
import { findService, isLocal, type ServiceOptions } from './find-service.ts'

export type Session = {
  readonly baseUrl: string
  readonly apiKey: string
  readonly keySource: string
  readonly transport: Transport
  readonly client: Mailroom
}

/** Rejects where no key is known. Whether it is good the first request tells. */
export async function openSession(options: ServiceOptions): Promise<Session> {
  const { baseUrl, apiKey, keySource } = await findService(options)
  if (apiKey === null || keySource === null) throw noKey(baseUrl)
  return { keySource, ...openWith(baseUrl, apiKey) }
}

/** For operations that anybody may call; the key is sent where there is one. */
export async function openAnySession(options: ServiceOptions): Promise<Session> {
  const { baseUrl, apiKey, keySource } = await findService(options)
  return { keySource: keySource ?? 'none', ...openWith(baseUrl, apiKey ?? 'none') }
}

export function openWith(baseUrl: string, apiKey: string) {
  const options = { baseUrl, apiKey }
  return { ...options, transport: new Transport(options), client: new Mailroom(options) }
}

export function noKey(baseUrl: string): Failure {
  return new Failure('unauthorized', `There is no key for ${baseUrl}.`, howToSignIn(baseUrl))
}

export function howToSignIn(baseUrl: string): string {
  const signIn =
    'Sign in with "mailroom login", or set MAILROOM_API_KEY (and MAILROOM_BASE_URL unless the service is local).'
  if (!isLocal(baseUrl)) return signIn
  return `${signIn}\nThe first start of a service prints its key once, in the terminal where "npm start" was run. If it is lost, create another there: "mailroom account list", then "mailroom key create --account <id>".`
}
