import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { extractReply } from '#reply/reply-text.ts'

const REPLY = 'Tuesday suits me.\nShall I book the room?'

const ATTRIBUTIONS = [
  'On Tue, Nov 16, 2021 at 12:34 PM Ann Lee <ann@example.org> wrote:',
  'On Tue, Nov 16, 2021 at 12:34 PM Ann Lee\n<ann@example.org> wrote:',
  'On Nov 16, 2021,\nat 12:34,\nAnn Lee <ann@example.org> wrote:',
  '- On 2021-11-16 12:34, Ann Lee wrote:',
  '---- On Tue, 16 Nov 2021 12:34:00 +0100 Ann Lee <ann@example.org> wrote ----',
  'Ann Lee <ann@example.org> writes:',
  'Am Di., 16. Nov. 2021 um 12:34 Uhr schrieb Ann Lee <\nann@example.org>:',
  'Ann Lee <ann@example.org> schrieb am Di., 16. Nov. 2021, 12:34:',
  'Le mar. 16 nov. 2021 à 12:34, Ann Lee <ann@example.org>\na écrit :',
  'El mar, 16 nov 2021 a las 12:34, Ann Lee (<ann@example.org>) escribió:',
  'Em ter., 16 de nov. de 2021 às 12:34, Ann Lee <ann@example.org> escreveu:',
  'Il giorno mar 16 nov 2021 alle ore 12:34 Ann Lee <ann@example.org> ha scritto:',
  'Op di 16 nov. 2021 om 12:34 schreef Ann Lee <ann@example.org>:',
  'Op 16 nov. 2021 om 12:34 heeft Ann Lee <ann@example.org> het volgende geschreven:',
  'Den tis 16 nov. 2021 kl 12:34 skrev Ann Lee <ann@example.org>:',
  'tir. 16. nov. 2021 kl. 12:34 skrev Ann Lee <ann@example.org\n>:',
  'ti 16. marrask. 2021 klo 12.34 Ann Lee (ann@example.org) kirjoitti:',
  'wt., 16 lis 2021 o 12:34 Ann Lee <ann@example.org> napisał(a):',
  'Dne 16. 11. 21 v 12:34 Ann Lee napsal(a):',
  '2021. 11. 16. 12:34 keltezéssel, Ann Lee írta:',
  'În mar., 16 nov. 2021 la 12:34, Ann Lee <ann@example.org> a scris:',
  'Στις Τρί 16 Νοε 2021 στις 12:34 μ.μ., ο χρήστης Ann Lee <ann@example.org> έγραψε:',
  '16 ноября 2021 г., 12:34 пользователь Ann Lee <ann@example.org> написал:',
  'вт, 16 нояб. 2021 г. в 12:34, Ann Lee <ann@example.org>:',
  'вт, 16 лист. 2021 р. о 12:34 Ann Lee <ann@example.org> пише:',
  'Ann Lee <ann@example.org>, 16 Kas 2021 Sal, 12:34 tarihinde şunu yazdı:',
  'Vào Th 3, 16 thg 11, 2021 vào lúc 12:34 Ann Lee <ann@example.org> đã viết:',
  'Pada tanggal Sel, 16 Nov 2021 pukul 12.34 Ann Lee <ann@example.org> menulis:',
  '在 2021年11月16日 12:34，Ann Lee <ann@example.org> 写道：',
  'Ann Lee <ann@example.org> 於 2021年11月16日 週二 下午12:34寫道：',
  '2021年11月16日(火) 12:34 Ann Lee <ann@example.org>:',
  '2021년 11월 16일 (화) 오후 12:34, Ann Lee <ann@example.org>님이 작성:',
  '\u202bבתאריך יום ג׳, 16 בנוב׳ 2021 ב-12:34 מאת \u202aAnn\u202c <ann@example.org>:\u202c',
  '2021-11-16 12:34 GMT+01:00 Ann Lee <ann@example.org>:',
]

