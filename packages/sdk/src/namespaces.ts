// The methods of the client, one function per namespace. The operation `a.b` of the contract is the
// method `b` of the namespace `a`.

import type { BodyOf, OptionsOf } from '@mailroom/contract/operations.ts'
import type { Api, ListOptions, ViewOptions } from './api.ts'
import type { FollowOptions } from './follow.ts'
import { EventListing, type EventQuery } from './listing.ts'
import {
  type DraftToCreate,
  type FileToSend,
  type MailToReceive,
  type MessageToForward,
  type MessageToSend,
  type RepliedMessage,
  type ReplyToSend,
  replyTo,
  type SendOptions,
  withEncodedData,
  withEncodedFiles,
} from './sending.ts'
import type { RequestOptions } from './transport.ts'
import { ANSWER_MS, type WaitOptions, waitForMessage } from './wait.ts'

export function pods(api: Api) {
  return {
    /** Lists the default pod first, then the newest pods. */
    list: (options: ListOptions<'pods.list'> = {}) => api.list('pods.list', {}, options),
    create: (body: BodyOf<'pods.create'> = {}, options?: RequestOptions) =>
      api.call({ id: 'pods.create', body, options }),
    get: (idOrClientId: string, options?: RequestOptions) =>
      api.call({ id: 'pods.get', path: { idOrClientId }, options }),
    /** Null clears a field. */
    update: (idOrClientId: string, body: BodyOf<'pods.update'>, options?: RequestOptions) =>
      api.call({ id: 'pods.update', path: { idOrClientId }, body, options }),
    /** Rejects for the default pod, and while the pod has inboxes or domains. */
    delete: (idOrClientId: string, options?: RequestOptions) =>
      api.carryOut({ id: 'pods.delete', path: { idOrClientId }, options }),
  }
}

type MatchOptions = RequestOptions & { ifMatch?: string | undefined }

type DraftSendOptions = SendOptions & MatchOptions

/** Allows time for a claim that waits up to a minute for a thread. */
function claimThreads(
  api: Api,
  id: string,
  body: BodyOf<'inboxes.claimThreads'>,
  { timeoutMs = (body.waitSeconds ?? 0) * 1000 + ANSWER_MS, ...options }: RequestOptions = {},
) {
  const given = { ...options, timeoutMs }
  return api.call({ id: 'inboxes.claimThreads', path: { id }, body, options: given })
}

type WaitQuery = OptionsOf<'inboxes.wait'> & RequestOptions

const WAIT_SECONDS_DEFAULT = 30

/** The ways to send from an inbox. */
function sends(api: Api) {
  const send = (inboxId: string, message: MessageToSend, options: SendOptions = {}) =>
    api.send({
      id: 'inboxes.send',
      path: { id: inboxId },
      body: withEncodedFiles(message),
      ...underKey(options),
    })
  return {
    /** Retries if there is no response, and never sends twice. */
    send,
    /** Whether the policy of the inbox would send, hold or refuse the message; sends nothing. */
    checkSend: (inboxId: string, message: MessageToSend, options?: RequestOptions) =>
      api.call({
        id: 'inboxes.checkSend',
        path: { id: inboxId },
        body: withEncodedFiles(message),
        options,
      }),
    /** Replies to a message of the inbox in its thread. */
    reply: (
      inboxId: string,
      message: RepliedMessage,
      reply: ReplyToSend,
      options: SendOptions = {},
    ) => send(inboxId, replyTo(message, reply), options),
    /**
     * Sends up to 100 messages, each with its own outcome in the order of `messages`. Retries like
     * `send`, with the same keys: new UUIDs unless given.
     */
    sendBatch: (
      inboxId: string,
      messages: readonly (MessageToSend & { idempotencyKey?: string })[],
      options?: RequestOptions,
    ) =>
      api.call({
        id: 'inboxes.sendBatch',
        path: { id: inboxId },
        body: {
          items: messages.map(({ idempotencyKey = crypto.randomUUID(), ...message }) => ({
            idempotencyKey,
            ...withEncodedFiles(message),
          })),
        },
        isOnce: true,
        options,
      }),
  }
}

