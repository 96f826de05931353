// Invitations in the forms of four calendars, written for these tests after what those programs send, with what is
// read from each. Another sample is two files more: `name.eml` and `name.expected.json`.

import { readdirSync, readFileSync } from 'node:fs'
import type { Invite } from '@mailroom/mail/mime/parsed-message.ts'

export type Sample = { readonly name: string; readonly raw: Buffer; readonly expected: Invite[] }

const FOLDER = new URL('samples/', import.meta.url)

export const samples: readonly Sample[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.eml'))
  .map((file) => {
    const name = file.slice(0, -'.eml'.length)
    const expected = readFileSync(new URL(`${name}.expected.json`, FOLDER), 'utf8')
    return { name, raw: readFileSync(new URL(file, FOLDER)), expected: JSON.parse(expected) }
  })
