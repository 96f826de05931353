// Blobs as objects in an S3 bucket, named as on disk, so that any S3 tool can move them.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { COMPOSE_STEP_BYTES } from '@mailroom/mail/compose/encode-transfer.ts'
import type { S3mini } from 's3mini'
import { S3ServiceError } from 's3mini'
import { systemClock } from '#platform/clock.ts'
import { asStorageError, StorageError, type StorageErrorKind } from '#platform/db/storage-error.ts'
import { DAY_MS, SECOND_MS } from '#platform/units.ts'
import { BLOBS_AT_ONCE_MAX, type BlobStore, blobName, type StoredBlob } from './blob-store.ts'
import type { S3Location } from './s3-transport.ts'
import { openS3Transport, S3Answer } from './s3-transport.ts'

const S3_SWEEP_MS = DAY_MS
/** Allows 30 MiB at 1 MiB a second, including the wait for a connection. */
const S3_REQUEST_MS_MAX = 30 * SECOND_MS
export const S3_TRIES_MAX = 3
/** No retry starts after this time, because a sender waits for all tries. */
const S3_RETRY_MS_MAX = 10 * SECOND_MS
/** The pause before the second try. The pause before the third is four times as long. */
const S3_RETRY_PAUSE_MS = 200
/** Maximum names that S3 returns in one page. */
const S3_PAGE_NAMES = 1_000

type S3Bounds = {
  readonly requestMs?: number
  readonly retryMs?: number
  readonly pauseMs?: number
  readonly pageNames?: number
}

export type S3Blobs = BlobStore & {
  /** Null if the bucket can be listed, read and, with `writes`, written to. */
  findObstacle(options: { writes: boolean }): Promise<S3Obstacle | null>
}

/** Opens the store without sending a request. */
export async function openS3Blobs(
  location: S3Location,
  {
    requestMs = S3_REQUEST_MS_MAX,
    retryMs = S3_RETRY_MS_MAX,
    pauseMs = S3_RETRY_PAUSE_MS,
    pageNames = S3_PAGE_NAMES,
  }: S3Bounds = {},
): Promise<S3Blobs> {
  const transport = await openS3Transport({ requestMs })
  const { closing } = transport
  const { S3mini } = await import('s3mini')
  const { accessKeyId, secretAccessKey, region } = location
  const endpoint = `${location.endpoint}/${location.bucket}`
  const s3 = new S3mini({ accessKeyId, secretAccessKey, region, endpoint, fetch: transport.fetch })
  const folder = location.prefix === '' ? '' : `${location.prefix}/`
  const keyOf = (id: string) => folder + blobName(id)
  const trying = <Value>(run: () => Promise<Value>) => withTries(run, { retryMs, pauseMs, closing })
  const list = (max: number, token?: string) => trying(() => readPage(s3, { folder, max, token }))

  return {
    async put(id, content) {
      const key = keyOf(id)
      const sum = await md5Of(content)
      await trying(() => putOnce(s3, { key, content, sum }))
    },
    async get(id) {
      const key = keyOf(id)
      return trying(() => unlessAbsent(async () => contentOf(await s3.getObjectRaw(key))))
    },
    async remove(ids) {
      const keys = ids.map(keyOf)
      // Not every server accepts several names in one request.
      const removeRest = async () => {
        for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
          const last = key
          await trying(() => unlessAbsent(() => s3.deleteObject(last)))
        }
      }
      await Promise.all(Array.from({ length: BLOBS_AT_ONCE_MAX }, removeRest))
    },
    sweepEveryMs: S3_SWEEP_MS,
    async *list() {
      let token: string | undefined
      do {
        const page = await list(pageNames, token)
        const nowMs = transport.serverNowMs()
        // Empty pages are yielded too, so that the reader may stop between pages.
        yield page.objects.flatMap(({ key, storedMs }) =>
          blobsOf(key.slice(folder.length), ageOf({ storedMs, nowMs })),
        )
        token = page.token
      } while (token !== undefined)
    },
    async findObstacle({ writes }) {
      try {
        await list(1)
        const key = `${folder}mailroom-probe`
        if (writes) await trying(() => putOnce(s3, { key, content: Buffer.from('x') }))
        // Another starting process may have removed the object.
        await trying(() => unlessAbsent(() => s3.getObjectRaw(key)))
        if (writes) await trying(() => unlessAbsent(() => s3.deleteObject(key)))
        return null
      } catch (error) {
        return s3ObstacleOf(location, s3FaultOf(error))
      }
    },
    close: () => transport.close(),
  }
}

/** Retries temporary faults until S3_RETRY_MS_MAX. Rejects with an `S3Fault`. */
async function withTries<Value>(
  run: () => Promise<Value>,
  { retryMs, pauseMs, closing }: { retryMs: number; pauseMs: number; closing: AbortSignal },
): Promise<Value> {
  const startMs = systemClock.monotonic()
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (error) {
      const fault = s3FaultOf(error)
      const isLate = systemClock.monotonic() - startMs > retryMs
      if (!fault.mayPass || isLate || tries === S3_TRIES_MAX || closing.aborted) throw fault
      await pause(pauseMs * 4 ** (tries - 1), null, { signal: closing }).catch(() => {
        throw fault
      })
    }
  }
}

type Put = { key: string; content: Uint8Array; sum?: Record<string, string> }

async function putOnce(s3: S3mini, { key, content, sum }: Put): Promise<void> {
  const { headers } = await s3.putObject(key, content, undefined, undefined, sum)
  // A web server that is not an S3 server answers without a tag and has stored nothing.
  if (!headers.has('etag')) throw new Error('what answered is no S3 server')
}

