// Texts of the command line for operations on mail. They replace those of the API.

import type { Texts } from './operation-text.ts'

const sending = {
  to: 'A recipient, as an address or "Name <address>". Can be repeated, up to 50 with --cc and --bcc.',
  cc: 'A copied recipient. Can be repeated.',
  bcc: 'A recipient that the others do not see. Can be repeated.',
  subject: 'The subject.',
  replyTo: 'Where replies go: an address or "Name <address>".',
  sendAt: 'Send it later, 1 minute to 90 days ahead; "mailroom messages cancel" cancels it.',
  headers: 'An additional header field, X-… or List-…, as "Name: value". Can be repeated.',
  attachments:
    'Attach a file, or several, by path or by id from "mailroom upload". Up to about 18 MiB in total.',
  format:
    'The format of the text. auto detects HTML; markdown sends the text as written, with HTML made from it.',
  isAutomatic: 'Mark it as sent by a program, so that other programs do not answer it.',
  invite: 'Send an invitation: a JSON object with start, end, location and so on.',
  unsubscribe: 'Add an unsubscribe link. Only for a single recipient.',
} as const

const draft = {
  ...sending,
  body: 'The text of the message.',
  bodyHtml: 'The HTML of the message, with or without --text.',
  subject: 'The subject. A reply has the subject of its thread instead.',
  threadId: 'Reply in this thread.',
  includeQuote: 'Quote the message that a reply answers.',
  includeSignature: 'Add the signature of the inbox (default); --no-signature leaves it out.',
  replyAll: 'Send a reply to the other recipients too.',
  clientId: 'An id of your choice, unique among the drafts of the inbox.',
} as const

const claiming = {
  owner: 'The name of the worker, for people.',
  leaseSeconds: 'How long the claim lasts unless it is renewed: 10 seconds to an hour.',
} as const

const inbox = {
  clientId: 'An id of your choice. If an inbox of the account has it, no other one is created.',
  displayName: 'The name that recipients see.',
  webhookUrl: 'Deliver the events of this inbox to this https URL.',
  retentionDays: 'Delete messages this long after they arrive.',
  expiresAt: 'Delete the inbox with all its mail at this time.',
  undoSeconds: 'Delay every send by this long, so that it can be cancelled.',
  signature: 'Markdown that is added below the text of messages from the inbox.',
  metadata: 'A value of your own, as key=value. Can be repeated.',
} as const

const threadFilters = {
  is_read: 'Only read threads.',
  has_attachment: 'Only threads with attachments.',
  category: 'Only threads whose newest received message has this category.',
  labels: 'Only threads with this label. Can be repeated.',
  metadata: 'Only threads with this value of yours, as key=value. Can be repeated.',
  assignee: 'Only threads with this assignee.',
  snoozed: 'Only snoozed threads.',
  trashed: 'The threads in the trash, which are left out otherwise.',
  direction: 'Only threads with a received (inbound) or a sent (outbound) message.',
} as const