export function inboxes(api: Api) {
  return {
    ...sends(api),
    create: (body: BodyOf<'inboxes.create'> = {}, options?: RequestOptions) =>
      api.call({ id: 'inboxes.create', body, options }),
    /** Newest first. */
    list: (options: ListOptions<'inboxes.list'> = {}) => api.list('inboxes.list', {}, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'inboxes.get', path: { id }, options }),
    /** The inbox that receives mail for `address`. */
    getByAddress: (address: string, options?: RequestOptions) =>
      api.call({ id: 'inboxes.getByAddress', path: { address }, options }),
    /** Messages with all words of `q`, by time or rank: `search(id, { q: 'from:ana invoice' })`. */
    search: (id: string, options: ListOptions<'inboxes.search'> & { q: string }) =>
      api.list('inboxes.search', { id }, options),
    /** The inbox's remaining send limits. */
    limits: (id: string, options?: RequestOptions) =>
      api.call({ id: 'inboxes.limits', path: { id }, options }),
    /** Null clears a field. */
    update: (id: string, body: BodyOf<'inboxes.update'>, options?: RequestOptions) =>
      api.call({ id: 'inboxes.update', path: { id }, body, options }),
    /** Permanently deletes the inbox with its messages, threads and attachments. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'inboxes.delete', path: { id }, options }),
    /** Scheduled messages, soonest first. */
    scheduled: (id: string, options: ListOptions<'inboxes.scheduled'> = {}) =>
      api.list('inboxes.scheduled', { id }, options),
    /** Waits up to a minute in one request for `{ message }`, which is null if none matched. */
    wait: (id: string, { signal, timeoutMs, maxRetries, ...query }: WaitQuery = {}) =>
      api.call({
        id: 'inboxes.wait',
        path: { id },
        query,
        options: {
          signal,
          maxRetries,
          timeoutMs: timeoutMs ?? (query.timeout ?? WAIT_SECONDS_DEFAULT) * 1000 + ANSWER_MS,
        },
      }),
    /**
     * Claims the oldest unread threads, or waits up to `waitSeconds`. For a loop: `Mailroom.work`.
     */
    claimThreads: (id: string, body: BodyOf<'inboxes.claimThreads'>, options?: RequestOptions) =>
      claimThreads(api, id, body, options),
    /** The first matching message, or null after the timeout, which may be days. */
    waitForMessage: (id: string, options: WaitOptions = {}) => waitForMessage(api, id, options),
    /** The previous secret also signs for another 24 hours. */
    rotateWebhookSecret: (id: string, options?: RequestOptions) =>
      api.call({ id: 'inboxes.rotateWebhookSecret', path: { id }, options }),
    /** Rejects with `webhook_failed` if the receiver does not accept the event. */
    testWebhook: (id: string, options?: RequestOptions) =>
      api.call({ id: 'inboxes.testWebhook', path: { id }, options }),
  }
}

export function threads(api: Api) {
  return {
    /** Ordered by newest message. */
    list: (inboxId: string, options: ListOptions<'threads.list'> = {}) =>
      api.list('threads.list', { id: inboxId }, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'threads.get', path: { id }, options }),
    update: (id: string, body: BodyOf<'threads.update'>, options?: RequestOptions) =>
      api.call({ id: 'threads.update', path: { id }, body, options }),
    /** The labels in use, in one inbox or in the account. */
    labels: (options: ListOptions<'threads.labels'> = {}) =>
      api.list('threads.labels', {}, options),
    /** Rejects with `thread_claimed` while another worker has the thread. */
    claim: (id: string, body: BodyOf<'threads.claim'>, options?: RequestOptions) =>
      api.call({ id: 'threads.claim', path: { id }, body, options }),
    /** Rejects with `lease_lost` without the `leaseToken` of the claim, in client or options. */
    renewClaim: (id: string, body: BodyOf<'threads.renewClaim'> = {}, options?: RequestOptions) =>
      api.call({ id: 'threads.renewClaim', path: { id }, body, isOnce: true, options }),
    /** Needs the `leaseToken` like `renewClaim`; a second release rejects with `lease_lost`. */
    releaseClaim: (
      id: string,
      body: BodyOf<'threads.releaseClaim'> = {},
      options?: RequestOptions,
    ) => api.call({ id: 'threads.releaseClaim', path: { id }, body, options }),
    /**
     * Moves the thread to the trash, where it can be restored for 30 days; `permanent` deletes it
     * instead.
     */
    delete: (
      id: string,
      { permanent, ...options }: OptionsOf<'threads.delete'> & RequestOptions = {},
    ) => api.carryOut({ id: 'threads.delete', path: { id }, query: { permanent }, options }),
    /** Restores the thread from the trash. */
    restore: (id: string, options?: RequestOptions) =>
      api.call({ id: 'threads.restore', path: { id }, options }),
    /** The messages, oldest first: all of them unless `limit` is given. */
    messages: (
      id: string,
      { limit, offset, ...options }: OptionsOf<'threads.messages'> & RequestOptions = {},
    ) => api.call({ id: 'threads.messages', path: { id }, query: { limit, offset }, options }),
    /** Replies to the newest received message of the thread, or else to its newest message. */
    reply: async (id: string, reply: ReplyToSend, options: SendOptions = {}) => {
      const { idempotencyKey: _, ...asked } = options
      const read = { id: 'threads.messages', path: { id }, options: asked } as const
      const { inboxId, data } = await api.call(read)
      const received = data.filter(({ direction }) => direction === 'inbound')
      const message = received.at(-1) ?? data.at(-1)
      if (message === undefined) throw new Error(`The thread ${id} has no message to reply to.`)
      return sends(api).reply(inboxId, message, reply, options)
    },
    /** The thread as text for a language model, oldest message first. */
    view: (id: string, options: ViewOptions = {}) => api.view('threads.view', id, options),
  }
}

