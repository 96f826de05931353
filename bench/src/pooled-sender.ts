// The yardstick of the delivery benchmark: nodemailer's pooled transport composes, signs and sends the same
// messages without storing anything. Prints the time as JSON.

import { generateKeyPairSync } from 'node:crypto'
import { createTransport } from 'nodemailer'

type Plan = { port: number; messages: number; connections: number; signs: boolean; text: string }

const plan = JSON.parse(process.argv[2] ?? '{}') as Plan
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const transport = createTransport({
  host: '127.0.0.1',
  port: plan.port,
  pool: true,
  ignoreTLS: true,
  maxConnections: plan.connections,
  maxMessages: 100,
  ...(plan.signs && {
    dkim: { domainName: 'bench.example', keySelector: 'bench', privateKey },
  }),
})
const startMs = performance.now()
await Promise.all(
  Array.from({ length: plan.messages }, (_, index) =>
    transport.sendMail({
      from: 'bench@bench.example',
      to: 'someone@sink.example',
      subject: `Message ${index}`,
      text: plan.text,
    }),
  ),
)
process.stdout.write(JSON.stringify({ elapsedMs: performance.now() - startMs }))
process.exit(0)
