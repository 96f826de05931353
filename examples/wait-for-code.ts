// Waits for a verification code: creates an inbox, prints its address to sign up with, then the code.

import { Mailroom } from '@mailroom/sdk'

// Print one line instead of a stack trace if the key is missing or the service does not answer.
process.on('uncaughtException', ({ message }) => {
  console.error(message)
  process.exit(1)
})

const { MAILROOM_BASE_URL: baseUrl = 'http://127.0.0.1:8080', MAILROOM_API_KEY: apiKey = '' } =
  process.env
if (apiKey === '') throw new Error('MAILROOM_API_KEY is not set.')
const mailroom = new Mailroom({ baseUrl, apiKey })
const MINUTES_MAX = 10

const inbox = await mailroom.inboxes.create()
console.log(`Sign up with ${inbox.address}`)

const endMs = Date.now() + MINUTES_MAX * 60_000
let code = await findCode()
while (code === null && Date.now() < endMs) {
  // List again every ten seconds, because a message may arrive between two requests.
  await mailroom.inboxes.wait(inbox.id, { timeout: 10 })
  code = await findCode()
}
console.log(code === null ? 'No code came.' : `The code is ${code}`)
process.exitCode = code === null ? 1 : 0

/** The best code of the newest message that has one, exactly as written. */
async function findCode(): Promise<string | null> {
  for await (const message of mailroom.messages.list(inbox.id, { direction: 'inbound' })) {
    const [best] = message.extracted?.codes ?? []
    if (best !== undefined) return best.value
  }
  return null
}
