// Parses the record that announces an MTA-STS policy, and the policy itself (RFC 8461), and checks
// which hosts it permits. Fetches nothing.

/** Real policies list about a dozen hosts. */
const STS_PATTERNS_MAX = 100
/** The maximum in RFC 8461 §3.2, about one year. */
const STS_MAX_AGE_SECONDS_MAX = 31_557_600

export type StsPolicy = {
  readonly mode: 'enforce' | 'testing' | 'none'
  readonly maxAgeSeconds: number
  /** Lower-case host names, or `*.` and a name. */
  readonly patterns: readonly string[]
}

const RECORD = /^v=STSv1[ \t]*;/
const ID = /^[A-Za-z0-9]{1,32}$/
const MAX_AGE = /^\d{1,10}$/
const PATTERN =
  /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)+$/

/** The policy `id` in TXT records at `_mta-sts.`; null unless exactly one record has one (§3.1). */
export function readStsId(texts: readonly string[]): string | null {
  const records = texts.filter((text) => RECORD.test(text))
  const [record] = records
  if (record === undefined || records.length > 1) return null
  const fields = record.split(';').map((field) => field.trim())
  const id = fields.find((field) => field.startsWith('id='))?.slice('id='.length)
  return id !== undefined && ID.test(id) ? id : null
}

/** The policy; null if the text is invalid (§3.2) or names more than STS_PATTERNS_MAX hosts. */
export function parseStsPolicy(text: string): StsPolicy | null {
  const fields = new Map<string, string>()
  const patterns: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon === -1) continue
    const key = line.slice(0, colon).trim()
    const value = line.slice(colon + 1).trim()
    if (key === 'mx') patterns.push(value.toLowerCase().replace(/\.$/, ''))
    // If a unique field is repeated, the first one is used (§3.2).
    else if (!fields.has(key)) fields.set(key, value)
  }
  const mode = fields.get('mode')
  const maxAge = fields.get('max_age') ?? ''
  if (fields.get('version') !== 'STSv1' || !MAX_AGE.test(maxAge)) return null
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return null
  if (mode !== 'none' && patterns.length === 0) return null
  if (patterns.length > STS_PATTERNS_MAX) return null
  if (!patterns.every((pattern) => PATTERN.test(pattern))) return null
  return { mode, maxAgeSeconds: Math.min(Number(maxAge), STS_MAX_AGE_SECONDS_MAX), patterns }
}

/** Whether the policy permits `host` (lower case); `*` matches exactly one label (§4.1). */
export function isHostInPolicy(policy: StsPolicy, host: string): boolean {
  const parent = host.slice(host.indexOf('.') + 1)
  return policy.patterns.some((pattern) =>
    pattern.startsWith('*.') ? host.includes('.') && pattern.slice(2) === parent : pattern === host,
  )
}
