// Requests with upload progress.

import { Mailroom } from '@mailroom/sdk'
import { consoleFetch, NO_KEY, noteAnswer, session } from './session.ts'

/** A client that reports the uploaded fraction of a body, 0 to 1, which `fetch` cannot do. */
export function uploadingClient(onProgress: (part: number) => void): Mailroom {
  return new Mailroom({
    baseUrl: location.origin,
    apiKey: NO_KEY,
    fetch: (input, init) =>
      typeof init?.body === 'string' || init?.body instanceof Blob
        ? upload(String(input), init, init.body, onProgress)
        : consoleFetch(input, init),
    maxRetries: 2,
  })
}

function upload(
  url: string,
  init: RequestInit,
  body: string | Blob,
  onProgress: (part: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(init.method ?? 'POST', url)
    const headers = new Headers(init.headers)
    headers.delete('authorization')
    const token = session.value?.csrfToken
    headers.set('x-csrf-token', token ?? '')
    for (const [name, value] of headers) request.setRequestHeader(name, value)
    request.responseType = 'text'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => {
      noteAnswer(request.status, token)
      resolve(
        new Response(request.status === 204 ? null : request.responseText, {
          status: request.status,
          headers: readHeaders(request.getAllResponseHeaders()),
        }),
      )
    }
    request.onerror = () => reject(new TypeError('The service could not be reached.'))
    request.onabort = () => reject(init.signal?.reason)
    init.signal?.throwIfAborted()
    init.signal?.addEventListener('abort', () => request.abort(), { once: true })
    request.send(body)
  })
}

function readHeaders(text: string): Headers {
  const headers = new Headers()
  for (const line of text.trim().split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return headers
}