/** Your own domains for inbox addresses. */
export function domains(api: Api) {
  return {
    /** Pending until DNS has the records in the response. */
    create: (body: BodyOf<'domains.create'>, options?: RequestOptions) =>
      api.call({ id: 'domains.create', body, options }),
    /** Newest first. */
    list: (options: ListOptions<'domains.list'> = {}) => api.list('domains.list', {}, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'domains.get', path: { id }, options }),
    /** Checks DNS now, which may take some seconds. */
    verify: (id: string, options?: RequestOptions) =>
      api.call({ id: 'domains.verify', path: { id }, options }),
    /** With null as `podId`, all pods may use the domain. */
    update: (id: string, body: BodyOf<'domains.update'>, options?: RequestOptions) =>
      api.call({ id: 'domains.update', path: { id }, body, options }),
    /** Rejects while the domain has inboxes. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'domains.delete', path: { id }, options }),
    /** The records as lines of a zone file. */
    zoneFile: (id: string, options?: RequestOptions) =>
      api.text({ id: 'domains.zoneFile', path: { id }, options }),
  }
}

export function messages(api: Api) {
  return {
    /** Messages in all threads of the inbox, newest first. */
    list: (inboxId: string, options: ListOptions<'messages.list'> = {}) =>
      api.list('messages.list', { id: inboxId }, options),
    /** Searches all inboxes, one or a pod: `search({ q: 'from:ana invoice' })`. */
    search: (options: ListOptions<'messages.search'> & { q: string }) =>
      api.list('messages.search', {}, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'messages.get', path: { id }, options }),
    /** Deletes the message permanently and immediately. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'messages.delete', path: { id }, options }),
    /** Adds and removes labels. */
    update: (id: string, body: BodyOf<'messages.update'>, options?: RequestOptions) =>
      api.call({ id: 'messages.update', path: { id }, body, options }),
    /** The message byte for byte. */
    /** The header fields, first to last, with lower-case names. */
    headers: (id: string, options?: RequestOptions) =>
      api.call({ id: 'messages.headers', path: { id }, options }),
    raw: (id: string, options?: RequestOptions) =>
      api.download({ id: 'messages.raw', path: { id }, options }),
    /** The message as text for a language model. */
    view: (id: string, options: ViewOptions = {}) => api.view('messages.view', id, options),
    /** A page for a sandboxed frame, without scripts and remote content. */
    html: (
      id: string,
      { images, text, ...options }: OptionsOf<'messages.html'> & RequestOptions = {},
    ) => api.text({ id: 'messages.html', path: { id }, query: { images, text }, options }),
    /** A remote image; `query` comes from the image's URL in `html` with images=show. */
    image: (id: string, query: OptionsOf<'messages.image'> = {}, options?: RequestOptions) =>
      api.download({ id: 'messages.image', path: { id }, query, options }),
    /** Sends the message with its files to others in a new thread; retries like `inboxes.send`. */
    forward: (id: string, body: MessageToForward, options: SendOptions = {}) =>
      api.send({
        id: 'messages.forward',
        path: { id },
        body: withEncodedFiles(body),
        ...underKey(options),
      }),
    /** Answers the invitation in the message; retries like `inboxes.send`. */
    rsvp: (id: string, body: BodyOf<'messages.rsvp'>, options: SendOptions = {}) =>
      api.send({ id: 'messages.rsvp', path: { id }, body, ...underKey(options) }),
    /** Rejects with `already_sending` once the first delivery attempt has begun. */
    cancel: (id: string, options?: RequestOptions) =>
      api.call({ id: 'messages.cancel', path: { id }, options }),
    /** The delivery of a sent message to each recipient. */
    deliveries: (id: string, options: ListOptions<'messages.deliveries'> = {}) =>
      api.list('messages.deliveries', { id }, options),
  }
}

