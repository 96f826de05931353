// A message of a thread: one line when closed, everything when open.

import type { Message } from '@mailroom/sdk'
import { useMemo, useState } from 'preact/hooks'
import { formatSize, readPerson } from '#data/format.ts'
import { ownAddress } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Badge, Notice, Skeleton, type Tone, Trouble } from '#parts/notice.tsx'
import { CopyButton, Time } from '#parts/small.tsx'
import { Tabs } from '#parts/tabs.tsx'
import { CategoryBadge } from './category.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { MessageHeaders, MessageSource } from './message-source.tsx'
import { hasOthers, openReply, openReplyToAll } from './open-reply.ts'
import { SenderBadge, SenderTruth } from './sender-truth.tsx'

const statuses: Record<Message['status'], { tone: Tone; word: string } | null> = {
  received: null,
  pending: { tone: 'info', word: 'Queued' },
  sent: { tone: 'good', word: 'Sent' },
  failed: { tone: 'bad', word: 'Failed' },
}

export function MessageCard({
  message,
  isOpenAtFirst,
}: {
  message: Message
  isOpenAtFirst: boolean
}) {
  const [isOpen, setIsOpen] = useState(isOpenAtFirst)
  const { name, address } = readPerson(message.fromAddr)
  const status = statuses[message.status]
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
              <strong>{name ?? address}</strong>
              {name !== null && <span class="muted">{address}</span>}
            </span>
            {isOpen ? (
              <span class="muted">to {recipientsOf(message)}</span>
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
            {message.automatic && message.category !== 'automated' && <Badge>Automatic</Badge>}
            <Time at={message.createdAt} isInList />
          </span>
        </button>
      </header>
      {isOpen &&
        (message.isTruncated ? (
          <WholeMessage message={message} />
        ) : (
          <OpenMessage message={message} />
        ))}
    </article>
  )
}

/** Lists cut long bodies. */
function WholeMessage({ message }: { message: Message }) {
  const whole = useResource(`message ${message.id}`, (signal) =>
    client.messages.get(message.id, { signal }),
  )
  if (whole.error) return <Trouble error={whole.error} retry={whole.reload} />
  if (whole.value === undefined) return <Skeleton rows={5} label="Loading the message" />
  return <OpenMessage message={whole.value} />
}

type View = 'html' | 'text' | 'headers' | 'source' | 'sender' | 'deliveries'

function OpenMessage({ message }: { message: Message }) {
  const isInbound = message.direction === 'inbound'
  const hasHtml = message.bodyHtml !== ''
  const [view, setView] = useState<View>(hasHtml ? 'html' : 'text')
  return (
    <div class="message-body">
      {message.failureReason !== null && (
        <Notice tone="bad" title="Not delivered">
          {message.failureReason}
        </Notice>
      )}
      <Codes message={message} />
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
        <div class="row">
          <Button icon="reply" onClick={() => openReply(message)}>
            Reply
          </Button>
          {hasOthers(message) && (
            <Button kind="quiet" onClick={() => openReplyToAll(message)}>
              Reply to all
            </Button>
          )}
        </div>
      )}
    </div>
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

function Attachments({ message }: { message: Message }) {
  const files = message.attachments.filter(({ inline }) => !inline)
  if (files.length === 0) return null
  return (
    <ul class="files" aria-label="Attachments">
      {files.map(({ filename, sizeBytes, contentType, url }) => (
        <li key={url}>
          <a class="file" href={ownAddress(url)} download={filename} title={contentType}>
            <Icon name="attach" size={16} />
            <span class="file-name">{filename}</span>
            <span class="muted">{formatSize(sizeBytes)}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

function recipientsOf({ toAddr, headerTo, cc }: Message): string {
  return [headerTo || toAddr, ...(cc.length > 0 ? [`cc ${cc.join(', ')}`] : [])].join('; ')
}

/** Whether the HTML may have remote images, in linear time. Only for the offer to show them; the service decides. */
const REMOTE_IMAGE =
  /<(?:img|image|source|video|table|td|body|div)\b[^<>]{0,2000}?(?:src|srcset|background|poster|href)\s{0,9}=\s{0,9}["']?\s{0,9}(?:https?:)?\/\/|url\(\s{0,9}["']?\s{0,9}(?:https?:)?\/\//i

/** The frame cannot report its height, so it is estimated from the amount of text. */
function sizeOf({ bodyHtml, bodyText }: Shown): 'small' | 'middle' | 'large' {
  const isPlain = !/<(?:table|img)\b/i.test(bodyHtml)
  if (isPlain && bodyHtml.length < 1_500 && bodyText.length < 400) return 'small'
  return bodyHtml.length < 8_000 && bodyText.length < 1_500 ? 'middle' : 'large'
}

type Shown = Pick<Message, 'id' | 'subject' | 'bodyHtml' | 'bodyText'>

export function HtmlBody({ message }: { message: Shown }) {
  const [showsImages, setShowsImages] = useState(false)
  const images = showsImages ? 'show' : 'block'
  const hasRemote = useMemo(() => REMOTE_IMAGE.test(message.bodyHtml), [message.bodyHtml])
  return (
    <div class="html-body">
      {hasRemote && !showsImages && (
        <Notice
          tone="calm"
          title="Remote images are blocked"
          actions={
            <Button icon="image" onClick={() => setShowsImages(true)}>
              Show images
            </Button>
          }
        >
          Loading them can tell the sender that you opened the message. This service fetches them
          for you.
        </Notice>
      )}
      <iframe
        key={images}
        class={`mail-frame ${sizeOf(message)}`}
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        src={`/v1/messages/${encodeURIComponent(message.id)}/html?images=${images}`}
        title={`Message “${message.subject}”`}
        referrerpolicy="no-referrer"
      />
    </div>
  )
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
