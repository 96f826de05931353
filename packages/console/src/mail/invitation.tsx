// The events in a message, and the answer to its invitation.

import { inviteResponses, untitledInvite } from '@mailroom/contract/vocabulary.ts'
import type { Message, Review } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { plural } from '#data/format.ts'
import {
  answeredInvite,
  type Invite,
  type InviteResponse,
  isCancelled,
  laterVersion,
  recurrenceWords,
  responseIn,
  timesOf,
} from '#data/invites.ts'
import { keyOf } from '#data/recipients.ts'
import { client } from '#data/session.ts'
import { toast, toastFailure } from '#data/toasts.ts'
import { Button } from '#parts/button.tsx'
import { TextField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { Badge, type Tone } from '#parts/notice.tsx'
import { isUnsent, statusOf } from './message-status.tsx'
import { changeThread } from './thread-actions.ts'

/** Later messages of the thread. */
export type Later = {
  readonly messages: readonly Message[]
  readonly reviews: ReadonlyMap<string, Review>
}

export function Invitations({
  message,
  later,
  isAnswerable,
}: {
  message: Message
  later: Later
  isAnswerable: boolean
}) {
  const invites = message.extracted?.invites ?? []
  const answered = answeredInvite(message)
  return invites.map((invite, index) => {
    const isFirst = invite === answered
    const version = laterVersion(invite, message, later.messages)
    const given = isFirst ? answerIn(later, invite) : null
    return (
      <EventCard key={index} invite={invite} message={message} version={version} given={given}>
        {isFirst && isAnswerable && version === null && (
          <Answering message={message} invite={invite} given={given} />
        )}
        {isFirst && given !== null && <GivenAnswer given={given} />}
      </EventCard>
    )
  })
}

type Given = { message: Message; review: Review | undefined; response: InviteResponse }

/** The newest answer that was sent or is held. */
function answerIn({ messages, reviews }: Later, invite: Invite): Given | null {
  for (const message of messages.toReversed()) {
    const response = responseIn(message, invite)
    const review = reviews.get(message.id)
    const isLost = message.status === 'failed' && isUnsent(message, review)
    if (response !== null && !isLost) return { message, review, response }
  }
  return null
}

function EventCard({
  invite,
  message,
  version,
  given,
  children,
}: {
  invite: Invite
  message: Message
  version: ReturnType<typeof laterVersion>
  given: Given | null
  children: ComponentChildren
}) {
  const { summary, location, organizer, attendees, recurrence, comment, recurrenceId } = invite
  const times = timesOf(invite)
  const title = summary ?? '(no title)'
  const mark = markOf(invite, version)
  return (
    <section class="invite" aria-label={`Event: ${title}`}>
      <header class="invite-head">
        <Icon name="calendar" size={20} />
        <div class="invite-words">
          <h3 class={isCancelled(invite) || version === 'cancelled' ? 'invite-gone' : undefined}>
            {title}
          </h3>
          <p class="muted">{kindOf(invite)}</p>
        </div>
        {mark !== null && <Badge tone={mark.tone}>{mark.word}</Badge>}
      </header>
      <dl class="facts">
        <Fact name="When">
          {times === null ? (
            <span class="muted">No readable time</span>
          ) : (
            <>
              <p>{times.ours}</p>
              {times.theirs !== null && <p class="muted">{times.theirs}</p>}
            </>
          )}
        </Fact>
        {recurrence !== null && <Fact name="Repeats">{recurrenceWords(recurrence)}</Fact>}
        {recurrence === null && recurrenceId !== null && (
          <Fact name="Repeats">One event of a series</Fact>
        )}
        {location !== null && <Fact name="Where">{location}</Fact>}
        {organizer !== null && (
          <Fact name="Organizer">
            <Participant {...organizer} />
          </Fact>
        )}
        {invite.method !== 'reply' && attendees.length > 0 && (
          <Fact name="Attendees">
            <Attendees invite={invite} message={message} given={given} />
          </Fact>
        )}
        {comment !== null && <Fact name="Comment">{comment}</Fact>}
      </dl>
      {version !== null && (
        <p class="muted">
          A later message {version === 'cancelled' ? 'cancels' : 'changes'} this event.
        </p>
      )}
      {children}
    </section>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function markOf(
  invite: Invite,
  version: ReturnType<typeof laterVersion>,
): { tone: Tone; word: string } | null {
  if (isCancelled(invite)) return { tone: 'bad', word: 'Cancelled' }
  if (version !== null) return { tone: 'warn', word: 'Outdated' }
  if (invite.method === 'request' && invite.sequence > 0) return { tone: 'info', word: 'Updated' }
  return null
}

const kinds: Readonly<Record<NonNullable<Invite['method']>, string>> = {
  request: 'Invitation',
  cancel: 'The organizer cancelled this event',
  reply: 'Response to an invitation',
  publish: 'Event',
  add: 'More dates of a series',
  refresh: 'Request for the newest version of the event',
  counter: 'Proposes another time or place',
  declinecounter: 'Declines a proposed change',
}

const replyWords: Readonly<Record<Attendee['status'], string>> = {
  accepted: 'accepted the invitation',
  tentative: 'may come',
  declined: 'declined the invitation',
  delegated: 'has delegated the invitation',
  'needs-action': 'has not answered',
}

function kindOf({ method, attendees }: Invite): string {
  const [who] = attendees
  if (method === 'reply' && who !== undefined) {
    return `${who.name ?? who.address} ${replyWords[who.status]}`
  }
  return method === null ? 'Event' : kinds[method]
}

type Attendee = Invite['attendees'][number]

const statuses: Readonly<Record<Attendee['status'], { tone: Tone; word: string }>> = {
  accepted: { tone: 'good', word: 'Accepted' },
  tentative: { tone: 'warn', word: 'Maybe' },
  declined: { tone: 'bad', word: 'Declined' },
  delegated: { tone: 'calm', word: 'Delegated' },
  'needs-action': { tone: 'calm', word: 'No answer' },
}

const ATTENDEES = 6

function Attendees({
  invite: { attendees },
  message,
  given,
}: {
  invite: Invite
  message: Message
  given: Given | null
}) {
  const [showsAll, setShowsAll] = useState(false)
  const left = given !== null && !isUnsent(given.message, given.review) ? given.response : null
  const own = [message.recipient ?? '', message.toAddr].map(keyOf)
  const isOwn = ({ address }: Attendee) => own.includes(keyOf(address))
  const sorted = [...attendees.filter(isOwn), ...attendees.filter((one) => !isOwn(one))]
  const shown = showsAll ? sorted : sorted.slice(0, ATTENDEES)
  return (
    <>
      <ul class="attendees">
        {shown.map((one, index) => {
          const { tone, word } = statuses[left !== null && isOwn(one) ? left : one.status]
          return (
            <li key={index}>
              <Participant {...one} />
              {isOwn(one) && <span class="muted">this inbox</span>}
              {one.role === 'optional' && <span class="muted">optional</span>}
              <Badge tone={tone}>{word}</Badge>
            </li>
          )
        })}
      </ul>
      {sorted.length > ATTENDEES && (
        <button type="button" class="text-button" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show fewer' : `Show all ${plural(sorted.length, 'attendee')}`}
        </button>
      )}
    </>
  )
}

function Participant({ name, address }: { name: string | null; address: string }) {
  return (
    <span>
      {name !== null && <bdi>{name} </bdi>}
      <span class={name === null ? undefined : 'muted'}>{address}</span>
    </span>
  )
}

const answers: Readonly<Record<InviteResponse, { button: string; done: string }>> = {
  accepted: { button: 'Accept', done: 'You accepted' },
  tentative: { button: 'Maybe', done: 'You answered “maybe”' },
  declined: { button: 'Decline', done: 'You declined' },
}

/** The maximum length in the API. */
const COMMENT_LENGTH_MAX = 1_000

function Answering({
  message,
  invite,
  given,
}: {
  message: Message
  invite: Invite
  given: Given | null
}) {
  const { id, threadId, inboxId } = message
  /** One key per answer, so that retries send it once. */
  const keys = useRef(new Map<string, string>())
  const [busy, setBusy] = useState<InviteResponse | null>(null)
  const [written, setWritten] = useState('')
  const answer = async (response: InviteResponse) => {
    const comment = written.trim()
    if (busy !== null || (given?.response === response && comment === '')) return
    const body = { response, ...(comment !== '' && { comment }) }
    const whole = JSON.stringify(body)
    const idempotencyKey = keys.current.get(whole) ?? crypto.randomUUID()
    keys.current.set(whole, idempotencyKey)
    setBusy(response)
    try {
      const sent = await changeThread({ id: threadId, inboxId }, () =>
        client.messages.rsvp(id, body, { idempotencyKey, maxRetries: 0 }),
      )
      keys.current.clear()
      setWritten('')
      toast(sent.hold === undefined ? 'Answer queued' : 'Answer awaits approval')
    } catch (error) {
      toastFailure(error)
    } finally {
      setBusy(null)
    }
  }
  return (
    <fieldset class="row invite-choice">
      <legend class="unseen">Answer to {invite.summary ?? untitledInvite}</legend>
      <TextField
        label="Comment for the organizer, optional"
        name="comment"
        isLabelHidden
        placeholder="Comment (optional)"
        autocomplete="off"
        maxLength={COMMENT_LENGTH_MAX}
        readOnly={busy !== null}
        value={written}
        onValue={setWritten}
      />
      {inviteResponses.map((response) => {
        const isGiven = given?.response === response
        return (
          <Button
            key={response}
            kind={response === 'accepted' && given === null ? 'primary' : 'plain'}
            icon={isGiven ? 'check' : undefined}
            isPressed={isGiven}
            isBusy={busy === response}
            onClick={() => void answer(response)}
          >
            {answers[response].button}
          </Button>
        )
      })}
    </fieldset>
  )
}

function GivenAnswer({ given: { message, review, response } }: { given: Given }) {
  const status = statusOf(message, review)
  return (
    <p class="invite-answer" role="status">
      {answers[response].done}. {status !== null && <Badge tone={status.tone}>{status.word}</Badge>}
    </p>
  )
}