/** A retry with the same key never sends twice. */
const underKey = ({ idempotencyKey = crypto.randomUUID(), ...options }: SendOptions) => ({
  headers: { 'idempotency-key': idempotencyKey },
  isOnce: true,
  options,
})

const matching = (ifMatch: string | undefined) => ({ 'if-match': ifMatch })

/** Messages that have not been sent. `ifMatch` refuses a change of a draft with another `etag`. */
export function drafts(api: Api) {
  return {
    create: (inboxId: string, draft: DraftToCreate = {}, options?: RequestOptions) =>
      api.call({
        id: 'drafts.create',
        path: { id: inboxId },
        body: withEncodedFiles(draft),
        options,
      }),
    /** Newest first. */
    list: (inboxId: string, options: ListOptions<'drafts.list'> = {}) =>
      api.list('drafts.list', { id: inboxId }, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'drafts.get', path: { id }, options }),
    /** Null clears a field. */
    update: (
      id: string,
      body: BodyOf<'drafts.update'>,
      { ifMatch, ...options }: MatchOptions = {},
    ) =>
      api.call({
        id: 'drafts.update',
        path: { id },
        body,
        headers: matching(ifMatch),
        options,
      }),
    delete: (id: string, { ifMatch, ...options }: MatchOptions = {}) =>
      api.carryOut({
        id: 'drafts.delete',
        path: { id },
        headers: matching(ifMatch),
        options,
      }),
    addAttachment: (id: string, file: FileToSend, { ifMatch, ...options }: MatchOptions = {}) =>
      api.call({
        id: 'drafts.addAttachment',
        path: { id },
        body: withEncodedData(file),
        headers: matching(ifMatch),
        options,
      }),
    removeAttachment: (
      id: string,
      attachmentId: string,
      { ifMatch, ...options }: MatchOptions = {},
    ) =>
      api.call({
        id: 'drafts.removeAttachment',
        path: { id, attachmentId },
        headers: matching(ifMatch),
        options,
      }),
    /** Retries if there is no response, and never sends twice. Deletes the draft on success. */
    send: (
      id: string,
      { idempotencyKey = crypto.randomUUID(), ifMatch, ...options }: DraftSendOptions = {},
    ) =>
      api.send({
        id: 'drafts.send',
        path: { id },
        headers: { 'idempotency-key': idempotencyKey, ...matching(ifMatch) },
        isOnce: true,
        options,
      }),
  }
}

/** Live events and the event log. */
export function events(api: Api) {
  return {
    /** The log, oldest first; with `order: 'desc'` newest first. */
    list: ({ signal, timeoutMs, maxRetries, ...query }: EventQuery & RequestOptions = {}) =>
      new EventListing(
        (asked) =>
          api.call({
            id: 'events.list',
            query: asked,
            options: { signal, timeoutMs, maxRetries },
          }),
        query,
      ),
    /**
     * Every event from now on, or after `after`, once and in log order; reconnects when the
     * connection breaks: `for await (const event of events.follow())`.
     */
    follow: (options: FollowOptions = {}) => api.follow(options),
    /** Server-sent events as text, until either side ends the stream; does not reconnect. */
    stream: ({
      signal,
      timeoutMs,
      ...query
    }: OptionsOf<'events.stream'> & Omit<RequestOptions, 'maxRetries'> = {}) =>
      api.stream({ id: 'events.stream', query, options: { signal, timeoutMs } }),
  }
}

