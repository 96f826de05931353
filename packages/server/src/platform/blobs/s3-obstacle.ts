// Why a bucket cannot be used, in words for the operator: what to change, or that it may pass.

import type { S3Fault } from './s3-fault.ts'
import type { S3Place } from './s3-transport.ts'

/** `refused`: waiting will not help, an operator has to change something. */
export type S3Obstacle = { readonly kind: 'refused' | 'away'; readonly text: string }

/** The codes by which servers say that they do not know who asks. */
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

/** Names the setting that is to be looked at; never a secret. */
export function s3ObstacleOf(place: S3Place, fault: S3Fault): S3Obstacle {
  const where = `the S3 server ${place.endpoint}`
  const { status, code, message } = fault
  if (fault.mayPass) return { kind: 'away', text: `${where} cannot be used now: ${message}` }
  return { kind: 'refused', text: `${textOf()} (${code ?? status})` }

  function textOf(): string {
    if (code === 'RequestTimeTooSkewed') return `the clock of this machine is not that of ${where}`
    if (code !== null && REGION.has(code)) {
      return `the bucket ${place.bucket} is not in the region ${place.region}, see region= in MAILROOM_BLOB_URL`
    }
    const isUnknown = status === 401 || (code !== null && CREDENTIALS.has(code))
    if (isUnknown) {
      return `${where} refused the credentials, see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or MAILROOM_BLOB_URL`
    }
    if (status === 403) {
      return `${where} does not let this access key list, read, write and delete in the bucket ${place.bucket}`
    }
    if (status === 404) return `${where} has no bucket ${place.bucket}`
    return `${where} refused the bucket ${place.bucket}`
  }
}