for (const attribution of ATTRIBUTIONS) {
  test(`what follows "${attribution.replaceAll('\n', ' ')}" is quoted`, () => {
    assert.equal(extractReply(`${REPLY}\n\n${attribution}\n\n> Which day?\n`), REPLY)
    assert.equal(extractReply(`${REPLY}\n\n${attribution}\n\nWhich day?\nAnn\n`), REPLY)
    assert.equal(extractReply(`${REPLY}\n${attribution}\n\nWhich day?\nAnn\n`), REPLY)
  })
}

const HEADERS = [
  '________________________________\nFrom: Ann <ann@example.org>\nSent: Tuesday\nTo: Bo\nSubject: x',
  '*From:* Ann Lee <ann@example.org>\n*Sent:* Tuesday\n*To:* Bo\n*Subject:* x',
  'From: Ann Lee\n<ann@example.org>\nDate: Tuesday\nTo: Bo',
  'From: Ann <ann@example.org>\n\nDate: Tuesday\n\nTo: Bo\n\nSubject: x',
  'Von: Ann Lee\nGesendet: Dienstag\nAn: Bo\nBetreff: AW: x',
  'De : Ann Lee\nEnvoyé : mardi\nÀ : Bo\nObjet : RE: x',
  'De: Ann Lee\nEnviado: martes\nPara: Bo\nAsunto: x',
  'De: Ann Lee\nEnviada em: terça-feira\nPara: Bo\nAssunto: x',
  'Da: Ann Lee\nInviato: martedì\nA: Bo\nOggetto: x',
  'Van: Ann Lee\nVerzonden: dinsdag\nAan: Bo\nOnderwerp: x',
  'Från: Ann Lee\nSkickat: den 16\nTill: Bo\nÄmne: x',
  'Lähettäjä: Ann\nLähetetty: ti\nVastaanottaja: Bo\nAihe: x',
  'Od: Ann\nWysłano: wtorek\nDo: Bo\nTemat: x',
  'От: Ann\nОтправлено: вторник\nКому: Bo\nТема: x',
  'Kimden: Ann\nGönderildi: Salı\nKime: Bo\nKonu: x',
  '发件人: Ann\n发送时间: 2021\n收件人: Bo\n主题: x',
  '差出人: Ann\n送信日時: 2021\n宛先: Bo\n件名: x',
  '-----Original Message-----',
  '-----Ursprüngliche Nachricht-----\nVon: Ann',
  '-------- Message d’origine --------',
  '------------------ 原始邮件 ------------------',
  '##- Please type your reply above this line -##',
]

for (const header of HEADERS) {
  test(`what follows the header "${header.replaceAll('\n', ' / ')}" is quoted`, () => {
    assert.equal(extractReply(`${REPLY}\n\n${header}\n\nWhich day?\nAnn\n`), REPLY)
  })
}

test('a message without a quote is returned whole, without trailing white space', () => {
  const texts = [
    'Hello Bo,\r\n\r\nsee the list:  \r\n- one\r\n- two',
    'On the other hand, we should wait.\nOn Monday we meet.\nOn 3 May 2021 I wrote the following:\nGo on.',
    'From: Paris\nTo: Rome\nDate: 3 May\n\nIs there a train?',
    'When:\nDate: Wednesday 3, October 2011\nTime: 7 : 00am\nPlease bring your ID.',
    'Sent from our shop in Rome on Friday\nthe parcel has still not come.',
    '# Points\n----\n1. one\n\n---\n\nand ==== so on\n====\nend',
    'In this regards we need care.\nBest regards to your wife are in the letter.',
    'Run this:\n>>> import this\nand read what it says.',
    '2021-11-16 12:34\n16.11.2021 12:34\nare two ways to write it.',
    'I wrote: see https://example.org/on-that-day-he-wrote:\nand more.',
    '-- first point\n-- second point\nThat is all.',
  ]
  for (const text of texts) assert.equal(extractReply(`${text}  \n\n`), text)
})

