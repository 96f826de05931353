// The table of settings, which the reader, the documentation and the warnings use.

import type { BlockList } from 'node:net'
import { type Plan, plans } from '@mailroom/contract/vocabulary.ts'
import * as forms from './forms.ts'
import { type BlobStoreLocation, blobStore, type Form } from './forms.ts'

const ROLES = ['http', 'smtp', 'delivery', 'webhooks'] as const
type Role = (typeof ROLES)[number]

const FORWARDED_HEADERS = ['x-forwarded-for', 'forwarded'] as const
export type ForwardedHeader = (typeof FORWARDED_HEADERS)[number]
const DELIVERIES = ['sandbox', 'direct', 'relay'] as const
type Delivery = (typeof DELIVERIES)[number]

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

export type LimitSettings = Readonly<{
  apiPerMinute: number
  failedAuthPerMinute: number
  sendsPerMinute: number
  sendsPerDay: number
  inboxesPerDay: number
  /** New recipients per day for an inbox younger than 30 days. */
  coldPerDay: number
  /** New recipients per day for all inboxes of an account; null uses the limit of its plan. */
  coldAccountPerDay: number | null
  heldPerInbox: number
  /** An unapproved message is rejected after this number of days. */
  reviewDays: number
  /** Storage quota per account; 0 means no quota. */
  storedBytesPerAccount: number
  importBytes: number
  uploadedBytesPerAccount: number
}>

export type Settings = Readonly<{
  dataDir: string
  /** Null for the embedded database in the data directory. */
  databaseUrl: string | null
  blobStore: BlobStoreLocation
  roles: ReadonlySet<Role>
  httpHost: string
  /** Port of the API. 0 selects any free port, also for SMTP. */
  httpPort: number
  smtpHost: string
  smtpPort: number
  reusePort: boolean
  /** Number of threads that receive mail; 0 uses the main thread. */
  intakeThreads: number
  trustedProxies: BlockList | null
  /** The header that a proxy sets; null accepts either header. */
  forwardedHeader: ForwardedHeader | null
  /** Without a trailing slash; null if not given, see `publicUrlOf`. */
  publicUrl: string | null
  /** Lower case and IDNA-encoded, like `smtpHostname`. */
  inboxDomain: string
  smtpHostname: string
  delivery: Delivery
  /** Required if `delivery` is `relay`. */
  relayUrl: string | null
  /** Each as `ip:port`, with IPv6 in brackets; empty for the system's servers. */
  dnsServers: readonly string[]
  mxPort: number
  authenticateInbound: boolean
  rejectDmarcFailures: boolean
  /** Whether the text of received attachments is extracted. */
  readAttachments: boolean
  rspamdUrl: string | null
  clamdUrl: string | null
  /** Days between key rotations; 0 if keys are never rotated automatically. */
  dkimRotationDays: number
  allowPrivateEgress: boolean
  bootstrapApiKey: string | null
  bootstrapPlan: Plan
  firstApprover: 'key' | 'machine'
  adminToken: string | null
  /** The format is that of `decodeSecretKey`. Null for a key file, or for no key on PostgreSQL. */
  secretKey: string | null
  /** Absolute paths of PEM files; null for a self-signed certificate from the first start. */
  tlsFiles: Readonly<{ cert: string; key: string }> | null
  logLevel: LogLevel
  limits: LimitSettings
  /** Port for metrics and health; 0 selects any free port, null uses the API's port. */
  metricsPort: number | null
  metricsHost: string
  /** Base of a collector's OTLP address over HTTP; null disables traces. */
  otlpEndpoint: string | null
  traceShare: number
  programFolders: string
}>

