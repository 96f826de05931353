// The comments on a held message, and its former versions.

import { shownLine, shownText } from '@mailroom/mail/unseen.ts'
import type { WholeReview } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { client } from '#data/session.ts'
import { toastFailure } from '#data/toasts.ts'
import { Button } from '#parts/button.tsx'
import { AreaField } from '#parts/field.tsx'
import { Section } from '#parts/page.tsx'
import { CodeBlock, Facts, Time } from '#parts/small.tsx'

export function Comments({
  review: { id, comments },
  reload,
}: {
  review: WholeReview
  reload: () => void
}) {
  const [text, setText] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const send = async () => {
    setIsBusy(true)
    try {
      await client.reviews.comment(id, { text })
      setText('')
      reload()
    } catch (error) {
      toastFailure(error)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <Section title="Comments">
      {comments.length > 0 && (
        <ol class="review-comments" aria-label="Comments">
          {comments.map((comment) => (
            <li key={comment.id}>
              <p>
                <strong>{shownLine(comment.author.name ?? 'API key')}</strong>{' '}
                <span class="muted">
                  {comment.author.kind === 'key' ? 'with an API key, ' : ''}
                  <Time at={comment.createdAt} />
                </span>
              </p>
              <div class="mail-text">{shownText(comment.text)}</div>
            </li>
          ))}
        </ol>
      )}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isBusy && text.trim() !== '') void send()
        }}
      >
        <AreaField
          label="New comment"
          name="comment"
          rows={3}
          value={text}
          onValue={setText}
          hint="The agent and all approvers can read comments. They are not sent to the recipients."
        />
        <div class="form-actions">
          <Button type="submit" isBusy={isBusy} isDisabled={text.trim() === ''}>
            Comment
          </Button>
        </div>
      </form>
    </Section>
  )
}

const fieldWords: Readonly<Record<string, string>> = {
  to: 'To',
  cc: 'Cc',
  bcc: 'Bcc',
  subject: 'subject',
  body: 'text',
  bodyHtml: 'HTML',
  attachments: 'files',
}

export function FormerVersions({ review: { versions } }: { review: WholeReview }) {
  if (versions.length === 0) return null
  return (
    <Section title="Earlier versions">
      {versions.map(({ digest, content, changed, editedAt }, index) => (
        <details key={digest} class="former-version">
          <summary>
            Version {index + 1}, edited <Time at={editedAt} />:{' '}
            {changed.map((name) => fieldWords[name] ?? name).join(', ')}
          </summary>
          <div class="held-mail">
            <Facts
              label={`Header of version ${index + 1}`}
              lines={[
                ['To', content.to.join(', ')],
                ['Cc', content.cc.join(', ')],
                ['Bcc (hidden)', content.bcc.join(', ')],
                ['Subject', content.subject],
                ['Files', content.attachments.map(({ filename }) => filename).join(', ')],
              ]}
            />
            <div class="mail-text">{shownText(content.bodyText)}</div>
            {content.bodyHtml !== '' && (
              <CodeBlock label={`HTML of version ${index + 1}`} text={content.bodyHtml} />
            )}
          </div>
        </details>
      ))}
    </Section>
  )
}
