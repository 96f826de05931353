// Looks over HTML before a parser does: how many tags, how deep, how many attributes. One pass over
// the characters; what it finds decides whether a tree is built at all.

import { scanMarkup } from '@mailroom/mail/html/scan-markup.ts'

/** Elements that have no content, or that end where the next of their kind begins. */
const UNCOUNTED = new Set(
  'area base br col embed hr img input link meta param source track wbr p li td th tr dt dd option tbody thead tfoot'.split(
    ' ',
  ),
)

export type MarkupSurvey = {
  readonly tags: number
  /** Elements within each other, without those that cannot nest in their own kind. */
  readonly depth: number
  /** Of the tag that has the most. */
  readonly attributes: number
}

/** Time is linear in the length of `html`. */
export function surveyMarkup(html: string): MarkupSurvey {
  const survey = { tags: 0, depth: 0, attributes: 0 }
  let depth = 0
  scanMarkup(html, {
    open(name, _attributes, count) {
      survey.tags += 1
      survey.attributes = Math.max(survey.attributes, count)
      if (UNCOUNTED.has(name)) return
      depth += 1
      survey.depth = Math.max(survey.depth, depth)
    },
    close(name) {
      survey.tags += 1
      if (!UNCOUNTED.has(name)) depth = Math.max(0, depth - 1)
    },
  })
  return survey
}
