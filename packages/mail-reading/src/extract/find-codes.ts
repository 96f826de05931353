import { judgeAlone, judgeInLine } from './judge-codes.ts'
import { type Candidate, MessageContext, type ReadLine } from './lines.ts'
import { mayNameCode, plainForm } from './word-tables.ts'

const EXTRACTED_CODES_MAX = 10
/** Of the line that a code stands in, in code points. */
const EXTRACTED_SOURCE_LENGTH_MAX = 200

export type FoundCode = {
  /** As it stands in the message. */
  readonly value: string
  /** From 0 to 1, two decimals. */
  readonly confidence: number
  /** The line that it stands in, or as much around it as EXTRACTED_SOURCE_LENGTH_MAX allows. */
  readonly source: string
}

/** Texts of one message in the order in which they count; the first is its subject. */
type CodeTexts = {
  readonly subject: readonly ReadLine[]
  readonly bodies: readonly (readonly ReadLine[])[]
}

/** A surer code makes one that is so much less sure improbable. */
const CONFIDENCE_GAP_MAX = 0.22
const CONFIDENCE_MIN = 0.6
const CONFIDENCE_MAX = 0.99
/** What it adds that the same code stands in the subject and in the body. */
const AGREEMENT = 0.02
/** Lines with something like a code that are looked at; no mail with a code has as many. */
const CANDIDATE_LINES_MAX = 200

/** Where a value stands; the line around it is shown of the few that are told. */
type Met = { readonly value: string; readonly confidence: number; readonly in: Judged }
type Finding = { met: Met; place: number; texts: Set<number> }

/**
 * A candidate counts when a word for a code stands by it, in its line, above it, below it or in the
 * subject, and no word for another number stands nearer. Best first, at most EXTRACTED_CODES_MAX, each once however often it is shown. A value is a part of a
 * line, character for character.
 */
export function findCodes({ subject, bodies }: CodeTexts): FoundCode[] {
  const findings = new Map<string, Finding>()
  const isNamed = [subject, ...bodies].some((lines) =>
    lines.some((line) => mayNameCode(line.folded)),
  )
  const opening = bodies.find((lines) => lines.some((line) => !line.isBlank)) ?? []
  for (const [index, lines] of [subject, ...bodies].entries()) {
    const context = new MessageContext(lines, index === 0 ? opening : subject, index === 0)
    for (const judged of judgeLines(context, isNamed)) {
      const { line, candidate, confidence } = judged
      const value = line.text.slice(candidate.start, candidate.end)
      remember(findings, index, { value, confidence, in: judged })
    }
  }
  return rank([...findings.values()])
}

type Judged = { line: ReadLine; candidate: Candidate; confidence: number }

/** Where no word names a code, digits alone are one: "Use 482913 to sign in". */
const DIGITS = /\d(?:[ ·‐‑–-]?\d){3}/

function* judgeLines(context: MessageContext, isNamed: boolean): Generator<Judged> {
  let looked = 0
  for (const [at, line] of context.lines.entries()) {
    if (!isNamed && !DIGITS.test(line.folded)) continue
    if (line.candidates.length === 0) continue
    if (++looked > CANDIDATE_LINES_MAX) return
    for (const candidate of line.candidates) {
      const confidence =
        judgeInLine(context, at, candidate) ??
        (line.isAlone(candidate) ? judgeAlone(context, at, candidate) : 0)
      if (confidence < CONFIDENCE_MIN) continue
      context.accept(at, candidate)
      yield { line, candidate, confidence }
    }
  }
}

function remember(findings: Map<string, Finding>, text: number, met: Met): void {
  const key = plainForm(met.value)
    .replace(/[^A-Za-z0-9]/g, '')
    .toUpperCase()
  const known = findings.get(key)
  if (known === undefined) {
    findings.set(key, { met, place: findings.size, texts: new Set([text]) })
    return
  }
  known.texts.add(text)
  if (met.confidence > known.met.confidence) known.met = met
}

function rank(findings: readonly Finding[]): FoundCode[] {
  const codes = findings
    .map(({ met, place, texts }) => {
      const agreed = texts.size > 1 ? met.confidence + AGREEMENT : met.confidence
      const confidence = Math.round(Math.min(agreed, CONFIDENCE_MAX) * 100) / 100
      return { met, confidence, place }
    })
    .sort((a, b) => b.confidence - a.confidence || a.place - b.place)
  const best = codes[0]?.confidence ?? 0
  return codes
    .filter(({ confidence }) => best - confidence <= CONFIDENCE_GAP_MAX)
    .slice(0, EXTRACTED_CODES_MAX)
    .map(({ met, confidence }) => ({
      value: met.value,
      confidence,
      source: sourceOf(met.in.line.text, met.in.candidate),
    }))
}

/** The line without the blanks around it; of a long one as much as may be shown, the code within. */
function sourceOf(line: string, { start, end }: Candidate): string {
  const trimmed = line.trim()
  const points = [...trimmed]
  if (points.length <= EXTRACTED_SOURCE_LENGTH_MAX) return trimmed
  const before = [...line.slice(0, start)]
  const fromEnd = EXTRACTED_SOURCE_LENGTH_MAX - [...line.slice(start, end)].length
  const shownBefore = before.slice(-Math.floor(fromEnd / 2)).join('')
  const shown = shownBefore + line.slice(start)
  return [...shown].slice(0, EXTRACTED_SOURCE_LENGTH_MAX).join('').trim()
}
