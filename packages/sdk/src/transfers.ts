// Exports and imports of mail as files, and erasures.

import type { Erasure } from '@mailroom/contract/erasures.ts'
import type { BodyOf, OptionsOf } from '@mailroom/contract/operations.ts'
import type { Export, Import } from '@mailroom/contract/transfers.ts'
import type { Api, ListOptions } from './api.ts'
import { pause, type RequestOptions } from './transport.ts'

type Job = { readonly id: string; readonly status: string }

export type UntilDoneOptions<Known extends Job> = RequestOptions & {
  /** Called with each response, for displaying progress. */
  onProgress?: (known: Known) => void
}

type ImportOptions = OptionsOf<'imports.create'> &
  RequestOptions & {
    /** The media type of the file; by default the service detects it. */
    type?: string
  }

const ASK_MS_MIN = 250
const ASK_MS_MAX = 5_000

export function mailExports(api: Api) {
  const get = (id: string, options?: RequestOptions) =>
    api.call({ id: 'exports.get', path: { id }, options })
  return {
    /** Exports an inbox or a pod; the file is written after the response. */
    create: (body: BodyOf<'exports.create'>, options?: RequestOptions) =>
      api.call({ id: 'exports.create', body, options }),
    /** Newest first. */
    list: (options: ListOptions<'exports.list'> = {}) => api.list('exports.list', {}, options),
    get,
    /** The complete file in memory; `stream` reads it piece by piece. */
    download: (id: string, options?: RequestOptions) =>
      api.download({ id: 'exports.download', path: { id }, options }),
    stream: (id: string, options?: RequestOptions) =>
      api.stream({ id: 'exports.download', path: { id }, options }),
    /** Deletes the export and its file, even while it is being written. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'exports.delete', path: { id }, options }),
    /** Resolves once the export is done, failed or expired. */
    untilDone: (id: string, options: UntilDoneOptions<Export> = {}) => untilDone(id, get, options),
  }
}

export function imports(api: Api) {
  const get = (id: string, options?: RequestOptions) =>
    api.call({ id: 'imports.get', path: { id }, options })
  return {
    /**
     * Imports a mail file into an inbox. A file `Blob` is read piece by piece. Retries if there is
     * no response, because messages already in the inbox are not stored again.
     */
    create: (
      inboxId: string,
      file: Blob | Uint8Array<ArrayBuffer> | string,
      { type = 'application/octet-stream', isRead, ...options }: ImportOptions = {},
    ) =>
      api.call({
        id: 'imports.create',
        path: { id: inboxId },
        query: { isRead },
        content: { type, data: file },
        isOnce: true,
        options,
      }),
    /** Newest first. */
    list: (options: ListOptions<'imports.list'> = {}) => api.list('imports.list', {}, options),
    get,
    /** Resolves once the import is done or failed. */
    untilDone: (id: string, options: UntilDoneOptions<Import> = {}) => untilDone(id, get, options),
  }
}

export function erasures(api: Api) {
  const get = (id: string, options?: RequestOptions) =>
    api.call({ id: 'erasures.get', path: { id }, options })
  return {
    /** Permanently removes everything about an address from the account. */
    create: (body: BodyOf<'erasures.create'>, options?: RequestOptions) =>
      api.call({ id: 'erasures.create', body, options }),
    get,
    /** Resolves once everything is removed. */
    untilDone: (id: string, options: UntilDoneOptions<Erasure> = {}) => untilDone(id, get, options),
  }
}

async function untilDone<Known extends Job>(
  id: string,
  get: (id: string, options: RequestOptions) => Promise<Known>,
  { onProgress, ...options }: UntilDoneOptions<Known>,
): Promise<Known> {
  for (let askMs = ASK_MS_MIN; ; askMs = Math.min(askMs * 2, ASK_MS_MAX)) {
    const known = await get(id, options)
    onProgress?.(known)
    if (known.status !== 'queued' && known.status !== 'running') return known
    await pause(askMs, options.signal)
  }
}
