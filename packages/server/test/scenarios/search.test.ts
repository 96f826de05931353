import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const UTF8 = [
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
]

const BOUNDARY = 'Zq7'
const FILE = [
  `--${BOUNDARY}`,
  'Content-Type: text/plain',
  '',
  'Here it is.',
  `--${BOUNDARY}`,
  'Content-Type: application/pdf; name="plan.pdf"',
  'Content-Disposition: attachment; filename="plan.pdf"',
  '',
  'pdf',
  `--${BOUNDARY}--`,
].join('\r\n')
const MULTIPART = ['MIME-Version: 1.0', `Content-Type: multipart/mixed; boundary=${BOUNDARY}`]

const MAILBOX: Record<string, { from?: string; cc?: string; subject?: string; body?: string }> = {
  invoice: {
    from: 'Ana Silva <ana@firm.example>',
    subject: 'Invoice 2041 for March',
    body: 'The total is 1,234.50 euro. Please pay within thirty days.',
  },
  reminder: {
    from: 'Ana Silva <ana@firm.example>',
    subject: 'A reminder',
    body: 'Please pay the invoice of March, it is overdue. Invoice, invoice, invoice!',
  },
  lunch: {
    from: 'Bob Stone <bob.stone@mail.firm.example>',
    subject: 'Lunch on Friday',
    body: "Shall we meet at the café? It's the one by the naïve painter.",
  },
  other: {
    from: 'ana@firm.example.org',
    cc: 'Carla <carla@third.example>',
    subject: 'Résumé of the meeting',
    body: 'We talked of pay, then of the total of the invoicing system.',
  },
  russian: { subject: 'Счёт за март', body: 'Пожалуйста, оплатите счёт. Ёлка.' },
  greek: { subject: 'ΤΙΜΟΛΟΓΙΟ', body: 'Παρακαλώ πληρώστε το τιμολόγιο της οδού.' },
  arabic: { subject: 'فاتورة', body: 'السَّلامُ عليكم، هذه فاتورتكم.' },
  hebrew: { subject: 'חשבונית', body: 'שָׁלוֹם, זו החשבונית שלך.' },
  hindi: { subject: 'चालान', body: 'कृपया चालान का भुगतान करें।' },
  thai: { subject: 'ใบแจ้งหนี้', body: 'กรุณาชำระเงินค่าน้ำภายในสามวัน' },
  chinese: { subject: '三月发票', body: '请在三十天内付款。谢谢您的合作。' },
  japanese: { subject: '請求書', body: '東京駅で会いましょう。ﾃﾞｰﾀも送ります。' },
  korean: { subject: '청구서', body: '회사는 삼월 청구서를 보냅니다.' },
  turkish: { subject: 'FATURA İSTANBUL', body: 'Lütfen faturayı ödeyin, ısı gideri.' },
  polish: { subject: 'Faktura Łódź', body: 'Proszę zapłacić za źdźbło.' },
  german: { subject: 'Rechnung Straße', body: 'Bitte begleichen Sie die Rech\u00adnung.' },
  vitamin: {
    subject: 'Vitamin C, net weight',
    body: 'Part AB-1234/5 at https://shop.example/order?id=77 (up: follow). Ask sales@shop.example.',
  },
  cplus: { subject: 'Modern C++', body: 'A follow-up to the e-mail on C++17.' },
  csharp: { subject: 'C# (.NET)', body: 'Nothing else.' },
  file: { from: 'Fay <fay@files.example>', subject: 'Report', body: FILE },
}

