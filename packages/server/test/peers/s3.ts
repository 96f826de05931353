// A real S3 server for tests, from a package: it checks signatures and stores objects as files. Tests can make it
// fail.

import crypto from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import type { S3Location } from '#platform/blobs/s3-transport.ts'

/** `cutting`: it closes connections after the request; `silent`: it never answers. */
export type S3Mood = 'well' | 'cutting' | 'silent' | 'failing' | 'slow-down' | 'full'

export type TestS3 = {
  readonly endpoint: string
  /** Where its objects are. */
  readonly directory: string
  /** In its bucket. */
  placeAt(prefix: string): S3Location
  /** Settings of a service that keeps large messages under this prefix. */
  envAt(prefix: string): Record<string, string>
  mood: S3Mood
  /** Method and path of each request so far. */
  readonly requests: string[]
  /** The names of all objects under the prefix. */
  namesUnder(prefix: string): Promise<string[]>
  /** Sets the time of storage of an object. */
  setStoredMs(key: string, storedMs: number): Promise<void>
  close(): Promise<void>
}

/** The access key and the secret that the package has for everybody. */
const KEY = 'S3RVER'
const BUCKET = 'mail'
const OBJECT = '._S3rver_object'
const STATUS: Partial<Record<S3Mood, [status: number, code: string]>> = {
  failing: [500, 'InternalError'],
  'slow-down': [503, 'SlowDown'],
  full: [507, 'XMinioStorageFull'],
}

/** One bucket named `mail` on a free port of the loopback interface. */
export async function startS3(): Promise<TestS3> {
  giveDes()
  const directory = await mkdtemp(join(tmpdir(), 'mailroom-s3-'))
  const options = {
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: BUCKET }],
  }
  const strict = new S3rver(options)
  await strict.configureBuckets()
  // The package leaves out the last slash when it checks signatures, so that lists would always fail.
  const lenient = new S3rver({ ...options, allowMismatchedSignatures: true })
  const [answer, answerLists] = [strict.callback(), lenient.callback()]
  const server = createServer((request, response) => {
    s3.requests.push(`${request.method} ${request.url}`)
    if (s3.mood === 'silent') return void request.resume()
    if (s3.mood === 'cutting') return void request.socket.destroy()
    const told = STATUS[s3.mood]
    const isList = /^\/[^/]+\/(\?|$)/.test(request.url ?? '')
    if (told === undefined) return void (isList ? answerLists : answer)(request, response)
    const [status, code] = told
    void whole(request).then(() => {
      response.writeHead(status, { 'content-type': 'application/xml' })
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const fileOf = (key: string) => join(directory, BUCKET, key + OBJECT)

  const s3: TestS3 = {
    endpoint,
    directory,
    placeAt: (prefix) => ({
      endpoint,
      region: 'us-east-1',
      bucket: BUCKET,
      prefix,
      accessKeyId: KEY,
      secretAccessKey: KEY,
    }),
    envAt: (prefix) => ({
      MAILROOM_BLOB_URL: `s3://${BUCKET}/${prefix}?endpoint=${endpoint}`,
      AWS_ACCESS_KEY_ID: KEY,
      AWS_SECRET_ACCESS_KEY: KEY,
    }),
    mood: 'well',
    requests: [],
    async namesUnder(prefix) {
      const folder = join(directory, BUCKET, prefix)
      await mkdir(folder, { recursive: true })
      const files = await namesIn(folder)
      const objects = files.filter((file) => file.endsWith(OBJECT))
      return objects.map((file) => file.slice(0, -OBJECT.length)).sort()
    },
    setStoredMs: (key, storedMs) => utimes(fileOf(key), storedMs / 1_000, storedMs / 1_000),
    async close() {
      server.closeAllConnections()
      server.close()
      for (const { logger } of [strict, lenient]) logger.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
  return s3
}

/**
 * The package encrypts the start of the next page in a list's token with a cipher that OpenSSL 3 no longer has: DES,
 * which is triple DES with one key three times.
 */
function giveDes(): void {
  const { createCipheriv, createDecipheriv } = crypto
  const triple = (key: Buffer) => Buffer.concat([key, key, key])
  Object.assign(crypto, {
    createCipheriv: (...[name, key, iv, options]: Parameters<typeof createCipheriv>) =>
      name === 'des'
        ? createCipheriv('des-ede3-cbc', triple(key as Buffer), iv)
        : createCipheriv(name, key, iv, options),
    createDecipheriv: (...[name, key, iv, options]: Parameters<typeof createDecipheriv>) =>
      name === 'des'
        ? createDecipheriv('des-ede3-cbc', triple(key as Buffer), iv)
        : createDecipheriv(name, key, iv, options),
  })
}

async function whole(request: IncomingMessage): Promise<void> {
  request.resume()
  await once(request, 'end')
}

/** All files below the folder. A folder that is removed meanwhile is looked at again. */
async function namesIn(folder: string): Promise<string[]> {
  for (;;) {
    try {
      return await readdir(folder, { recursive: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      await mkdir(folder, { recursive: true })
    }
  }
}
