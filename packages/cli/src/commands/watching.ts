// The commands that wait for what happens.

import { eventKinds } from '@mailroom/contract/vocabulary.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { fieldsOf } from '#contract/fields.ts'
import { addInboxOption, addSessionOptions, collect } from './add-operation-command.ts'

function sentenceOf(name: string): string {
  return fieldsOf('inboxes.wait').find((field) => field.name === name)?.sentence ?? ''
}

export function addWait(program: Command): void {
  const summary = 'Wait for a message to arrive in an inbox, then print it.'
  const command = program
    .command('wait')
    .summary(summary)
    .description(
      `${summary}\n\nOnly mail that arrives after the call counts, unless you give --after or --since. Exits with 124 on timeout.`,
    )
  addInboxOption(command, 'The inbox to watch.')
    .option('--from <text>', sentenceOf('from'))
    .option('--subject <text>', sentenceOf('subject'))
    .option('--thread <thread>', sentenceOf('thread_id'))
    .option('--after <id>', sentenceOf('after'))
    .option(
      '--since <time>',
      'Count mail that arrived up to this long before the call, such as 5m.',
    )
    .option('--timeout <time>', 'How long to wait, such as 90s, 5m or 2h.', '5m')
    .option('--code', 'Ignore messages without a verification code, and print only the code.')
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
      `${summary}\n\nReconnects when the connection breaks, and resumes after the last event. --forward posts each event to a local URL, signed like a webhook of the service: you need no tunnel. --json prints one line per event.`,
    )
    .option(
      '--inbox <inbox>',
      'Only events of this inbox, by its id or address. Can be repeated.',
      collect,
    )
    .option('--pod <pod>', 'Only events of the inboxes of this pod. Can be repeated.', collect)
    .option(
      '--events <kinds>',
      `Only events of these kinds: ${eventKinds.join(', ')}.`,
      collectKinds,
    )
    .option('--since <event>', 'The id of an event: print the events after it first.')
    .option('--forward <url>', 'Post the events to this URL.')
    .option(
      '--secret <secret>',
      'Signing secret: whsec_ and base64, or "-" to read it from standard input. Generated and printed by default.',
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
    throw new InvalidArgumentError(`Unknown kind ${unknown}. The kinds are ${kinds.join(', ')}.`)
  }
  return [...before, ...given]
}