/** Maps a query to its results, newest first. */
const FOUND: [string, string[]][] = [
  ['invoice', ['reminder', 'invoice']],
  ['INVOICE', ['reminder', 'invoice']],
  ['invoice march pay', ['reminder', 'invoice']],
  ['invoice lunch', []],
  ['invoi', []],
  ['invoi*', ['other', 'reminder', 'invoice']],
  ['"invoice of march"', ['reminder']],
  ['"march invoice"', []],
  ['invoice-of-march', ['reminder']],
  ['pay -overdue', ['other', 'invoice']],
  ['pay -"thirty days" -from:firm.example.org', ['reminder']],
  ['subject:invoice', ['invoice']],
  ['subject:"invoice 2041"', ['invoice']],
  ['subject:invo*', ['invoice']],
  ['2041', ['invoice']],
  ['1,234.50', ['invoice']],
  ['cafe', ['lunch']],
  ['CAFÉ naive', ['lunch']],
  ['resume', ['other']],
  ['ana@firm.example', ['reminder', 'invoice']],
  ['from:ana@firm.example', ['reminder', 'invoice']],
  ['from:ANA@FIRM.EXAMPLE', ['reminder', 'invoice']],
  ['from:ana', ['other', 'reminder', 'invoice']],
  ['from:"ana silva"', ['reminder', 'invoice']],
  ['from:firm.example', ['other', 'lunch', 'reminder', 'invoice']],
  ['from:mail.firm.example', ['lunch']],
  ['@mail.firm.example', ['lunch']],
  ['from:bob.stone', ['lunch']],
  ['from:ana@fi*', ['other', 'reminder', 'invoice']],
  ['to:carla', ['other']],
  ['to:carla@third.example', ['other']],
  ['from:carla', []],
  ['carla', ['other']],
  ['счет', ['russian']],
  ['елка', ['russian']],
  ['τιμολογιο', ['greek']],
  ['οδού', ['greek']],
  ['السلام', ['arabic']],
  ['فاتورة', ['arabic']],
  ['שלום', ['hebrew']],
  ['चालान', ['hindi']],
  ['น้ำ', ['thai']],
  ['ชำระเงิน', ['thai']],
  ['发票', ['chinese']],
  ['付款', ['chinese']],
  ['款', ['chinese']],
  ['東京', ['japanese']],
  ['駅', ['japanese']],
  ['東京駅で', ['japanese']],
  ['京東', []],
  ['データ', ['japanese']],
  ['회사', ['korean']],
  ['istanbul', ['turkish']],
  ['fatura', ['turkish']],
  ['odeyin isi', ['turkish']],
  ['lodz', ['polish']],
  ['zdzblo', ['polish']],
  ['strasse', ['german']],
  ['rechnung bitte', ['german']],
  ['lunch OR reminder', ['lunch', 'reminder']],
  ['lunch or reminder', []],
  ['pay overdue OR thirty', ['reminder', 'invoice']],
  ['(pay overdue) OR lunch', ['lunch', 'reminder']],
  ['invoice -(overdue OR lunch)', ['invoice']],
  ['invoice AND march', ['reminder', 'invoice']],
  ['from:(carla OR bob) OR to:(carla OR bob)', ['other', 'lunch']],
  ['subject:(invoice 2041)', ['invoice']],
  ['lunch OR', ['lunch']],
  ['OR lunch', ['lunch']],
  ['lunch OR OR reminder', ['lunch', 'reminder']],
  ['(lunch OR reminder', ['lunch', 'reminder']],
  ['lunch) OR reminder', ['lunch', 'reminder']],
  ['() lunch', ['lunch']],
  ['"lunch OR reminder', ['lunch', 'reminder']],
  ['has:attachment', ['file']],
  ['plan.pdf', ['file']],
  ['-has:attachment from:files.example', []],
  ['lunch OR has:attachment', ['file', 'lunch']],
  ['report has:attachments', ['file']],
  ['-has:attachment invoice', ['reminder', 'invoice']],
  ['before:2020-01-01', []],
  ['invoice after:2020-01-01', ['reminder', 'invoice']],
  ['invoice -before:2020-01-01', ['reminder', 'invoice']],
  ['invoice before:2999-01-01T00:00:00+02:00', ['reminder', 'invoice']],
  ['lunch OR (invoice before:2020-01-01)', ['lunch']],
  ['C++', ['cplus']],
  ['c++', ['cplus']],
  ['C#', ['csharp']],
  ['c', ['csharp', 'cplus', 'vitamin']],
  ['.NET', ['csharp']],
  ['net', ['csharp', 'vitamin']],
  ['"modern C++"', ['cplus']],
  ['C++ OR .NET', ['csharp', 'cplus']],
  ['subject:c++', ['cplus']],
  ['vitamin -C++', ['vitamin']],
  ['e-mail', ['cplus']],
  ['follow-up', ['cplus']],
  ['"follow up"', ['cplus']],
  ['AB-1234/5', ['vitamin']],
  ['AB-1234/6', []],
  ['https://shop.example/order?id=77', ['vitamin']],
  ['sales@shop.example', ['vitamin']],
]

