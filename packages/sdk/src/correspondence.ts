// The methods of the client that are about whom an account writes to, and who may write to it.

import type { BodyOf } from '@mailroom/contract/operations.ts'
import type { Api, ListOptions } from './api.ts'
import type { RequestOptions } from './transport.ts'

/** Addresses that the account does not write to. */
export function suppressions(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'suppressions.list'> = {}) =>
      api.list('suppressions.list', {}, options),
    /** An address that is on the list already stays as it is. */
    create: (body: BodyOf<'suppressions.create'>, options?: RequestOptions) =>
      api.call({ id: 'suppressions.create', body, options }),
    /** The account may write to the address again. */
    delete: (address: string, options?: RequestOptions) =>
      api.carryOut({ id: 'suppressions.delete', path: { address }, options }),
  }
}

/** Whose mail is let in or kept out. */
export function senderRules(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'senderRules.list'> = {}) =>
      api.list('senderRules.list', {}, options),
    /** The same rule again stays one; for mail that arrives from then on. */
    create: (body: BodyOf<'senderRules.create'>, options?: RequestOptions) =>
      api.call({ id: 'senderRules.create', body, options }),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'senderRules.get', path: { id }, options }),
    /** What it kept out stays in quarantine. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'senderRules.delete', path: { id }, options }),
  }
}

/** Mail that was kept out of the inboxes. */
export function quarantine(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'quarantine.list'> = {}) =>
      api.list('quarantine.list', {}, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'quarantine.get', path: { id }, options }),
    /** The message byte for byte. */
    raw: (id: string, options?: RequestOptions) =>
      api.download({ id: 'quarantine.raw', path: { id }, options }),
    /** Lets it into its inbox; the message that it is there. */
    release: (id: string, options?: RequestOptions) =>
      api.call({ id: 'quarantine.release', path: { id }, options }),
    /** For good. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'quarantine.delete', path: { id }, options }),
  }
}

/** The account that the key belongs to. */
export function account(api: Api) {
  return {
    get: (options?: RequestOptions) => api.call({ id: 'account.get', options }),
    /** The account and the key that make the request. */
    me: (options?: RequestOptions) => api.call({ id: 'account.me', options }),
    /** For mail that arrives from then on. */
    update: (body: BodyOf<'account.update'>, options?: RequestOptions) =>
      api.call({ id: 'account.update', body, options }),
  }
}
