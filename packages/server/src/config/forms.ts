// The forms of setting texts and their parsers. Parsers do not access the file system.

import { BlockList, isIP } from 'node:net'
import { resolve } from 'node:path'
import { domainToASCII } from 'node:url'

type Reading<T> = { value: T } | { expected: string }

export type Form<T> = {
  /** Follows "expected" in a message to the operator. */
  readonly expected: string
  /** `text` is trimmed and not empty. */
  read(text: string): Reading<T>
}

const COUNT_MAX = 1_000_000_000
const DAYS_MAX = 3_650
const TOKEN_LENGTH_MAX = 512
const SECRET_KEY_BYTES = 32

/** Port 0 lets the system choose a free port. */
export const listeningPort: Form<number> = wholeNumber(0, 65_535, 'a port, 0 to 65535')

export const remotePort: Form<number> = wholeNumber(1, 65_535, 'a port, 1 to 65535')

export const count: Form<number> = wholeNumber(1, COUNT_MAX, `a whole number, 1 to ${COUNT_MAX}`)

/** A whole number up to 9 PB. */
export const bytes: Form<number> = form('a whole number of bytes, 0 or more', (text) =>
  /^\d{1,15}$/.test(text) ? Number(text) : undefined,
)

export const threads: Form<number> = wholeNumber(0, 64, 'a whole number, 0 to 64')

export const days: Form<number> = wholeNumber(
  0,
  DAYS_MAX,
  `a whole number of days, 0 to ${DAYS_MAX}`,
)

export const flag: Form<boolean> = form('true or false', (text) => {
  const word = text.toLowerCase()
  if (['true', '1', 'yes'].includes(word)) return true
  return ['false', '0', 'no'].includes(word) ? false : undefined
})

export const path: Form<string> = form('a path', (text) =>
  text.includes('\0') ? undefined : resolve(text),
)

/** IPv6 is accepted with or without brackets. */
export const host: Form<string> = form('an IP address or a host name', (text) => {
  const bare = text.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) === 0 ? readDomain(text) : bare
})

export const domain: Form<string> = form('a domain name', readDomain)

/** A link that begins with the URL must fit on a header line of at most 998 characters. */
const PUBLIC_URL_LENGTH_MAX = 300

