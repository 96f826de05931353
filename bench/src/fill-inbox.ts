// Fills an inbox of a benchmark by SMTP.

import { once } from 'node:events'
import { connect } from 'node:net'
import type { RunningMailroom } from './mailroom.ts'

const SESSIONS = 20
const BATCH = 50

/** One message in this many comes from a program. */
const RARE_EVERY = 500

/**
 * Sends `count` messages by SMTP, pipelined, with bodies of about `bodyBytes`. Every third message
 * replies to an earlier one.
 */
export async function fillInbox(
  mailroom: Pick<RunningMailroom, 'smtpPort'>,
  address: string,
  count: number,
  bodyBytes = 0,
): Promise<void> {
  let next = 0
  const session = async () => {
    const socket = connect({ port: mailroom.smtpPort, host: '127.0.0.1', noDelay: true })
    let accepted = 0
    let wanted = 0
    let text = ''
    let wake = () => {}
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const lines = text.split('\r\n')
      text = lines.pop() ?? ''
      accepted += lines.filter((line) => line.startsWith('250 2.0.0')).length
      if (accepted >= wanted) wake()
    })
    const closed = once(socket, 'close').then(() => {
      throw new Error('The service closed the connection.')
    })
    closed.catch(() => {})
    // The server disconnects clients that send before the greeting.
    await once(socket, 'data')
    socket.write('EHLO bench.example\r\n')
    while (next < count) {
      const batch = Math.min(BATCH, count - next)
      for (let index = 0; index < batch; index++) {
        socket.write(
          `MAIL FROM:<a@bench.example>\r\nRCPT TO:<${address}>\r\nDATA\r\n${message(address, next++, bodyBytes)}`,
        )
      }
      wanted += batch
      const answered = new Promise<void>((resolve) => {
        wake = resolve
        if (accepted >= wanted) resolve()
      })
      await Promise.race([answered, closed])
    }
    socket.end('QUIT\r\n')
  }
  await Promise.all(Array.from({ length: SESSIONS }, session))
}

function message(address: string, serial: number, bodyBytes: number): string {
  const more = 'The quick brown fox jumps over the lazy dog, and then over the next one.\r\n'
  const body = more.repeat(Math.round(bodyBytes / more.length))
  const parent = serial % 3 === 2 ? `In-Reply-To: <${serial - 2}.${address}>\r\n` : ''
  const rare = serial % RARE_EVERY === 0 ? 'Auto-Submitted: auto-generated\r\n' : ''
  return `From: a@bench.example\r\nTo: ${address}\r\nSubject: Message ${serial}\r\nMessage-ID: <${serial}.${address}>\r\n${parent}${rare}\r\nThe body of message ${serial}, as short as most are.\r\n${body}.\r\n`
}
