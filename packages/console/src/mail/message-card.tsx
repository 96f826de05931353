// A message of a thread: one line when closed, everything when open.

import type { Message, Review, Thread } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { plural, quoteSubject, readPerson } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { Icon } from '#parts/icon.tsx'
import { Badge, Skeleton, Trouble } from '#parts/notice.tsx'
import { CopyButton, Time } from '#parts/small.tsx'
import { Tabs } from '#parts/tabs.tsx'
import { Attachments } from './attachments.tsx'
import { CategoryBadge } from './category.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { HiddenText, HtmlBody } from './html-body.tsx'
import { Invitations, type Later } from './invitation.tsx'
import { type LabelChange, LabelEditor, LabelMarks } from './labels.tsx'
import { AgentView, MessageHeaders, MessageSource } from './message-source.tsx'
import { isUnsent, StatusNotice, statusOf } from './message-status.tsx'
import { hasOthers, openForward, openReply, openReplyToAll } from './open-reply.ts'
import { SenderBadge, SenderTruth } from './sender-truth.tsx'
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
      <header>
        <button
          type="button"
          class="message-head"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <span class={`message-mark ${message.direction}`}>
            <Icon name={message.direction === 'inbound' ? 'inbox' : 'send'} size={16} />
          </span>
          <span class="message-people">
            <span class="message-from">
              <strong class="bounded">{name ?? address}</strong>
              {name !== null && <span class="muted">{address}</span>}
            </span>
            {isOpen ? (
              <span class="muted bounded" title={recipientsOf(message)}>
                to {recipientsOf(message)}
              </span>
            ) : (
              <span class="muted message-beginning">
                {(message.extractedText || message.bodyText).slice(0, 160)}
              </span>
            )}
          </span>
          <span class="message-marks">
            <SenderBadge message={message} />
            {status && <Badge tone={status.tone}>{status.word}</Badge>}
            <CategoryBadge category={message.category} />
            {!isOpen && <LabelMarks labels={message.labels} />}
            {message.automatic && isPersonal(message) && <Badge>Automatic</Badge>}
            <Time at={message.createdAt} isInList />
          </span>
        </button>
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

type View = 'html' | 'text' | 'agent' | 'headers' | 'source' | 'sender' | 'deliveries'

function OpenMessage({ message, review, thread, later }: Opened) {
  const isInbound = message.direction === 'inbound'
  const hasHtml = message.bodyHtml !== ''
  const [view, setView] = useState<View>(hasHtml ? 'html' : 'text')
  return (
    <div class="message-body">
      <StatusNotice message={message} review={review} />
      <HiddenText message={message} />
      <Codes message={message} />
      <Invitations
        message={message}
        later={later}
        isAnswerable={thread !== undefined && !isFixed(thread) && !isApprover.value}
      />
      <Tabs<View>
        label="Views of the message"
        current={view}
        onCurrent={setView}
        tabs={[
          ...(hasHtml
            ? [
                {
                  name: 'html',
                  text: 'Message',
                  body: () => <HtmlBody message={message} />,
                } as const,
              ]
            : []),
          { name: 'text', text: 'Text', body: () => <TextBody message={message} /> },
          {
            name: 'agent',
            text: 'What the agent reads',
            body: () => <AgentView message={message} />,
          },
          isInbound
            ? {
                name: 'sender',
                text: 'Authentication',
                body: () => <SenderTruth authentication={message.authentication} />,
              }
            : {
                name: 'deliveries',
                text: 'Deliveries',
                body: () => <DeliveryList message={message} />,
              },
          { name: 'headers', text: 'Headers', body: () => <MessageHeaders message={message} /> },
          { name: 'source', text: 'Raw', body: () => <MessageSource message={message} /> },
        ]}
      />
      <Attachments message={message} />
      {!isApprover.value && (
        <MessageTools message={message} isUnsent={isUnsent(message, review)} thread={thread} />
      )}
    </div>
  )
}

function MessageTools({
  message,
  isUnsent: isWaiting,
  thread,
}: {
  message: Message
  isUnsent: boolean
  thread: Thread | undefined
}) {
  const [isAsking, setIsAsking] = useState(false)
  const { id, inboxId, labels, attachments } = message
  const isKept = thread !== undefined && isFixed(thread)
  const change = async (changed: LabelChange) => {
    await changeThread({ id: message.threadId, inboxId }, () => client.messages.update(id, changed))
  }
  const remove = async () => {
    await changeThread({ id: message.threadId, inboxId }, () => client.messages.delete(id))
    setIsAsking(false)
    toast('Message permanently removed')
  }
  return (
    <>
      {thread && (labels.length > 0 || !isKept) && (
        <LabelEditor
          labels={labels}
          hrefOf={(label) => paths.search(inboxId, `label:${label}`)}
          change={isKept ? undefined : change}
        />
      )}
      <div class="row">
        {!isKept && !isWaiting && <Answers message={message} />}
        {thread?.claim === null && (
          <Button kind="quiet" icon="trash" onClick={() => setIsAsking(true)}>
            Remove
          </Button>
        )}
      </div>
      {isAsking && (
        <ConfirmDialog
          title="Permanently remove this message?"
          action="Remove message"
          onClose={() => setIsAsking(false)}
          submit={remove}
        >
          <p>
            {quoteSubject(message)} from {readPerson(message.fromAddr).address} is lost
            {attachments.length > 0 && ` with its ${plural(attachments.length, 'file')}`}
            {thread?.messageCount === 1 && ', and with it this thread, which has no other message'}.
            It is not moved to the trash and cannot be restored.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

/** The message as read-only. */
function isFixed({ claim, trashedAt }: Thread): boolean {
  return claim !== null || trashedAt !== null
}

function Answers({ message }: { message: Message }) {
  return (
    <>
      <Button icon="reply" onClick={() => openReply(message)}>
        Reply
      </Button>
      {hasOthers(message) && (
        <Button kind="quiet" onClick={() => openReplyToAll(message)}>
          Reply to all
        </Button>
      )}
      <Button kind="quiet" icon="pass-on" onClick={() => openForward(message)}>
        Forward
      </Button>
    </>
  )
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
