// Every bound of the service with its unit and its reason. Figures that an operator may change are
// settings (`config/settings.ts`); these are the ones that nobody should have to.

const KIB = 1024
const MIB = 1024 * KIB
export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
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
export const INTAKE_BYTES_MAX = 256 * MIB
/** Of these, from one address: others go on while it floods. */
export const INTAKE_BYTES_PER_ADDRESS_MAX = 128 * MIB
/** RFC 5321 §6.3 suggests at least 100 for a limit of hops; peers of today use 50. */
export const RECEIVED_HEADERS_MAX = 50
/** X-Loop fields that are read: more than the hops that may each have added one. */
export const LOOP_MARKS_MAX = 100
/** In characters; the service's own have 26. */
export const LOOP_MARK_LENGTH_MAX = 100

// SMTP out: what one server may make us wait for or keep.
/** RFC 5321 §4.5.3.1.5 asks for 512 octets of a reply's line; servers of today write longer ones. */
export const REPLY_LINE_BYTES_MAX = 2 * KIB
export const REPLY_LINES_MAX = 100
export const REPLY_BYTES_MAX = 64 * KIB
/** Of a reply's text kept with a delivery, in characters. */
export const REPLY_TEXT_LENGTH_MAX = 1_000
export const SMTP_CONNECT_MS_MAX = 30 * SECOND_MS
export const SMTP_HANDSHAKE_MS_MAX = MINUTE_MS
/** RFC 5321 §4.5.3.2.1. */
export const SMTP_GREETING_MS_MAX = 5 * MINUTE_MS
/** RFC 5321 §4.5.3.2.2 and 3, for every other command as well. */
export const SMTP_REPLY_MS_MAX = 5 * MINUTE_MS
/** RFC 5321 §4.5.3.2.4. */
export const SMTP_DATA_MS_MAX = 2 * MINUTE_MS
/** RFC 5321 §4.5.3.2.5: for each SMTP_BLOCK_BYTES of content to be taken. */
export const SMTP_BLOCK_MS_MAX = 3 * MINUTE_MS
export const SMTP_BLOCK_BYTES = 64 * KIB
/** All blocks together: a server that reads octet by octet must not hold its place for days. */
export const SMTP_CONTENT_MS_MAX = HOUR_MS
/** RFC 5321 §4.5.3.2.6: a shorter wait after the final dot makes duplicates. */
export const SMTP_FINAL_DOT_MS_MAX = 10 * MINUTE_MS
/** How long a server may take to answer QUIT; nothing depends on it. */
export const SMTP_QUIT_MS_MAX = 2 * SECOND_MS

// Parsing: what one message may cost.
/** Up to here a plain message is parsed on the main thread; beyond it a worker does. */
export const INLINE_PARSE_BYTES_MAX = 16 * KIB
/** Header section of a message or part; real ones stay under 100 KiB. */
export const HEADER_BYTES_MAX = 256 * KIB
export const HEADER_FIELDS_MAX = 1_000
/** Of processor time, for one message. */
export const PARSE_MS_MAX = 2 * SECOND_MS
/** How many times a limit of processor time the clock may show: what else the machine does. */
export const PARSE_WALL_FACTOR = 5
export const PARSE_HEAP_MIB_MAX = 192
export const PARSE_WORKERS_MAX = 2
export const PARSE_QUEUE_MAX = 500
/** Loading its modules takes a parser thread a tenth of a second; a busy machine makes it many. */
export const PARSE_THREAD_START_MS_MAX = 20 * SECOND_MS
/** Charset labels whose decoders are remembered; senders make labels up. */
export const CHARSET_DECODERS_MAX = 256
/** Longer identifiers are compared by their SHA-256: PostgreSQL indexes at most 2,704 bytes. */
export const MESSAGE_ID_KEY_LENGTH_MAX = 250
/** In characters; an address beyond it is rubbish, and is not searched for quoted white space. */
export const ADDRESS_TEXT_LENGTH_MAX = 1_000
/** RFC 1035 §2.3.4: 255 octets on the wire are 253 of text. */
export const DOMAIN_LENGTH_MAX = 253
/** A file name as listed and downloaded, in characters; most file systems stop at 255 bytes. */
export const FILENAME_LENGTH_MAX = 200
/** Identifiers of a message that are looked up for its thread: the nearest, and the root. */
export const PARENTS_MAX = 100
/** Read of one field: as many as a header of 64 KiB holds, as replies of this service have it. */
export const REFERENCES_MAX = 10_000
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

// The view for a model: what making it may cost. HTML is bounded as it is for its text.
/** For one message, from when a thread takes it up; what takes longer is shown as its plain text. */
export const VIEW_MS_MAX = 1_500
/** Of the text of one message, in UTF-16 units. */
export const VIEW_TEXT_LENGTH_MAX = 1_000_000
/** Of all messages of a view, text and HTML together; more than one message has. Past it they are cut. */
export const VIEW_THREAD_LENGTH_MAX = 6_000_000
/** Messages of a thread in one view: the newest, in steps, so that offsets stay good between them. */
export const VIEW_MESSAGES_MAX = 100
export const VIEW_MESSAGES_STEP = 50
/** Of one tag: a parser compares each with all before it. */
export const VIEW_ATTRIBUTES_MAX = 200
/** Of the style sheets of a message, in characters; real ones stay under 60,000. */
export const VIEW_STYLE_LENGTH_MAX = 256 * KIB
export const VIEW_RULES_MAX = 5_000
/** Comparisons of a rule with an element; past it no further element meets a rule. */
export const VIEW_RULE_TESTS_MAX = 500_000
/** Selectors that the tree is searched for one by one. */
export const VIEW_COMPLEX_SELECTORS_MAX = 20
/** A longer address is shortened, to about as many characters as are kept. */
export const VIEW_LINK_LENGTH_MAX = 48
export const VIEW_LINK_KEPT = 20
/** Of a field such as Subject, in code points, and of a list of addresses, entries. */
export const VIEW_FIELD_LENGTH_MAX = 500
export const VIEW_ADDRESSES_MAX = 20
export const VIEW_ATTACHMENTS_MAX = 50
/** 128 bits: no mail can hold what it cannot guess. */
export const VIEW_NONCE_BYTES = 16
/** "On … wrote:" as wrapped by mail programs: lines, and characters over all of them. */
export const ATTRIBUTION_LINES_MAX = 4
export const ATTRIBUTION_LENGTH_MAX = 600
/** From, Sent, To, Cc, Subject above a quoted message, in lines with their continuations. */
export const QUOTED_HEADER_LINES_MAX = 24
/** A closing ("Kind regards") with more lines after it than this does not start a signature. */
export const SIGNATURE_LINES_MAX = 10
export const SIGNATURE_LINE_LENGTH_MAX = 120
/** Read of a delivery report, in octets; what it says comes before the message that it returns. */
export const REPORT_BYTES_MAX = 1 * MIB
/** A report read where it stands, in octets: a millisecond or two, however it is made. */
export const REPORT_INLINE_BYTES_MAX = 4 * KIB
/** A field of a report's header as far as it is read, in characters. */
export const REPORT_FIELD_LENGTH_MAX = 8_000
/** Of the words of a report; what a person is to read is shorter. */
export const REPORT_LINES_MAX = 5_000
/** A line of a report as far as it is read, in characters; one reply of a server is shorter. */
export const REPORT_LINE_LENGTH_MAX = 2_000
/** Words in which codes and reasons are looked for, in characters; for each recipient anew. */
export const REPORT_WORDS_LENGTH_MAX = 8_000
/** Lines of a report that may belong to what is said of one recipient. */
export const REPORT_REASON_LINES_MAX = 40

