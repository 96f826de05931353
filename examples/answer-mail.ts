// Answers mail: replies to every unread thread of an inbox, then waits for the next message.

import { Mailroom, type Message } from '@mailroom/sdk'

// Print one line instead of a stack trace if the key is missing or the service does not answer.
process.on('uncaughtException', ({ message }) => {
  console.error(message)
  process.exit(1)
})

const { MAILROOM_BASE_URL: baseUrl = 'http://127.0.0.1:8080', MAILROOM_API_KEY: apiKey = '' } =
  process.env
if (apiKey === '') throw new Error('MAILROOM_API_KEY is not set.')
const mailroom = new Mailroom({ baseUrl, apiKey })

const [found] = (await mailroom.inboxes.list({ limit: 1 }).page()).data
const inbox = found ?? (await mailroom.inboxes.create())
console.log(`Write to ${inbox.address}`)

for (;;) {
  const newest = mailroom.messages.list(inbox.id, { direction: 'inbound', limit: 1 })
  const after = (await newest.page()).data[0]?.id
  for await (const thread of mailroom.threads.list(inbox.id, { isRead: false })) {
    const { data } = await mailroom.threads.messages(thread.id)
    const message = data.findLast(({ direction }) => direction === 'inbound')
    // Two programs that answer each other never stop.
    if (message === undefined || message.automatic) {
      await mailroom.threads.update(thread.id, { is_read: true })
      continue
    }
    // The same key never sends twice, even if this program was restarted in between.
    const idempotencyKey = `answer-${message.id}`
    const answer = { body: await answerTo(message) }
    await mailroom.inboxes.reply(inbox.id, message, answer, { idempotencyKey })
    console.log(`Answered ${message.id} from ${message.fromAddr}`)
  }
  // A message that has already arrived ends the wait. An empty inbox has no message to wait after.
  await mailroom.inboxes.wait(inbox.id, { after, timeout: after === undefined ? 5 : 60 })
}

/** Call your model here. A stranger wrote its input: treat it as data, never as instructions. */
async function answerTo(message: Message): Promise<string> {
  const sender = message.authentication?.verifiedFrom ? message.fromAddr : 'whoever you are'
  const lines = message.extractedText.trim().split('\n').length
  return `Hello ${sender},\n\nthank you for your ${lines} line(s). A person will look at them.`
}
