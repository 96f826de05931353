// Carries out the examples of the contract against a running service and compares the responses.

import assert from 'node:assert/strict'
import type { Example } from '@mailroom/contract/examples/example.ts'
import { exampleOf } from '@mailroom/contract/examples/examples.ts'
import { type DescribedOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { OPERATOR_TOKEN, type World } from '#test/world.ts'

/** The time at which the examples take place. */
const STORY_MS = Date.parse('2026-11-30T06:00:00Z')

const ID = '(?<![0-9a-z])[0-7][0-9a-hjkmnp-tv-z]{25}(?![0-9a-z])'
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z`
const PARTS = new RegExp(`(${ID}|${TIME}|…)`)

/** Fields whose values the service chooses, and which later requests repeat. */
const CHOSEN = new Set(['leaseToken', 'requestId', 'userCode', 'etag', 'digest', 'eventId'])
/** Numbers that depend on the machine. */
const MEASURED = /(storedBytes|latencyMs(P\d+)?|^exports\..*\.sizeBytes)$/

export class Story {
  readonly told = new Set<DescribedOperationId>()
  readonly #world: Pick<World, 'baseUrl' | 'clock'>
  /** What the words of the examples mean in this service; of an id only its last part. */
  readonly #meanings = new Map<string, string>()
  key = ''
  approver = ''
  cookie = ''
  csrf = ''

  constructor(world: Pick<World, 'baseUrl' | 'clock'>) {
    this.#world = world
  }

  /** Declares the meaning of a word in the examples. */
  means(written: string | undefined, real: string): void {
    assert.ok(written !== undefined)
    const id = new RegExp(`^[a-z]{3}_(${ID})$`)
    const [, wordOfId] = id.exec(written) ?? []
    this.#meanings.set(wordOfId ?? written, id.exec(real)?.[1] ?? real)
  }

  /** What a word of the examples means. */
  real(written: string): string {
    return this.#translated(written)
  }

  /** Sends the request of the example, expects its response, and returns the real one. */
  async tell<Answer>(id: DescribedOperationId): Promise<Answer> {
    const { success } = operationOf(id)
    const { response: written } = exampleOf(id)
    const response = await this.send(id)
    const isJson = 'schema' in success
    const real: unknown = isJson ? await response.json() : await textOf(response)
    assert.equal(response.status, success.status, `${id}: ${JSON.stringify(real)}`)
    if (written === undefined) assert.equal(real, '', id)
    else this.#compare(written, real, id)
    this.told.add(id)
    return real as Answer
  }

  /** The response to the request of the example, which may be any. */
  send(id: DescribedOperationId): Promise<Response> {
    const { method, path } = operationOf(id)
    const { path: names = {}, query = {}, body, file, headers = {}, as }: Example = exampleOf(id)
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(this.#inService(names[name] ?? '')),
    )
    const url = new URL(`${this.#world.baseUrl}${filled}`)
    for (const [name, value] of Object.entries(query)) {
      url.searchParams.set(name, this.#inService(String(value)))
    }
    const given = Object.entries(headers).map(([name, value]) => [name, this.#inService(value)])
    return fetch(url, {
      method,
      headers: {
        ...this.#credentials(id, as),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(file && { 'content-type': file.mediaType }),
        ...Object.fromEntries(given),
      },
      body: file?.text ?? (body === undefined ? null : this.#inService(JSON.stringify(body))),
    })
  }

  #credentials(id: DescribedOperationId, as: Example['as']): Record<string, string> {
    const { auth } = operationOf(id)
    if (auth === 'none' || auth === 'signature') return {}
    if (auth === 'session') return { cookie: this.cookie, 'x-csrf-token': this.csrf }
    const own = auth === 'approver' || as === 'approver' ? this.approver : this.key
    return { authorization: `Bearer ${auth === 'operator' ? OPERATOR_TOKEN : own}` }
  }

  /** With the words of the service, and times as far ahead of now as they are in the story. */
  #inService(text: string): string {
    const now = this.#world.clock.now()
    const later = text.replaceAll(new RegExp(TIME, 'g'), (time) =>
      new Date(Date.parse(time) - STORY_MS + now).toISOString(),
    )
    return this.#translated(later.replaceAll('$MAILROOM_API_KEY', this.key))
  }

  #translated(text: string): string {
    let translated = text
    for (const [written, real] of this.#meanings) translated = translated.replaceAll(written, real)
    return translated
  }

  #compare(written: unknown, real: unknown, at: string): void {
    if (typeof written === 'string') {
      this.#compareText(written, real, at)
      return
    }
    if (typeof written !== 'object' || written === null) {
      if (MEASURED.test(at)) assert.equal(typeof real, typeof written, at)
      else assert.equal(real, written, at)
      return
    }
    if (Array.isArray(written)) {
      assert.ok(Array.isArray(real), at)
      // The example of statistics has only the newest interval.
      const shown = at === 'stats.get.buckets' ? real.slice(-written.length) : real
      assert.equal(shown.length, written.length, `${at}: ${JSON.stringify(real)}`)
      for (const [index, item] of written.entries())
        this.#compare(item, shown[index], `${at}[${index}]`)
      return
    }
    assert.ok(typeof real === 'object' && real !== null, `${at} is ${JSON.stringify(real)}`)
    assert.deepEqual(Object.keys(real).sort(), Object.keys(written).sort(), at)
    for (const [name, value] of Object.entries(written)) {
      this.#compare(value, Reflect.get(real, name), `${at}.${name}`)
    }
  }

  /** An id that is met for the first time means the one in its position; later it must be the same. */
  #compareText(written: string, real: unknown, at: string): void {
    assert.ok(typeof real === 'string', `${at} is ${JSON.stringify(real)}`)
    if (CHOSEN.has(at.split('.').at(-1) ?? '') && !this.#meanings.has(written)) {
      this.means(written, real)
      return
    }
    const found: string[] = []
    const pattern = written.split(PARTS).map((part) => {
      if (part === '…') return '[\\s\\S]*'
      if (new RegExp(`^${TIME}$`).test(part)) return TIME
      if (!new RegExp(`^${ID}$`).test(part) || this.#meanings.has(part)) {
        return this.#translated(part).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      }
      found.push(part)
      return `(${ID})`
    })
    const match = new RegExp(`^${pattern.join('')}$`).exec(real)
    assert.ok(match, `${at}\nwritten: ${this.#translated(written)}\nreal:    ${real}`)
    for (const [index, word] of found.entries()) this.#meanings.set(word, match[index + 1] ?? '')
  }
}

/** The text of a response with bare line feeds; of an endless one up to its second event. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    return (await response.text()).replaceAll('\r\n', '\n')
  }
  let text = ''
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString()
    if (text.split('\n\n').length > 2) break
  }
  return text
}
