// Commands about mail: sending, reading, waiting, listening. Options that are fields of the
// contract use its descriptions.

import type { ClientOperationId } from '@mailroom/contract/operations.ts'
import { eventKinds, inviteResponses, messageCategories } from '@mailroom/contract/vocabulary.ts'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import {
  addFieldOption,
  addGroup,
  addIfMatchOption,
  addInboxOption,
  addKeyOption,
  addLeaseOption,
  addOperationCommand,
  addSessionOptions,
  append,
  collect,
  describeBy,
} from './add-operation-command.ts'
import { type Field, ownFieldsOf, readValue } from './fields.ts'
import { addMoveCommands } from './move-mail.ts'
import { LEASE_DEFAULT, mailGroups, search } from './resources.ts'

export function addMailCommands(program: Command): void {
  const groups = new Map(mailGroups.map((group) => [group.name, group]))
  const add = (name: string): Command => {
    const group = groups.get(name)
    if (group === undefined) throw new Error(`There is no group ${name}.`)
    return addGroup(program, group)
  }
  add('inbox')
  addUse(program)
  addSend(program)
  addReply(program)
  addForward(program)
  addRsvp(program)
  const threads = add('threads')
  addThreadCommands(threads)
  addThreadChanges(threads)
  addMessageCommands(add('messages'))
  addDraftCommands(add('drafts'))
  addAttachments(program)
  addUpload(program)
  addOperationCommand(program, search)
  addWait(program)
  addWork(program)
  addListen(program)
  add('events')
  addSandboxCommands(add('sandbox'))
  add('quarantine')
  addMoveCommands(program)
}

function addUse(program: Command): void {
  const summary = 'Choose the inbox for commands without --inbox.'
  const use = program
    .command('use')
    .summary(summary)
    .description(
      `${summary}\n\nThe choice is stored in the profile. Without an inbox, the command prints the current choice. --inbox and MAILROOM_INBOX take precedence.`,
    )
    .argument('[inbox]', 'An id, an address or the part of an address before the @.')
    .option('--clear', 'Clear the choice.')
  addSessionOptions(use).action(async (inbox: string | undefined) => {
    const { useInbox } = await import('#actions/use-inbox.ts')
    await useInbox(inbox, use.opts())
  })
}

function fieldOf(id: ClientOperationId, name: string): Field {
  const field = ownFieldsOf(id).find((one) => one.name === name)
  if (field === undefined) throw new Error(`${id} has no field ${name}.`)
  return field
}

function addSend(program: Command): void {
  const command = describeBy(program.command('send'), 'inboxes.send')
  addInboxOption(command, 'The inbox to send from.')
  addFieldOption(command, fieldOf('inboxes.send', 'to'))
  addFieldOption(command, { ...fieldOf('inboxes.send', 'subject'), isRequired: true })
  addContentOptions(command)
  addFieldOption(command, fieldOf('inboxes.send', 'unsubscribe'))
  addSessionOptions(command).action(async () => {
    const { sendMail } = await import('#actions/send-mail.ts')
    await sendMail(command.opts())
  })
}

function addReply(program: Command): void {
  const sentence = 'Reply to the newest received message of a thread.'
  const command = program
    .command('reply')
    .summary(sentence)
    .description(`${sentence} The reply goes to Reply-To or, without it, to the sender.`)
    .argument('<thread>', 'The id of a thread.')
    .option('--to <address>', 'Send the reply to this address instead. Can be repeated.', collect)
    .option('--reply-all', 'Also send the reply to the other recipients of that message.')
    .option('--no-quote', 'Do not quote the original message.')
  addContentOptions(command)
  addSessionOptions(command).action(async (thread: string) => {
    const { replyToThread } = await import('#actions/send-mail.ts')
    await replyToThread(thread, command.opts())
  })
}

function addForward(program: Command): void {
  const command = describeBy(program.command('forward'), 'messages.forward').argument(
    '<message>',
    'The id of a message.',
  )
  addFieldOption(command, fieldOf('messages.forward', 'to'))
  addTextOptions(command)
  command.option('--no-attachments', 'Do not attach the files of the message.')
  addAttachOption(command)
  addFieldOption(command, fieldOf('messages.forward', 'isAutomatic'))
  addCopyOptions(command)
  addSessionOptions(command).action(async (message: string) => {
    const { forwardMail } = await import('#actions/send-mail.ts')
    await forwardMail(message, command.opts())
  })
}