export const mailTexts: Texts = {
  'inboxes.create': {
    about:
      'Create an inbox, which receives mail at once. The secret of --webhook-url is shown once.',
    fields: {
      ...inbox,
      mailboxName:
        'The part before the @: 3 to 30 lower-case letters, digits, dots and hyphens. Random if omitted.',
      podId: 'The pod, by id or client id; the default pod if omitted.',
      domain: 'A verified domain of yours; the domain of the service if omitted.',
    },
  },
  'inboxes.claimThreads': {
    about: 'Claim the oldest unread threads of an inbox, so that no other worker takes them.',
    fields: {
      ...claiming,
      max: 'The number of threads, 1 to 50.',
      waitSeconds: 'How long to wait if no thread is free.',
      category: 'Only threads whose newest received message has this category.',
      labels: 'Only threads with this label. Can be repeated.',
    },
  },
  'inboxes.list': {
    about: 'List inboxes, newest first.',
    fields: {
      address: 'Only the inbox that receives mail for this address.',
      podId: 'Only inboxes in this pod.',
      metadata: 'Only inboxes with this value of yours, as key=value. Can be repeated.',
    },
  },
  'inboxes.get': { about: 'Show an inbox.' },
  'inboxes.limits': { about: 'Show how much an inbox may still send, and when its limits reset.' },
  'inboxes.update': {
    about: 'Change an inbox. Options that are left out change nothing.',
    fields: {
      ...inbox,
      metadata:
        'A value of your own, as key=value; an empty value removes the key. Can be repeated.',
    },
  },
  'inboxes.delete': { about: 'Delete an inbox with all its messages, threads and attachments.' },
  'inboxes.send': {
    about: 'Send a message from an inbox. If an approver must decide first, the message is held.',
    fields: sending,
  },
  'inboxes.scheduled': { about: 'List messages that will be sent later, the next one first.' },
  'messages.forward': {
    about: 'Forward a message, with its files, to other recipients. This starts a new thread.',
    fields: sending,
  },
  'messages.rsvp': {
    about: 'Answer the invitation in a message. The organizer gets your answer as a reply.',
    fields: { comment: 'A few words for the organizer.' },
  },
  'threads.claim': {
    about: 'Claim a thread, so that only you can change it or send in it.',
    fields: claiming,
  },
  'threads.renewClaim': {
    about: 'Extend a claim on a thread.',
    fields: { leaseSeconds: 'How long the claim lasts from now on; as before if omitted.' },
  },
  'threads.releaseClaim': {
    about: 'Release a claim on a thread.',
    fields: { isRead: 'Also mark the thread as read. An unread thread can be claimed again.' },
  },
  'threads.delete': {
    about: 'Move a thread to the trash, or delete it for good.',
    fields: { permanent: 'Delete it now, even from the trash. It cannot be restored.' },
  },
  'threads.restore': { about: 'Restore a thread from the trash.' },
  'threads.list': { about: 'List the threads of an inbox, newest first.', fields: threadFilters },
  'threads.messages': { about: 'Show the messages of a thread, oldest first.' },
  'threads.view': { fields: viewFields() },
  'messages.list': {
    about: 'List the messages of an inbox, newest first.',
    fields: {
      from: 'Only messages whose sender contains this text.',
      to: 'Only messages with a recipient that contains this text.',
      subject: 'Only messages whose subject contains this text.',
      since: 'Only messages from this time on.',
      until: 'Only messages before this time.',
      category: 'Only received messages of this category.',
      has_attachment: 'Only messages with attachments.',
      labels: 'Only messages with this label. Can be repeated.',
    },
  },
  'messages.get': { about: 'Show a message.' },
  'messages.view': { fields: viewFields() },
  'messages.headers': { about: 'List the header fields of a message.' },
  'messages.raw': { about: 'Print a message exactly as it was received or sent.' },
  'messages.cancel': { about: 'Cancel a message that is scheduled or held.' },
  'messages.delete': { about: 'Remove a message.' },
  'messages.deliveries': { about: 'Show what happened to a sent message, recipient by recipient.' },
  'drafts.create': {
    about: 'Write a draft. It can be incomplete until it is sent.',
    fields: draft,
  },
  'drafts.list': { about: 'List the drafts of an inbox, newest first.' },
  'drafts.get': { about: 'Show a draft with its attachments.' },
  'drafts.update': {
    about: 'Change a draft. Options that are left out change nothing.',
    fields: draft,
  },
  'drafts.delete': { about: 'Delete a draft.' },
  'drafts.addAttachment': { about: 'Attach a file to a draft.' },
  'drafts.removeAttachment': {
    about: 'Remove a file from a draft.',
    fields: { attachmentId: 'The id of the attachment, which "mailroom drafts get" shows.' },
  },
  'drafts.send': { about: 'Send a draft. It is removed when the message is accepted.' },
  'attachments.get': {
    about: 'Save an attachment of a message to a file.',
    fields: { filename: 'The name of the file, which "mailroom messages get" shows.' },
  },
  'attachments.text': {
    about: 'Print the text of an attachment: PDF, Office documents, HTML and plain text.',
    fields: { filename: 'The name of the file, which "mailroom messages get" shows.' },
  },
  'uploads.create': {
    about: 'Upload files and print their ids. --attach takes the ids for 24 hours.',
  },
  'messages.search': {
    about:
      'Search the mail of all inboxes. Conditions such as from:ann or has:attachment narrow it.',
    fields: {
      q: 'Words, "a phrase", and conditions such as from:ann; -word excludes.',
      inboxId: 'Only this inbox.',
      podId: 'Only the inboxes of this pod.',
    },
  },
  'inboxes.wait': {
    fields: {
      from: 'Only messages whose sender contains this text.',
      subject: 'Only messages whose subject contains this text.',
      category: 'Only messages of this category.',
      thread_id: 'Only messages in this thread.',
      after: 'Include mail that arrived after the event or message with this id.',
    },
  },
  'events.list': {
    about: 'List the events of the last 30 days, newest first.',
    fields: {
      order: 'Oldest first (asc) or newest first (desc).',
      after: 'Continue after the event with this id.',
      event_types: 'Only events of these kinds, such as message.received. Can be repeated.',
      inbox_id: 'Only events of this inbox.',
      categories:
        'Only received mail of this category; other events are listed too. Can be repeated.',
    },
  },
  'sandbox.list': { about: 'List the mail that the sandbox has captured instead of sending it.' },
  'sandbox.clear': { about: 'Delete the mail that the sandbox has captured.' },
  'sandbox.receive': {
    about: 'Simulate incoming mail. Sender rules and policies apply as to any other mail.',
    fields: {
      attachments: 'Attach a file, or several.',
      from: 'The sender, as an address or "Name <address>". With --raw: the envelope sender.',
      to: 'An inbox that receives it. Can be repeated. With --raw: replaces the recipients in the file.',
      subject: 'The subject.',
      text: 'The text.',
      html: 'The HTML.',
      inReplyTo: 'The Message-ID of the message that it answers, in angle brackets.',
    },
  },
  'quarantine.list': {
    about: 'List the mail that was kept out of the inboxes, newest first.',
    fields: { inboxId: 'Only mail for this inbox.' },
  },
  'quarantine.get': { about: 'Show a quarantined message with its text.' },
  'quarantine.raw': { about: 'Print a quarantined message exactly as it was received.' },
  'quarantine.release': { about: 'Deliver a quarantined message to its inbox.' },
  'quarantine.delete': { about: 'Delete a quarantined message.' },
  'imports.create': {
    about:
      'Import mail from a file into an inbox. Messages that the inbox already has are skipped.',
  },
  'erasures.create': {
    about: 'Erase all data about an address: the mail from and to it, and every other trace.',
  },
}

function viewFields() {
  return {
    max_chars: 'With --view: print at most this many characters.',
    offset: 'With --view: where to continue, as the previous page says.',
  }
}
