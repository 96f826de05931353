// Files that are sent to the service before the messages that they are attached to.

import type { BodyOf } from '@mailroom/contract/operations.ts'
import type { Api } from './api.ts'
import type { RequestOptions } from './transport.ts'

type UploadOptions = RequestOptions & {
  /** Required unless the file has a name, as a `File` has. */
  filename?: string
  /** The media type; default: that of a `Blob`, or the usual type of files with such a name. */
  contentType?: string
}

export function uploads(api: Api) {
  return {
    /**
     * Uploads a file of up to 25 MiB, which messages then attach by `uploadId` for 24 hours. A file
     * `Blob`, such as `await openAsBlob(path)`, is read piece by piece.
     */
    create: (
      file: (Blob & { readonly name?: string }) | Uint8Array<ArrayBuffer>,
      { filename, contentType, ...options }: UploadOptions = {},
    ) => {
      const own = file instanceof Blob ? file : null
      return api.call({
        id: 'uploads.create',
        query: { filename: filename ?? own?.name },
        content: { type: contentType ?? (own?.type || 'application/octet-stream'), data: file },
        isOnce: true,
        options,
      })
    },
    /** Creates a URL to which one file can be uploaded without a key: `curl -T FILE URL`. */
    createLink: (body: BodyOf<'uploads.createLink'>, options?: RequestOptions) =>
      api.call({ id: 'uploads.createLink', body, options }),
    /** Rejects with `not_found` until the file of a link has arrived. */
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'uploads.get', path: { id }, options }),
    /** Messages and drafts keep their copy. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'uploads.delete', path: { id }, options }),
  }
}