export const SETTINGS = {
  dataDir: setting(
    'MAILROOM_DATA_DIR',
    forms.path,
    { default: './data' },
    'Folder of the embedded database, large messages and generated secrets. Created with mode 0700 if missing.',
  ),
  databaseUrl: setting(
    'MAILROOM_DATABASE_URL',
    forms.postgresUrl,
    { default: null, meaning: 'embedded SQLite in the data directory', isSecret: true },
    'PostgreSQL 15 or newer, as postgres://user:password@host:port/database.',
  ),
  blobStore: setting(
    'MAILROOM_BLOB_URL',
    blobStore,
    { default: null, meaning: 'disk; database on PostgreSQL', isSecret: true },
    'Where raw messages over 128 KiB are stored: disk (in the data directory), database, or a bucket of an S3-compatible server. Give its access key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or as key:secret@ before the bucket.',
  ),
  roles: setting(
    'MAILROOM_ROLES',
    forms.someOf(ROLES),
    { default: 'all' },
    'What this process does, any of http,smtp,delivery,webhooks. Several processes need PostgreSQL.',
  ),
  httpHost: setting(
    'MAILROOM_HTTP_HOST',
    forms.host,
    { default: '127.0.0.1' },
    'Address the API listens on.',
  ),
  httpPort: setting(
    'MAILROOM_HTTP_PORT',
    forms.listeningPort,
    { default: '8080' },
    'Port the API listens on; 0 takes any free one.',
  ),
  smtpHost: setting(
    'MAILROOM_SMTP_HOST',
    forms.host,
    { default: '127.0.0.1' },
    'Address the MX listener listens on.',
  ),
  smtpPort: setting(
    'MAILROOM_SMTP_PORT',
    forms.listeningPort,
    { default: '2525' },
    'Port the MX listener listens on; 0 takes any free one.',
  ),
  reusePort: setting(
    'MAILROOM_REUSE_PORT',
    forms.flag,
    { default: 'false' },
    'Allow other processes of this machine to listen on the same ports and share the connections (SO_REUSEPORT: Linux, FreeBSD). They must run as the same user.',
  ),
  intakeThreads: setting(
    'MAILROOM_INTAKE_THREADS',
    forms.threads,
    {
      default: null,
      meaning:
        'the processor cores less one, at least 1 and at most 8 (PostgreSQL: 4); 1 if not on Linux',
    },
    'Threads that receive mail, beside the main thread with the API and deliveries. With 0, the main thread receives mail. Each takes some 40 MB of memory and, on PostgreSQL, five connections (ten if there is one thread). More than 1 needs Linux.',
  ),
  trustedProxies: setting(
    'MAILROOM_TRUSTED_PROXIES',
    forms.addressRanges,
    { default: null },
    'Reverse proxies in front of the API, as addresses and ranges separated by commas, such as 127.0.0.1,::1. For their requests, the client that they name counts for limits, pairing and logs. From anyone else such headers are ignored.',
  ),
  forwardedHeader: setting(
    'MAILROOM_FORWARDED_HEADER',
    forms.oneOf(FORWARDED_HEADERS),
    {
      default: null,
      meaning:
        'the one that a request has; if two name different clients, the proxy counts as the client',
    },
    'The header in which trusted proxies name their client: x-forwarded-for or forwarded. The other one is ignored, because a client may have written it.',
  ),
  publicUrl: setting(
    'MAILROOM_PUBLIC_URL',
    forms.publicUrl,
    { default: null, meaning: 'http://127.0.0.1:8080, with the port the API listens on' },
    'Base of the absolute URLs in responses, as clients reach the service.',
  ),
  inboxDomain: setting(
    'MAILROOM_INBOX_DOMAIN',
    forms.domain,
    { default: 'mailroom.localhost' },
    'Default domain of new inboxes.',
  ),
  smtpHostname: setting(
    'MAILROOM_SMTP_HOSTNAME',
    forms.domain,
    { default: null, meaning: 'the inbox domain' },
    'Name of the service in SMTP, and the target of MX records.',
  ),
  delivery: setting(
    'MAILROOM_DELIVERY',
    forms.oneOf(DELIVERIES),
    { default: 'sandbox' },
    'How mail leaves: sandbox (delivers to inboxes of this service and captures everything else, so nothing leaves the machine), direct (to the MX of each recipient) or relay.',
  ),
  relayUrl: setting(
    'MAILROOM_RELAY_URL',
    forms.relayUrl,
    { default: null, isSecret: true },
    'Server to which all mail is sent when delivery is relay, as smtp[s]://user:pass@host:port.',
  ),
  dnsServers: setting(
    'MAILROOM_DNS_SERVERS',
    forms.dnsServers,
    { default: null, meaning: "the system's" },
    'Resolvers as ip:port, separated by commas.',
  ),
  mxPort: setting(
    'MAILROOM_MX_PORT',
    forms.remotePort,
    { default: '25' },
    'Port of the recipients’ servers in direct delivery. Change it only for tests.',
  ),
  dkimRotationDays: setting(
    'MAILROOM_DKIM_ROTATION_DAYS',
    forms.days,
    { default: '180' },
    'How long a DKIM key signs mail before the next one replaces it, once DNS has had the next one for a day. 0 rotates keys only by `mailroom admin dkim rotate`.',
  ),
  authenticateInbound: setting(
    'MAILROOM_AUTHENTICATE_INBOUND',
    forms.flag,
    { default: 'true' },
    'Check incoming mail with SPF, DKIM and DMARC. Set false if a filter in front of the service has checked it and hides the addresses of its senders.',
  ),
  rejectDmarcFailures: setting(
    'MAILROOM_REJECT_DMARC_FAILURES',
    forms.flag,
    { default: 'true' },
    'Refuse mail that fails DMARC if the policy of its From domain is reject. If false, store it with the results of the checks.',
  ),
  readAttachments: setting(
    'MAILROOM_READ_ATTACHMENTS',
    forms.flag,
    { default: 'true' },
    'Read the text of attachments after mail has arrived, one file at a time in each process, so that messages, searches and views have it. If false, a file is read only when its text is requested.',
  ),
  rspamdUrl: setting(
    'MAILROOM_RSPAMD_URL',
    forms.collectorUrl,
    { default: null, meaning: 'no spam scanner' },
    'The rspamd that checks incoming mail for spam (POST /checkv2), such as http://127.0.0.1:11333. If it does not answer within 2 seconds, mail is stored without a spam score.',
  ),
  clamdUrl: setting(
    'MAILROOM_CLAMD_URL',
    forms.clamdUrl,
    { default: null, meaning: 'no virus scanner' },
    'The clamd that scans incoming mail (INSTREAM), as tcp://host:port or the path of its socket. Mail with malware goes to quarantine. If it does not answer within 2 seconds, mail is stored unscanned.',
  ),
  allowPrivateEgress: setting(
    'MAILROOM_ALLOW_PRIVATE_EGRESS',
    forms.flag,
    { default: 'false' },
    'Allow webhooks, images in mail and MX hosts at loopback and private addresses and at those of this machine, and webhooks over plain http.',
  ),
  bootstrapApiKey: setting(
    'MAILROOM_BOOTSTRAP_API_KEY',
    forms.apiKey,
    { default: null, meaning: 'generated and printed once', isSecret: true },
    'API key of the first account, 24 to 128 characters of A–Z, a–z, 0–9, _ and -.',
  ),
  bootstrapPlan: setting(
    'MAILROOM_BOOTSTRAP_PLAN',
    forms.oneOf(plans),
    { default: 'launch' },
    'Plan of the first account: free, developer or launch.',
  ),
  firstApprover: setting(
    'MAILROOM_FIRST_APPROVER',
    forms.oneOf(['key', 'machine']),
    { default: 'key' },
    'Who may create the first approver of an account: key (an API key of the account) or machine (only `mailroom admin approver create` on the machine of the service).',
  ),
  adminToken: setting(
    'MAILROOM_ADMIN_TOKEN',
    forms.bearerToken,
    { default: null, isSecret: true },
    'Bearer token of the operator for /admin and /metrics, which do not exist without it.',
  ),
  secretKey: setting(
    'MAILROOM_SECRET_KEY',
    forms.secretKey,
    {
      default: null,
      meaning:
        'with SQLite created at the first start, in `secret.key` in the data directory; with PostgreSQL none',
      isSecret: true,
    },
    'Encrypts the key of the secrets in the database, such as DKIM keys; without it they are lost. All processes on one PostgreSQL need the same one. PostgreSQL holds the secrets unencrypted until you set it.',
  ),
  tlsCert: setting(
    'MAILROOM_TLS_CERT',
    forms.path,
    { default: null, meaning: 'self-signed, created at the first start' },
    'PEM file with the certificate chain for STARTTLS. Needs MAILROOM_TLS_KEY.',
  ),
  tlsKey: setting(
    'MAILROOM_TLS_KEY',
    forms.path,
    { default: null, meaning: 'self-signed, created at the first start' },
    'PEM file with the private key of that certificate.',
  ),
  logLevel: setting(
    'MAILROOM_LOG_LEVEL',
    forms.oneOf(LOG_LEVELS),
    { default: 'info' },
    'Lowest level to log, trace to fatal, or silent. Logs are readable on a terminal and JSON otherwise.',
  ),
  metricsHost: setting(
    'MAILROOM_METRICS_HOST',
    forms.host,
    { default: '127.0.0.1' },
    'Address the metrics port listens on.',
  ),
  metricsPort: setting(
    'MAILROOM_METRICS_PORT',
    forms.listeningPort,
    { default: null },
    'Extra port for only /metrics, /health and /ready, even in processes without the role http; 0 takes any free one. /metrics needs the operator’s token and does not exist without one.',
  ),
  otlpEndpoint: setting(
    'MAILROOM_OTLP_ENDPOINT',
    forms.collectorUrl,
    { default: null, meaning: 'that of OTEL_EXPORTER_OTLP_ENDPOINT, otherwise none' },
    'Collector for traces (OTLP over HTTP): its base URL, such as http://127.0.0.1:4318.',
  ),
  traceShare: setting(
    'MAILROOM_TRACE_SHARE',
    forms.share,
    { default: '1' },
    'Share of traces to send, 0 to 1. Requests with a traceparent decide for themselves.',
  ),
} as const

