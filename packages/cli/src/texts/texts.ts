// The words of the command line: what commands and options do, by operation and field. The API's
// description is used where there is no text here.

import { type ClientOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { accountTexts } from './account-texts.ts'
import { mailTexts } from './mail-texts.ts'
import type { Texts } from './operation-text.ts'

const texts: Texts = { ...mailTexts, ...accountTexts }

/** Texts of fields that mean the same in every command. */
const EVERYWHERE: Readonly<Record<string, string>> = {
  limit: 'The number of entries to list, up to 100.',
  offset: 'The number of entries to skip.',
  podId: 'The pod, by id or client id.',
  idOrClientId: 'A pod, by id or client id.',
  inboxId: 'The inbox, by id or address.',
}

export function aboutOf(id: ClientOperationId): string {
  return texts[id]?.about ?? operationOf(id).summary
}

/** Null if the text of the API is used. */
export function fieldTextOf(id: ClientOperationId, name: string): string | null {
  return texts[id]?.fields?.[name] ?? EVERYWHERE[name] ?? null
}
