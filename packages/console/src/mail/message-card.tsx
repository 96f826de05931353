// A message of a thread: one line when closed, everything when open.

import type { Message, Review, Thread } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { plural, quoteSubject, readPerson } from '#data/format.ts'
import { paths, rawPath } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { toast, toastFailure } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, Dialog } from '#parts/dialog.tsx'
import { Icon, type IconName } from '#parts/icon.tsx'
import { Menu, type MenuItem } from '#parts/menu.tsx'
import { Badge, Skeleton, Trouble } from '#parts/notice.tsx'
import { CopyButton, Time } from '#parts/small.tsx'
import { Attachments } from './attachments.tsx'
import { CategoryBadge } from './category.tsx'
import { HiddenText, HtmlBody } from './html-body.tsx'
import { Invitations, type Later } from './invitation.tsx'
import { type LabelChange, LabelEditor, LabelMarks } from './labels.tsx'
import { isUnsent, StatusNotice, statusOf } from './message-status.tsx'
import type { ViewDialog, ViewName } from './message-views.tsx'
import { hasOthers, openForward, openReply, openReplyToAll } from './open-reply.ts'
import { SenderBadge } from './sender-truth.tsx'
import { changeThread } from './thread-actions.ts'

export function MessageCard({
  message,
  review,
  thread,
  later = nothingLater,
  isOpenAtFirst,
}: {
  message: Message
  /** The review, if the message was held. */
  review?: Review | undefined
  thread?: Thread
  later?: Later
  isOpenAtFirst: boolean
}) {
  const [isOpen, setIsOpen] = useState(isOpenAtFirst)
  const { name, address } = readPerson(message.fromAddr)
  const status = statusOf(message, review)
  return (
    <article class={isOpen ? 'message open' : 'message'} aria-label={`Message from ${address}`}>
      <header class="message-head">
        <button
          type="button"
          class="message-toggle"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <span class={`message-mark ${message.direction}`} aria-hidden="true">
            {initialOf(name ?? address)}
          </span>
          <span class="message-people">
            <span class="message-from">
              <strong dir="auto">{name ?? address}</strong>
              {name !== null && <span class="muted">{address}</span>}
            </span>
            {isOpen ? (
              <span class="muted message-line" title={recipientsOf(message)}>
                to {recipientsOf(message)}
              </span>
            ) : (
              <span class="muted message-line">
                {(message.extractedText || message.bodyText).slice(0, 160)}
              </span>
            )}
          </span>
          <span class="message-marks">
            <SenderBadge message={message} isWarning />
            {status && <Badge tone={status.tone}>{status.word}</Badge>}
            <CategoryBadge category={message.category} />
            {!isOpen && <LabelMarks labels={message.labels} />}
            {message.automatic && isPersonal(message) && <Badge>Automatic</Badge>}
            {message.attachments.some(({ inline }) => !inline) && <Icon name="attach" size={16} />}
            <Time at={message.createdAt} isInList />
          </span>
        </button>
        {isOpen && (
          <MessageTools
            message={message}
            thread={isApprover.value ? undefined : thread}
            isAnswerable={!isUnsent(message, review)}
          />
        )}
      </header>
      {isOpen &&
        (message.isTruncated ? (
          <WholeMessage {...{ message, review, thread, later }} />
        ) : (
          <OpenMessage {...{ message, review, thread, later }} />
        ))}
    </article>
  )
}

/** The first letter or digit of the name, by which a correspondent is recognized. */
function initialOf(name: string): string {
  return /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? '?'
}

/** Kinds other than personal already imply that a program wrote the message. */
function isPersonal({ category }: Message): boolean {
  return category === null || category === 'personal'
}

type Opened = {
  message: Message
  review: Review | undefined
  /** Actions of the message; undefined if it is only shown. */
  thread: Thread | undefined
  later: Later
}

const nothingLater: Later = { messages: [], reviews: new Map() }

/** Lists return only the beginning of long bodies. */
function WholeMessage({ message, ...opened }: Opened) {
  const whole = useResource(`message ${message.id}`, (signal) =>
    client.messages.get(message.id, { signal }),
  )
  if (whole.error) return <Trouble error={whole.error} retry={whole.reload} />
  if (whole.value === undefined) return <Skeleton rows={5} label="Loading the message" />
  return <OpenMessage message={whole.value} {...opened} />
}

function OpenMessage({ message, review, thread, later }: Opened) {
  const { labels, inboxId } = message
  const isChangeable = thread !== undefined && !isFixed(thread) && !isApprover.value
  return (
    <div class="message-body">
      <StatusNotice message={message} review={review} />
      <HiddenText message={message} />
      <Codes message={message} />
      <Invitations message={message} later={later} isAnswerable={isChangeable} />
      {message.bodyHtml === '' ? <TextBody message={message} /> : <HtmlBody message={message} />}
      <Attachments message={message} />
      {thread !== undefined && labels.length > 0 && (
        <LabelEditor
          labels={labels}
          hrefOf={(label) => paths.search(inboxId, `label:${label}`)}
          change={isChangeable ? (changed) => changeLabels(message, changed) : undefined}
        />
      )}
    </div>
  )
}

function changeLabels({ id, threadId, inboxId }: Message, change: LabelChange) {
  return changeThread({ id: threadId, inboxId }, () => client.messages.update(id, change))
}