/** URLs that receive events from the service. */
export function webhooks(api: Api) {
  return {
    /** Only this response contains the secret. */
    create: (body: BodyOf<'webhooks.create'>, options?: RequestOptions) =>
      api.call({ id: 'webhooks.create', body, options }),
    /** Newest first. */
    list: (options: ListOptions<'webhooks.list'> = {}) => api.list('webhooks.list', {}, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'webhooks.get', path: { id }, options }),
    /** A given list replaces the previous one. */
    update: (id: string, body: BodyOf<'webhooks.update'>, options?: RequestOptions) =>
      api.call({ id: 'webhooks.update', path: { id }, body, options }),
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'webhooks.delete', path: { id }, options }),
    /** The previous secret also signs for another 24 hours. */
    rotateSecret: (id: string, options?: RequestOptions) =>
      api.call({ id: 'webhooks.rotateSecret', path: { id }, options }),
    /** Rejects with `webhook_failed` if the receiver does not accept the event. */
    test: (id: string, options?: RequestOptions) =>
      api.call({ id: 'webhooks.test', path: { id }, options }),
    /** Newest first. */
    deliveries: (id: string, options: ListOptions<'webhooks.deliveries'> = {}) =>
      api.list('webhooks.deliveries', { id }, options),
    /** Includes the request and response of each attempt. */
    getDelivery: (id: string, deliveryId: string, options?: RequestOptions) =>
      api.call({ id: 'webhooks.getDelivery', path: { id, deliveryId }, options }),
    /** Rejects while the delivery is pending. */
    retryDelivery: (id: string, deliveryId: string, options?: RequestOptions) =>
      api.call({ id: 'webhooks.retryDelivery', path: { id, deliveryId }, options }),
  }
}

/** The unsubscribe link of a message, for its recipient; needs no key. */
export function unsubscribe(api: Api) {
  return {
    /** The page that asks for confirmation, as HTML. */
    show: (token: string, options?: RequestOptions) =>
      api.text({ id: 'unsubscribe.show', path: { token }, options }),
    /** Unsubscribes, as mail programs do; returns the confirmation page. */
    confirm: (token: string, options?: RequestOptions) =>
      api.text({ id: 'unsubscribe.confirm', path: { token }, options }),
  }
}

/** For a service in sandbox mode, which sends no mail to other machines. */
export function sandbox(api: Api) {
  return {
    /** Captured mail, newest first. */
    list: (options: ListOptions<'sandbox.list'> = {}) => api.list('sandbox.list', {}, options),
    clear: (options?: RequestOptions) => api.carryOut({ id: 'sandbox.clear', options }),
    /** Delivers mail as if it came from outside. */
    receive: (mail: MailToReceive, options?: RequestOptions) =>
      api.call({ id: 'sandbox.receive', body: withEncodedFiles(mail), options }),
    /** Delivers a complete message (RFC 5322), by its header if no envelope is given. */
    receiveRaw: (
      raw: Uint8Array<ArrayBuffer> | string,
      { from, to, ...options }: OptionsOf<'sandbox.receive'> & RequestOptions = {},
    ) =>
      api.call({
        id: 'sandbox.receive',
        query: { from, to },
        content: { type: 'message/rfc822', data: raw },
        options,
      }),
  }
}

export function attachments(api: Api) {
  return {
    /** The same bytes as at the signed `url` of the attachment. */
    get: (messageId: string, filename: string, options?: RequestOptions) =>
      api.download({ id: 'attachments.get', path: { messageId, filename }, options }),
    /** Extracts the text, which may take ten seconds. Rejects with `no_text` if there is none. */
    text: (messageId: string, filename: string, options?: RequestOptions) =>
      api.call({ id: 'attachments.text', path: { messageId, filename }, options }),
  }
}