// Codes and links of a message.
/** Of the text and of the HTML as far as they are looked at, in characters; less than an event tells. */
export const EXTRACTED_TEXT_LENGTH_MAX = 32 * KIB
export const EXTRACTED_HTML_LENGTH_MAX = 128 * KIB
/** Of laid-out HTML; those of real mail are fewer. */
export const EXTRACTED_HTML_LINES_MAX = 5_000
/** Links that are looked at, and those that are told. */
export const EXTRACTED_LINKS_SEEN_MAX = 1_000
export const EXTRACTED_LINKS_MAX = 50
/** In characters; signed links of today have a thousand. */
export const EXTRACTED_URL_LENGTH_MAX = 4_000
export const EXTRACTED_CODES_MAX = 10
/** Of the line that a code stands in, in code points. */
export const EXTRACTED_SOURCE_LENGTH_MAX = 200
/** Of what was found in messages lately, kept for those who read them again. */
export const EXTRACTED_BYTES_KEPT = 4 * MIB
/** Codes and links of several messages are looked for as long as this before others have their turn. */
export const EXTRACTING_TURN_MS = 8

// DNS and the routes of outgoing mail.
/** Half of what a lookup takes at most, over all tries and servers. */
export const DNS_TRY_MS_MAX = 5 * SECOND_MS
/** Until a question is asked anew; each further round of the servers waits twice as long as the one before. */
export const DNS_FIRST_TRY_MS = 400
/** Offered for answers by UDP: fits every path unfragmented (DNS flag day 2020); larger come by TCP. */
export const DNS_UDP_BYTES_MAX = 1_232
/** Resolvers of today stop at 8 to 16. */
export const DNS_ALIASES_MAX = 8
/** Each holds a socket for every try, up to five; further ones wait for their turn. */
export const DNS_QUERIES_AT_ONCE = 256
/** Of those, names of one registered domain: its servers may all be silent. */
export const DNS_QUERIES_OF_DOMAIN = 32
/** How long an answer is kept, whatever its TTL: keys and policies change while mail comes in. */
export const DNS_KEPT_MS_MAX = HOUR_MS
/** RFC 2308 §5 allows hours; somebody who has just published a record waits for this. */
export const DNS_NONE_KEPT_MS_MAX = 5 * MINUTE_MS
/** Answers kept of one record type, and the characters of all of them. */
export const DNS_KEPT_MAX = 20_000
export const DNS_KEPT_CHARACTERS_MAX = 8_000_000
/** A question unanswered for this long has it asked whether DNS answers at all. */
export const DNS_SILENCE_MS = SECOND_MS

// Who sent an arriving message.
/** All of it; its sender waits. */
export const AUTHENTICATE_MS_MAX = 5 * SECOND_MS
/** SPF and signatures, so that there is time to see what follows from them. */
export const AUTHENTICATE_CHECK_MS_MAX = 4_500
/**
 * Questions that the SPF records of a message have asked: ten terms may ask for ten hosts each, real ones
 * ask for up to thirty. With its keys and policies a message asks for some sixty.
 */
export const SPF_QUESTIONS_MAX = 40
/** Half of what a question takes at most. */
export const AUTHENTICATE_DNS_TRY_MS_MAX = 2 * SECOND_MS
/** Signatures of a message, and sets of its ARC chain, that are looked at; real mail has up to six. */
export const SIGNATURES_CHECKED_MAX = 10
/** Shown of a message's signatures; those past it are not told of. */
export const SIGNATURES_SHOWN_MAX = 30
/** Read of the value of an identifier of a sender, in characters: a domain, or a selector before one. */
export const IDENTIFIER_LENGTH_MAX = 253
/**
 * Of the thread that checks signatures: its heap in all, and the part for what is new, of which each
 * message makes half a mebibyte.
 */
export const SIGNATURE_HEAP_MIB_MAX = 96
export const SIGNATURE_YOUNG_MIB_MAX = 48
/** Hashed at a time, so that small messages need not wait for a large one. */
export const SIGNATURE_STEP_BYTES = 256 * KIB
/** Octets of messages in that thread at once, those of one message aside; further ones wait. */
export const SIGNATURE_BYTES_AT_ONCE = 64 * MIB
/** Messages up to this have such a share of their own, so that large ones do not keep them waiting. */
export const SIGNATURE_SMALL_BYTES_MAX = 256 * KIB
/** How long the thread may take to load. */
export const SIGNATURE_LOAD_MS_MAX = 10 * SECOND_MS
/** So long does the thread do one thing at most, which is a matter of 0.1 s, until it is ended. */
export const SIGNATURE_SILENT_MS_MAX = 2 * SECOND_MS
/** How often it is asked for a sign of life while it has work. */
export const SIGNATURE_LOOK_MS = 500
/** For all keys of a message at once, so that there is time to verify with those that came. */
export const SIGNATURE_KEYS_MS_MAX = 4 * SECOND_MS
/**
 * What signatures are checked in; beyond it their verifier takes time that grows with the square. Lines of
 * the header section; white space in one stretch of it, with the line ends, and carriage returns of their
 * own, which no mail has; From fields; names in h=; ways to hash the body, of which real mail uses two;
 * octets of a line of the body, and its lines, of which 30 MiB in base64 have 400,000.
 */
export const SIGNATURE_HEADER_LINES_MAX = 2_000
export const SIGNATURE_SPACE_LENGTH_MAX = 250
export const SIGNATURE_LONE_RETURNS_MAX = 100
export const SIGNATURE_FROM_LENGTH_MAX = 16 * KIB
export const SIGNATURE_NAMES_MAX = 200
export const SIGNATURE_BODY_HASHES_MAX = 2
export const SIGNATURE_BODY_LINE_BYTES_MAX = 100 * KIB
export const SIGNATURE_BODY_LINES_MAX = 1_000_000
/** A record that publishes a key, in characters; one with 4096 bits has 800. */
export const SIGNATURE_KEY_LENGTH_MAX = 4 * KIB
/** Records under one name that are looked at. */
export const SIGNATURE_KEY_RECORDS_MAX = 10
/** Answers with keys that the thread keeps, in characters. */
export const SIGNATURE_KEYS_CHARACTERS_MAX = MIB
/** Keys that a thread keeps read, and answers of DNS that the one for signatures keeps by itself. */
export const SIGNATURE_KEYS_KEPT_MAX = 1_000
export const SIGNATURE_KEY_KEPT_MS_MAX = 5 * SECOND_MS
/** Outcomes of SPF and DMARC kept for mail that is alike, for as long as the records they stand on. */
export const AUTHENTICATE_OUTCOMES_KEPT_MAX = 10_000
/** Of what those outcomes are kept by, in characters. */
export const AUTHENTICATE_OUTCOMES_CHARACTERS_MAX = 2 * MIB

