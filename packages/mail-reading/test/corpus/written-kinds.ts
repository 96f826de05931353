// The project's own set of headers of every kind of mail, in files to be read by people: a family begins with
// `@ name`; `category:`, `replyable:` (yes, no, or any where either is right) and `envelope:` (the reverse-path) say
// what is expected; the other lines are header fields. `{word}` stands for a value that differs in each variation.
// What a family leaves out, its file has in FILES.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Dice, seededDice } from '@mailroom/mail/test/seeded-dice.ts'

export type WrittenKind = {
  /** `file/family number`. */
  readonly name: string
  readonly category: string
  readonly replyable: 'yes' | 'no' | 'any'
  /** '' is the null reverse-path. */
  readonly reversePath: string
  readonly recipient: string
  readonly raw: Buffer
}

export const KINDS_FOLDER: string = join(import.meta.dirname, 'kinds')

type Defaults = Pick<WrittenKind, 'category' | 'replyable'> & {
  readonly variations: number
  readonly seed?: number
}

const FILES: Readonly<Record<string, Defaults>> = {
  // Rare and misleading forms: programs without the usual fields, and people who look like programs.
  'adversarial.txt': { category: 'any', replyable: 'no', variations: 3, seed: 1_000_003 },
  // List hosts, feeds, plain bounces, receipts and no-reply names: what other mail had shown to be judged wrongly.
  'hosts.txt': { category: 'any', replyable: 'no', variations: 3, seed: 2_000_003 },
  'personal.txt': { category: 'personal', replyable: 'yes', variations: 50 },
  'lists.txt': { category: 'any', replyable: 'no', variations: 20 },
  'replies.txt': { category: 'automated', replyable: 'no', variations: 20 },
  'reports.txt': { category: 'bounce', replyable: 'no', variations: 20 },
  'newsletters.txt': { category: 'marketing', replyable: 'no', variations: 20 },
  'robots.txt': { category: 'automated', replyable: 'no', variations: 20 },
}

/** The same messages every time. */
export function writtenKinds(): WrittenKind[] {
  const files = readdirSync(KINDS_FOLDER).sort()
  return files.flatMap((file) => {
    const defaults = FILES[file]
    if (defaults === undefined) throw new Error(`${file} is not in FILES.`)
    const families = readFileSync(join(KINDS_FOLDER, file), 'utf8').split(/^@ /m).slice(1)
    return families.flatMap((family, place) =>
      Array.from({ length: defaults.variations }, (_, number) =>
        vary(family, {
          file,
          number,
          defaults,
          dice: seededDice((defaults.seed ?? 7) + place * 10_007 + number * 31),
        }),
      ),
    )
  })
}

type Given = { file: string; number: number; defaults: Defaults; dice: Dice }

function vary(family: string, { file, number, defaults, dice }: Given): WrittenKind {
  const [title = '', ...lines] = family.trimEnd().split('\n')
  const values = valuesOf(dice)
  const fill = (line: string) => line.replace(/\{([a-z\d-]+)\}/g, (_, key) => values(key))
  const told = new Map<string, string>()
  const fields: string[] = []
  for (const line of lines) {
    const [, key, value = ''] = /^(category|replyable|envelope): (.*)$/.exec(line) ?? []
    if (key === undefined) fields.push(fill(line))
    else told.set(key, fill(value))
  }
  const has = (name: string) => fields.some((field) => field.toLowerCase().startsWith(`${name}:`))
  const from = /<([^<>]+@[^<>]+)>|(\S+@\S+)/.exec(
    fields.find((field) => /^from:/i.test(field)) ?? '',
  )
  const envelope = told.get('envelope') ?? `<${from?.[1] ?? from?.[2] ?? values('address')}>`
  const header = [
    ...(dice(2) === 0
      ? [fill('Received: from {host} ({host} [{ip}]) by mx.{domain} with ESMTPS; {date}')]
      : []),
    ...fields,
    ...(has('date') ? [] : [fill('Date: {date}')]),
    ...(has('to') ? [] : [fill(dice(3) === 0 ? 'To: {to-bare}' : 'To: "Agent" <{to-bare}>')]),
    ...(has('message-id') ? [] : [fill('Message-ID: <{uuid}@{domain}>')]),
    ...(has('mime-version') ? [] : ['MIME-Version: 1.0']),
    ...(has('content-type') ? [] : [contentType(dice)]),
  ]
  return {
    name: `${file.replace('.txt', '')}/${title.trim()} ${number}`,
    category: told.get('category') ?? defaults.category,
    replyable: (told.get('replyable') ?? defaults.replyable) as WrittenKind['replyable'],
    reversePath: envelope.slice(1, -1),
    recipient: values('to-bare'),
    raw: Buffer.from(`${header.join('\r\n')}\r\n\r\nText.\r\n`, 'utf8'),
  }
}

