// Raw HTTP over a socket, for requests that no well-behaved client sends.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type WireAnswer = {
  /** 0 when the server closed without an answer. */
  status: number
  headers: Headers
  body: string
  /** All bytes of the connection as text. */
  raw: string
}

/** Sends `text` and reads until the server closes, or until a complete answer with a length arrived. */
export async function exchange(port: number, text: string): Promise<WireAnswer> {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write(text)
  const answer = await readAnswer(socket)
  socket.destroy()
  return answer
}

/** The first answer on the connection. */
export function readAnswer(socket: Socket): Promise<WireAnswer> {
  return new Promise((resolve) => {
    let raw = ''
    const finish = () => resolve(parseAnswer(raw))
    socket.on('data', (chunk) => {
      raw += chunk.toString('latin1')
      if (isWhole(raw)) finish()
    })
    socket.on('close', finish)
    socket.on('end', finish)
  })
}

function isWhole(raw: string): boolean {
  const end = raw.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(raw.slice(0, end))?.[1]
  return length !== undefined && raw.length >= end + 4 + Number(length)
}

function parseAnswer(raw: string): WireAnswer {
  const [head = '', body = ''] = raw.split(/\r\n\r\n(.*)/s)
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers()
  for (const line of lines) {
    const [name = '', value = ''] = line.split(/:(.*)/s)
    headers.append(name, value.trim())
  }
  return { status: Number(first.split(' ')[1] ?? 0), headers, body, raw }
}