type Asked = 'label' | 'remove' | { view: ViewName; Dialog: typeof ViewDialog }

/** Reply, and a menu with everything else that can be done with the message. */
function MessageTools({
  message,
  thread,
  isAnswerable,
}: {
  message: Message
  /** Undefined if the message is only shown. */
  thread: Thread | undefined
  isAnswerable: boolean
}) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const isChangeable = thread !== undefined && !isFixed(thread)
  const close = () => setAsked(null)
  const show = async (view: ViewName) => {
    const { ViewDialog: Dialog } = await import('./message-views.tsx')
    setAsked({ view, Dialog })
  }
  const viewItem = (view: ViewName, icon: IconName): MenuItem => ({
    text: view,
    icon,
    run: () => void show(view).catch(toastFailure),
  })
  const items: MenuItem[] = [
    ...(isChangeable && isAnswerable ? answersTo(message) : []),
    ...(isChangeable
      ? [{ text: 'Label', icon: 'label', run: () => setAsked('label') } as const]
      : []),
    viewItem('What the agent reads', 'eye'),
    ...(message.bodyHtml === '' ? [] : [viewItem('Plain text', 'mail')]),
    message.direction === 'inbound'
      ? viewItem('Authentication', 'shield')
      : viewItem('Deliveries', 'send'),
    viewItem('Headers', 'menu'),
    viewItem('Source', 'code'),
    {
      text: 'Download as .eml',
      icon: 'download',
      href: rawPath(message.id),
      download: `${message.id}.eml`,
    },
    ...(thread?.claim === null
      ? [{ text: 'Remove', icon: 'trash', run: () => setAsked('remove') } as const]
      : []),
  ]
  return (
    <div class="message-tools">
      {isChangeable && isAnswerable && (
        <Button kind="quiet" icon="reply" label="Reply" onClick={() => openReply(message)} />
      )}
      <Menu label="More" items={items} />
      {asked === 'label' && <LabelDialog message={message} onClose={close} />}
      {asked === 'remove' && (
        <RemoveMessage message={message} isLast={thread?.messageCount === 1} onClose={close} />
      )}
      {asked !== null && typeof asked === 'object' && (
        <asked.Dialog view={asked.view} message={message} onClose={close} />
      )}
    </div>
  )
}

function answersTo(message: Message): MenuItem[] {
  return [
    ...(hasOthers(message)
      ? [{ text: 'Reply to all', icon: 'reply', run: () => openReplyToAll(message) } as const]
      : []),
    { text: 'Forward', icon: 'pass-on', run: () => openForward(message) },
  ]
}

function LabelDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  return (
    <Dialog title="Labels of this message" onClose={onClose}>
      <LabelEditor
        labels={message.labels}
        hrefOf={(label) => paths.search(message.inboxId, `label:${label}`)}
        change={(change) => changeLabels(message, change)}
        isAddingAtFirst
      />
    </Dialog>
  )
}

function RemoveMessage({
  message,
  isLast,
  onClose,
}: {
  message: Message
  /** Whether the thread has no other message. */
  isLast: boolean
  onClose: () => void
}) {
  const { id, threadId, inboxId, attachments } = message
  const remove = async () => {
    await changeThread({ id: threadId, inboxId }, () => client.messages.delete(id))
    onClose()
    toast('Message permanently removed')
  }
  return (
    <ConfirmDialog
      title="Permanently remove this message?"
      action="Remove message"
      onClose={onClose}
      submit={remove}
    >
      <p>
        {quoteSubject(message)} from {readPerson(message.fromAddr).address} is lost
        {attachments.length > 0 && ` with its ${plural(attachments.length, 'file')}`}
        {isLast && ', and with it this thread, which has no other message'}. It is not moved to the
        trash and cannot be restored.
      </p>
    </ConfirmDialog>
  )
}

/** The message as read-only. */
function isFixed({ claim, trashedAt }: Thread): boolean {
  return claim !== null || trashedAt !== null
}

/** Verification codes in the message. */
function Codes({ message }: { message: Message }) {
  const codes = message.extracted?.codes ?? []
  if (codes.length === 0) return null
  return (
    <ul class="codes" aria-label="Codes found">
      {codes.map(({ value, source }) => (
        <li key={value} class="found-code" title={source}>
          <span class="muted">Code</span>
          <code>{value}</code>
          <CopyButton text={value} label={`code ${value}`} />
        </li>
      ))}
    </ul>
  )
}

function recipientsOf({ toAddr, to, cc, bcc }: Message): string {
  const lists = [
    to.join(', ') || toAddr,
    cc.length > 0 && `cc ${cc.join(', ')}`,
    bcc.length > 0 && `bcc ${bcc.join(', ')}`,
  ]
  return lists.filter(Boolean).join('; ')
}

function TextBody({ message }: { message: Message }) {
  const [showsAll, setShowsAll] = useState(false)
  const { bodyText, extractedText } = message
  const hasQuote = extractedText !== '' && extractedText.trim() !== bodyText.trim()
  if (bodyText.trim() === '') return <p class="muted">This message has no text.</p>
  return (
    <div class="stack">
      <div class="mail-text">{hasQuote && !showsAll ? extractedText : bodyText}</div>
      {hasQuote && (
        <Button kind="quiet" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Hide quoted text' : 'Show quoted text'}
        </Button>
      )}
    </div>
  )
}