function contentType(dice: Dice): string {
  const types = [
    'text/plain; charset=utf-8',
    'multipart/alternative; boundary="b0"',
    'text/html; charset="UTF-8"',
    'multipart/mixed; boundary="b0"',
  ]
  return `Content-Type: ${types[dice(types.length)]}`
}

const FIRST =
  'Anna Ben Chloé Dmitri Elif François Giulia Hana Igor José Kofi Lena Mehmet Nora Olaf Priya'
const LAST =
  'Müller Smith Garcia Rossi Dubois Novák Kowalska Tanaka Kim Okafor Jansen Andersson Silva Root'
const WORDS =
  'garden invoice compiler harbour choir physics bicycle archive kitchen roadmap orchard lens'
const COMPANIES =
  'Acme GmbH|Northwind|Blue Fern Ltd|Example AG|Kestrel & Sons|Casa Verde|Hofladen Maier'
const DOMAINS =
  'acme.example northwind.example bluefern.example kestrel.example casaverde.example maier.example'
const OFFERS =
  '20% off everything this weekend|Unser Newsletter im Juni|What we read this week|Nouveautés du mois|Last chance: the summer sale ends tonight|Product update: dark mode is here|Ihre persönlichen Angebote|Webinar on Thursday: save your seat'

/** Subjects of people; some look like those of programs. */
const SUBJECTS = [
  'Lunch on Thursday?',
  'Offer 2026-114',
  'Termin am Freitag',
  'Rückfrage zu Ihrer Rechnung',
  'Question sur la commande',
  'Pregunta sobre el envío',
  'Domanda sul preventivo',
  'Zapytanie ofertowe',
  'お見積りの件',
  'Вопрос по договору',
  'Re: the delivery status of our order',
  'Your automatic doors',
  'Failure of the pump, need a quote',
  'Cron jobs on our server',
  'Problem with my account',
  'Report for the board',
  'Build permit',
  'Fwd: Your invoice',
  'Fwd: Newsletter May',
  'AW: Angebot Nr. 4711',
  'unsubscribe',
  'Please stop the newsletter',
  'Alert level orange?',
  'No reply to my last mail',
  'Hello',
  'test',
  '',
  'Bounce house for the party',
  'Subscription renewal question',
  'Confirm our meeting',
]

function valuesOf(dice: Dice): (key: string) => string {
  const pick = <Value>(list: readonly Value[]): Value => list[dice(list.length)] as Value
  const hex = (length: number) => Array.from({ length }, () => dice(16).toString(16)).join('')
  const first = pick(FIRST.split(' '))
  const last = pick(LAST.split(' '))
  const plain = (name: string) =>
    name
      .normalize('NFD')
      .replace(/[^a-z]/gi, '')
      .toLowerCase()
  const domain = pick(DOMAINS.split(' '))
  const users = [`${plain(first)}.${plain(last)}`, plain(first), `${plain(first)[0]}${plain(last)}`]
  const fixed: Record<string, string> = {
    first,
    last,
    name: `${first} ${last}`,
    user: pick(users),
    domain,
    host: `${pick(['mail', 'srv1', 'web04', 'mx2'])}.${domain}`,
    company: pick(COMPANIES.split('|')),
    subject: pick(SUBJECTS),
    offer: pick(OFFERS.split('|')),
    word: pick(WORDS.split(' ')),
    ip: `192.0.2.${1 + dice(250)}`,
    date: `${pick(['Mon', 'Tue', 'Fri'])}, ${1 + dice(28)} Jun 2026 ${10 + dice(13)}:${10 + dice(49)}:00 +0200`,
    'to-bare': 'agent@mail.example',
    to: 'Agent <agent@mail.example>',
  }
  fixed.address = `${fixed.user}@${domain}`
  return (key) => {
    if (key === 'hex') return hex(8)
    if (key === 'digits') return String(10_000 + dice(9_000_000))
    if (key === 'b64') return Buffer.from(hex(24), 'hex').toString('base64url')
    if (key === 'uuid') return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
    const value = fixed[key]
    if (value === undefined) throw new Error(`{${key}} is no value.`)
    return value
  }
}
