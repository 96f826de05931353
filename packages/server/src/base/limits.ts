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
/** How long a closed connection may still take our last reply and send what it had on its way. */
export const LINGER_MS_MAX = 5 * SECOND_MS
/** Message bytes held in memory over all connections; past it new DATA is answered 452. */
export const INTAKE_BYTES_MAX = 512 * MIB
/** RFC 5321 §6.3 suggests at least 100 for a limit of hops; peers of today use 50. */
export const RECEIVED_HEADERS_MAX = 50

// Parsing: what one message may cost.
/** Up to here a plain message is parsed on the main thread; beyond it a worker does. */
export const INLINE_PARSE_BYTES_MAX = 16 * KIB
export const MIME_PARTS_MAX = 1_000
export const MIME_DEPTH_MAX = 50
/** Lines of text and structure; those of files are never read one by one. */
export const MIME_LINES_MAX = 50_000
/**
 * Octets of all texts of a message together, as sent; a text beyond is kept as an attachment. Takes up
 * to twenty times as much memory while it is worked on, and V8 ends the process, not the thread, when
 * one allocation is too large.
 */
export const TEXT_BYTES_MAX = 4 * MIB
/** Header section of a message or part; real ones stay under 100 KiB. */
export const HEADER_BYTES_MAX = 256 * KIB
export const HEADER_FIELDS_MAX = 1_000
export const PARSE_MS_MAX = 2 * SECOND_MS
export const PARSE_HEAP_MIB_MAX = 192
export const PARSE_WORKERS_MAX = 2
export const PARSE_QUEUE_MAX = 500
/** Loading its modules takes a parser thread a tenth of a second; a busy machine makes it many. */
export const PARSE_THREAD_START_MS_MAX = 20 * SECOND_MS
/** Shorter lines of base64 count among MIME_LINES_MAX; encoders of today write 60 to 76 octets. */
export const BASE64_LINE_BYTES_MIN = 40
/** Charset labels whose decoders are remembered; senders make labels up. */
export const CHARSET_DECODERS_MAX = 256
/** Longer identifiers are compared by their SHA-256: PostgreSQL indexes at most 2,704 bytes. */
export const MESSAGE_ID_KEY_LENGTH_MAX = 250
/** In characters; an address beyond it is rubbish, and is not searched for quoted white space. */
export const ADDRESS_TEXT_LENGTH_MAX = 1_000
/** A file name as listed and downloaded, in characters; most file systems stop at 255 bytes. */
export const FILENAME_LENGTH_MAX = 200
/** Identifiers of a message that are looked up for its thread: the nearest, and the root. */
export const PARENTS_MAX = 100
export const REFERENCES_MAX = 1_000
/** HTML read for its text, in characters; the rest is left out. Real mail stays under 300,000. */
export const HTML_LENGTH_MAX = 1_000_000
/** Tags beyond which HTML is stripped, not parsed: building the tree of unclosed tags is quadratic. */
export const HTML_TAGS_MAX = 30_000
/** Newsletters nest tables a dozen deep, four elements each. */
export const HTML_DEPTH_MAX = 200
/** Quotes and lists within each other that still indent; each adds to every line within it. */
export const HTML_INDENTS_MAX = 8
/** A link's address longer than this, in characters, tells a reader nothing. */
export const HTML_LINK_LENGTH_MAX = 2_000
/** "On … wrote:" as wrapped by mail programs: lines, and characters over all of them. */
export const ATTRIBUTION_LINES_MAX = 4
export const ATTRIBUTION_LENGTH_MAX = 600
/** From, Sent, To, Cc, Subject above a quoted message, in lines with their continuations. */
export const QUOTED_HEADER_LINES_MAX = 24
/** A closing ("Kind regards") with more lines after it than this does not start a signature. */
export const SIGNATURE_LINES_MAX = 10
export const SIGNATURE_LINE_LENGTH_MAX = 120

