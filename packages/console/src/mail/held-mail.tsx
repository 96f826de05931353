// A held message as its recipients will see it, and why it is held.

import type { Review, WholeReview } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatSize } from '#data/format.ts'
import { ownAddress } from '#data/paths.ts'
import { Icon } from '#parts/icon.tsx'
import { Tabs } from '#parts/tabs.tsx'
import { HtmlBody } from './message-card.tsx'

type Reason = Review['reasons'][number]

const guards: Readonly<Record<string, string>> = {
  newRecipients: 'New recipient',
  provenance: 'Address from received mail',
  outsideThread: 'Recipient outside the thread',
  secrets: 'Secret in the message',
  attachments: 'Attached files',
  maxPerHour: 'Too many sends in an hour',
  rule: 'Rule for recipients',
  mode: 'Only allowed recipients',
  scanner: 'Virus scanner',
}

const parts: Readonly<Record<string, string>> = {
  subject: 'the subject',
  bodyText: 'the text',
  bodyHtml: 'the HTML',
  headers: 'the further header fields',
}

export function guardTitle(guard: string): string {
  return guards[guard] ?? guard
}

export function guardWords({ guard }: Reason): string {
  return guardTitle(guard)
}

export function HoldReasons({ reasons }: { reasons: readonly Reason[] }) {
  return (
    <ul class="hold-reasons" aria-label="Reasons">
      {reasons.map((reason, index) => (
        <li key={index}>
          <strong>{guardWords(reason)}</strong>
          <p>{reason.detail}</p>
          {reason.findings && (
            <ul>
              {reason.findings.map(({ kind, part, offset, length }) => (
                <li key={`${part} ${offset} ${kind}`} class="muted">
                  {kind.replaceAll('_', ' ')} in {parts[part] ?? part}, from character {offset + 1},{' '}
                  {length} long
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  )
}

export function HeldMail({ review }: { review: WholeReview }) {
  const { content } = review
  const lines: readonly (readonly [string, string])[] = [
    ['From', content.from],
    ['To', content.to.join(', ')],
    ['Cc', content.cc.join(', ')],
    ['Bcc (hidden)', content.bcc.join(', ')],
    ['Reply-To', content.replyTo ?? ''],
    ['Subject', content.subject === '' ? '(no subject)' : content.subject],
    ...Object.entries(content.headers),
  ]
  return (
    <div class="held-mail">
      <dl class="facts" aria-label="Header">
        {lines
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <Body review={review} />
      <Files review={review} />
    </div>
  )
}

function Body({ review: { messageId, content } }: { review: WholeReview }) {
  const [view, setView] = useState<'html' | 'text'>('html')
  const { subject, bodyHtml, bodyText } = content
  const text = () =>
    bodyText.trim() === '' ? (
      <p class="muted">This message has no text.</p>
    ) : (
      <div class="mail-text">{bodyText}</div>
    )
  if (bodyHtml === '') return text()
  return (
    <Tabs
      label="Views of the message"
      current={view}
      onCurrent={setView}
      tabs={[
        {
          name: 'html',
          text: 'Message',
          body: () => <HtmlBody message={{ id: messageId, subject, bodyHtml, bodyText }} />,
        },
        { name: 'text', text: 'Text', body: text },
      ]}
    />
  )
}

/** Every file that leaves, also those that the HTML shows. */
function Files({ review: { messageId, content, thread } }: { review: WholeReview }) {
  if (content.attachments.length === 0) return null
  const stored = thread.data.find(({ id }) => id === messageId)?.attachments ?? []
  return (
    <ul class="files" aria-label="Attachments">
      {content.attachments.map(({ filename, contentType }, index) => {
        const file = stored[index]
        const words = (
          <>
            <Icon name="attach" size={16} />
            <span class="file-name">{filename}</span>
            <span class="muted">{file ? formatSize(file.sizeBytes) : contentType}</span>
          </>
        )
        return (
          <li key={index}>
            {file?.filename === filename ? (
              <a class="file" href={ownAddress(file.url)} download={filename} title={contentType}>
                {words}
              </a>
            ) : (
              <span class="file">{words}</span>
            )}
          </li>
        )
      })}
    </ul>
  )
}
