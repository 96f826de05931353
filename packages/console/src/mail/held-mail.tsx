// A held message as its recipients would see it, and why it is held.

import { shownLine, shownText } from '@mailroom/mail/unseen.ts'
import type { Review, WholeReview } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatSize, formatWhole, plural, subjectOf } from '#data/format.ts'
import { ownAddress } from '#data/paths.ts'
import { Button } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Notice } from '#parts/notice.tsx'
import { CodeBlock, Facts } from '#parts/small.tsx'
import { Tabs } from '#parts/tabs.tsx'
import { HtmlBody } from './html-body.tsx'

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
  headers: 'the other header fields',
  from: 'From',
  to: 'To',
  cc: 'Cc',
  bcc: 'Bcc',
  replyTo: 'Reply-To',
}

function partWords(part: string): string {
  const index = /^attachment:(\d+)$/.exec(part)?.[1]
  return index === undefined ? (parts[part] ?? part) : `file ${Number(index) + 1}`
}

export function guardTitle(guard: string): string {
  return guards[guard] ?? guard
}

export function HoldReasons({ reasons }: { reasons: readonly Reason[] }) {
  return (
    <ul class="hold-reasons" aria-label="Reasons">
      {reasons.map((reason, index) => (
        <li key={index}>
          <strong>{guardTitle(reason.guard)}</strong>
          <p>{shownLine(reason.detail)}</p>
          {reason.findings && (
            <ul>
              {reason.findings.map(({ kind, part, offset, length }) => (
                <li key={`${part} ${offset} ${kind}`} class="muted">
                  {kindWords(kind)} in {partWords(part)}, from character {offset + 1}, {length} long
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
    ['Subject', subjectOf(content)],
    ...Object.entries(content.headers),
    ['Not before', content.sendAt === null ? '' : formatWhole(content.sendAt)],
    ['Unsubscribe link', content.unsubscribe ? 'yes' : ''],
    ['Auto-Submitted', content.isAutomatic ? 'yes' : ''],
  ]
  return (
    <div class="held-mail">
      <Facts lines={lines} label="Header" />
      <Body review={review} />
      <Files review={review} />
    </div>
  )
}

type View = 'html' | 'text' | 'source'

/**
 * Shows both bodies, because each recipient reads only one, and the source where the page cannot be
 * shown faithfully.
 */
function Body({ review }: { review: WholeReview }) {
  const { messageId, content, display } = review
  const { subject, bodyHtml, bodyText } = content
  const [view, setView] = useState<View>(display.isWhole ? 'html' : 'source')
  const text = () =>
    bodyText.trim() === '' ? (
      <p class="muted">The text is empty.</p>
    ) : (
      <div class="mail-text">
        <Marked text={bodyText} findings={findingsIn(review, 'bodyText')} />
      </div>
    )
  const missed = <Missed display={display} showSource={bodyHtml && (() => setView('source'))} />
  if (bodyHtml === '') {
    return (
      <>
        {missed}
        {text()}
      </>
    )
  }
  return (
    <>
      {missed}
      <Notice
        tone="info"
        title="This message also has a text version"
        actions={<Button onClick={() => setView('text')}>Show the text</Button>}
      >
        Some recipients read the text instead of the HTML, and the two may differ.
      </Notice>
      <Tabs<View>
        label="Views of the message"
        current={view}
        onCurrent={setView}
        tabs={[
          {
            name: 'html',
            text: 'Message',
            body: () => <HtmlBody message={{ id: messageId, subject, bodyHtml }} />,
          },
          { name: 'text', text: 'Text', body: text },
          {
            name: 'source',
            text: 'Source',
            body: () => (
              <CodeBlock
                label="Source of the HTML"
                text={<Marked text={bodyHtml} findings={findingsIn(review, 'bodyHtml')} />}
              />
            ),
          },
        ]}
      />
    </>
  )
}

type Finding = NonNullable<Reason['findings']>[number]

function findingsIn({ reasons }: WholeReview, part: string): Finding[] {
  return reasons
    .flatMap(({ findings = [] }) => findings)
    .filter((finding) => finding.part === part)
    .sort((a, b) => a.offset - b.offset)
}

/** The text with its secrets highlighted. */
function Marked({ text, findings }: { text: string; findings: readonly Finding[] }) {
  let from = 0
  const pieces = findings.flatMap(({ kind, offset, length }) => {
    const start = Math.max(offset, from)
    const before = text.slice(from, start)
    const secret = text.slice(start, offset + length)
    from = Math.max(from, offset + length)
    return [shownText(before), secret && <mark title={kindWords(kind)}>{shownText(secret)}</mark>]
  })
  return (
    <>
      {pieces}
      {shownText(text.slice(from))}
    </>
  )
}

function kindWords(kind: string): string {
  return kind.replaceAll('_', ' ')
}

/** Lists text that the HTML page does not show, and invisible characters. */
function Missed({
  display: { isWhole, blockedImages, blockedStyles, hidden, invisible, unshown },
  showSource,
}: {
  display: WholeReview['display']
  /** '' without HTML. */
  showSource: (() => void) | ''
}) {
  const unseen = [
    hidden && `${hidden}.`,
    invisible && `${plural(invisible, 'invisible character')}, shown as [U+…] outside of the HTML.`,
    unshown &&
      `${plural(unshown, 'character')} of the HTML that are never displayed, such as comments.`,
  ].filter(Boolean)
  const actions = showSource && <Button onClick={showSource}>Show the source</Button>
  return (
    <>
      {!isWhole && (
        <Notice tone="bad" title="The HTML cannot be shown completely" actions={actions}>
          The HTML is too large or too complex, has parts that are not shown, such as forms and
          drawings, or has styles that may show recipients something else. Read the source before
          you approve the message.
        </Notice>
      )}
      {unseen.length > 0 && (
        <Notice
          tone={hidden === null && invisible === 0 ? 'info' : 'warn'}
          title="The message has text that readers do not see"
          actions={actions}
        >
          {unseen.join(' ')}
        </Notice>
      )}
      {blockedImages + blockedStyles > 0 && (
        <p class="muted">
          Images from other hosts in the HTML: {blockedImages}. Style sheets and fonts:{' '}
          {blockedStyles}.
        </p>
      )}
    </>
  )
}

/** Every file that would be sent, including images that the HTML embeds. */
function Files({ review: { messageId, content, thread } }: { review: WholeReview }) {
  if (content.attachments.length === 0) return null
  const stored = thread.data.find(({ id }) => id === messageId)?.attachments ?? []
  return (
    <ul class="files" aria-label="Attachments">
      {content.attachments.map(({ filename, contentType }) => {
        const file = stored.find((one) => one.filename === filename)
        const words = (
          <>
            <Icon name="attach" size={16} />
            <span class="file-name">{shownLine(filename)}</span>
            <span class="muted">{file ? formatSize(file.sizeBytes) : contentType}</span>
          </>
        )
        return (
          <li key={filename}>
            {file ? (
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