/** RFC 5321 §5.1 asks for at least two to be tried. */
export const ROUTE_ADDRESSES_MAX = 5
/** Of one host where there are several, so that its addresses cannot keep its substitutes untried. */
export const ROUTE_HOST_ADDRESSES_MAX = 3
/** Hosts whose addresses are asked for until ROUTE_ADDRESSES_MAX are known. */
export const ROUTE_HOSTS_LOOKED_UP_MAX = 10
/** No further host is looked up after this long; what is known by then must do. */
export const ROUTE_LOOKUP_MS_MAX = 30 * SECOND_MS
/** How long a route or a definite refusal is kept, whatever its TTL. */
export const ROUTE_VALID_MS_MIN = 10 * SECOND_MS
export const ROUTE_VALID_MS_MAX = 5 * MINUTE_MS
/** A fault is kept so long that a burst of mail to one destination asks once. */
export const ROUTE_FAULT_MS = 5 * SECOND_MS
export const ROUTES_KEPT_MAX = 10_000

// MTA-STS (RFC 8461).
/** RFC 8461 §3.3 suggests 64 KiB and one minute; mail waits for it, so less. */
export const STS_POLICY_BYTES_MAX = 64 * KIB
export const STS_FETCH_MS_MAX = 10 * SECOND_MS
/** Real policies list a dozen. */
export const STS_PATTERNS_MAX = 100
/** The TXT lookup runs beside that of MX, and mail waits no longer for it. */
export const STS_RECORD_WAIT_MS_MAX = 3 * SECOND_MS
/** RFC 8461 §3.2: about one year. */
export const STS_MAX_AGE_SECONDS_MAX = 31_557_600
/** RFC 8461 §3.3: how long a policy that could not be had is not asked for again. */
export const STS_FAILURE_MS = 5 * MINUTE_MS
export const STS_POLICIES_KEPT_MAX = 2_000

// Composing: what a message that is sent may hold.
/** RFC 5322 §2.1.1 allows lines of 998; what cannot be folded leaves room for the field's name. */
export const HEADER_WORD_LENGTH_MAX = 900
export const SUBJECT_LENGTH_MAX = 998
/** Of a quoted message, in characters with the quote's marks; the rest is left out. */
export const QUOTED_TEXT_LENGTH_MAX = 256 * KIB
export const QUOTED_HTML_LENGTH_MAX = 512 * KIB
export const QUOTED_LINES_MAX = 10_000
/** HTML of more is quoted as text: the parser moves all open elements with each new one. */
export const QUOTED_TAGS_MAX = 10_000
/** Of who is quoted, in characters. */
export const QUOTED_NAME_LENGTH_MAX = 200
/** In characters; RFC 2392 gives no bound, and a field has to hold it on one line. */
export const CONTENT_ID_LENGTH_MAX = 250
/** Of an attachment's content type; further ones, and longer ones, are left out. */
export const CONTENT_TYPE_PARAMETERS_MAX = 10
export const CONTENT_TYPE_PARAMETER_LENGTH_MAX = 100
/** HTML of a send that is laid out or quoted on the main thread, in characters: 10 ms at worst. */
export const INLINE_HTML_LENGTH_MAX = 8 * KIB
/** Of a message, encoded, hashed or copied before other work has its turn: some 5 ms. */
export const COMPOSE_STEP_BYTES = MIB

// Storage.
/** Messages of an inbox under one Message-ID that an arriving one is compared with. */
export const SAME_ID_LOOKED_AT_MAX = 100
/** Raw messages up to this size live in the database, in the message's own transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * KIB
/** How long bytes without a message stay in the blob store: whoever stored them may be at it yet. */
export const ORPHAN_MS = DAY_MS
/** How often bytes without a message are looked for: a folder is read for nothing, a bucket's pages are paid for. */
export const DISK_SWEEP_MS = HOUR_MS
export const S3_SWEEP_MS = DAY_MS
/** From storing bytes to the commit that refers to them. Far below ORPHAN_MS; past it they are given up. */
export const BLOB_COMMIT_MS_MAX = HOUR_MS
/** One request to the S3 server, with the wait for its turn: 30 MiB at 1 MiB a second. */
export const S3_REQUEST_MS_MAX = 30 * SECOND_MS
export const S3_CONNECT_MS_MAX = 5 * SECOND_MS
/** Requests for one thing, the first included. */
export const S3_TRIES_MAX = 3
/** Where the first took longer there is no other: a sender waits for all of them. */
export const S3_RETRY_MS_MAX = 10 * SECOND_MS
/** Before the second request, and four times it before the third. */
export const S3_RETRY_PAUSE_MS = 200
/** Of a process; further requests wait for their turn. */
export const S3_CONNECTIONS_MAX = 32
/** An answer past it is none of ours: no stored message is larger than MESSAGE_BYTES_MAX. */
export const S3_ANSWER_BYTES_MAX = 64 * MIB
/** Names asked for at once, as many as S3 gives. */
export const S3_PAGE_NAMES = 1_000
/** Blobs removed, or copied for a backup, at once. */
export const BLOBS_AT_ONCE_MAX = 8
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
/** A write that has waited for so long says that the store does not keep up. */
export const STRAINED_WRITE_MS = 3 * SECOND_MS
/** Then no more writes are taken on than ended in so long, which is what the last of them will wait. */
export const WRITES_COUNTED_SECONDS = 5
/** And so many where fewer did: a burst on a machine that has just become busy. */
export const STRAINED_WRITES_MIN = 32
/** SMTP connections while the store does not keep up; further ones are turned away at the greeting. */
export const STRAINED_CONNECTIONS_MAX = 200
/** Failed writes in a row after which it is taken for away, and how often it is tried then. */
export const STORE_FAILURES_MAX = 3
export const STORE_PROBE_MS = SECOND_MS / 2
/** Where the last failure is longer ago nobody tries: it is taken for there again. */
export const STORE_AWAY_MS = 10 * SECOND_MS
/** Rows removed in one step of a purge, so that a large deletion never holds up mail. */
export const PURGE_STEP_ROWS = 500
/** Of a step's time, between two of them: a purge has a quarter of the writer's time. */
export const PURGE_PAUSE_FACTOR = 3
/** Where the store stands still, no longer. */
export const PURGE_PAUSE_MS_MAX = SECOND_MS
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
/** How long a write waits for one of them before it is refused as busy. */
export const WRITE_WAIT_MS_MAX = 7 * SECOND_MS
/** Transactions under way that one account's writes of a kind are grouped into; further ones wait for the next. */
export const WRITE_GROUPS_EACH_MAX = 1
/** Writes that share a transaction on PostgreSQL: past it a group takes longer and saves no more. */
export const WRITE_GROUP_MAX = 50
/** Of such a group, by what it sends, unless its first has more by itself. */
export const WRITE_GROUP_BYTES_MAX = 2 * MIB
/** A write that sends more by itself is not grouped: what a group sends is in memory as one text. */
export const WRITE_GROUPED_BYTES_MAX = 8 * MIB
/** Queries of one kind that look up a key each, and keys that one of them asks for. */
export const LOOKUPS_UNDER_WAY_MAX = 2
export const LOOKED_UP_TOGETHER_MAX = 100

