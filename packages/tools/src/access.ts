// The access of one connection: a client with its key, optionally restricted to one inbox or to
// reading. Anything outside the restriction is reported in the same words as something that does
// not exist.

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
const SEARCHED_MAX = 5_000

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
    const only = await this.only()
    if (only !== null) {
      if (named === undefined || isNamed(only, named)) return only
      throw noInbox(named)
    }
    if (named !== undefined) return (await this.#find(named)) ?? fail(noInbox(named))
    const { data, total } = await this.client.inboxes.list({ limit: NAMED_MAX }).page()
    const [first] = data
    if (first === undefined) {
      throw new ToolProblem('There is no inbox yet. Call create_inbox to create one.')
    }
    if (total === 1) return first
    const some = data.map(({ address }) => address).join(', ')
    const more = total > data.length ? ' and others; list_inboxes lists all' : ''
    throw new ToolProblem(
      `There are ${total} inboxes. Call again with inbox set to one of them: ${some}${more}.`,
    )
  }

  /** The only inbox of this connection, or null if it is not restricted. */
  async only(): Promise<Inbox | null> {
    const { inbox } = this.restriction
    if (inbox === null) return null
    this.#only ??= this.#find(inbox).then((found) => {
      if (found !== null) return found
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
    const only = await this.only()
    return only === null || only.id === inboxId
  }

  async #find(name: string): Promise<Inbox | null> {
    if (!name.includes('@')) {
      if (!/^\w+$/.test(name)) return null
      return this.client.inboxes.get(name).catch((thrown: unknown) => {
        if (isNotFound(thrown)) return null
        throw thrown
      })
    }
    let looked = 0
    for await (const inbox of this.client.inboxes.list()) {
      if (isNamed(inbox, name)) return inbox
      looked += 1
      if (looked === SEARCHED_MAX) {
        throw new ToolProblem(
          `None of the newest ${SEARCHED_MAX} inboxes has that address. Name the inbox by its id.`,
        )
      }
    }
    return null
  }
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

function fail(problem: ToolProblem): never {
  throw problem
}
