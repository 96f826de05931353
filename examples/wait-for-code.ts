// Waits for a verification code: makes an inbox, prints its address to sign up with, and then the code.

import { Mailroom } from '@mailroom/sdk'

// One line instead of a stack: without a key, or where no service answers.
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
  // Looked at again every ten seconds: a message may come between two requests.
  await mailroom.inboxes.wait(inbox.id, { timeout: 10 })
  code = await findCode()
}
console.log(code === null ? 'No code came.' : `The code is ${code}`)
process.exitCode = code === null ? 1 : 0

/** The best code of the newest message that has one, word for word as it is in there. */
async function findCode(): Promise<string | null> {
  for await (const message of mailroom.messages.list(inbox.id, { direction: 'inbound' })) {
    const [best] = message.extracted?.codes ?? []
    if (best !== undefined) return best.value
  }
  return null
}