// DKIM.
/** Of a body, hashed before other work has its turn: 4 ms. */
export const DKIM_BODY_STEP_BYTES = MIB
/** As many as Node's thread pool has threads. */
export const SIGNATURES_AT_ONCE = 4
/** RFC 5322 §2.1.1 asks for at most 78; a piece that cannot be folded, such as d=, may exceed it. */
export const DKIM_LINE_LENGTH_MAX = 76
/** How long a process may go on signing with a key that another has retired, which is still published. */
export const DKIM_KEY_LOOK_MS = 10 * SECOND_MS
/** Domains whose key is kept opened. */
export const DKIM_SIGNERS_KEPT_MAX = 500
/**
 * How long a key stays published that signs no more: mail waits 48 hours here and as long at relays
 * behind us, is verified when it arrives, and by some when it is read.
 */
export const DKIM_RETIRING_MS = 7 * DAY_MS
/**
 * Between the first sight of a record and the first use of its key: caches and slow name servers may
 * give for as long what stood under the selector before.
 */
export const DKIM_SETTLING_MS = DAY_MS
/** Keys made at once, each with one of the four threads that also sign mail. */
export const DKIM_KEYS_MADE_AT_ONCE = 2
/** Domains whose rotation is looked at by one query, and those whose DNS is asked at once. */
export const DKIM_ROTATION_STEP = 100
export const DKIM_LOOKS_AT_ONCE = 32
/** Of one look by the background: who is slower is looked at an hour later. */
export const DKIM_LOOK_MS_MAX = 5 * SECOND_MS

// HTTP.
export const JSON_BODY_BYTES_MAX = MIB
/** A body that carries files: 25 MiB of them in base64, and texts. */
export const LARGE_BODY_BYTES_MAX = 36 * MIB
/** A message of the Model Context Protocol: models send along small files at most. */
export const MCP_BODY_BYTES_MAX = 4 * MIB
/** Open connections: WAITERS_MAX requests that wait, and as many others. */
export const HTTP_CONNECTIONS_MAX = 20_000
/** Smaller bodies, over all requests that are not answered yet; past it further ones are put off. */
export const SMALL_BODIES_BYTES_MAX = 128 * MIB
/** Of LARGE_BODIES_BYTES_MAX, for one account: others go on while it sends much. */
export const LARGE_BODIES_BYTES_EACH_MAX = 128 * MIB
/** Bodies over JSON_BODY_BYTES_MAX that come in or wait for a turn; past it further ones are put off. */
export const LARGE_BODIES_BYTES_MAX = 256 * MIB
/** Large bodies that are worked on: one of 24 MB takes some 150 MB until it is on disk. */
export const LARGE_BODIES_AT_ONCE = 2
/** How long one waits for its turn before it is put off; one takes half a second. */
export const LARGE_BODY_WAIT_MS_MAX = 30 * SECOND_MS
/** Content of all files that one request sends along. */
export const FILES_BYTES_MAX = 25 * MIB
/** 100 files, 50 copied recipients and the fields that come once. */
export const FORM_PARTS_MAX = 200
export const FORM_PART_HEAD_BYTES_MAX = 16 * KIB
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255
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
/** Addresses and accounts that the rate limiters remember; the oldest is forgotten first. */
export const LIMITER_ENTRIES_MAX = 10_000

// Words between processes.
/** Characters of one: a name and what it is about. Past it, it is not sent. */
export const SIGNAL_TEXT_LENGTH_MAX = 500
/** Octets of those that go together; a message of NOTIFY has fewer than 8,000, and names its sender. */
export const SIGNAL_BYTES_MAX = 7_000
/** Those that wait; past it they are lost. */
export const SIGNALS_WAITING_MAX = 10_000

// Limits that processes share.
/** How long a process may use what it holds without renewing that it is there, and when it renews. */
export const BUDGET_LEASE_MS = 30 * SECOND_MS
export const BUDGET_RENEW_MS = 10 * SECOND_MS
/** Of its lease a process leaves this much unused, for clocks that do not run quite alike. */
export const BUDGET_LEASE_SPARE_MS = 2 * SECOND_MS
/** A share of it that nobody here asked for so long goes back. */
export const BUDGET_IDLE_MS = 10 * SECOND_MS
/** How long whoever finds nothing free waits for what others give back, and between looks at that. */
export const BUDGET_WAIT_MS_MAX = SECOND_MS
export const BUDGET_LOOK_MS = 100
export const BUDGET_LOOKS_MIN = 10
/** How long whoever finds all places taken waits for one that is being given back. */
export const PLACE_WAIT_MS = 200
/** How long after a shortage everybody is given what is wanted at once and nothing in advance. */
export const BUDGET_SHORT_MS = SECOND_MS
/** In advance a process is given one of so many parts of what is free for each that holds some. */
export const BUDGET_SLICE_PART = 2
/** Used tokens that change hands rest this much longer: clocks of processes are not quite one. */
export const BUDGET_HANDOVER_MS = 250
/** To how many milliseconds their times are rounded up, so that a thousand are a few hundred times. */
export const BUDGET_COOLING_STEP_MS = 100
/** Budgets of one transaction. */
export const BUDGET_ASKS_AT_ONCE = 100
/** How long after its last change a record is looked at to be removed; more than any window. */
export const BUDGET_RECORD_MS = 10 * MINUTE_MS
export const BUDGET_SWEEP_MS = MINUTE_MS

