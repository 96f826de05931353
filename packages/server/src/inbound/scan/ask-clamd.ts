// Scans a message with the INSTREAM command of clamd (clamd(8)).

import { connect } from 'node:net'
import type { ScanAnswer } from './scan-answer.ts'

const CHUNK_BYTES = 1 << 18
const REPLY_LENGTH_MAX = 4_096

export type ClamdAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string }

/** The URL is `tcp://host:port` or the path of a socket. */
export function clamdAddressOf(url: string): ClamdAddress {
  if (url.startsWith('/')) return { path: url }
  const { hostname, port } = new URL(url.replace(/^tcp:/, 'http:'))
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || '80') }
}

const NAME_LENGTH_MAX = 120

/** Rejects if there is no usable answer. */
export async function askClamd(
  address: ClamdAddress,
  raw: Uint8Array,
  signal: AbortSignal,
): Promise<ScanAnswer> {
  const reply = await exchange(address, raw, signal)
  const found = /^stream: (.+) FOUND\0?$/.exec(reply)?.[1]?.slice(0, NAME_LENGTH_MAX)
  if (found !== undefined) {
    return { verdict: 'malicious', spamScore: null, reason: { rule: 'clamd', detail: found } }
  }
  if (/^stream: OK\0?$/.test(reply)) return { verdict: 'clean', spamScore: null }
  throw new Error(reply === '' ? 'no reply' : reply.slice(0, 100).replace(/[^\x20-\x7e]/g, ''))
}

function exchange(address: ClamdAddress, raw: Uint8Array, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(address)
  let reply = ''
  const end = () => {
    signal.removeEventListener('abort', abort)
    socket.destroy()
  }
  const fail = (error: unknown) => {
    end()
    // clamd may refuse a long message before reading all of it; that reply is used.
    if (reply.endsWith('\0')) resolve(reply)
    else reject(error)
  }
  const abort = () => fail(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    reply += text
    if (reply.length > REPLY_LENGTH_MAX) fail(new Error('the reply is too long'))
    else if (reply.endsWith('\0')) {
      end()
      resolve(reply)
    }
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the connection was closed')))
  socket.on('connect', () => writeStream(socket, raw))
  return promise
}

function writeStream(socket: ReturnType<typeof connect>, raw: Uint8Array): void {
  socket.write('zINSTREAM\0')
  for (let at = 0; at < raw.length; at += CHUNK_BYTES) {
    const chunk = raw.subarray(at, at + CHUNK_BYTES)
    socket.write(lengthOf(chunk.length))
    socket.write(chunk)
  }
  socket.write(lengthOf(0))
}

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  return bytes
}