async function md5Of(content: Uint8Array): Promise<{ 'content-md5': string }> {
  const hash = createHash('md5')
  for (let start = 0; start < content.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await nextTurn()
    hash.update(content.subarray(start, start + COMPOSE_STEP_BYTES))
  }
  return { 'content-md5': hash.digest('base64') }
}

/** Returns null if the object is absent. An absent bucket is an error. */
async function unlessAbsent<Value>(run: () => Promise<Value>): Promise<Value | null> {
  try {
    return await run()
  } catch (error) {
    const fault = s3FaultOf(error)
    if (fault.isAbsentObject) return null
    throw fault
  }
}

function contentOf(answer: Response): Uint8Array {
  if (answer instanceof S3Answer) return answer.content
  throw new Error('The answer did not come by this transport.')
}

type Page = { objects: { key: string; storedMs: number }[]; token: string | undefined }

async function readPage(
  s3: S3mini,
  { folder, max, token }: { folder: string; max: number; token: string | undefined },
): Promise<Page> {
  const page = await s3.listObjectsPaged('/', folder, max, token)
  if (page === null || page === undefined) throw noBucketFault()
  const objects = (page.objects ?? []).map(({ Key, LastModified }) => ({
    key: Key,
    storedMs: LastModified.getTime(),
  }))
  return { objects, token: page.nextContinuationToken }
}

function ageOf({ storedMs, nowMs }: { storedMs: number; nowMs: number | null }): number {
  return nowMs !== null && storedMs > 0 ? Math.max(0, nowMs - storedMs) : 0
}

function blobsOf(name: string, ageMs: number): StoredBlob[] {
  const [folder = '', id = '', ...further] = name.split('/')
  const isBlob = folder.length === 2 && id !== '' && further.length === 0
  return isBlob ? [{ id, readAgeMs: () => Promise.resolve(ageMs) }] : []
}

/** `refused`: the operator has to change the settings or the bucket; waiting does not help. */
export type S3Obstacle = { readonly kind: 'refused' | 'away'; readonly text: string }

const CREDENTIALS = new Set([
  'AuthFailure',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
  'Unauthorized',
])
const REGION = new Set([
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'PermanentRedirect',
  'TemporaryRedirect',
])

/** The text names the setting to check and never contains a secret. */
function s3ObstacleOf(location: S3Location, fault: S3Fault): S3Obstacle {
  const where = `the S3 server ${location.endpoint}`
  const { status, code, message } = fault
  if (fault.mayPass) return { kind: 'away', text: `${where} cannot be used now: ${message}` }
  return { kind: 'refused', text: `${textOf()} (${code ?? status})` }

  function textOf(): string {
    if (code === 'RequestTimeTooSkewed') return `the clock of this machine is not that of ${where}`
    if (code !== null && REGION.has(code)) {
      return `the bucket ${location.bucket} is not in the region ${location.region}, see region= in MAILROOM_BLOB_URL`
    }
    const isUnknown = status === 401 || (code !== null && CREDENTIALS.has(code))
    if (isUnknown) {
      return `${where} refused the credentials, see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or MAILROOM_BLOB_URL`
    }
    if (status === 403) {
      return `${where} does not let this access key list, read, write and delete in the bucket ${location.bucket}`
    }
    if (status === 404) return `${where} has no bucket ${location.bucket}`
    return `${where} refused the bucket ${location.bucket}`
  }
}

type ServerError = {
  /** Null if the server did not respond. */
  readonly status: number | null
  /** An S3 error code, such as `NoSuchBucket`. */
  readonly code: string | null
}

class S3Fault extends StorageError implements ServerError {
  readonly status: number | null
  readonly code: string | null

  constructor(kind: StorageErrorKind, text: string, { status, code }: ServerError) {
    super(kind, text)
    this.status = status
    this.code = code
  }

  get mayPass(): boolean {
    const { status, code } = this
    // The octets were damaged in transit.
    if (code === 'BadDigest') return true
    return status === null || status >= 500 || status === 429 || status === 408
  }

  get isAbsentObject(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket'
  }
}

function noBucketFault(): S3Fault {
  return answered(404, 'NoSuchBucket')
}

/** Of the server's text, only the error code is kept, because the text may repeat signed values. */
function s3FaultOf(error: unknown): S3Fault {
  if (error instanceof S3Fault) return error
  if (error instanceof S3ServiceError) {
    const { status, serviceCode, body } = error
    const hasCode = serviceCode !== undefined && serviceCode !== 'Unknown'
    const code = hasCode ? serviceCode : (CODE_IN_BODY.exec(body ?? '')?.[1] ?? '')
    return answered(status, CODE.test(code) ? code : null)
  }
  const kind = asStorageError(error)?.kind ?? 'unavailable'
  const text = error instanceof Error ? messageOf(error) : String(error)
  return new S3Fault(kind, `S3 did not answer: ${text}`, { status: null, code: null })
}

const FULL = new Set(['QuotaExceeded', 'XMinioStorageFull', 'InsufficientCapacity', 'StorageFull'])
const CODE = /^[A-Za-z0-9.]{1,100}$/
const CODE_IN_BODY = /<Code>([^<]{1,100})<\/Code>/

function answered(status: number, code: string | null): S3Fault {
  const text = `S3 answered ${status}${code === null ? '' : ` ${code}`}.`
  return new S3Fault(kindOf(status, code), text, { status, code })
}

function kindOf(status: number, code: string | null): StorageErrorKind {
  if (status === 507 || (code !== null && FULL.has(code))) return 'full'
  return status === 429 || code === 'SlowDown' ? 'busy' : 'unavailable'
}

/** Errors for several addresses are in `errors`; the reason for a client's error is in `cause`. */
function messageOf(error: Error): string {
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause
  if (inner instanceof Error) return messageOf(inner)
  return error.message === '' ? error.name : error.message
}
