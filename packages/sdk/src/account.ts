// The methods for the account, its keys and figures, and for the service.

import type { BodyOf, OptionsOf, QueryOf } from '@mailroom/contract/operations.ts'
import type { Api, ListOptions } from './api.ts'
import type { RequestOptions } from './transport.ts'

/** The account of the key. */
export function account(api: Api) {
  return {
    get: (options?: RequestOptions) => api.call({ id: 'account.get', options }),
    /** The account and the key of this request. */
    me: (options?: RequestOptions) => api.call({ id: 'account.me', options }),
    /** The change applies to mail that arrives from then on. */
    update: (body: BodyOf<'account.update'>, options?: RequestOptions) =>
      api.call({ id: 'account.update', body, options }),
  }
}

export function apiKeys(api: Api) {
  return {
    /** Only this response contains the token. */
    create: (body: BodyOf<'apiKeys.create'> = {}, options?: RequestOptions) =>
      api.call({ id: 'apiKeys.create', body, options }),
    /** Active keys, newest first. */
    list: (options: ListOptions<'apiKeys.list'> = {}) => api.list('apiKeys.list', {}, options),
    /** The key stops working immediately. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'apiKeys.delete', path: { id }, options }),
  }
}

/** Assistants that a person connected to the MCP endpoint by OAuth. */
export function connections(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'connections.list'> = {}) =>
      api.list('connections.list', {}, options),
    /** Its tokens stop working immediately. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'connections.delete', path: { id }, options }),
    /** The steps of sign-ins of the last seven days, newest first. */
    listSteps: (options: ListOptions<'connections.listSteps'> = {}) =>
      api.list('connections.listSteps', {}, options),
    /** Only for assistants that ask for a client id. */
    createClient: (body: BodyOf<'connections.createClient'>, options?: RequestOptions) =>
      api.call({ id: 'connections.createClient', body, options }),
    listClients: (options: ListOptions<'connections.listClients'> = {}) =>
      api.list('connections.listClients', {}, options),
    /** Revokes its connections. */
    deleteClient: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'connections.deleteClient', path: { id }, options }),
  }
}

/** For browsers: the session is a cookie, which only pages of the service may use. */
export function session(api: Api) {
  return {
    /** Signs in. */
    create: (body: BodyOf<'session.create'>, options?: RequestOptions) =>
      api.call({ id: 'session.create', body, options }),
    /** Rejects with `unauthorized` without a session. */
    get: (options?: RequestOptions) => api.call({ id: 'session.get', options }),
    /** Signs out. */
    delete: (options?: RequestOptions) => api.carryOut({ id: 'session.delete', options }),
  }
}

/** Lets a signed-in person give a key to a client. */
export function pairing(api: Api) {
  return {
    /** Needs no key. */
    start: (body: BodyOf<'pairing.start'> = {}, options?: RequestOptions) =>
      api.call({ id: 'pairing.start', body, options }),
    /** Needs no key. Only one response contains the key; `not_found` once the pairing has ended. */
    poll: (body: BodyOf<'pairing.poll'>, options?: RequestOptions) =>
      api.call({ id: 'pairing.poll', body, options }),
    /** Like `poll`, with the requestId in the URL, which proxies may log. */
    pollByUrl: (query: QueryOf<'pairing.pollByUrl'>, options?: RequestOptions) =>
      api.call({ id: 'pairing.pollByUrl', query, options }),
    /** The client that shows this code. */
    get: (userCode: string, options?: RequestOptions) =>
      api.call({ id: 'pairing.get', path: { userCode }, options }),
    /** Gives the client a key of the account. */
    approve: (userCode: string, options?: RequestOptions) =>
      api.carryOut({ id: 'pairing.approve', path: { userCode }, options }),
    deny: (userCode: string, options?: RequestOptions) =>
      api.carryOut({ id: 'pairing.deny', path: { userCode }, options }),
  }
}

/** Statistics of the account's mail. */
export function stats(api: Api) {
  return {
    get: ({ range, ...options }: OptionsOf<'stats.get'> & RequestOptions = {}) =>
      api.call({ id: 'stats.get', query: { range }, options }),
  }
}

/** Daily usage of the account or of each inbox. */
export function usage(api: Api) {
  return {
    get: ({
      signal,
      timeoutMs,
      maxRetries,
      ...query
    }: OptionsOf<'usage.get'> & RequestOptions = {}) =>
      api.call({ id: 'usage.get', query, options: { signal, timeoutMs, maxRetries } }),
  }
}

/** Needs the operator's token. */
export function admin(api: Api) {
  return {
    accounts: {
      create: (body: BodyOf<'admin.accounts.create'>, options?: RequestOptions) =>
        api.call({ id: 'admin.accounts.create', body, options }),
      list: (options: ListOptions<'admin.accounts.list'> = {}) =>
        api.list('admin.accounts.list', {}, options),
      update: (id: string, body: BodyOf<'admin.accounts.update'>, options?: RequestOptions) =>
        api.call({ id: 'admin.accounts.update', path: { id }, body, options }),
    },
  }
}

export function service(api: Api) {
  return {
    health: (options?: RequestOptions) => api.call({ id: 'service.health', options }),
    /** Rejects with `service_unavailable` while the service is not ready. */
    ready: (options?: RequestOptions) => api.call({ id: 'service.ready', options }),
    /** The OpenAPI document as JSON text. */
    openapi: (options?: RequestOptions) => api.text({ id: 'service.openapi', options }),
    /** The reference page as HTML. */
    docs: (options?: RequestOptions) => api.text({ id: 'service.docs', options }),
    /** The overview for language models as Markdown. */
    llms: (options?: RequestOptions) => api.text({ id: 'service.llms', options }),
    /** The complete reference for language models as Markdown. */
    llmsFull: (options?: RequestOptions) => api.text({ id: 'service.llmsFull', options }),
    /** Metrics in the Prometheus text format; needs the operator's token. */
    metrics: (options?: RequestOptions) => api.text({ id: 'service.metrics', options }),
  }
}