function addRsvp(program: Command): void {
  const command = describeBy(program.command('rsvp'), 'messages.rsvp')
    .argument('<message>', 'The id of a message with an invitation.')
    .addArgument(new Argument('<response>', 'The answer.').choices(inviteResponses))
  addFieldOption(command, fieldOf('messages.rsvp', 'comment'))
  addKeyOption(command)
  addLeaseOption(command)
  addSessionOptions(command).action(
    async (message: string, response: (typeof inviteResponses)[number]) => {
      const { answerInvite } = await import('#actions/send-mail.ts')
      await answerInvite(message, response, command.opts())
    },
  )
}

function addContentOptions(command: Command): void {
  addTextOptions(command)
  addAttachOption(command)
  addFieldOption(command, fieldOf('inboxes.send', 'replyTo'))
  command.option('--header <header>', fieldOf('inboxes.send', 'headers').sentence, append)
  addFieldOption(command, fieldOf('inboxes.send', 'sendAt'))
  addFieldOption(command, fieldOf('inboxes.send', 'isAutomatic'))
  const invite = fieldOf('inboxes.send', 'invite')
  command.option('--invite <json>', invite.sentence, (text) => readValue(invite, text))
  command.option(
    '--check',
    'Send nothing; print whether policies would allow, hold or reject it. Exits with 5 for reject.',
  )
  addCopyOptions(command)
}

function addAttachOption(command: Command): void {
  command.option('--attach <path...>', fieldOf('inboxes.send', 'attachments').sentence)
}

function addTextOptions(command: Command): void {
  command
    .option('--text <text>', 'The text of the message.')
    .option('--html <html>', 'The HTML of the message, with or without --text.')
    .option('--file <path>', 'Read the text or HTML from a file; "-" reads standard input.')
  addFieldOption(command, fieldOf('inboxes.send', 'format'))
  addMarkdownOption(command)
  command.option('--no-signature', 'Leave out the signature of the inbox.')
}

function addMarkdownOption(command: Command): void {
  const option = new Option('--markdown', 'An alias of --format markdown.')
  command.addOption(option.implies({ format: 'markdown' }))
}

function addCopyOptions(command: Command): void {
  addFieldOption(command, fieldOf('inboxes.send', 'cc'))
  addFieldOption(command, fieldOf('inboxes.send', 'bcc'))
  addKeyOption(command)
  addLeaseOption(command)
}

function addDraftCommands(drafts: Command): void {
  for (const name of ['create', 'update']) {
    const command = drafts.commands.find((one) => one.name() === name)
    command?.option('--file <path>', 'Read the text or HTML from a file; "-" reads standard input.')
    if (command !== undefined) addMarkdownOption(command)
  }
  const attach = describeBy(drafts.command('attach'), 'drafts.addAttachment')
    .argument('<draft>', fieldOf('drafts.addAttachment', 'id').sentence)
    .argument('<path>', 'The file, or its id from "mailroom upload".')
  addIfMatchOption(attach)
  addSessionOptions(attach).action(async (draft: string, path: string) => {
    const { attachToDraft } = await import('#actions/attachments.ts')
    await attachToDraft(draft, path, attach.opts())
  })
}

function addThreadCommands(threads: Command): void {
  const list = addOperationCommand(threads, {
    name: 'list',
    operation: 'threads.list',
    shown: { kind: 'threads' },
    isOfInbox: true,
  })
  list.addOption(new Option('--unread', 'An alias of --no-read.').implies({ read: false }))
  const get = describeBy(threads.command('get'), 'threads.messages')
    .argument('<thread>', 'The id of a thread.')
    .option('--view', 'Print Markdown for a model, with everything from the mail fenced.')
  addViewOptions(get, 'threads.view')
  addSessionOptions(get).action(async (thread: string) => {
    const { readThread } = await import('#actions/read-mail.ts')
    await readThread(thread, get.opts())
  })
  for (const name of ['read', 'unread'] as const) {
    const mark = threads
      .command(name)
      .description(`Mark threads as ${name}.`)
      .argument('<threads...>', 'The ids of threads.')
    addLeaseOption(mark)
    addSessionOptions(mark).action(async (ids: string[]) => {
      const { markThreads } = await import('#actions/read-mail.ts')
      await markThreads(ids, name === 'read', mark.opts())
    })
  }
}