/** People who decide about held mail. With the first one, changes require an approver's token. */
export function approvers(api: Api) {
  return {
    /** Only this response contains the token. */
    create: (body: BodyOf<'approvers.create'>, options?: RequestOptions) =>
      api.call({ id: 'approvers.create', body, options }),
    /** Newest first. */
    list: (options: ListOptions<'approvers.list'> = {}) => api.list('approvers.list', {}, options),
    /** The token stops working immediately. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'approvers.delete', path: { id }, options }),
  }
}

/** Held mail. An API key can read it; deciding requires an approver's token. */
export function reviews(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'reviews.list'> = {}) => api.list('reviews.list', {}, options),
    /** Includes the content to be sent and the thread. */
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'reviews.get', path: { id }, options }),
    /** Sends the message with the given digest. */
    approve: (id: string, body: BodyOf<'reviews.approve'>, options?: RequestOptions) =>
      api.call({ id: 'reviews.approve', path: { id }, body, options }),
    /** Each approval has its own result. */
    approveMany: (body: BodyOf<'reviews.approveMany'>, options?: RequestOptions) =>
      api.call({ id: 'reviews.approveMany', body, options }),
    /** The message is never sent. */
    reject: (id: string, body: BodyOf<'reviews.reject'> = {}, options?: RequestOptions) =>
      api.call({ id: 'reviews.reject', path: { id }, body, options }),
    /** Changes the given fields of a held message, which gets a new digest. */
    edit: (id: string, body: BodyOf<'reviews.edit'>, options?: RequestOptions) =>
      api.call({ id: 'reviews.edit', path: { id }, body, options }),
    comment: (id: string, body: BodyOf<'reviews.comment'>, options?: RequestOptions) =>
      api.call({ id: 'reviews.comment', path: { id }, body, options }),
    /** The page behind a link in an approver's mail, as HTML; needs no key and changes nothing. */
    showLinked: (token: string, options?: RequestOptions) =>
      api.text({ id: 'reviews.showLinked', path: { token }, options }),
    bodyLinked: (token: string, options?: RequestOptions) =>
      api.text({ id: 'reviews.bodyLinked', path: { token }, options }),
    approveLinked: (token: string, options?: RequestOptions) =>
      api.text({ id: 'reviews.approveLinked', path: { token }, options }),
    rejectLinked: (token: string, options?: RequestOptions) =>
      api.text({ id: 'reviews.rejectLinked', path: { token }, options }),
  }
}

/** Addresses that the account does not send to. */
export function suppressions(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'suppressions.list'> = {}) =>
      api.list('suppressions.list', {}, options),
    /** Leaves an existing entry unchanged. */
    create: (body: BodyOf<'suppressions.create'>, options?: RequestOptions) =>
      api.call({ id: 'suppressions.create', body, options }),
    /** Allows the account to send to the address again. */
    delete: (address: string, options?: RequestOptions) =>
      api.carryOut({ id: 'suppressions.delete', path: { address }, options }),
  }
}

/** Rules that allow or block senders. */
export function senderRules(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'senderRules.list'> = {}) =>
      api.list('senderRules.list', {}, options),
    /** Returns an equal existing rule. Applies to mail that arrives from then on. */
    create: (body: BodyOf<'senderRules.create'>, options?: RequestOptions) =>
      api.call({ id: 'senderRules.create', body, options }),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'senderRules.get', path: { id }, options }),
    /** Mail that the rule blocked stays in quarantine. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'senderRules.delete', path: { id }, options }),
  }
}

/** Who may write to an inbox, whom it may write to, and what it may send. */
export function policy(api: Api) {
  return {
    /** The policy of a pod or an inbox, or of the account if neither is given. */
    get: ({ podId, inboxId, ...options }: OptionsOf<'policy.get'> & RequestOptions = {}) =>
      api.call({ id: 'policy.get', query: { podId, inboxId }, options }),
    /** Replaces each direction that `body` has. */
    replace: (
      body: BodyOf<'policy.replace'>,
      { podId, inboxId, ifMatch, ...options }: OptionsOf<'policy.replace'> & MatchOptions = {},
    ) =>
      api.call({
        id: 'policy.replace',
        query: { podId, inboxId },
        body,
        headers: matching(ifMatch),
        options,
      }),
    /** Returns an equal existing rule of the same policy. */
    createRule: (
      body: BodyOf<'policy.createRule'>,
      { podId, inboxId, ...options }: OptionsOf<'policy.createRule'> & RequestOptions = {},
    ) => api.call({ id: 'policy.createRule', query: { podId, inboxId }, body, options }),
    deleteRule: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'policy.deleteRule', path: { id }, options }),
    /** Newest first. */
    audit: (options: ListOptions<'policy.audit'> = {}) => api.list('policy.audit', {}, options),
  }
}

/** Mail blocked by sender rules. */
export function quarantine(api: Api) {
  return {
    /** Newest first. */
    list: (options: ListOptions<'quarantine.list'> = {}) =>
      api.list('quarantine.list', {}, options),
    get: (id: string, options?: RequestOptions) =>
      api.call({ id: 'quarantine.get', path: { id }, options }),
    /** The message byte for byte. */
    raw: (id: string, options?: RequestOptions) =>
      api.download({ id: 'quarantine.raw', path: { id }, options }),
    /** Moves the message to its inbox and returns it. */
    release: (id: string, options?: RequestOptions) =>
      api.call({ id: 'quarantine.release', path: { id }, options }),
    /** Deletes the message permanently. */
    delete: (id: string, options?: RequestOptions) =>
      api.carryOut({ id: 'quarantine.delete', path: { id }, options }),
  }
}
