// Content for downloads: concurrent requests for one content share a read, few reads run at once, and the memory of
// all together is bounded.

import { type AppError, problem } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'

/** Fewer than PARSE_WORKERS_MAX, so that mail is still received. */
const ATTACHMENT_READS_AT_ONCE = 1
/** Each may take MESSAGE_BYTES_MAX before it counts in DOWNLOAD_BYTES_MAX. */
const RAW_READS_AT_ONCE = 4
/** Downloads of one kind that wait for a slot; they hold no content yet. */
const DOWNLOADS_WAITING_MAX = 100
/** Content held for clients that read it; above this, further downloads are refused. */
const DOWNLOAD_BYTES_MAX = 256 * 1024 * 1024
/** Content kept for a client that requests it range by range. */
const DOWNLOAD_BYTES_KEPT = 64 * 1024 * 1024

/** The caller calls `release` once the content is sent or cancelled; a second call does nothing. */
export type HeldContent = { readonly content: Uint8Array; release(): void }

type DownloadKind = 'raw' | 'attachment'

export type Downloads = {
  /**
   * The content of `key`, which never changes. `read` is called when a slot is free, unless the content is kept
   * or being read. Rejects as `read` does, or with `service_unavailable` when too many wait or too much is held.
   */
  hold(kind: DownloadKind, key: string, read: () => Promise<Uint8Array>): Promise<HeldContent>
}

type DownloadLimits = {
  readonly atOnce: Readonly<Record<DownloadKind, number>>
  /** Reads of one kind that wait for a slot. */
  readonly waitingMax: number
  /** Above this many bytes being sent, nothing more is read. */
  readonly bytesMax: number
  /** Bytes kept for repeated requests, those being sent included. */
  readonly bytesKept: number
}

const LIMITS: DownloadLimits = {
  atOnce: { raw: RAW_READS_AT_ONCE, attachment: ATTACHMENT_READS_AT_ONCE },
  waitingMax: DOWNLOADS_WAITING_MAX,
  bytesMax: DOWNLOAD_BYTES_MAX,
  bytesKept: DOWNLOAD_BYTES_KEPT,
}

/** One for a process. */
export function openDownloads(limits: Partial<DownloadLimits> = {}): Downloads {
  return new SharedDownloads({ ...LIMITS, ...limits })
}

type Entry = {
  readonly content: Promise<Uint8Array>
  /** 0 until it is read. */
  sizeBytes: number
  users: number
}

class SharedDownloads implements Downloads {
  readonly #limits: DownloadLimits
  readonly #reads: Readonly<Record<DownloadKind, Semaphore>>
  /** The most recently used stands last. */
  readonly #entries = new Map<string, Entry>()
  #heldBytes = 0

  constructor(limits: DownloadLimits) {
    this.#limits = limits
    const { atOnce, waitingMax } = limits
    this.#reads = {
      raw: new Semaphore({ limit: atOnce.raw, waitingMax, refuse: tooMany }),
      attachment: new Semaphore({ limit: atOnce.attachment, waitingMax, refuse: tooMany }),
    }
  }

  async hold(
    kind: DownloadKind,
    key: string,
    read: () => Promise<Uint8Array>,
  ): Promise<HeldContent> {
    const name = `${kind} ${key}`
    const entry = this.#entries.get(name) ?? this.#start(kind, name, read)
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    entry.users += 1
    const content = await entry.content
    let isHeld = true
    return {
      content,
      release: () => {
        if (!isHeld) return
        isHeld = false
        entry.users -= 1
        this.#forgetUnused()
      },
    }
  }

  #start(kind: DownloadKind, name: string, read: () => Promise<Uint8Array>): Entry {
    // Unused content is dropped long before this bound.
    if (this.#heldBytes >= this.#limits.bytesMax) throw tooMany()
    const entry: Entry = { content: this.#reads[kind].run({}, read), sizeBytes: 0, users: 0 }
    entry.content.then(
      (content) => {
        entry.sizeBytes = content.byteLength
        this.#heldBytes += content.byteLength
        this.#forgetUnused()
      },
      () => this.#entries.delete(name),
    )
    return entry
  }

  #forgetUnused(): void {
    for (const [name, entry] of this.#entries) {
      if (this.#heldBytes <= this.#limits.bytesKept) return
      if (entry.users > 0) continue
      this.#entries.delete(name)
      this.#heldBytes -= entry.sizeBytes
    }
  }
}

function tooMany(): AppError {
  return problem('service_unavailable', 'Too many downloads are running.')
}