/** Shorthand commands for threads.update. */
function addThreadChanges(threads: Command): void {
  const of = (name: string, summary: string) =>
    addLeaseOption(
      threads.command(name).description(summary).argument('<thread>', 'The id of a thread.'),
    )
  addLabelCommand(threads, 'thread')
  const assign = of('assign', 'Assign a thread.').argument(
    '[assignee]',
    'The assignee; omit to clear it.',
  )
  addSessionOptions(assign).action(async (thread: string, assignee?: string) => {
    const { updateThread } = await import('#actions/read-mail.ts')
    await updateThread(thread, { assignee: assignee ?? null }, assign.opts())
  })
  const snooze = of('snooze', 'Snooze a thread.').argument(
    '[until]',
    'A time (2026-11-20T07:19:00Z) or a duration (2h); omit it to end the snooze.',
  )
  addSessionOptions(snooze).action(async (thread: string, until?: string) => {
    const { snoozeThread } = await import('#actions/read-mail.ts')
    await snoozeThread(thread, until ?? null, snooze.opts())
  })
}

function addLabelCommand(parent: Command, kind: 'thread' | 'message'): void {
  const label = parent
    .command('label')
    .description(`Add and remove labels of a ${kind}.`)
    .argument(`<${kind}>`, `The id of a ${kind}.`)
    .option('--add <label>', 'Add this label. Can be repeated.', collect)
    .option('--remove <label>', 'Remove this label. Can be repeated.', collect)
  addLeaseOption(label)
  addSessionOptions(label).action(async (id: string) => {
    const { labelMail } = await import('#actions/read-mail.ts')
    await labelMail(kind, id, label.opts())
  })
}

function addWork(program: Command): void {
  const summary = 'Process the threads of an inbox alongside other workers.'
  const command = program
    .command('work')
    .summary(summary)
    .description(
      `${summary}\n\nClaims the oldest unread thread, or waits for one, and runs the command of --exec for it with MAILROOM_THREAD_ID, MAILROOM_INBOX_ID, MAILROOM_FENCE and MAILROOM_LEASE_TOKEN in its environment, and the claim with its thread as JSON on its standard input. The lease is renewed while the command runs. If the command exits with 0, the thread is marked as read and released; otherwise it is left unchanged and can be claimed again once the lease expires. After the first interrupt, the running commands finish and no further threads are claimed.`,
    )
  addInboxOption(command, 'The inbox to process.')
    .requiredOption('--exec <command>', 'The command, run by a shell.')
    .option(
      '--owner <name>',
      'The name of the worker, for people; by default the host and the process.',
    )
    .option(
      '--lease <time>',
      'How long a claim lasts unless it is renewed, such as 60s.',
      LEASE_DEFAULT,
    )
    .option('--concurrency <number>', 'Number of concurrent threads.', '1')
    .addOption(
      new Option('--category <category>', 'Only threads of this category.').choices(
        messageCategories,
      ),
    )
    .option('--label <label>', 'Only threads with this label. Can be repeated.', collect)
  addSessionOptions(command).action(async () => {
    const { workOnThreads } = await import('#actions/work.ts')
    await workOnThreads(command.opts())
  })
}

function addMessageCommands(messages: Command): void {
  addLabelCommand(messages, 'message')
  const get = describeBy(messages.command('get'), 'messages.get')
    .argument('<message>', 'The id of a message.')
    .option('--view', 'Print Markdown for a model, with everything from the mail fenced.')
    .option('--raw', 'Print the message as received or sent.')
  addViewOptions(get, 'messages.view')
  addSessionOptions(get).action(async (message: string) => {
    const { readMessage } = await import('#actions/read-mail.ts')
    await readMessage(message, get.opts())
  })
}

function addViewOptions(command: Command, id: 'messages.view' | 'threads.view'): void {
  for (const name of ['max_chars', 'offset']) {
    const field = fieldOf(id, name)
    addFieldOption(command, { ...field, sentence: `With --view: ${field.sentence}` })
  }
}