// The console.
/** From signing in to the end of the session. */
export const SESSION_MS = 12 * HOUR_MS
/** How long there is to approve a client, and how many may wait for it over all addresses. */
export const PAIRING_MS = 10 * MINUTE_MS
export const PAIRINGS_PENDING_MAX = 10_000
/** From one address; a client polls every two to five seconds, and several may share an address. */
export const PAIRING_STARTS_PER_MINUTE_MAX = 10
export const PAIRING_POLLS_PER_MINUTE_MAX = 60
/** Codes that an account looks up, approves and denies: a person types a few, a guesser needs billions. */
export const PAIRING_LOOKS_PER_MINUTE_MAX = 20
/** Between looks at the log of events for what is to be counted, and events of one look. */
export const STATS_LOOK_MS = 2 * SECOND_MS
export const STATS_STEP_EVENTS = 500
/** How long hourly figures are kept: a year and a month to compare it with. */
export const MAIL_HOURS_MS = 400 * DAY_MS
/** Of a mail's HTML as it is shown, in characters: of HTML_LENGTH_MAX, with what is added to it. */
export const SHOWN_HTML_LENGTH_MAX = 4_000_000
/** Of an image of another host, in octets; newsletters stay under one mebibyte. */
export const IMAGE_BYTES_MAX = 5 * MIB
/** From looking up the name to its last octet, over all redirections. */
export const IMAGE_MS_MAX = 10 * SECOND_MS
export const IMAGE_REDIRECTS_MAX = 3
/** Fetched by a process at once, and for one account: each may hold IMAGE_BYTES_MAX. */
export const IMAGES_AT_ONCE = 16
export const IMAGES_PER_ACCOUNT_AT_ONCE = 8
/** Of one account, until it is their turn: more than a newsletter has. */
export const IMAGES_WAITING_MAX = 200

// Accounts.
export const ACTIVE_KEYS_MAX = 20
/** How long an address freed by deleting its inbox stays with its account. */
export const RELEASED_ADDRESS_MS = 30 * DAY_MS
export const POSTMASTER_MAIL_MS = 30 * DAY_MS
export const QUARANTINE_MS = 30 * DAY_MS
export const SENDER_RULES_PER_ACCOUNT_MAX = 10_000
export const EVENT_MS = 30 * DAY_MS

// Sending.
/** How long a send is answered again under its idempotency key. */
export const IDEMPOTENCY_MS = DAY_MS
/** Clocks of several processes differ; a stamp further in the future was written by a wrong clock. */
export const CLOCK_SKEW_MS = 5 * MINUTE_MS
/** An inbox or account younger than this has the caps of a young one on strangers. */
export const YOUNG_MS = 30 * DAY_MS
/** Octets of a composed message. */
export const SENT_BYTES_MAX = 25 * MIB
/**
 * Times that a reply is composed anew because its thread got a message meanwhile: as many replies as
 * an inbox may send in a minute, and some mail that arrives between them.
 */
export const COMPOSE_ATTEMPTS_MAX = 12
/** Messages of a thread among which the one that copied the inbox is looked for. */
export const THREAD_COPIES_LOOKED_AT_MAX = 1_000
/** How long a return path takes reports: later than that no server tells of a message. */
export const RETURN_PATH_MS = 30 * DAY_MS
/** For the outcome of our own attempt to be recorded, which its report may overtake. */
export const REPORT_WAIT_MS_MAX = 3 * SECOND_MS
export const REPORT_LOOK_MS = 50
/** Recipients that one report tells of; the service sends to no more at once. */
export const REPORT_RECIPIENTS_MAX = 100

/** Answers to programs that a thread takes in any stretch of AUTOMATIC_SENDS_MS. */
export const AUTOMATIC_SENDS_MAX = 10
export const AUTOMATIC_SENDS_MS = HOUR_MS
/** Messages of a thread among which automatic ones are looked for: a burst of them and its answers. */
export const AUTOMATIC_SENDS_LOOKED_AT_MAX = 64
/** Of a token in a link to unsubscribe: one for the longest address has some 600. */
export const UNSUBSCRIBE_TOKEN_LENGTH_MAX = 1_000
/** Uses of such links from one address in a minute: a large provider posts for all its users. */
export const UNSUBSCRIBES_PER_MINUTE_MAX = 600
/** How long a captured message is kept, and counters of strangers. */
export const CAPTURED_MS = 30 * DAY_MS

// Processes that share a database.
/** How long work that one process does for all stays with one that is not heard of any more. */
export const DUTY_LEASE_MS = 30 * SECOND_MS
/** What is done under such a lease is told to end when this is left of it. */
export const DUTY_LEASE_LEFT_MS_MIN = 5 * SECOND_MS
/** How often each process looks for such work that nobody has; with the lease, less than a minute. */
export const DUTY_LOOK_MS = 5 * SECOND_MS
/** When work that is due once an hour is tried again after it failed. */
export const DUTY_RETRY_MS = MINUTE_MS
/**
 * A migration that waits for a lock has everybody else wait behind it. Longer than PostgreSQL's
 * deadlock_timeout: only after that does it cancel an autovacuum that is in the way.
 */
export const MIGRATION_LOCK_MS_MAX = 1.5 * SECOND_MS
/** Then it lets them go on, and tries again for some minutes. */
export const MIGRATION_RETRY_MS = 2 * SECOND_MS
export const MIGRATION_TRIES_MAX = 100
/** How often a process looks whether another one has ended its migrations. */
export const MIGRATION_TURN_MS = 100
/** How often a process looks whether the schema is still one that it works with. */
export const SCHEMA_LOOK_MS = 10 * SECOND_MS

// Delivering.
/** `to`, fifty `cc` and whoever copied the inbox. */
export const MESSAGE_RECIPIENTS_MAX = 52
/** How long a recipient is tried. */
export const DELIVERY_MS_MAX = 2 * DAY_MS
/** A process that stood still for longer is late; less is the measuring. */
export const SHARED_CLOCK_DRIFT_MS = 2 * SECOND_MS
/** A lease that ends sooner is renewed before anything is sent under it. */
export const LEASE_LEFT_MS_MIN = 10 * SECOND_MS
/** After the last attempt's time nothing is sent any more, whatever came in between. */
export const DELIVERY_GRACE_MS = HOUR_MS
/** Attempts that may end without an answer to the final dot. */
export const AMBIGUOUS_ATTEMPTS_MAX = 3
/** How long a delivery stays with a process that is not heard of any more. */
export const DELIVERY_LEASE_MS = MINUTE_MS
/**
 * Deliveries that an account gets leased past those of others, while it has fewer: as many as its fair
 * part of a lane's transactions can be. Leased so beyond HELD_MAX and its like, over all accounts.
 */
