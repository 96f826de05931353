import type { DispatchedQueue, Head, Item } from './dispatched-queue.ts'

/** Heads that one page of a scan has. */
const PAGE_HEADS = 200
/** Lanes of an account that a scan lists before those of the next account. */
const LANES_EACH = 20
/** Heads that are remembered; of others only those that may be claimed now. */
const HEADS_MAX = 5_000

const FIRST: Head = { account: '', lane: '' }

type Rest = { after: Head; isWantedAgain: boolean }

/**
 * The heads that have something ready, as far as it is known, the next to be served first. Scans of the queue
 * find them: some lanes of every account and, beside that, the other lanes of accounts that have more, in turn.
 */
export class ReadyHeads {
  readonly #queue: Pick<DispatchedQueue<Item>, 'listHeads'>
  readonly #heads = new Map<string, Head>()
  /** Where the scan under way goes on; null where there is none. */
  #scan: Head | null = null
  #isScanWanted = true
  /** Where the lanes of accounts with many go on. */
  readonly #rests = new Map<string, Rest>()
  /** There were more heads than are remembered. */
  #hasLeftOut = false

  constructor(queue: Pick<DispatchedQueue<Item>, 'listHeads'>) {
    this.#queue = queue
  }

  get size(): number {
    return this.#heads.size
  }

  [Symbol.iterator](): Iterator<Head> {
    return this.#heads.values()
  }

  /** Any head may have something new. */
  scanAnew(): void {
    this.#isScanWanted = true
  }

  /** There may be heads that are not known. */
  get mayFind(): boolean {
    return this.#isScanDue || this.#scan !== null || this.#rests.size > 0
  }

  /** Reads the next page of the scan, and one of an account with many lanes. */
  async find(isClaimable: (head: Head) => boolean): Promise<void> {
    const [rest] = this.#rests
    if (this.#scan === null && this.#isScanDue) {
      this.#isScanWanted = false
      this.#hasLeftOut = false
      this.#scan = FIRST
    }
    const found = this.#scan === null ? [] : await this.#readScan(this.#scan)
    if (rest !== undefined) found.push(...(await this.#readRest(...rest)))
    for (const head of found) {
      if (this.#heads.size < HEADS_MAX || isClaimable(head)) this.add(head)
      else this.#hasLeftOut = true
    }
  }

  async #readScan(after: Head): Promise<Head[]> {
    const found = await this.#queue.listHeads({ after, lanesEach: LANES_EACH, limit: PAGE_HEADS })
    const last = found.length < PAGE_HEADS ? null : (found.at(-1) ?? null)
    this.#scan = last
    for (const [account, heads] of Map.groupBy(found, (head) => head.account)) {
      const [end] = heads.slice(LANES_EACH - 1)
      if (end === undefined) continue
      const rest = this.#rests.get(account)
      if (rest === undefined) this.#rests.set(account, { after: end, isWantedAgain: false })
      else rest.isWantedAgain = true
    }
    return found
  }

  async #readRest(account: string, rest: Rest): Promise<Head[]> {
    const page = { after: rest.after, lanesEach: PAGE_HEADS, limit: PAGE_HEADS }
    const found = (await this.#queue.listHeads(page)).filter((head) => head.account === account)
    const last = found.length < PAGE_HEADS ? undefined : found.at(-1)
    this.#rests.delete(account)
    if (last !== undefined) this.#rests.set(account, { ...rest, after: last })
    else if (rest.isWantedAgain) {
      this.#rests.set(account, { after: { account, lane: '' }, isWantedAgain: false })
    }
    return found
  }

  /** The head may have something ready; if it is not known, it is the last to be served. */
  add(head: Head): void {
    const key = keyOf(head)
    if (!this.#heads.has(key)) this.#heads.set(key, head)
  }

  /** The head was served, and may have more where it had all that was asked for. */
  served(head: Head, mayHaveMore: boolean): void {
    this.#heads.delete(keyOf(head))
    // A scan finds it again, after those that were left out.
    if (mayHaveMore && !this.#hasLeftOut) this.add(head)
  }

  get #isScanDue(): boolean {
    return this.#isScanWanted || (this.#hasLeftOut && this.#heads.size < HEADS_MAX / 2)
  }
}

export function keyOf({ account, lane }: Head): string {
  return `${account} ${lane}`
}