function addAttachments(program: Command): void {
  const summary = 'Files in messages.'
  const group = program.command('attachments').summary(summary).description(summary)
  const get = describeBy(group.command('get'), 'attachments.get')
    .argument('<message>', fieldOf('attachments.get', 'messageId').sentence)
    .argument('<name>', fieldOf('attachments.get', 'filename').sentence)
    .option('-o, --output <path>', 'A file, a folder, or "-" for standard output.')
    .option('--force', 'Overwrite an existing file.')
  addSessionOptions(get).action(async (message: string, name: string) => {
    const { saveAttachment } = await import('#actions/attachments.ts')
    await saveAttachment(message, name, get.opts())
  })
  const text = describeBy(group.command('text'), 'attachments.text')
    .argument('<message>', fieldOf('attachments.text', 'messageId').sentence)
    .argument('<name>', fieldOf('attachments.text', 'filename').sentence)
  addSessionOptions(text).action(async (message: string, name: string) => {
    const { showAttachmentText } = await import('#actions/attachments.ts')
    await showAttachmentText(message, name, text.opts())
  })
}

function addUpload(program: Command): void {
  const command = describeBy(program.command('upload'), 'uploads.create').argument(
    '<files...>',
    'The files, up to 25 MiB each.',
  )
  addSessionOptions(command).action(async (paths: string[]) => {
    const { uploadFiles } = await import('#actions/upload-files.ts')
    await uploadFiles(paths, command.opts())
  })
}

function addSandboxCommands(sandbox: Command): void {
  const show = sandbox
    .command('show')
    .description('Show captured mail as its recipient would have received it.')
    .argument('<id>', 'The id from "sandbox list", or the id of the message.')
  addSessionOptions(show).action(async (id: string) => {
    const { showCaptured } = await import('#actions/use-sandbox.ts')
    await showCaptured(id, show.opts())
  })
  const inject = describeBy(sandbox.command('inject'), 'sandbox.receive')
  const mandatory = ['from', 'to', 'subject']
  for (const name of ['from', 'to', 'subject', 'text', 'html', 'inReplyTo']) {
    const field = fieldOf('sandbox.receive', name)
    addFieldOption(inject, { ...field, isRequired: false, isList: name === 'to', words: null })
  }
  inject
    .option('--attach <path...>', fieldOf('sandbox.receive', 'attachments').sentence)
    .option(
      '--raw <path>',
      'Read a complete message from a file, or from standard input with "-", instead of the other options.',
    )
  addSessionOptions(inject).action(async () => {
    const { injectMail } = await import('#actions/use-sandbox.ts')
    await injectMail(inject.opts())
  })
  inject.hook('preAction', () => {
    const given = inject.opts<Record<string, unknown>>()
    if (given.raw !== undefined) return
    const missing = mandatory.find((name) => given[name] === undefined)
    if (missing !== undefined) inject.error(`error: --${missing} or --raw is needed`)
  })
}

function sentenceOf(name: string): string {
  return fieldOf('inboxes.wait', name).sentence
}

function addWait(program: Command): void {
  const summary = 'Wait for a message to arrive in an inbox, then print it.'
  const command = program
    .command('wait')
    .summary(summary)
    .description(
      `${summary}\n\nIgnores mail that arrived before the call, unless you give --after or --since. Exits with 124 on timeout.`,
    )
  addInboxOption(command, 'The inbox to watch.')
    .option('--from <text>', sentenceOf('from'))
    .option('--subject <text>', sentenceOf('subject'))
    .option('--thread <thread>', sentenceOf('thread_id'))
    .addOption(
      new Option('--category <category>', sentenceOf('category')).choices(messageCategories),
    )
    .option('--after <id>', sentenceOf('after'))
    .option(
      '--since <time>',
      'Include mail since a time (2026-11-20T07:19:00Z) or a duration ago (5m).',
    )
    .option('--timeout <time>', 'How long to wait, such as 90s, 5m or 2h.', '5m')
    .option('--code', 'Ignore messages without a verification code, and print only the code.')
  addSessionOptions(command).action(async () => {
    const { waitForMail } = await import('#actions/wait-for-mail.ts')
    await waitForMail(command.opts())
  })
}

function addListen(program: Command): void {
  const summary = 'Print events as they happen, or forward them to a local webhook.'
  const command = program
    .command('listen')
    .summary(summary)
    .description(
      `${summary}\n\nReconnects when the connection breaks, and resumes after the last event. --forward posts each event to a local URL, signed like a webhook of the service, so you need no tunnel. --json prints one line per event.`,
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
    .option('--since <event>', 'The id of an event; print the events after it first.')
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
