// The commands that wait for what happens.

import { eventKinds } from '@mailroom/contract/vocabulary.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { fieldsOf } from '#contract/fields.ts'
import { addInboxOption, addSessionOptions, collect } from './add-operation-command.ts'

function sentenceOf(name: string): string {
  return fieldsOf('inboxes.wait').find((field) => field.name === name)?.sentence ?? ''
}

export function addWait(program: Command): void {
  const summary = 'Wait for a message to come into an inbox, and print it.'
  const command = program
    .command('wait')
    .summary(summary)
    .description(
      `${summary}\n\nOnly what comes after the call counts, unless --after or --since says otherwise. Exits with 124 when none came in time.`,
    )
  addInboxOption(command, 'The inbox to wait at.')
    .option('--from <text>', sentenceOf('from'))
    .option('--subject <text>', sentenceOf('subject'))
    .option('--thread <thread>', sentenceOf('thread_id'))
    .option('--after <id>', sentenceOf('after'))
    .option('--since <time>', 'Also what came this long before the call, such as 5m.')
    .option('--timeout <time>', 'How long to wait at most, such as 90s, 5m or 2h.', '5m')
    .option('--code', 'Wait for a message with a verification code, and print only the code.')
  addSessionOptions(command).action(async () => {
    const { waitForMail } = await import('#actions/wait-for-mail.ts')
    await waitForMail(command.opts())
  })
}

export function addListen(program: Command): void {
  const summary = 'Print events as they happen, or forward them to a local webhook.'
  const command = program
    .command('listen')
    .summary(summary)
    .description(
      `${summary}\n\nA connection that breaks is opened again, and goes on behind the last event. With --forward each event is posted as the service posts it to a webhook, signed in the same way: no tunnel is needed. With --json each event is one line.`,
    )
    .option(
      '--inbox <inbox>',
      'Only events of this inbox, by its id or address. May be given several times.',
      collect,
    )
    .option(
      '--pod <pod>',
      'Only events of the inboxes of this pod. May be given several times.',
      collect,
    )
    .option(
      '--events <kinds>',
      `Only events of these kinds: ${eventKinds.join(', ')}.`,
      collectKinds,
    )
    .option('--since <event>', 'The id of an event: what came after it is told first.')
    .option('--forward <url>', 'Where to post the events to.')
    .option(
      '--secret <secret>',
      'What signs them: whsec_ and base64, or "-" to read it from standard input. Made and shown when left out.',
    )
  addSessionOptions(command).action(async () => {
    const { listen } = await import('#actions/listen.ts')
    await listen(command.opts())
  })
}

function collectKinds(text: string, before: readonly string[] = []): string[] {
  const kinds: readonly string[] = eventKinds
  const given = collect(text)
  const unknown = given.find((kind) => !kinds.includes(kind))
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`There is no kind ${unknown}; there are ${kinds.join(', ')}.`)
  }
  return [...before, ...given]
}
