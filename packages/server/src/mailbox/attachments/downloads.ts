// Bounds the memory of downloads. Concurrent requests for the same content share one read.

import { type AppError, problem } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'

/** This must be less than PARSE_WORKERS_MAX, so that a parser is left for arriving mail. */
const ATTACHMENT_READS_AT_ONCE = 1
/** A raw read may use MESSAGE_BYTES_MAX before it is included in DOWNLOAD_BYTES_MAX. */
const RAW_READS_AT_ONCE = 4
const DOWNLOADS_WAITING_MAX = 100
/** While clients hold this much content, further downloads are refused. */
const DOWNLOAD_BYTES_MAX = 256 * 1024 * 1024
const DOWNLOAD_BYTES_KEPT = 64 * 1024 * 1024

/** The caller must call `release` once the content is sent or cancelled. */
export type HeldContent = { readonly content: Uint8Array; release(): void }

type DownloadKind = 'raw' | 'attachment'

export type Downloads = {
  /** Throws `service_unavailable` if too many reads are waiting or too much content is held. */
  hold(kind: DownloadKind, key: string, read: () => Promise<Uint8Array>): Promise<HeldContent>
}

type DownloadLimits = {
  readonly atOnce: Readonly<Record<DownloadKind, number>>
  readonly waitingMax: number
  readonly bytesMax: number
  readonly bytesKept: number
}

const LIMITS: DownloadLimits = {
  atOnce: { raw: RAW_READS_AT_ONCE, attachment: ATTACHMENT_READS_AT_ONCE },
  waitingMax: DOWNLOADS_WAITING_MAX,
  bytesMax: DOWNLOAD_BYTES_MAX,
  bytesKept: DOWNLOAD_BYTES_KEPT,
}

export function openDownloads(limits: Partial<DownloadLimits> = {}): Downloads {
  return new SharedDownloads({ ...LIMITS, ...limits })
}

type Entry = {
  readonly content: Promise<Uint8Array>
  sizeBytes: number
  users: number
}

class SharedDownloads implements Downloads {
  readonly #limits: DownloadLimits
  readonly #reads: Readonly<Record<DownloadKind, Semaphore>>
  /** Entries are in order of use, the least recently used first. */
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
