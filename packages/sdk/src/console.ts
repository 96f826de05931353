// The methods of the client that the console stands on: who is signed in, who asks to be paired, and
// figures.

import type { BodyOf, QueryOf } from '@mailroom/contract/operations.ts'
import type { Api } from './api.ts'
import type { RequestOptions } from './transport.ts'

/** In a browser: the session is a cookie, which only pages of the service itself may use. */
export function session(api: Api) {
  return {
    /** Signs in. */
    create: (body: BodyOf<'session.create'>, options?: RequestOptions) =>
      api.call({ id: 'session.create', body, options }),
    /** Rejects with `unauthorized` where nobody is signed in. */
    get: (options?: RequestOptions) => api.call({ id: 'session.get', options }),
    /** Signs out. */
    delete: (options?: RequestOptions) => api.carryOut({ id: 'session.delete', options }),
  }
}

/** How a client without a key gets one from a person who is signed in. */
export function pairing(api: Api) {
  return {
    /** Needs no key. */
    start: (body: BodyOf<'pairing.start'> = {}, options?: RequestOptions) =>
      api.call({ id: 'pairing.start', body, options }),
    /** Needs no key. The key is in one answer only; rejects with `not_found` when it is over. */
    poll: (body: BodyOf<'pairing.poll'>, options?: RequestOptions) =>
      api.call({ id: 'pairing.poll', body, options }),
    /** As `poll`, with the requestId in the URL, which proxies may log. */
    pollByUrl: (query: QueryOf<'pairing.pollByUrl'>, options?: RequestOptions) =>
      api.call({ id: 'pairing.pollByUrl', query, options }),
    /** Who asks with the code. */
    get: (userCode: string, options?: RequestOptions) =>
      api.call({ id: 'pairing.get', path: { userCode }, options }),
    /** The client gets a key of the account. */
    approve: (userCode: string, options?: RequestOptions) =>
      api.carryOut({ id: 'pairing.approve', path: { userCode }, options }),
    deny: (userCode: string, options?: RequestOptions) =>
      api.carryOut({ id: 'pairing.deny', path: { userCode }, options }),
  }
}

/** Figures of the account's mail. */
export function stats(api: Api) {
  return {
    get: ({ range, ...options }: QueryOf<'stats.get'> & RequestOptions = {}) =>
      api.call({ id: 'stats.get', query: { range }, options }),
  }
}