/** Queries without operators, and queries without words. */
const ODD = [
  '"',
  '*',
  '**',
  ':',
  '-',
  '(',
  '()',
  '^',
  '{}',
  '\0',
  '🎉',
  '👨‍👩‍👧',
  '-'.repeat(500),
  '" "',
  '-invoice',
  "'",
  '%',
  '_',
  '\\',
  '!',
  '&',
  '|',
  '<->',
]
const ODD_WORDS = [
  'NEAR(invoice march)',
  'invoice AND march OR nothing NOT it',
  "invoice'; drop table search_index; --",
  "invoice' OR '1'='1",
  '"invoice',
  'invoice"',
  'invoice""',
  'subject : invoice',
  'marks:.0.0',
  '{subject} : invoice',
  'rank:bm25',
  "'invoice' & 'march' | !'x':*A",
  'invoice:*A',
  'invoice <-> march',
  '\\invoice\\',
  '^invoice',
  'invoice + march',
  '(((((((((((((((((((((((((((((((invoice',
  '\ud800 invoice',
  'a'.repeat(500),
  '漢'.repeat(129),
]

onEachEngine('searching an inbox', (engine) => {
  const world = opened(() => openTenant(engine))
  const idOf = new Map<string, string>()
  const inbox = prepared(() => world.inbox())
  before(async () => {
    for (const [name, { from, cc, subject, body }] of Object.entries(MAILBOX)) {
      const messageId = `<${name}@x.example>`
      const headers = [
        ...(body === FILE ? MULTIPART : UTF8),
        ...(cc === undefined ? [] : [`Cc: ${cc}`]),
      ]
      const raw = plainMail({
        to: inbox.address,
        messageId,
        headers,
        ...(from && { from }),
        ...(subject && { subject }),
        ...(body && { body }),
      })
      assert.equal((await world.send({ to: inbox.address, raw: Buffer.from(raw) })).code, 250)
    }
    for await (const message of world.client.messages.list(inbox.id)) {
      idOf.set(message.id, message.rfcMessageId?.slice(1).split('@')[0] ?? '')
    }
    assert.equal(idOf.size, Object.keys(MAILBOX).length)
  })

  const search = (q: string, options: object = {}) =>
    world.client.inboxes.search(inbox.id, { q, ...options }).page()
  const names = async (q: string, options: object = {}) => {
    const { data } = await search(q, options)
    return data.map(({ messageId }) => idOf.get(messageId))
  }

  for (const [q, found] of FOUND) {
    test(`${q} finds ${found.join(', ') || 'nothing'}`, async () => {
      const { data, total, totalIsExact, isComplete } = await search(q)
      assert.deepEqual(
        data.map(({ messageId }) => idOf.get(messageId)),
        found,
      )
      assert.deepEqual(
        { total, totalIsExact, isComplete },
        { total: found.length, totalIsExact: true, isComplete: true },
      )
    })
  }

  test("the inbox's own address is found as a whole and no word of it is, sent or received", async () => {
    const desk = await world.client.inboxes.create({
      mailboxName: 'concierge',
      displayName: 'Concierge Desk',
    })
    const from = (sender: string, subject: string, to = desk.address, cc?: string) =>
      world.send({
        to: to.replace(/.*<|>.*/g, ''),
        raw: plainMail({
          to,
          from: sender,
          subject,
          body: 'Hello.',
          messageId: `<${subject}@desk.example>`,
          ...(cc !== undefined && { headers: [`Cc: ${cc}`] }),
        }),
      })
    const [local, domain] = desk.address.split('@')
    await from('ann@firm.example', 'plain')
    await from('ann@firm.example', 'tagged', `${local}+orders@${domain}`)
    await from('ann@firm.example', 'copied', desk.address, `Concierge <concierge@other.example>`)
    await from('concierge@third.example', 'sender')
    await from('ann@firm.example', 'wanted concierge')
    const sent = { to: 'bob@friend.example', subject: 'outbound', body: 'Hello.' }
    await world.client.inboxes.send(desk.id, sent)
    const subjects = async (q: string) => {
      const { data } = await world.client.inboxes.search(desk.id, { q }).page()
      return data.map(({ subject }) => subject)
    }
    const received = ['wanted concierge', 'sender', 'copied', 'tagged', 'plain']
    for (const [q, expected] of [
      ['concierge', ['wanted concierge', 'sender', 'copied']],
      ['conci*', ['wanted concierge', 'sender', 'copied']],
      ['to:concierge', ['copied']],
      ['from:concierge', ['sender']],
      ['desk', []],
      [`to:${domain}`, []],
      [domain ?? '', []],
      ['to:orders', ['tagged']],
      [`to:${desk.address}`, received],
      [`to:${desk.address.slice(0, -3)}*`, received],
      [`from:${desk.address}`, ['outbound']],
      [desk.address, ['outbound', ...received]],
      [`to:${local}+orders@${domain}`, ['tagged']],
      [`hello -from:${desk.address}`, received],
    ] as const) {
      assert.deepEqual([q, await subjects(q)], [q, expected])
    }
  })

  test('a sent message is found by each of its recipients', async () => {
    const desk = await world.client.inboxes.create()
    await world.client.inboxes.send(desk.id, {
      to: ['bob@friend.example', 'Zoe <zoe@second.example>'],
      subject: 'Several',
      body: 'Hello.',
    })
    for (const q of ['to:bob@friend.example', 'to:zoe@second.example', 'to:second']) {
      assert.equal((await world.client.inboxes.search(desk.id, { q }).page()).total, 1, q)
    }
  })

  test('ranking counts a subject more than a text', async () => {
    assert.deepEqual(await names('march', { sort: 'rank' }), ['invoice', 'reminder'])
    assert.deepEqual(await names('march', { sort: 'newest' }), ['reminder', 'invoice'])
  })

  test('a query without words gets an error that names the parameter, and never a server error', async () => {
    for (const q of ODD) {
      const url = `/v1/inboxes/${inbox.id}/search?${new URLSearchParams({ q })}`
      const error = (await (await world.fetch(url)).json()) as {
        error: string
        details?: { path: string }[]
      }
      assert.deepEqual([q, error.error, error.details?.[0]?.path], [q, 'bad_request', 'q'])
    }
    for (const q of ODD_WORDS) {
      const url = `/v1/inboxes/${inbox.id}/search?${new URLSearchParams({ q })}`
      const response = await world.fetch(url)
      assert.ok(
        response.status === 200 || (response.status === 400 && q.length >= 129),
        `${response.status} for ${q}`,
      )
      await response.body?.cancel()
    }
    assert.deepEqual(await names('"invoice'), ['reminder', 'invoice'])
    assert.deepEqual(await names('^invoice'), ['reminder', 'invoice'])
  })

  test('what is wrong in a query is named, and what it may have is bounded', async () => {
    const nested = (depth: number) =>
      Array.from({ length: depth }, (_, n) => (n % 2 === 0 ? `(a${n} ` : `(a${n} OR `)).join('')
    for (const [q, code, message] of [
      ['before:yesterday', 'invalid_query', /"before:yesterday".*2026-05-31/],
      ['x after:2026-02-30', 'invalid_query', /"after:2026-02-30"/],
      ['after:2026-02-03T25:00', 'invalid_query', /"after:2026-02-03T25:00"/],
      ['after:2026/02/03', 'invalid_query', /"after:2026\/02\/03"/],
      ['x (has:dog OR y)', 'invalid_query', /"has:dog".*has:attachment/],
      [`${nested(12)}x`, 'invalid_query', /at most 10 levels/],
      [Array.from({ length: 33 }, () => 'a').join(' OR '), 'bad_request', /at most 32/],
      ['a OR '.repeat(99), 'bad_request', /at most 32/],
      ['x'.repeat(10_000), 'bad_request', /500/],
      ['a OR '.repeat(1_000), 'bad_request', /500/],
      ['('.repeat(5_000), 'bad_request', /500/],
      ['OR', 'bad_request', /must contain a word/],
      ['-(invoice OR march)', 'bad_request', /must contain a word/],
    ] as const) {
      const response = await world.fetch(
        `/v1/inboxes/${inbox.id}/search?${new URLSearchParams({ q })}`,
      )
      const error = (await response.json()) as Record<'error' | 'message', string>
      assert.deepEqual([q, response.status, error.error], [q, 400, code])
      assert.match(error.message, message)
    }
    // The deepest and longest that are read.
    for (const q of [`${nested(9)}x`, `-${nested(9).replaceAll('(a', '-(a')}x invoice`]) {
      assert.equal((await search(q)).isComplete, true, q)
    }
    assert.deepEqual(await names(`${'('.repeat(480)}invoice`), ['reminder', 'invoice'])
    assert.deepEqual(await names('invoice \u0007OR\u0007 lunch'), [])
  })

  test('a snippet shows the match and its place', async () => {
    const [hit] = (await search('"pay within thirty"')).data
    const points = Array.from(hit?.snippet ?? '')
    assert.equal(hit?.snippet, 'The total is 1,234.50 euro. Please pay within thirty days.')
    assert.deepEqual(
      hit?.highlights.map(({ start, end }) => points.slice(start, end).join('')),
      ['pay within thirty'],
    )
    const [bySubject] = (await search('resume')).data
    assert.equal(
      bySubject?.snippet,
      'We talked of pay, then of the total of the invoicing system.',
      'the subject is not repeated',
    )
    assert.deepEqual(bySubject?.highlights, [])
  })
})