export const publicUrl: Form<string> = form(
  'an absolute http or https URL of at most 300 characters, without user, query or fragment',
  (text) => {
    const url = readUrl(text, ['http:', 'https:'])
    if (url === undefined || url.username !== '' || url.password !== '') return undefined
    // URL.search is '' for a lone '?', so the text itself is checked.
    if (/[?#]/.test(text)) return undefined
    if (url.href.length > PUBLIC_URL_LENGTH_MAX) return undefined
    return url.href.replace(/\/+$/, '')
  },
)

/** The URL contains no secret, so that logs may show it. */
export const collectorUrl: Form<string> = form(
  'an absolute http or https URL without user, query or fragment',
  (text) => {
    const url = readUrl(text, ['http:', 'https:'])
    if (url === undefined || url.username !== '' || url.password !== '') return undefined
    return /[?#]/.test(text) ? undefined : url.href
  },
)

export const share: Form<number> = form('a number, 0 to 1', (text) => {
  const value = /^(?:[01]|[01]?\.\d{1,9})$/.test(text) ? Number(text) : -1
  return value >= 0 && value <= 1 ? value : undefined
})

export const postgresUrl: Form<string> = form('a URL of the form postgres://…', (text) =>
  readUrl(text, ['postgres:', 'postgresql:']) === undefined ? undefined : text,
)

export const relayUrl: Form<string> = form(
  'a URL of the form smtp[s]://user:pass@host:port',
  (text) => {
    const url = readUrl(text, ['smtp:', 'smtps:'])
    if (url === undefined || url.port === '0' || url.pathname.length > 1) return undefined
    return /[?#]/.test(text) ? undefined : text
  },
)

export const clamdUrl: Form<string> = form(
  'tcp://host:port or the absolute path of a socket',
  (text) => {
    if (/^\/[^\0]+$/.test(text)) return text
    return /^tcp:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):[1-9]\d{0,4}$/i.test(text) ? text : undefined
  },
)

/** The format of `dns.Resolver.setServers`: each entry with its port, IPv6 in brackets. */
export const dnsServers: Form<readonly string[]> = form(
  'IP addresses with or without a port, separated by commas, such as 192.0.2.1:53 or [2001:db8::1]:53',
  (text) => {
    const servers = text.split(',').map((entry) => readDnsServer(entry.trim()))
    return servers.every((server) => server !== undefined) ? servers : undefined
  },
)

/** A single address is a range of one. Callers compare IPv4-mapped addresses as IPv4. */
export const addressRanges: Form<BlockList> = form(
  'IP addresses or ranges (CIDR), separated by commas, such as 127.0.0.1,10.0.0.0/8,2001:db8::/32',
  (text) => {
    const ranges = new BlockList()
    const areGood = text.split(',').every((entry) => addRange(ranges, entry.trim()))
    return areGood ? ranges : undefined
  },
)

export const apiKey: Form<string> = form(
  '24 to 128 characters of A–Z, a–z, 0–9, _ and -',
  (text) => (/^[A-Za-z0-9_-]{24,128}$/.test(text) ? text : undefined),
)

/** The key remains text, so that the log can remove it from messages. */
export const secretKey: Form<string> = form(
  `${SECRET_KEY_BYTES} bytes as base64 or as ${2 * SECRET_KEY_BYTES} hexadecimal digits`,
  (text) => (decodeSecretKey(text) === null ? undefined : text),
)

/** Null if the text has a different form. */
export function decodeSecretKey(text: string): Uint8Array | null {
  const isHex = /^[0-9a-fA-F]{64}$/.test(text)
  // Buffer ignores characters that are not base64, so the bytes must encode to the same text again.
  const key = Buffer.from(text, isHex ? 'hex' : 'base64')
  if (key.length !== SECRET_KEY_BYTES) return null
  const bare = text.replace(/=$/, '')
  return isHex || key.toString('base64') === `${bare}=` ? key : null
}

/** Clients send the token in an Authorization header, so it is ASCII without white space. */
export const bearerToken: Form<string> = form(
  `up to ${TOKEN_LENGTH_MAX} visible ASCII characters without spaces`,
  (text) => (/^[\x21-\x7e]+$/.test(text) && text.length <= TOKEN_LENGTH_MAX ? text : undefined),
)

export function oneOf<const Word extends string>(words: readonly Word[]): Form<Word> {
  return form(`one of ${words.join(', ')}`, (text) => words.find((word) => word === text))
}

export function someOf<const Word extends string>(words: readonly Word[]): Form<ReadonlySet<Word>> {
  return form(`all, or any of ${words.join(',')}`, (text) => {
    if (text === 'all') return new Set(words)
    const chosen = text.split(',').map((entry) => words.find((word) => word === entry.trim()))
    return chosen.every((word) => word !== undefined) ? new Set(chosen) : undefined
  })
}

function form<T>(expected: string, read: (text: string) => T | undefined): Form<T> {
  return {
    expected,
    read(text) {
      const value = read(text)
      return value === undefined ? { expected } : { value }
    },
  }
}

function wholeNumber(min: number, max: number, expected: string): Form<number> {
  return form(expected, (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1
    return value >= min && value <= max ? value : undefined
  })
}

function readUrl(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.parse(text)
  if (url === null || !protocols.includes(url.protocol) || url.hostname === '') return undefined
  return url
}

function readDomain(text: string): string | undefined {
  // domainToASCII parses a URL's host: it would decode percent signs and drop tabs.
  if (/[\s%/\\?#@:[\]]/.test(text)) return undefined
  const ascii = domainToASCII(text.toLowerCase()).replace(/\.$/, '')
  const labels = ascii.split('.')
  const isNumeric = /^\d*$/.test(labels.at(-1) ?? '')
  // RFC 1035 §2.3.4: 63 octets per label, 255 per name including its length octets.
  if (isNumeric || ascii.length > 253) return undefined
  return labels.every((label) => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(label)) ? ascii : undefined
}

function addRange(ranges: BlockList, text: string): boolean {
  const [address = '', length, ...rest] = text.split('/')
  const version = isIP(address)
  // A zone index or an IPv4-mapped range would match nothing.
  if (version === 0 || rest.length > 0 || /%|^::ffff:.*\./i.test(address)) return false
  const bits = version === 4 ? 32 : 128
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return false
  const prefix = Number(length ?? bits)
  if (prefix > bits) return false
  ranges.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  return true
}

function readDnsServer(text: string): string | undefined {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text)
  const plain = /^([\d.]+)(?::(\d{1,5}))?$/.exec(text)
  const address = bracketed?.[1] ?? plain?.[1] ?? text
  const port = Number(bracketed?.[2] ?? plain?.[2] ?? 53)
  if (port < 1 || port > 65_535) return undefined
  if (isIP(address) === 4 && bracketed === null) return `${address}:${port}`
  return isIP(address) === 6 ? `[${address}]:${port}` : undefined
}

type S3Settings = Readonly<{
  kind: 's3'
  /** An http or https URL without a trailing slash. */
  endpoint: string
  region: string
  bucket: string
  /** A key prefix without leading and trailing slashes; '' for none. */
  prefix: string
  /** Empty until `withCredentials` adds it. */
  accessKeyId: string
  secretAccessKey: string
}>

export type BlobStoreLocation = 'disk' | 'database' | S3Settings

const EXPECTED =
  'disk, database or s3://bucket/prefix?endpoint=https://host&region=name (without endpoint: that of AWS in the region)'

export const CREDENTIALS_EXPECTED =
  'an access key for the bucket: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or key:secret@ before it, percent-encoded'

const REGION = 'us-east-1'
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** Prefixes that servers and signatures do not need to encode. */
const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(?:\/|$)){0,8}$/

/** An `s3:` URL may lack the access key; `withCredentials` adds it. */
export const blobStore: Form<BlobStoreLocation> = {
  expected: EXPECTED,
  read(text): Reading<BlobStoreLocation> {
    if (text === 'disk' || text === 'database') return { value: text }
    const location = readS3(text)
    return location === null ? { expected: EXPECTED } : { value: location }
  },
}

/** The given or default location. A missing access key is taken from the environment. */
export function withCredentials(
  given: { blobStore: BlobStoreLocation | null; databaseUrl: string | null },
  env: Readonly<Record<string, string | undefined>>,
): BlobStoreLocation {
  const { blobStore: location, databaseUrl } = given
  if (location === null) return databaseUrl === null ? 'disk' : 'database'
  if (
    typeof location === 'string' ||
    location.accessKeyId !== '' ||
    location.secretAccessKey !== ''
  ) {
    return location
  }
  return {
    ...location,
    accessKeyId: env.AWS_ACCESS_KEY_ID?.trim() ?? '',
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY?.trim() ?? '',
  }
}

/** An access key needs both an id and a secret, and the id must fit into a header. */
export function lacksCredentials(location: BlobStoreLocation): boolean {
  if (typeof location === 'string') return false
  return !/^[!-~]{1,200}$/.test(location.accessKeyId) || location.secretAccessKey === ''
}

function readS3(text: string): S3Settings | null {
  const url = URL.parse(text)
  // A URL parser would give these characters another meaning.
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
