// The setting that says where large messages lie, with the bucket that it may name and the access key
// that may stand beside it.

import type { Form, Reading } from './forms.ts'

export type S3Settings = Readonly<{
  kind: 's3'
  /** http or https, without a slash at its end. */
  endpoint: string
  region: string
  bucket: string
  /** Without slashes at its ends; '' for none. */
  prefix: string
  /** '' until it is known. */
  accessKeyId: string
  secretAccessKey: string
}>

export type BlobStorePlace = 'disk' | 'database' | S3Settings

const EXPECTED =
  'disk, database or s3://bucket/prefix?endpoint=https://host&region=name (without endpoint: that of AWS in the region)'

export const CREDENTIALS_EXPECTED =
  'an access key for the bucket: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or key:secret@ before it, percent-encoded'

const REGION = 'us-east-1'
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** Names that every server and every signature takes as they are. */
const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(?:\/|$)){0,8}$/

/** An `s3:` URL has no access key yet where none stands in it. */
export const blobStore: Form<BlobStorePlace> = {
  expected: EXPECTED,
  read(text): Reading<BlobStorePlace> {
    if (text === 'disk' || text === 'database') return { value: text }
    const place = readS3(text)
    return place === null ? { expected: EXPECTED } : { value: place }
  },
}

/** The place with its default, and with the access key of the environment where it has none. */
export function withCredentials(
  given: { blobStore: BlobStorePlace | null; databaseUrl: string | null },
  env: Readonly<Record<string, string | undefined>>,
): BlobStorePlace {
  const { blobStore: place, databaseUrl } = given
  if (place === null) return databaseUrl === null ? 'disk' : 'database'
  if (typeof place === 'string' || place.accessKeyId !== '' || place.secretAccessKey !== '') {
    return place
  }
  return {
    ...place,
    accessKeyId: env.AWS_ACCESS_KEY_ID?.trim() ?? '',
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY?.trim() ?? '',
  }
}

/** Half of an access key is none, and its name has to stand in a header. */
export function lacksCredentials(place: BlobStorePlace): boolean {
  if (typeof place === 'string') return false
  return !/^[!-~]{1,200}$/.test(place.accessKeyId) || place.secretAccessKey === ''
}

function readS3(text: string): S3Settings | null {
  const url = URL.parse(text)
  // The parser would take these as something else.
  const [path = ''] = text.slice('s3://'.length).split('?')
  const isPlain = !path.includes('#') && !/\/(\/|(\.|%2e)+(\/|$))/i.test(path)
  if (url?.protocol !== 's3:' || url.port !== '' || !isPlain) return null
  const { endpoint, region = REGION, ...others } = Object.fromEntries(url.searchParams)
  const origin =
    endpoint === undefined ? `https://s3.${region}.amazonaws.com` : readEndpoint(endpoint)
  const prefix = url.pathname.replace(/^\/|\/$/g, '')
  const isRead =
    origin !== null &&
    /^[A-Za-z0-9-]{1,40}$/.test(region) &&
    BUCKET.test(url.hostname) &&
    PREFIX.test(prefix) &&
    Object.keys(others).length === 0
  const accessKeyId = decode(url.username)
  const secretAccessKey = decode(url.password)
  if (!isRead || accessKeyId === null || secretAccessKey === null) return null
  return {
    kind: 's3',
    endpoint: origin,
    region,
    bucket: url.hostname,
    prefix,
    accessKeyId,
    secretAccessKey,
  }
}

function readEndpoint(text: string): string | null {
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url === null || !isWeb || url.username !== '' || url.password !== '') return null
  return /[?#]/.test(text) ? null : url.href.replace(/\/+$/, '')
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