// Storage.
/** Messages of an inbox under one Message-ID that an arriving one is compared with. */
export const SAME_ID_LOOKED_AT_MAX = 100
/** Raw messages up to this size live in the database, in the message's own transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * KIB
/** Messages of a thread read in one step where all of them are asked for. */
export const THREAD_STEP_MESSAGES = 100
/** Transactions that share one commit and one fsync. */
export const COMMIT_GROUP_MAX = 100
/** Senders that share a commit are back after this long: waiting for them makes fewer, larger ones. */
export const COMMIT_PAUSE_MS = 0.5
/** A commit that served fewer is followed by the next at once. */
export const COMMIT_PAUSE_GROUP_MIN = 3
/** Transactions waiting for the writer; past it a write is refused as unavailable. */
export const WRITE_QUEUE_MAX = 5_000
/** How long a write waits for another process that holds the embedded database. */
export const BUSY_TIMEOUT_MS = 2 * SECOND_MS
/** Rows removed in one step of a purge, so that a large deletion never holds up mail. */
export const PURGE_STEP_ROWS = 500
/** Of the embedded database: three messages of 2 KiB lie in a page, where 4 KiB hold one. */
export const DATABASE_PAGE_BYTES = 8 * KIB
/** Pages of the write-ahead log that make a checkpoint due: 16 MiB, on a small disk less. */
export const LOG_PAGES_MAX = 2_000
/**
 * Kept on disk to be given up when the disk is full, so that deleting still works: what is in the
 * write-ahead log and not yet in the database takes its size there, and the deletion adds to it.
 */
export const RESERVE_BYTES = 16 * MIB
export const POSTGRES_POOL_MAX = 10
/** Of those connections; writes that wait for each other's rows must leave some to readers. */
export const POSTGRES_WRITES_MAX = 7
/** How long a write waits for one of them before it is refused as unavailable. */
export const WRITE_WAIT_MS_MAX = 4 * SECOND_MS

// HTTP.
export const JSON_BODY_BYTES_MAX = MIB
export const JSON_DEPTH_MAX = 64
/** Values in one JSON body, so that neither they nor the list of what is wrong with them grow large. */
export const JSON_VALUES_MAX = 10_000
/** Wrong fields that one answer lists. */
export const ERROR_DETAILS_MAX = 20
/** Headers of a request arrive in one or two packets; a client that takes longer is a slow-loris. */
export const REQUEST_HEAD_MS_MAX = 20 * SECOND_MS
/** How often slow clients are looked for; it adds to the two times above. */
export const SLOW_CLIENT_CHECK_MS = SECOND_MS
export const KEEP_ALIVE_MS = 30 * SECOND_MS
/** Existing clients put file names of any length into paths; find-my-way's default is 100. */
export const PATH_PARAMETER_LENGTH_MAX = 4 * KIB
export const REQUEST_MS_MAX = 60 * SECOND_MS
/** Text and HTML longer than this, in UTF-16 units, are stored once beside the raw message. */
export const ROW_BODY_LENGTH_MAX = 64 * KIB
export const SIGNED_URL_MS = 15 * MINUTE_MS
/** Attachments read out of their messages at once: fewer than PARSE_WORKERS_MAX, so that mail goes on. */
export const ATTACHMENT_READS_AT_ONCE = 1
/** Each may hold MESSAGE_BYTES_MAX before it is counted among DOWNLOAD_BYTES_MAX. */
export const RAW_READS_AT_ONCE = 4
/** Downloads that wait for their turn, of either kind; they hold no content yet. */
export const DOWNLOADS_WAITING_MAX = 100
/** Content held for clients that read it; past it further downloads are refused as unavailable. */
export const DOWNLOAD_BYTES_MAX = 256 * MIB
/** Content kept for a client that asks for it range by range. */
export const DOWNLOAD_BYTES_KEPT = 64 * MIB
/** A client that takes in nothing of a download for this long gives up the content held for it. */
export const DOWNLOAD_IDLE_MS_MAX = 30 * SECOND_MS
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
/** Log lines that wait for a slow reader of standard output; past it lines are dropped. */
export const LOG_BUFFER_BYTES_MAX = 8 * MIB
