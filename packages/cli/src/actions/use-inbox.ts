// Shows, sets or clears the default inbox of a profile.

import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { readProfiles, writeProfiles } from '#base/profiles.ts'
import { findNamedInbox, openSession, readDefaultInbox, type Session } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

type UsingOptions = CommonOptions & { readonly clear?: true }

export async function useInbox(given: string | undefined, options: UsingOptions): Promise<void> {
  if (given !== undefined && options.clear) {
    throw new Failure('usage', 'Give an inbox or --clear, not both.')
  }
  const session = await openSession(options)
  if (given === undefined && !options.clear) return showInbox(session, options)
  const inbox = given === undefined ? undefined : await readAddress(session, given)
  await store(session, inbox)
  const output = openOutput({ isColored: options.color })
  if (options.json) output.json({ inbox: inbox ?? null })
  else if (output.isTerminal) {
    output.note(
      inbox === undefined
        ? 'The choice was cleared.'
        : `Commands without --inbox now use ${plainLine(inbox)}.`,
    )
  }
  if (process.env.MAILROOM_INBOX) {
    output.note('MAILROOM_INBOX is set and takes precedence over this choice.')
  }
}

async function showInbox(session: Session, { json, color }: CommonOptions): Promise<void> {
  const output = openOutput({ isColored: color })
  const chosen = await readDefaultInbox(session)
  if (json) output.json({ inbox: chosen?.inbox ?? null })
  else if (chosen !== null) output.write(`${plainLine(chosen.inbox)}\n`)
  else output.note('No inbox is chosen. "mailroom use <inbox>" chooses one.')
}

async function readAddress(session: Session, given: string): Promise<string> {
  const isId = given.startsWith('inb_')
  const { address } = await (isId
    ? session.client.inboxes.get(given)
    : findNamedInbox(session, given))
  return address
}

async function store({ profile, baseUrl }: Session, inbox: string | undefined): Promise<void> {
  const profiles = await readProfiles()
  const before = Object.hasOwn(profiles, profile) ? profiles[profile] : undefined
  if (before !== undefined && before.baseUrl !== baseUrl) {
    const fix = 'Set MAILROOM_INBOX, or sign in to this service with "mailroom login".'
    throw new Failure('usage', `The profile "${profile}" is for ${before.baseUrl}.`, fix)
  }
  await writeProfiles({ ...profiles, [profile]: { ...before, baseUrl, inbox } })
}
