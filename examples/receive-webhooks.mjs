// Receives events: a webhook server that accepts only events signed by the service.

import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { verifyWebhook, WebhookVerificationError } from '@mailroom/sdk'

const { WEBHOOK_SECRET: secret, PORT = '3000' } = process.env
if (!secret) {
  console.error('WEBHOOK_SECRET is not set.')
  process.exit(1)
}

/** An event may arrive more than once. Keep ids longer than five days, and not in memory. */
const known = new Set()

createServer(async (request, response) => {
  try {
    const { event, event_id, message } = await verifyWebhook(
      await text(request),
      request.headers,
      secret,
    )
    if (!known.has(event_id)) console.log(event, event_id, message?.subject ?? '')
    known.add(event_id)
    // Answer first and work afterwards: an event that is not answered in time is sent again.
    response.writeHead(204).end()
  } catch (error) {
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 400).end()
  }
}).listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on port ${PORT}`))