export const LIMIT_SETTINGS = {
  apiPerMinute: setting(
    'MAILROOM_LIMIT_API_PER_MINUTE',
    forms.count,
    { default: '1000' },
    'API requests per account and minute, over all its keys and all processes.',
  ),
  failedAuthPerMinute: setting(
    'MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE',
    forms.count,
    { default: '60' },
    'Requests without a valid key per client address and minute, over all processes.',
  ),
  sendsPerMinute: setting(
    'MAILROOM_LIMIT_SENDS_PER_MINUTE',
    forms.count,
    { default: '10' },
    'Messages per inbox in any minute.',
  ),
  sendsPerDay: setting(
    'MAILROOM_LIMIT_SENDS_PER_DAY',
    forms.count,
    { default: '200' },
    'Messages per inbox in any 24 hours.',
  ),
  inboxesPerDay: setting(
    'MAILROOM_LIMIT_INBOXES_PER_DAY',
    forms.count,
    { default: '100' },
    'New inboxes per account in any 24 hours.',
  ),
  coldPerDay: setting(
    'MAILROOM_LIMIT_COLD_PER_DAY',
    forms.count,
    { default: '20' },
    'Recipients who never wrote to the inbox, per inbox younger than 30 days and UTC day.',
  ),
  coldAccountPerDay: setting(
    'MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY',
    forms.count,
    { default: null, meaning: 'by plan' },
    'The same over all inboxes of an account. Depending on the plan 30, 150 or 500; 100, 500 or 2,000 once the account is 30 days old.',
  ),
  heldPerInbox: setting(
    'MAILROOM_LIMIT_HELD_PER_INBOX',
    forms.count,
    { default: '100' },
    'Messages per inbox that wait for approval. Further ones are refused with rate_limit_exceeded.',
  ),
  reviewDays: setting(
    'MAILROOM_REVIEW_DAYS',
    forms.days,
    { default: '7' },
    'Days after which a message that waits for approval is rejected.',
  ),
  storedBytesPerAccount: setting(
    'MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT',
    forms.bytes,
    { default: '10737418240' },
    'Bytes of messages an account may store. At the quota, mail to its inboxes is refused with 552 5.2.2, and scheduled or held messages with rate_limit_exceeded. 0 means no quota.',
  ),
  importBytes: setting(
    'MAILROOM_LIMIT_IMPORT_BYTES',
    forms.bytes,
    { default: '1073741824' },
    'Size of an import file in bytes. A larger one is refused with 413.',
  ),
  uploadedBytesPerAccount: setting(
    'MAILROOM_LIMIT_UPLOADED_BYTES_PER_ACCOUNT',
    forms.bytes,
    { default: '1073741824' },
    'Bytes of uploads an account may have at a time. A further upload is refused with upload_limit_reached.',
  ),
} as const

