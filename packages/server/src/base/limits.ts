// Every bound of the service with its unit and its reason. Figures that an operator may change are
// settings (`config/settings.ts`); these are the ones that nobody should have to.

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

// SMTP in: what one client may ask of us.
/** RFC 5321 §4.5.3.1.7 asks for at least 64 KiB; attachments of today ask for more. */
export const MESSAGE_BYTES_MAX = 30 * MIB
/** RFC 5321 §4.5.3.1.4 asks for 512; extensions (SMTPUTF8, AUTH, long paths) add to it. */
export const COMMAND_LINE_BYTES_MAX = 4 * KIB
/** RFC 5321 §4.5.3.1.8 asks for at least 100. */
export const RECIPIENTS_MAX = 1_000
export const CONNECTIONS_MAX = 1_000
export const CONNECTIONS_PER_ADDRESS_MAX = 50
export const CONNECTION_MS_MAX = 20 * MINUTE_MS
/** RFC 5321 §4.5.3.2.7: a server waits at least five minutes for the next command. */
export const COMMAND_MS_MAX = 5 * MINUTE_MS
/** Below this a sender of DATA is a slow-loris; real links are hundreds of times faster. */
export const DATA_BYTES_PER_SECOND_MIN = 500
export const DATA_RATE_WINDOW_MS = MINUTE_MS
/** Commands that move no mail forward (NOOP, RSET, HELP, VRFY, errors) in one connection. */
export const IDLE_COMMANDS_MAX = 100
export const REFUSED_RECIPIENTS_MAX = 20
/** How long a greeting waits for a client that talks first. Longer costs connections a second. */
export const GREETING_DELAY_MS = 2
/** A client that does not read our replies is cut when this much waits for it. */
export const UNREAD_REPLY_BYTES_MAX = 64 * KIB
/** Message bytes held in memory over all connections; past it new DATA is answered 452. */
export const INTAKE_BYTES_MAX = 512 * MIB
/** RFC 5321 §6.3 suggests at least 100 for a limit of hops; peers of today use 50. */
export const RECEIVED_HEADERS_MAX = 50

// Parsing: what one message may cost.
/** Up to here a plain message is parsed on the main thread; beyond it a worker does. */
export const INLINE_PARSE_BYTES_MAX = 16 * KIB
export const MIME_PARTS_MAX = 1_000
export const MIME_DEPTH_MAX = 50
/** The parser takes up to 2.7 kB of memory a line that is not base64. */
export const MIME_LINES_MAX = 50_000
/** Header section of a message or part; real ones stay under 100 KiB. */
export const HEADER_BYTES_MAX = 256 * KIB
export const HEADER_FIELDS_MAX = 1_000
export const PARSE_MS_MAX = 2 * SECOND_MS
export const PARSE_HEAP_MIB_MAX = 192
export const PARSE_WORKERS_MAX = 2
export const PARSE_QUEUE_MAX = 500
/** A file name as listed and downloaded, in characters; most file systems stop at 255 bytes. */
export const FILENAME_LENGTH_MAX = 200
export const REFERENCES_MAX = 1_000

// Storage.
/** Raw messages up to this size live in the database, in the message's own transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * KIB
/** Transactions that share one commit and one fsync. */
export const COMMIT_GROUP_MAX = 100
/** Transactions waiting for the writer; past it a write is refused as unavailable. */
export const WRITE_QUEUE_MAX = 5_000
/** How long a write waits for another process that holds the embedded database. */
export const BUSY_TIMEOUT_MS = 2 * SECOND_MS
/** Rows removed in one step of a purge, so that a large deletion never holds up mail. */
export const PURGE_STEP_ROWS = 500
/** Kept on disk to be given up when the disk is full, so that deleting still works. */
export const RESERVE_BYTES = 2 * MIB
export const POSTGRES_POOL_MAX = 10

// HTTP.
export const JSON_BODY_BYTES_MAX = MIB
export const JSON_DEPTH_MAX = 64
/** Existing clients put file names of any length into paths; find-my-way's default is 100. */
export const PATH_PARAMETER_LENGTH_MAX = 4 * KIB
export const REQUEST_MS_MAX = 60 * SECOND_MS
export const PAGE_SIZE_DEFAULT = 50
export const PAGE_SIZE_MAX = 100
export const SIGNED_URL_MS = 15 * MINUTE_MS
/** Addresses and accounts that the rate limiters remember; the oldest is forgotten first. */
export const LIMITER_ENTRIES_MAX = 10_000

// Accounts.
export const ACTIVE_KEYS_MAX = 20
/** How long an address freed by deleting its inbox stays with its account. */
export const RELEASED_ADDRESS_MS = 30 * DAY_MS
export const POSTMASTER_MAIL_MS = 30 * DAY_MS
export const EVENT_MS = 30 * DAY_MS

// Life cycle.
/** SIGTERM to exit, within the ten seconds that are promised. */
export const DRAIN_MS = 8 * SECOND_MS
export const RETRY_AFTER_SECONDS = 2
