// What went wrong with a request to S3, in the words of a store in trouble. Nothing of what the server
// wrote gets further than its error code: it may repeat what the request was signed with.

import { S3ServiceError } from 's3mini'
import { asStorageError, StorageError, type StorageErrorKind } from '#platform/db/storage-error.ts'

type Told = {
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null
  /** Such as `NoSuchBucket`; null when none was given. */
  readonly code: string | null
}

export class S3Fault extends StorageError implements Told {
  readonly status: number | null
  readonly code: string | null

  constructor(kind: StorageErrorKind, text: string, { status, code }: Told) {
    super(kind, text)
    this.status = status
    this.code = code
  }

  /** The same request may succeed a moment later. */
  get mayPass(): boolean {
    const { status, code } = this
    // Octets that did not come as they were sent.
    if (code === 'BadDigest') return true
    return status === null || status >= 500 || status === 429 || status === 408
  }

  get isAbsentObject(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket'
  }
}

/** Of a bucket that is not there, where the client gives no error for it. */
export function noBucketFault(): S3Fault {
  return answered(404, 'NoSuchBucket')
}

/** Any error of a request to S3. */
export function s3FaultOf(error: unknown): S3Fault {
  if (error instanceof S3Fault) return error
  if (error instanceof S3ServiceError) {
    const { status, serviceCode, body } = error
    const isTold = serviceCode !== undefined && serviceCode !== 'Unknown'
    const code = isTold ? serviceCode : (CODE_IN_BODY.exec(body ?? '')?.[1] ?? '')
    return answered(status, CODE.test(code) ? code : null)
  }
  const kind = asStorageError(error)?.kind ?? 'unavailable'
  const text = error instanceof Error ? messageOf(error) : String(error)
  return new S3Fault(kind, `S3 did not answer: ${text}`, { status: null, code: null })
}

/** Codes of servers that have no room, and of quotas. */
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

/** That of several addresses stands in its parts, that of the client in its cause. */
function messageOf(error: Error): string {
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause
  if (inner instanceof Error) return messageOf(inner)
  return error.message === '' ? error.name : error.message
}
