// A mail server for the delivery benchmark that accepts everything immediately and stores nothing.
// Prints its port, then a line of JSON for each `report` on its standard input.

import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

let messages = 0
let firstMs = 0
let lastMs = 0

const server = createServer({ noDelay: true }, (socket) => {
  if (firstMs === 0) firstMs = performance.now()
  let buffered = ''
  let isInContent = false
  socket.on('error', () => {})
  socket.write('220 sink.example ESMTP\r\n')
  socket.on('data', (chunk: Buffer) => {
    buffered += chunk.toString('latin1')
    let replies = ''
    for (;;) {
      if (isInContent) {
        const end = buffered.indexOf('\r\n.\r\n')
        if (end < 0) break
        buffered = buffered.slice(end + 5)
        isInContent = false
        messages += 1
        lastMs = performance.now()
        replies += '250 2.0.0 Ok\r\n'
        continue
      }
      const end = buffered.indexOf('\r\n')
      if (end < 0) break
      const verb = buffered.slice(0, 4).toUpperCase()
      buffered = buffered.slice(end + 2)
      if (verb === 'EHLO') replies += '250-sink.example\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
      else if (verb === 'DATA') {
        isInContent = true
        replies += '354 Go on\r\n'
      } else if (verb === 'QUIT') {
        socket.end(`${replies}221 2.0.0 Bye\r\n`)
        return
      } else replies += '250 2.0.0 Ok\r\n'
    }
    if (replies !== '') socket.write(replies)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  process.stdout.write(`${JSON.stringify({ port })}\n`)
})

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'reset') {
    messages = 0
    firstMs = 0
  }
  process.stdout.write(`${JSON.stringify({ messages, elapsedMs: lastMs - firstMs })}\n`)
})
