// To whom, about what, and what is said.

import { useState } from 'preact/hooks'
import type { Draft } from '#data/compose.ts'
import { Button } from '#parts/button.tsx'
import { AreaField, CheckField, TextField } from '#parts/field.tsx'
import type { Letter } from './use-sending.ts'

const SUBJECT_LENGTH_MAX = 998

export function LetterFields({
  letter,
  draft,
  errors,
  onLetter,
}: {
  letter: Letter
  draft: Draft
  errors: Readonly<Record<string, string>>
  onLetter: (letter: Letter) => void
}) {
  const [showsCc, setShowsCc] = useState(letter.cc !== '')
  return (
    <>
      <div class="compose-to">
        <TextField
          label="To"
          name="to"
          type="email"
          value={letter.to}
          onValue={(to) => onLetter({ ...letter, to })}
          error={errors.to}
          required
          autocomplete="off"
          spellcheck={false}
          autofocus={draft.to === ''}
        />
        {!showsCc && (
          <Button kind="quiet" onClick={() => setShowsCc(true)}>
            Cc
          </Button>
        )}
      </div>
      {showsCc && (
        <TextField
          label="Cc"
          name="cc"
          value={letter.cc}
          onValue={(cc) => onLetter({ ...letter, cc })}
          error={errors.cc}
          hint="Up to 50 addresses, separated by commas."
          autocomplete="off"
          spellcheck={false}
        />
      )}
      <TextField
        label="Subject"
        name="subject"
        value={letter.subject}
        onValue={(subject) => onLetter({ ...letter, subject })}
        error={errors.subject}
        required={draft.replied === null}
        maxLength={SUBJECT_LENGTH_MAX}
        autocomplete="off"
      />
      <AreaField
        label="Message"
        name="body"
        value={letter.body}
        onValue={(body) => onLetter({ ...letter, body })}
        error={errors.body}
        rows={10}
        required
        autofocus={draft.to !== ''}
      />
      {draft.replied && (
        <CheckField
          label="Quote the original message"
          name="quote"
          isChecked={letter.isQuoting}
          onChecked={(isQuoting) => onLetter({ ...letter, isQuoting })}
        />
      )}
    </>
  )
}