export const ACCOUNT_HELD_START = 20
export const ACCOUNTS_HELD_MAX = 1_000
/** Accounts that one look finds, those that it gets deliveries for, and lanes of each that it sees. */
export const ACCOUNTS_LOOKED_AT_MAX = 200
export const ACCOUNTS_SERVED_AT_ONCE = 20
export const ACCOUNT_LANES_LOOKED_AT_MAX = 20
/** A process that holds fewer has no lane that is full: nobody is kept from anything. */
export const CROWDED_HELD_MIN = 10
/** Of one lane beyond what it may hold, for accounts that have less than their even part of it. */
export const LANE_ACCOUNTS_MAX = 20
/** Attempts beyond every bound, for accounts that have fewer than ACCOUNT_ATTEMPTS_FEW under way. */
export const SMALL_ACCOUNT_ATTEMPTS = 100
export const SMALL_ACCOUNT_BYTES = 32 * MIB
export const ACCOUNT_ATTEMPTS_FEW = 5
/** SMTP transactions of a process under way at once. */
export const TRANSACTIONS_MAX = 400
/** Of these, for destinations that no connection has reached lately, and whatever goes on for long. */
export const UNPROVEN_TRANSACTIONS_MAX = 200
/** An attempt under way for longer says that its destination is slow, or will never answer. */
export const LONG_ATTEMPT_MS = 30 * SECOND_MS
/** With those that go on for long: they may wait ten minutes for the answer to a final dot. */
export const LONG_TRANSACTIONS_MAX = 800
/** Of TRANSACTIONS_MAX, for lanes that have no more under way than they started with. */
export const SMALL_LANE_TRANSACTIONS = 100
/** Transactions to one destination at once: where it starts, and where it ends when all goes well. */
export const LANE_TRANSACTIONS_START = 5
export const LANE_TRANSACTIONS_MAX = 20
/** Deliveries that a process leases, and of these, for destinations that did not answer lately. */
export const HELD_MAX = 1_000
export const UNPROVEN_HELD_MAX = 500
/** Deliveries that a destination has leased for each transaction it may have, answering or not. */
export const LANE_AHEAD = 5
export const LANE_AHEAD_UNPROVEN = 2
/** Lanes that one look at the queue finds; the next look goes on after them. */
export const LANES_LOOKED_AT_MAX = 200
/** Lanes that are remembered as having answered; whichever was used longest ago is forgotten first. */
export const LANES_KEPT_MAX = 1_000
/** Connections kept for their next message, how long, and how many messages each carries. */
export const IDLE_CONNECTIONS_MAX = 200
export const IDLE_CONNECTION_MS_MAX = 5 * SECOND_MS
export const TRANSACTIONS_PER_CONNECTION_MAX = 100
/** To one address, whatever destinations lead to it; further messages wait for their turn. */
export const CONNECTIONS_PER_HOST_MAX = 20
/**
 * How long a message waits for its turn, and as many as there are connections do: those for one busy
 * host must not fill TRANSACTIONS_MAX. Long enough for a connection to end and another to open.
 */
export const HOST_TURN_MS_MAX = 500
/** How long a lane whose host is busy starts nothing: at first, and when that goes on. */
export const CROWDED_PAUSE_MS_MIN = 200
export const CROWDED_PAUSE_MS_MAX = 2 * SECOND_MS
/** A host that did not answer in time is passed over for this long; the first retry comes later. */
export const SILENT_HOST_MS = 30 * SECOND_MS
export const SILENT_HOSTS_MAX = 10_000
/** Octets of large messages on their way out, and of these, those that LONG_ATTEMPT_MS is about. */
export const OUTBOUND_BYTES_MAX = 128 * MIB
export const UNPROVEN_OUTBOUND_BYTES_MAX = 64 * MIB
/** With those that go on for long. */
export const LONG_OUTBOUND_BYTES_MAX = 256 * MIB
/** Between tries to record an outcome while the store is away. */
export const SETTLE_RETRY_MS = 500
/** A server's words, in characters, as kept with a delivery. */
export const RESPONSE_LENGTH_MAX = 1_000
/** Of a message, over all its recipients, in characters. */
export const FAILURE_REASON_LENGTH_MAX = 2_000
/** Deliveries moved in one step from waiting to ready. */
export const DUE_STEP_ROWS = 1_000

// Events.
/** Events of one look at the log. */
export const LOG_STEP_EVENTS = 100
/** Of these, told with their messages in memory: each takes up to three bodies. */
export const EVENTS_LOADED_AT_ONCE = 10
/** Events that one query looks through for those that pass a filter. */
export const LOG_WINDOW_EVENTS = 2_000
/** Events that a page looks through for those that pass its filter: a second's work of a large log. */
export const LOG_PAGE_EVENTS_MAX = 1_000_000
/** Events behind a full page that are looked through for its total where there is a filter. */
export const LOG_COUNT_EVENTS_MAX = 10 * LOG_WINDOW_EVENTS
/** Without progress, while events wait for an older transaction to end, until the operator is told. */
export const LOG_STALL_MS = 10 * SECOND_MS
/** Until the next look where an event waits for an older transaction to end. */
export const LOG_UNSETTLED_MS = 20
/** Between two signals of a process to the others that there are events. */
export const EVENT_SIGNAL_GAP_MS = 20
/** Between tries to listen to the others again. */
export const EVENT_SIGNAL_RETRY_MS = SECOND_MS
/** Streams that read what they missed from the log at once, each EVENTS_LOADED_AT_ONCE. */
export const CATCH_UPS_AT_ONCE = 2
/** Inboxes that a stream has taken out of its subscriptions. */
export const EXCLUDED_INBOXES_MAX = 10_000
/** Messages that a wait looks through in one query. */
export const WAIT_STEP_MESSAGES = 500
/** Matching events that a page of the log counts beyond its cursor, deliveries that a list counts. */
export const COUNTED_MAX = 10_000
/** Between looks at the log when nobody tells of a change: what a lost wake-up costs. */
export const LOG_POLL_MS = SECOND_MS
/** Requests that wait for a message, over all accounts. */
export const WAITERS_MAX = 10_000
/** WebSockets of an account at once, and event streams. */
export const SOCKETS_PER_ACCOUNT_MAX = 10
/** What a client of a WebSocket may send: subscriptions of a few hundred inboxes fit. */
export const SOCKET_FRAME_BYTES_MAX = 64 * KIB
export const SOCKET_FRAMES_MAX = 30
export const SOCKET_FRAMES_WINDOW_MS = 10 * SECOND_MS
export const SOCKET_PING_MS = 30 * SECOND_MS
/** How long a client may be silent after a ping. */
export const SOCKET_SILENCE_MS = 10 * SECOND_MS
/** How long a client may take in nothing of what waits for it, whatever it says meanwhile. */
export const SOCKET_STALL_MS = 30 * SECOND_MS
/** From a close of ours to the end of a connection whose client does not answer it. */
export const SOCKET_CLOSE_MS = 5 * SECOND_MS
/** Between looks at who is silent: all of them with one timer. */
export const SOCKET_TICK_MS = 2 * SECOND_MS
/** What clients of an event stream wait before they connect again. */
export const STREAM_RETRY_MS = 3 * SECOND_MS
/** Keys looked up by one query. */
export const KEY_CHECK_STEP = 1_000
/** Octets on their way to a slow reader of events; it gets the rest from the log when it has read. */
export const STREAM_BUFFER_BYTES_MAX = 256 * KIB
export const SUBSCRIPTIONS_MAX = 100
/** Entries of inbox_ids or pod_ids of one subscription or webhook. */
export const FILTER_IDS_MAX = 1_000
/** A comment that keeps an idle event stream from being cut by proxies. */
export const STREAM_COMMENT_MS = 15 * SECOND_MS
/** How soon a stream ends whose key was revoked by another process or a command; an index is asked. */
export const KEY_CHECK_MS = SECOND_MS