export type Setting<T> = Readonly<{
  name: string
  form: Form<T>
  /** Text in the form of the setting; null if there is no default. */
  default: string | null
  /** The documented default, if `default` alone is unclear. */
  defaultMeaning: string
  /** A secret value never appears in a message or a log. */
  isSecret: boolean
  sentence: string
}>

type Options = { default: string | null; meaning?: string; isSecret?: boolean }

function setting<T>(
  name: string,
  form: Form<T>,
  options: Options & { default: string },
  sentence: string,
): Setting<T> & { default: string }
function setting<T>(
  name: string,
  form: Form<T>,
  options: Options & { default: null },
  sentence: string,
): Setting<T> & { default: null }
function setting<T>(name: string, form: Form<T>, options: Options, sentence: string): Setting<T> {
  return {
    name,
    form,
    default: options.default,
    defaultMeaning: options.meaning ?? options.default ?? 'none',
    isSecret: options.isSecret ?? false,
    sentence,
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Uses OpenTelemetry's own variable for the collector unless ours is given. */
export function withStandardNames(env: Environment): Environment {
  const { name } = SETTINGS.otlpEndpoint
  const isGiven = (env[name]?.trim() ?? '') !== ''
  return isGiven ? env : { ...env, [name]: env.OTEL_EXPORTER_OTLP_ENDPOINT }
}
