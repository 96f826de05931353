// The far end of webhooks, which fails as often as it succeeds and notes each post, its signatures and its own answer. It
// stores no bodies, so that many thousands of posts fit.

import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'
import type { Event } from '@mailroom/sdk'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { type Answer, openReceiver, type Received, type Receiver } from '#test/peers/receiver.ts'
import type { Random } from './intake.ts'

/** The outcome of a post at the receiver. */
export type Outcome = 'taken' | 'refused' | 'hung up' | 'hung'

export type Post = {
  readonly path: string
  readonly eventId: string
  readonly messageId: string
  readonly attempt: number
  /** Hash of everything that must not change between attempts. */
  readonly sha256: string
  /** Equal in two posts of the same text and time. */
  readonly copy: string
  readonly outcome: Outcome
  /** By the clock of this process: the moments when the service made it and this process read it. */
  readonly madeAtMs: number
  readonly atMs: number
}

/** Shares of all posts; the rest succeed. */
export type Failing = { refused: number; hungUp: number; hung: number }

const HALF: Failing = { refused: 0.36, hungUp: 0.14, hung: 0.002 }
/** Share of the successes that come late. */
const LATE_SHARE = 0.05
const LATE_MS_MAX = 200
const REFUSALS = [400, 404, 410, 429, 500, 502, 503, 301]

export class WebhookSink {
  /** In order of arrival. */
  readonly posts: Post[] = []
  /** Errors in posts, such as a wrong signature. */
  readonly mistakes: string[] = []
  failing: Failing = HALF
  readonly #receiver: Receiver
  readonly #random: Random
  readonly #secrets = new Map<string, string>()

  private constructor(receiver: Receiver, random: Random) {
    this.#receiver = receiver
    this.#random = random
    receiver.answer = (request) => this.#take(request)
  }

  static async open(random: Random): Promise<WebhookSink> {
    return new WebhookSink(await openReceiver({ keepsBodies: false }), random)
  }

  urlOf(path: string): string {
    return `${this.#receiver.origin}${path}`
  }

  /** Posts to the path must be signed with this secret from now on. */
  expect(path: string, secret: string): void {
    this.#secrets.set(path, secret)
  }

  /** Posts of each event to the path, in order. */
  postsTo(path: string): Map<string, Post[]> {
    return Map.groupBy(
      this.posts.filter((post) => post.path === path),
      (post) => post.eventId,
    )
  }

  countOutcomes(): Record<Outcome, number> {
    const counts = { taken: 0, refused: 0, 'hung up': 0, hung: 0 }
    for (const { outcome } of this.posts) counts[outcome] += 1
    return counts
  }

  close(): Promise<void> {
    return this.#receiver.close()
  }

  #take(request: Received): Answer {
    const outcome = this.#draw()
    try {
      this.posts.push(this.#note(request, outcome))
    } catch (error) {
      this.mistakes.push(String(error))
    }
    return this.#answer(outcome)
  }

  #draw(): Outcome {
    const { refused, hungUp, hung } = this.failing
    const drawn = this.#random()
    if (drawn < refused) return 'refused'
    if (drawn < refused + hungUp) return 'hung up'
    return drawn < refused + hungUp + hung ? 'hung' : 'taken'
  }

  #note({ path, headers, body, atMs }: Received, outcome: Outcome): Post {
    checkSignatures({ headers, body }, this.#secrets.get(path) ?? '')
    const event = JSON.parse(body.toString()) as Event
    assert.equal(headers['x-event-id'], event.event_id)
    assert.equal(headers['webhook-id'], event.event_id)
    const { event_id: eventId, attempt, message } = event
    return {
      path,
      eventId,
      copy: `${attempt} ${event.delivered_at} ${headers['x-signature']}`,
      messageId: message?.id ?? '',
      attempt,
      sha256: digest(event),
      outcome,
      madeAtMs: Date.parse(event.delivered_at) - performance.timeOrigin,
      atMs,
    }
  }

  #answer(outcome: Outcome): Answer {
    const random = this.#random
    switch (outcome) {
      case 'taken':
        return {
          status: 200 + Math.floor(random() * 5),
          delayMs: random() < LATE_SHARE ? random() * LATE_MS_MAX : 0,
        }
      case 'refused':
        return { status: REFUSALS[Math.floor(random() * REFUSALS.length)] ?? 500, body: 'no' }
      case 'hung up':
        return random() < 0.5 ? 'reset' : 'close'
      case 'hung':
        return 'hang'
      default:
        return outcome satisfies never
    }
  }
}

/** Hash of the envelope without the fields that differ between attempts. */
export function digest({ delivered_at: _at, attempt: _attempt, ...constant }: Event): string {
  return hash('sha256', JSON.stringify(constant), 'hex')
}

/** Checks the signatures of both conventions; throws when one is wrong. */
function checkSignatures(
  { headers, body }: Pick<Received, 'headers' | 'body'>,
  secret: string,
): void {
  const signed = Buffer.concat([Buffer.from(`${headers['x-timestamp']}.`), body])
  const signature = createHmac('sha256', secret).update(signed).digest('hex')
  assert.equal(headers['x-signature'], signature)
  new StandardWebhook(secret).verify(body, headers as Record<string, string>)
}