/** Renewed weeks before it ends: a minute is soon, and costs the reading of two small files. */
export const CERTIFICATE_LOOK_MS = MINUTE_MS

// Webhooks.
export const WEBHOOKS_PER_ACCOUNT_MAX = 100
export const WEBHOOK_URL_LENGTH_MAX = 2_000
export const WEBHOOK_CONNECT_MS_MAX = 5 * SECOND_MS
/** From looking up the name to the end of the answer. */
export const WEBHOOK_MS_MAX = 15 * SECOND_MS
/** A connection kept for the next post; shorter than what receivers usually wait themselves. */
export const WEBHOOK_IDLE_MS_MAX = 3 * SECOND_MS
/** Open connections of webhooks, past which none is kept after its answer. */
export const WEBHOOK_CONNECTIONS_KEPT_MAX = 200
/** Of the header of an answer. */
export const WEBHOOK_HEADER_BYTES_MAX = 32 * KIB
/** Of an answer; what comes after it is not read. */
export const WEBHOOK_ANSWER_BYTES_MAX = 64 * KIB
/** Of an answer, kept with the delivery. */
export const WEBHOOK_ANSWER_BYTES_KEPT = 2 * KIB
/** How long a secret that was replaced signs along. */
export const WEBHOOK_OLD_SECRET_MS = DAY_MS
/** Secrets of a webhook that sign at once. */
export const WEBHOOK_SECRETS_MAX = 5
/** Of nothing but failures, after which a webhook is disabled. */
export const WEBHOOK_FAILING_MS_MAX = 5 * DAY_MS
/** How long a delivery stays with a process that is not heard of any more. */
export const WEBHOOK_LEASE_MS = MINUTE_MS
/** Tests of a process under way at once, of one webhook each; they are attempts beside those counted below. */
export const WEBHOOK_TESTS_MAX = 50
/** Before the end of a shutdown, for telling who waits for a test that it was cut. */
export const WEBHOOK_TEST_END_MS = SECOND_MS
/** An attempt under way for longer says that its endpoint is slow. */
export const WEBHOOK_LONG_MS = SECOND_MS
/**
 * Attempts of a process under way at once, but for those of endpoints that nothing is known of; most
 * are answered within a few milliseconds.
 */
export const WEBHOOK_ATTEMPTS_MAX = 1_000
/** Of these, for endpoints that did not answer lately, and whatever goes on for long. */
export const UNPROVEN_WEBHOOK_ATTEMPTS_MAX = 400
/** With those that go on for long, up to WEBHOOK_MS_MAX. */
export const LONG_WEBHOOK_ATTEMPTS_MAX = 1_500
/** Of WEBHOOK_ATTEMPTS_MAX, for endpoints that have fewer than LANE_TRANSACTIONS_START under way. */
export const SMALL_LANE_WEBHOOK_ATTEMPTS = 250
/** To an endpoint that nothing is known of: one tells whether it answers. */
export const WEBHOOK_LANE_START = 1
/** Attempts to such endpoints that began a moment ago: a thousand new ones hold up nobody. */
export const NEW_WEBHOOK_ATTEMPTS_MAX = 1_000
/** Of an attempt to such an endpoint; it is not new any more, whatever comes of it. */
export const NEW_WEBHOOK_LONG_MS = SECOND_MS / 2
/** With those that go on for longer, up to WEBHOOK_MS_MAX. */
export const LONG_NEW_WEBHOOK_ATTEMPTS_MAX = 1_750
/**
 * Deliveries held for endpoints of one account that never answered, or not lately. With more, no new
 * one of this account is tried: the last part of LONG_NEW_WEBHOOK_ATTEMPTS_MAX is for the others.
 */
export const ACCOUNT_NEW_WEBHOOKS_HELD_MAX = 1_400
/** With more, none that did not answer is tried again: half of UNPROVEN_WEBHOOK_ATTEMPTS_MAX. */
export const ACCOUNT_SILENT_WEBHOOKS_HELD_MAX = 200
/** Endpoints that are remembered as answering or not; forgotten, they are new again. */
export const WEBHOOK_LANES_KEPT_MAX = 10_000
/** Deliveries that a process leases, and of these, for endpoints that did not answer lately. */
export const WEBHOOKS_HELD_MAX = 3_000
export const UNPROVEN_WEBHOOKS_HELD_MAX = 1_500
/** Octets of events as they are posted, under way, and the parts of them as those of the attempts. */
export const WEBHOOK_BYTES_MAX = 64 * MIB
export const UNPROVEN_WEBHOOK_BYTES_MAX = 32 * MIB
export const LONG_WEBHOOK_BYTES_MAX = 96 * MIB
export const NEW_WEBHOOK_BYTES_MAX = 32 * MIB
export const LONG_NEW_WEBHOOK_BYTES_MAX = 64 * MIB
/** Of each of these, for events that are small: most are, and must not wait for large ones. */
export const SMALL_WEBHOOKS_BYTES = 8 * MIB
export const SMALL_WEBHOOK_BYTES_MAX = 16 * KIB
/** Of what several webhooks are told, made once: octets kept, and how long. */
export const EVENT_TEXTS_BYTES_MAX = 8 * MIB
export const EVENT_TEXT_MS = 10 * SECOND_MS
/** Deliveries that one step of the log makes, and those of one event beyond it. */
export const FAN_OUT_ROWS_MAX = 1_000
/** Between two looks at the log where much arrives: what comes meanwhile shares one. */
export const FAN_OUT_GAP_MS_MAX = 10
/** Where reading the log is slow it rests for twice as long as it took, and no longer than this. */
export const FAN_OUT_REST_MS_MAX = 50
/** Events that nobody wants, and the time, after which the place in the log is kept all the same. */
export const FAN_OUT_UNKEPT_EVENTS_MAX = 1_000
export const FAN_OUT_UNKEPT_MS_MAX = 10 * SECOND_MS
/** Deliveries are told for as long as their events. */
export const WEBHOOK_DELIVERY_MS = EVENT_MS

// Custom domains.
export const DOMAINS_PER_ACCOUNT_MAX = 1_000
/**
 * Of a domain's name: with the longest address on it, a return path, it makes up the 254 octets that a
 * path may have (RFC 5321 §4.5.3.1.3).
 */