test('a forward keeps everything', () => {
  const forwarded = 'From: Ann <ann@example.org>\nDate: Tuesday\nSubject: x\nTo: Bo\n\nWhich day?'
  const openings = [
    '---------- Forwarded message ---------',
    '-------- Weitergeleitete Nachricht --------',
    '---------- Message transféré ---------',
    '-------- Пересылаемое сообщение --------',
    '---------- 转发的邮件 ----------',
    'Begin forwarded message:\n',
    'Anfang der weitergeleiteten Nachricht:\n',
  ]
  for (const opening of openings) {
    const text = `Please see below.\n\nBest regards,\nBo\n\n${opening}\n${forwarded}`
    assert.equal(extractReply(text), text)
  }
  assert.equal(extractReply(forwarded), forwarded)
})

test('answers between and below quotes are joined in order', () => {
  const text = [
    'Hi Ann,',
    '',
    'On 16 Nov 2021, at 12:34, Ann Lee <ann@example.org> wrote:',
    '> Which day?',
    '',
    'Tuesday.',
    '',
    '> Which room? See (https://example.org/a-long-',
    'address)',
    '> for the list.',
    '',
    'The blue one.',
    '--',
    'Bo',
  ]
  assert.equal(extractReply(text.join('\n')), 'Hi Ann,\n\nTuesday.\nThe blue one.')
})

test('a reply of only marked quotes is empty, and one of an unmarked quote is whole', () => {
  const attribution = 'On 16 Nov 2021, at 12:34, Ann Lee <ann@example.org> wrote:'
  assert.equal(extractReply(`${attribution}\n> Which day?\n`), '')
  assert.equal(extractReply(`${attribution}\nWhich day?\n`), `${attribution}\nWhich day?`)
})

test('an attribution on a line of text leaves the text', () => {
  const attribution = 'On Tue, Nov 16, 2021 at 12:34 PM, ann@example.org wrote:'
  assert.equal(extractReply(`Agreed --- ${attribution}\n> Which day?`), 'Agreed')
})

test('a signature after a signature line is left out', () => {
  const signatures = [
    '-- \nBo Ek\nExample Ltd',
    '--\nBo',
    'Sent from my iPhone',
    'Get Outlook for iOS<https://aka.ms/o0ukef>',
    'Von meinem iPhone gesendet',
    'Envoyé de mon iPhone',
    'Enviado desde mi iPhone',
    'Inviato da iPhone',
    'Verstuurd vanaf mijn iPad',
    'Отправлено с iPhone',
    '发自我的iPhone',
    'iPhoneから送信',
    'Best regards,\nBo',
    'Mit freundlichen Grüßen\nBo Ek',
    'Cordialement,\nBo',
    'С уважением,\nБо',
  ]
  for (const signature of signatures) {
    assert.equal(extractReply(`${REPLY}\n\n${signature}\n`), REPLY, signature)
    const quote = 'On 16 Nov 2021, at 12:34, Ann <ann@example.org> wrote:\n\nWhich day?'
    assert.equal(extractReply(`${REPLY}\n\n${signature}\n\n${quote}`), REPLY, signature)
  }
})

test('a closing formula is kept with the text after it', () => {
  const texts = [
    `Best regards,\n\n${REPLY}`,
    `${REPLY}\n\nRegards,\nBo\n\nPS: bring the key.`,
    `Cheers,\nBo\n${'One more line of the letter itself.\n'.repeat(12)}`.trimEnd(),
  ]
  for (const text of texts) assert.equal(extractReply(text), text)
})

test('any text is accepted, and no line is invented', () => {
  const pieces = fc.constantFrom(
    ...['> ', '\n', '\r', ' ', 'On 3 May 2021 ', 'a@b.c', '<', '>:', ' wrote:', 'From: ', 'To: x'],
    ...[
      'Subject: y',
      '--',
      '-- \n',
      'Regards,',
      'Sent from my iPhone',
      '-----Original Message-----',
    ],
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 40 }), (parts) => {
      const text = parts.join('')
      const reply = extractReply(text)
      assert.ok(reply.length <= text.length)
      assert.equal(reply, reply.trimEnd())
      for (const line of reply.split(/\r\n|\r|\n/)) assert.ok(text.includes(line.trimEnd()))
    }),
    { numRuns: 500 },
  )
})
