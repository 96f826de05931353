import type { ExportFormat } from '@mailroom/contract/transfers.ts'
import { mboxEntry } from '@mailroom/mail/mbox.ts'
import { packTar, type TarEntry } from 'modern-tar'
import { presentTime } from '#platform/clock.ts'
import type { ExportedMessage } from '#transfers/store/exported-messages.ts'

type WholeMessage = ExportedMessage & { readonly raw: Uint8Array }

/** A line of a jsonl file. */
export type MessageLine = {
  id: string
  threadId: string
  inbox: string
  direction: 'inbound' | 'outbound'
  status: string
  failureReason: string | null
  createdAt: string
  isRead: boolean
  /** Empty for the null reverse-path. */
  reversePath: string
  /** Null for sent mail. */
  recipient: string | null
  /** Null for received mail. */
  to: string[] | null
  bcc: string[]
  labels: string[]
  threadLabels: string[]
  /** The raw message in base64. */
  raw: string
}

type Format = {
  readonly mediaType: string
  readonly extension: string
  /** Whether the format records which messages were never sent, so that it can contain them. */
  readonly hasUnsent: boolean
  /** Makes what precedes the messages of an inbox. */
  begin(address: string): Promise<Uint8Array>
  write(messages: readonly WholeMessage[], address: string): Promise<Uint8Array>
  readonly end: Uint8Array
}

const NOTHING = new Uint8Array(0)
/** Two blocks of zeros end a tar archive (POSIX.1). */
const TAR_END = new Uint8Array(1024)

export const exportFormats: Readonly<Record<ExportFormat, Format>> = {
  mbox: {
    mediaType: 'application/mbox',
    extension: 'mbox',
    hasUnsent: false,
    begin: () => Promise.resolve(NOTHING),
    write: async (messages) =>
      Buffer.concat(
        messages.flatMap(({ raw, reversePath: sender, createdAtMs: dateMs }) =>
          mboxEntry(raw, { sender, dateMs }),
        ),
      ),
    end: NOTHING,
  },
  maildir: {
    mediaType: 'application/x-tar',
    extension: 'tar',
    hasUnsent: false,
    begin: (address) =>
      pack(
        ['', 'cur/', 'new/', 'tmp/'].map((name) => ({
          header: { name: `${address}/${name}`, size: 0, type: 'directory', mode: 0o700 },
        })),
      ),
    write: (messages, address) =>
      pack(
        messages.map(({ raw, ...message }) => ({
          header: {
            name: `${address}/cur/${maildirName(message)}`,
            size: raw.length,
            type: 'file',
            mode: 0o600,
            mtime: new Date(message.createdAtMs),
            pax: { [REVERSE_PATH]: `<${message.reversePath}>` },
          },
          body: raw,
        })),
      ),
    end: TAR_END,
  },
  jsonl: {
    mediaType: 'application/x-ndjson',
    extension: 'jsonl',
    hasUnsent: true,
    begin: () => Promise.resolve(NOTHING),
    write: async (messages, address) =>
      Buffer.concat(
        messages.map((message) => Buffer.from(`${JSON.stringify(lineOf(message, address))}\n`)),
      ),
    end: NOTHING,
  },
}

/** A pax header for the reverse-path, which a Maildir cannot store. Other programs ignore it. */
export const REVERSE_PATH = 'MAILROOM.reverse-path'

/** Omits the end of the archive, so that more entries can follow. */
async function pack(entries: readonly TarEntry[]): Promise<Uint8Array> {
  const archive = await packTar(entries)
  return archive.subarray(0, archive.length - TAR_END.length)
}

/** A Maildir name has time, unique part, host and flags. The flag S means "read". */
function maildirName({ id, createdAtMs, isRead }: ExportedMessage | Omit<WholeMessage, 'raw'>) {
  const seconds = Math.floor(createdAtMs / 1000)
  const microseconds = String((createdAtMs % 1000) * 1000).padStart(6, '0')
  return `${seconds}.M${microseconds}_${id}.mailroom:2,${isRead ? 'S' : ''}`
}

function lineOf(message: WholeMessage, inbox: string): MessageLine {
  return {
    id: message.id,
    threadId: message.threadId,
    inbox,
    direction: message.direction,
    status: message.status,
    failureReason: message.failureReason,
    createdAt: presentTime(message.createdAtMs),
    isRead: message.isRead,
    reversePath: message.reversePath,
    recipient: message.recipient,
    to: message.to ?? (message.direction === 'outbound' ? [message.toAddr] : null),
    bcc: message.bcc,
    labels: message.labels,
    threadLabels: message.threadLabels,
    raw: Buffer.from(message.raw).toString('base64'),
  }
}