export const CUSTOM_DOMAIN_LENGTH_MAX = 213
/** How long a domain may take until DNS has its records for the first time. */
export const DOMAIN_PENDING_MS_MAX = 14 * DAY_MS
/** How long DNS may have wrong records of a domain until nothing is sent from it any more. */
export const DOMAIN_DEGRADED_MS_MAX = 72 * HOUR_MS
export const DOMAIN_CHECK_EVERY_MS = 6 * HOUR_MS
/** Of a new domain in its first day: whoever makes one publishes its records then. */
export const NEW_DOMAIN_CHECK_EVERY_MS = 10 * MINUTE_MS
export const NEW_DOMAIN_MS = DAY_MS
/** Until a check is done again of which nothing came: DNS did not answer, or the process died. */
export const DOMAIN_CHECK_RETRY_MS = 10 * MINUTE_MS
/** All questions of a check, asked at once; what is not answered then is not answered. */
export const DOMAIN_CHECK_MS_MAX = 10 * SECOND_MS
/**
 * Domains that a process checks at once by itself, and as many because somebody asked: together they ask
 * fewer questions than DNS_QUERIES_AT_ONCE, so that none waits for another's silence.
 */
export const DOMAIN_CHECKS_AT_ONCE = 20
/** Of one account: checks that were asked for and go on at once, and those that wait behind them. */
export const DOMAIN_CHECKS_PER_ACCOUNT_MAX = 4
export const DOMAIN_CHECKS_WAITING_MAX = 16
/** Checks that are due, looked through for those of different accounts: more than an account has domains. */
export const DOMAIN_CHECKS_SEEN_MAX = 5_000
/** Domains whose keys are made at once, and those of one account that wait for it. */
export const DOMAIN_CREATIONS_AT_ONCE = 1
export const DOMAIN_CREATIONS_WAITING_MAX = 100
/** How long it takes until a process finds that a check is due. */
export const DOMAIN_CHECK_LOOK_MS = 10 * SECOND_MS
/** Of what DNS has under a name, kept to be shown: records, and characters of each. */
export const FOUND_RECORDS_MAX = 20
export const FOUND_TEXT_LENGTH_MAX = 1_000
/** Hosts that a hint names of those that get mail as well. */
export const RIVALS_NAMED_MAX = 3

// Search.
/** Code points of a word that are compared; what is longer is no word that anybody types. */
export const SEARCH_WORD_LENGTH_MAX = 64
/** Of a message's text what can be found, in UTF-16 units: what comes later is quoted history or data. */
export const SEARCH_BODY_LENGTH_MAX = 64 * KIB
/** Of a message: PostgreSQL keeps 16,383 positions, and 1 MiB with all that belongs to a word. */
export const SEARCH_ENTRY_WORDS_MAX = 10_000
export const SEARCH_ENTRY_BYTES_MAX = 256 * KIB
export const SEARCH_SUBJECT_WORDS_MAX = 500
/** In each of sender and recipients, half of them whole addresses. */
export const SEARCH_ADDRESS_WORDS_MAX = 2_000
/** Of a query: parts, and words in all of them. Each costs a look into the index. */
export const SEARCH_CLAUSES_MAX = 32
export const SEARCH_WORDS_MAX = 128
/** How far a search counts what it finds. */
export const SEARCH_COUNTED_MAX = 1_000
/** Of what is found, the newest that are put into order by rank, and how far pages go. */
export const SEARCH_RANKED_MAX = 10_000
/** One search looks for so long; then it answers with what it has found. */
export const SEARCH_MS_MAX = 2 * SECOND_MS
/** Messages that a search indexes itself before it answers, and for how long. */
export const SEARCH_CATCH_UP_MESSAGES_MAX = 2_000
export const SEARCH_CATCH_UP_MS_MAX = 2 * SECOND_MS
/** Messages, and UTF-16 units of their texts, that one transaction indexes: some ten milliseconds. */
export const SEARCH_STEP_MESSAGES = 50
export const SEARCH_STEP_LENGTH = 256 * KIB
/** Inboxes that one transaction indexes, and those that a look for what lags compares. */
export const SEARCH_STEP_INBOXES = 20
export const SEARCH_SWEEP_INBOXES = 500
/** Between looks of the indexer at what has come: a second's mail shares a commit. */
export const SEARCH_LOOK_MS = SECOND_MS
/** While more arrives than a look at the log takes, it rests after each step for so many times as long. */
export const SEARCH_BUSY_FACTOR = 3
export const SEARCH_BUSY_MS_MAX = 2 * SECOND_MS
/** Between looks at all inboxes, for what no event told of. */
export const SEARCH_SWEEP_EVERY_MS = 10 * 60 * SECOND_MS
/** Pages that a step of erasing deleted words writes, and how much of the time it may go on. */
export const SEARCH_ERASE_STEP_PAGES = 64
export const SEARCH_ERASE_REST_FACTOR = 9
/** Code points of a snippet, and places in it that are marked. */
export const SNIPPET_LENGTH_MAX = 200
export const SNIPPET_HIGHLIGHTS_MAX = 50

// Figures and traces for the operator.
/** Rows of a queue that a look at the figures counts one by one: a few milliseconds. */
export const QUEUE_LOOK_MAX = 10_000
/** Lanes whose oldest delivery is looked at for the age of a queue longer than that. */
export const QUEUE_AGE_LANES_MAX = 500
/** Events behind a reader of the log that are counted. */
export const LOG_LAG_EVENTS_MAX = 10_000
/** Of all looks at the database for one reading of the figures. */
export const FIGURES_MS_MAX = 5 * SECOND_MS
/** Spans that wait for the collector; past it they are dropped. About a kilobyte each. */
export const TRACE_SPANS_WAITING_MAX = 8_192
export const TRACE_BATCH_SPANS = 512
export const TRACE_BATCH_MS = SECOND_MS
/** Of one batch, with what is tried again. */
export const TRACE_SEND_MS_MAX = 5 * SECOND_MS
export const TRACE_ATTRIBUTE_LENGTH_MAX = 200
/** What the end of the service waits for the last spans to be sent. */
export const TRACE_END_MS_MAX = SECOND_MS
/** Callers whose word is taken that their trace is sampled; past it, ours goes by its share. */
export const TRACE_CALLERS_PER_SECOND_MAX = 100
export const TRACE_TROUBLE_LOG_MS = MINUTE_MS
/** Of the port for health and figures: a few who look, and no body to wait for. */
export const SERVICE_CONNECTIONS_MAX = 50
export const SERVICE_REQUEST_MS_MAX = 5 * SECOND_MS
/** Of a connection on which nothing moves; longer than the figures take. */
export const SERVICE_SILENCE_MS_MAX = 15 * SECOND_MS

// Life cycle.
/** SIGTERM to exit, within the ten seconds that are promised. */
export const DRAIN_MS = 8 * SECOND_MS
export const RETRY_AFTER_SECONDS = 2
/** Log lines that wait for a slow reader of standard output; past it lines are dropped. */
export const LOG_BUFFER_BYTES_MAX = 8 * MIB
/** Of a secret that is hidden wherever it stands in a line: a shorter one is part of other words. */
export const LOG_SECRET_LENGTH_MIN = 8
/** Of an operator's token that nobody can guess; shorter ones work and are warned of. */
export const OPERATOR_TOKEN_LENGTH_MIN = 16
