// The methods of the client that are about the service itself, for its operator and for everyone.

import type { BodyOf } from '@mailroom/contract/operations.ts'
import type { Api, ListOptions } from './api.ts'
import type { RequestOptions } from './transport.ts'

/** For the operator's token. */
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
    /** The OpenAPI document as text of JSON. */
    openapi: (options?: RequestOptions) => api.text({ id: 'service.openapi', options }),
    /** The reference page as HTML. */
    docs: (options?: RequestOptions) => api.text({ id: 'service.docs', options }),
    /** The page for language models as Markdown. */
    llms: (options?: RequestOptions) => api.text({ id: 'service.llms', options }),
    /** The whole reference for language models as Markdown. */
    llmsFull: (options?: RequestOptions) => api.text({ id: 'service.llmsFull', options }),
    /** In the Prometheus text format; for the operator's token. */
    metrics: (options?: RequestOptions) => api.text({ id: 'service.metrics', options }),
  }
}
