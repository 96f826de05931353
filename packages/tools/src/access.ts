// The access of one connection: a client with its key, optionally restricted. Anything outside the
// restriction is reported in the same words as something that does not exist.

import type { Draft, Inbox, Mailroom, Message, Thread } from '@mailroom/sdk'
import { isNotFound, orElse, ToolProblem } from './problem.ts'
import type { Restriction } from './restriction.ts'

export type AccessOptions = {
  /** Its retries are not used: the model decides whether to call again. */
  readonly client: Mailroom
  readonly restriction: Restriction
  readonly isSandbox: boolean
  /** The service's time in milliseconds; default: the Date header of its responses. */
  readonly now?: () => number
  /** Called with unexpected errors, whose details are withheld from the model. */
  onFault(error: unknown): void
}

/** Maximum inboxes in the error text of a call that must name an inbox. */
const NAMED_MAX = 10

export class Access {
  readonly client: Mailroom
  readonly restriction: Restriction
  readonly isSandbox: boolean
  readonly now: (() => number) | undefined
  readonly #options: AccessOptions
  #only: Promise<Inbox> | undefined

  constructor(options: AccessOptions) {
    this.#options = options
    this.restriction = options.restriction
    this.isSandbox = options.isSandbox
    this.now = options.now
    this.client = this.clientSeeing(() => {})
  }

  onFault(error: unknown): void {
    this.#options.onFault(error)
  }

  /** A client that passes every response to `see`. Never retries; the model decides that. */
  clientSeeing(see: (response: Response) => void): Mailroom {
    return this.#options.client.withOptions(({ fetch: send = fetch }) => ({
      maxRetries: 0,
      fetch: async (...request) => {
        const response = await send(...request)
        see(response)
        return response
      },
    }))
  }

  /** The same access with the token of a claim, which is sent with every request. */
  withLease(leaseToken: string): Access {
    return new Access({ ...this.#options, client: this.#options.client.withLease(leaseToken) })
  }

  /** Finds an inbox by id or address, or the only inbox if none is named. */
  async inbox(named: string | undefined): Promise<Inbox> {
    if (named !== undefined) {
      const own = await this.#own()
      if (own !== null && isNamed(own, named)) return own
      const found = await this.#find(named)
      if (found === null || !(await this.reaches(found.id))) throw noInbox(named)
      return found
    }
    const { data, total } = await this.inboxes({ limit: NAMED_MAX, offset: 0 })
    const [first] = data
    if (first === undefined) {
      throw new ToolProblem(
        this.restriction.inboxIds === null
          ? 'There is no inbox yet. Create one (create_inbox), or ask the person for one.'
          : 'None of the inboxes of this connection exists any more. No tool can fix this: tell the person who set up the connection.',
      )
    }
    if (total === 1) return first
    const some = data.map(({ address }) => address).join(', ')
    const more = total > data.length ? ' and others; list_inboxes lists all' : ''
    throw new ToolProblem(
      `There are ${total} inboxes. Call again with inbox set to one of them: ${some}${more}.`,
    )
  }

  /** The inbox that is named, or the only one of this connection; null if there may be several. */
  async onlyOf(named: string | undefined): Promise<Inbox | null> {
    if (named !== undefined) return this.inbox(named)
    return (await this.inboxIds())?.length === 1 ? this.inbox(undefined) : null
  }

  /** The ids of the only inboxes of this connection, or null if it has all of the account. */
  async inboxIds(): Promise<readonly string[] | null> {
    const own = await this.#own()
    return own === null ? this.restriction.inboxIds : [own.id]
  }

  /** A page of the inboxes of this connection. A connection to some inboxes omits deleted ones. */
  async inboxes(range: {
    limit: number
    offset: number
    signal?: AbortSignal
  }): Promise<InboxPage> {
    const own = await this.#own()
    const ids = this.restriction.inboxIds
    const { limit, offset } = range
    if (own !== null) return { data: offset === 0 ? [own] : [], seen: 1, total: 1 }
    if (ids === null) {
      const { data, total } = await this.client.inboxes.list(range).page()
      return { data, seen: data.length, total }
    }
    const wanted = ids.slice(offset, offset + limit)
    const found = await Promise.all(wanted.map((one) => this.#get(one)))
    const data = found.filter((one) => one !== null)
    return { data, seen: wanted.length, total: ids.length - (found.length - data.length) }
  }

  /** The inbox that the connection was set up for, or null if none was named. */
  async #own(): Promise<Inbox | null> {
    const { inbox, inboxIds } = this.restriction
    if (inbox === null) return null
    this.#only ??= this.#find(inbox).then((found) => {
      if (found !== null && (inboxIds === null || inboxIds.includes(found.id))) return found
      throw new ToolProblem(
        'This connection is restricted to an inbox that does not exist. No tool can fix this: tell the person who set up the connection.',
      )
    })
    try {
      return await this.#only
    } catch (thrown) {
      this.#only = undefined
      throw thrown
    }
  }

  /** Rejects with the same error for a thread of another inbox and for a nonexistent thread. */
  async thread(id: string): Promise<Thread> {
    const problem = () =>
      new ToolProblem(`No thread ${id}. Call list_unread or search_mail to find a thread's id.`)
    const thread = await orElse(this.client.threads.get(id), problem)
    if (!(await this.reaches(thread.inboxId))) throw problem()
    return thread
  }

  /** Rejects with the same error for a message of another inbox and for a nonexistent message. */
  async message(id: string): Promise<Message> {
    const problem = () =>
      new ToolProblem(
        `No message ${id}. read_thread, search_mail and list_sent show the ids of messages.`,
      )
    const message = await orElse(this.client.messages.get(id), problem)
    if (!(await this.reaches(message.inboxId))) throw problem()
    return message
  }

  /** Rejects with the same error for a draft of another inbox and for a nonexistent draft. */
  async draft(id: string): Promise<Draft> {
    const draft = await orElse(this.client.drafts.get(id), () => noDraft(id))
    if (!(await this.reaches(draft.inboxId))) throw noDraft(id)
    return draft
  }

  async reaches(inboxId: string): Promise<boolean> {
    const ids = await this.inboxIds()
    return ids === null || ids.includes(inboxId)
  }

  async #find(name: string): Promise<Inbox | null> {
    if (!name.includes('@')) {
      return /^\w+$/.test(name) ? this.#get(name) : null
    }
    const { data } = await this.client.inboxes.list({ address: name, limit: 1 }).page()
    return data.find((one) => isNamed(one, name)) ?? null
  }

  async #get(id: string): Promise<Inbox | null> {
    return this.client.inboxes.get(id).catch((thrown: unknown) => {
      if (isNotFound(thrown)) return null
      throw thrown
    })
  }
}

type InboxPage = {
  readonly data: readonly Inbox[]
  /** How many entries of the list this page covers. */
  readonly seen: number
  readonly total: number
}

function isNamed({ id, address }: Inbox, name: string): boolean {
  return name === id || name.toLowerCase() === address.toLowerCase()
}

export function noDraft(id: string): ToolProblem {
  return new ToolProblem(
    `No draft ${id}: it was sent, deleted, or never existed. Call list_drafts to see the drafts.`,
  )
}

function noInbox(name: string): ToolProblem {
  return new ToolProblem(`No inbox ${JSON.stringify(name)}. Call list_inboxes to see the inboxes.`)
}
