// Idle clients in a separate process: subscribed WebSockets, and requests that wait for a message.
// Prints a line once all are waiting, and exits when its input ends.

import { request } from 'node:http'

export type IdlePlan = {
  port: number
  /** The accounts are used in rotation. */
  accounts: { key: string; inboxId: string }[]
  sockets: number
  waiters: number
}

const plan = JSON.parse(process.argv[2] ?? '{}') as IdlePlan
const sockets: WebSocket[] = []
for (let index = 0; index < plan.sockets; index++) sockets.push(await openSocket(accountOf(index)))
for (let index = 0; index < plan.waiters; index++) wait(accountOf(index))
// The last requests may be in transit; the server handles this new request after them.
await fetch(`http://127.0.0.1:${plan.port}/health`)
process.stdout.write('{"waiting":true}\n')
process.stdin.on('end', () => process.exit(0))
process.stdin.resume()

function accountOf(index: number) {
  const account = plan.accounts[index % plan.accounts.length]
  if (account === undefined) throw new Error('No accounts are planned.')
  return account
}

function openSocket({ key, inboxId }: IdlePlan['accounts'][number]): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${plan.port}/v1/ws?token=${key}`)
  socket.addEventListener('open', () => {
    socket.send(JSON.stringify({ type: 'subscribe', inbox_ids: [inboxId] }))
  })
  return new Promise((resolve, reject) => {
    socket.addEventListener('message', () => resolve(socket), { once: true })
    socket.addEventListener('close', ({ code }) => reject(new Error(`Closed with ${code}`)))
  })
}

/** Repeats the request until the process ends. */
function wait({ key, inboxId }: IdlePlan['accounts'][number]): void {
  const asked = request(
    {
      port: plan.port,
      host: '127.0.0.1',
      path: `/v1/inboxes/${inboxId}/wait?timeout=60`,
      headers: { authorization: `Bearer ${key}` },
      agent: false,
    },
    (response) => {
      response.resume()
      response.on('end', () => wait({ key, inboxId }))
    },
  )
  asked.on('error', (error) => {
    throw error
  })
  asked.end()
}
