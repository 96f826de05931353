const words = (list: string): string[] => list.trim().split(/,\s+/)

/** An English attribution ends with the verb. "I wrote the following:" is not an attribution. */
const WROTE_AT_END = '(?:wrote|writes|sent)(?=[\\s:：*_\\-–—]*$)'
/** "wrote" in attributions, without the pronoun or auxiliary where that varies. */
const WROTE = words(`
  schrieb, schreibt, geschrieben, hat geantwortet, a écrit, a ecrit, écrit, écrivait, escribió,
  escribio, ha escrito, escreveu, escreveram, ha scritto, scrive, ha inviato, schreef,
  heeft geschreven, volgende geschreven, skrev, følgende, följande, kirjoitti, kirjutas, skrifaði,
  scríobh, pisze, napisał, napisała, napisał(a), napisał/a, napsal, napsala, napsal(a), napsal/a,
  napísal, napísala, napísal(a), je napisao, je napisala, napisao, napisala, je napisao/la, piše,
  je pisal, írta, ezt írta, a scris, έγραψε, yazdı, yazmış, shkroi, написал, написала, написал(а),
  пишет, писал, писал(а), пише, написав, написа, је написао, је написала, напиша, напісаў, parašė,
  rašė, rakstīja, va escriure, ha escrit, escribiu, idatzi du, quoting, zitat von, citando,
  menulis, tulis, đã viết, viết, כתב, כתבה, כתב/ה, كتب, كتبت, نوشت, نے لکھا, napisal, napisal(a),
  geskryf, sinulat ni, aliandika, ameandika, kiteb, ysgrifennodd, yazıb, yozdi, жазды, бичсэн,
  գրել է, დაწერა
`)
/** "wrote" in scripts without spaces. */
const WROTE_UNSPACED = words(`
  写道, 寫道, 编写, 撰写, 來信, のメール, のメッセージ, さんは書きました, 書きました, が書いた, さんからのメール, 작성, 이(가) 쓴 글, 썼습니다, เขียน, ने लिखा, लिहिले, লিখেছেন, எழுதியது, ຂຽນ
`)

/** The word that opens an attribution, before the date. */
const OPENERS = words(`
  On, Am, Le, El, Il, In data, Il giorno, Em, Op, Den, På, W dniu, Dnia, Dne, Dňa, Dana, Ned, Vào,
  Vào lúc, În, Pe, Στις, На, В, Pada, Tarihinde, Í, Ar, בתאריך, في, 在, 於, 于
`)

/** Names of the header fields that mail programs copy above a quoted message. */
const FIELD_NAMES = {
  from: words(`
    from, von, de, da, van, fra, från, lähettäjä, od, feladó, de la, από, от, від, від кого,
    kimden, gönderen, dari, từ, expéditeur, remitente, remetente, afzender, mittente, avsändare,
    mailinizi gönderen, nuo, no, saatja, frá, odosielateľ, šalje, пошиљалац, प्रेषक, از, 发件人, 寄件者, 寄件人, 發件人, 差出人, 送信者, 보낸 사람, 보낸사람, מאת, من, จาก
  `),
  date: words(`
    sent, date, gesendet, datum, envoyé, envoyé le, message du, enviado, enviado el, enviado em,
    enviada em, fecha, data, inviato, data invio, verzonden, skickat, sendt, dato, lähetetty,
    päivämäärä, päiväys, wysłano, wysłane, odesláno, odoslané, elküldve, dátum, trimis, στάλθηκε,
    ημερομηνία, отправлено, дата, надіслано, изпратено, gönderildi, gönderme tarihi, tarih,
    dikirim, tanggal, đã gửi, ngày, poslano, poslato, dagsetning, saadetud, 发送时间, 发送日期, 日期, 寄件日期,
    傳送時間, 送信日時, 日付, 日時, 보낸 날짜, 보낸날짜, 날짜, भेजा गया, تم الإرسال, 날짜, נשלח, תאריך, تاريخ الإرسال, التاريخ, ส่ง, วันที่
  `),
  to: words(`
    to, an, à, a, para, aan, til, till, vastaanottaja, do, komu, címzett, către, catre, προς,
    кому, до, kime, alıcı, kepada, tới, đến, za, prima, per, 收件人, 收件者, 宛先, 받는 사람, 받는사람, प्रति, به, אל, إلى, ถึง,
    destinataire, destinatario, destinatário
  `),
  cc: words(`
    cc, kopie, copie, copie à, copia, kopia, kopi, kopio, dw, másolatot kap, копия, копія, 抄送, 副本,
    참조, bilgi, bcc, cci, cco, reply-to, antwort an, répondre à, responder a
  `),
  subject: words(`
    subject, betreff, objet, sujet, asunto, assunto, oggetto, onderwerp, emne, ämne, aihe, temat,
    předmět, predmet, tárgy, subiect, θέμα, тема, относно, konu, perihal, subjek, chủ đề, tiêu đề,
    zadeva, naslov, efni, teema, tema, assumpte, 主题, 主旨, 主題, 件名, 제목, נושא, الموضوع, موضوع, विषय, เรื่อง, ogg
  `),
}
export type QuotedField = keyof typeof FIELD_NAMES

const ORIGINAL = words(`
  original message, original email, original mail, reply message, ursprüngliche nachricht,
  original-nachricht, originalnachricht, antwort nachricht, message d'origine, message d’origine,
  message original, mensaje original, mensagem original, messaggio originale,
  messaggio originario, oorspronkelijk bericht, oorspronkelijke bericht, origineel bericht,
  oprindelig besked, oprindelig meddelelse, original meddelelse, opprinnelig melding,
  ursprungligt meddelande, originalmeddelande, ursprungsmeddelande, alkuperäinen viesti,
  wiadomość oryginalna, oryginalna wiadomość, původní zpráva, původní e-mail, pôvodná správa,
  eredeti üzenet, mesajul original, mesaj original, αρχικό μήνυμα, исходное сообщение,
  оригинальное сообщение, вихідне повідомлення, початкове повідомлення, оригинално съобщение,
  orijinal ileti, özgün ileti, orijinal mesaj, izvorna poruka, originalna poruka,
  izvirno sporočilo, missatge original, pesan asli, pesan asal, thư gốc, tin nhắn gốc,
  upprunaleg skilaboð, algne sõnum, 原始邮件, 原始郵件, 原邮件, 原件, 元のメッセージ, オリジナル メッセージ, オリジナルメッセージ, 원본 메시지,
  원본 메일, 원본메일, הודעה מקורית, الرسالة الأصلية, ข้อความต้นฉบับ
`)
const FORWARDED = words(`
  forwarded message, forwarded by, forwarded mail, forwarded email, weitergeleitete nachricht,
  weitergeleitete e-mail, weitergeleiteten nachricht, message transféré, message transmis,
  message réexpédié, mensaje reenviado, mensagem encaminhada, mensagem reencaminhada,
  messaggio inoltrato, doorgestuurd bericht, doorgestuurde bericht, videresendt besked,
  videresendt meddelelse, videresendt melding, vidarebefordrat meddelande, vidarebefordrat mejl,
  välitetty viesti, edelleenlähetetty viesti, przekazana wiadomość, wiadomość przekazana,
  přeposlaná zpráva, preposlaná správa, továbbított üzenet, mesaj redirecționat,
  προωθημένο μήνυμα, пересылаемое сообщение, пересланное сообщение, переслане повідомлення,
  препратено съобщение, iletilmiş mesaj, iletilen ileti, yönlendirilen ileti, proslijeđena poruka,
  prosleđena poruka, posredovano sporočilo, missatge reenviat, pesan terusan,
  pesan yang diteruskan, thư được chuyển tiếp, tin nhắn đã chuyển tiếp, 转发的邮件, 轉寄郵件, 轉寄的郵件, 转发邮件,
  转发的信件, 転送されたメッセージ, 転送メッセージ, 전달된 메시지, 전달된 메일, הודעה שהועברה, رسالة معاد توجيهها
`)
/** First words of lines without dashes such as "Begin forwarded message:". */
const FORWARD_OPENINGS = words(`
  begin forwarded message, anfang der weitergeleiteten, début du message,
  inizio messaggio inoltrato, inizio del messaggio inoltrato, inicio del mensaje reenviado,
  início da mensagem encaminhada, início da mensagem reencaminhada, begin doorgestuurd bericht,
  start på videresendt, begynnelse på videresendt, start på vidarebefordrat, vidarebefordrat brev,
  välitetty viesti alkaa, początek przekazywanej, začátek přeposílané, начало переадресованного,
  начало пересылаемого, iletilen ileti başlangıcı
`)

/** First words of the line that a phone or mail program adds below the text. */
const SENT_FROM = words(`
  sent from, sent via, sent with, sent using, get outlook for, gesendet von, gesendet mit,
  von meinem iphone gesendet, von meinem ipad gesendet, envoyé de, envoyé depuis, envoyé à partir,
  télécharger outlook pour, obtenez outlook pour, enviado desde, enviado do, enviado de,
  enviado a partir, enviado via, obtener outlook, obter o outlook, inviato da, inviato dal,
  scarica outlook, ottieni outlook, verzonden vanaf, verzonden met, verstuurd vanaf, outlook voor,
  sendt fra, hent outlook, sendt frå, skickat från, hämta outlook, lähetetty, hanki outlook,
  wysłane z, wysłano z, pobierz outlook, odesláno z, odoslané z, poslano z, poslano sa,
  poslato sa, poslano iz, küldve, trimis de pe, trimis din, στάλθηκε από, αποστολή από,
  отправлено с, отправлено из, надіслано з, изпратено от, enviat des, dikirim dari, được gửi từ,
  đã gửi từ, gửi từ, 发自我的, 發自我的, 从我的, 從我的, 傳送自, 获取 outlook, iphoneから送信, ipadから送信, 나의 iphone에서,
  내 iphone에서, נשלח מ, أرسلت من, مُرسل من, ส่งจาก
`)
const SENT_FROM_SUBJECTS = words(`
  von, iphone, ipad, 나의, 내
`)
const SENT_FROM_ENDINGS = words(`
  gesendet, ımdan gönderildi, gönderildi, から送信, 에서 보냄, lähetetty
`)

/** Names of devices and programs, because people also write "sent from" about other things. */
export const DEVICE_PATTERN =
  /outlook|iphone|ipad|ipod|android|samsung|galaxy|huawei|xiaomi|pixel|blackberry|nokia|windows|gmail|yahoo|proton|mail\b|mobil|smartphone|tablet/i

/** Closings on a separate line, followed by a name. */
const CLOSINGS = words(`
  (?:[\\p{L}&]+ ){0,3}regards, cheers, (?:with )?best wishes, all the best,
  yours (?:sincerely|faithfully|truly), kind wishes,
  mit (?:freundlichen|freundlichem|besten|lieben|herzlichen) (?:grüßen|grüssen|gruß|gruss),
  freundliche (?:grüße|grüsse), (?:viele|beste|liebe|schöne|herzliche) (?:grüße|grüsse), mfg, vg,
  lg, hochachtungsvoll, (?:[\\p{L}]+ ){0,2}cordialement, bien (?:à|a) (?:vous|toi),
  bonne (?:journée|soirée), salutations(?: distinguées)?, amicalement,
  (?:un )?(?:cordial )?saludos?(?: cordiales)?, atentamente, un abrazo, atenciosamente,
  (?:melhores )?cumprimentos, abraços?, att, cordiali saluti, distinti saluti,
  (?:un )?(?:cordiale )?salut[oi], cordialmente,
  (?:met )?(?:vriendelijke|hartelijke) groet(?:en)?, groet(?:en|jes)?, mvg,
  (?:med )?(?:vänliga?|venlige?|vennlige?|bästa|beste|bedste) (?:hälsning(?:ar)?|hilsen(?:er)?),
  mvh, hilsen, hälsningar, (?:ystävällisin )?terveisin, pozdrawiam(?: serdecznie)?, z poważaniem,
  s pozdravem, s pozdravom, s úctou, üdvözlettel, tisztelettel, cu stimă, cu respect, с уважением,
  з повагою, с поздрави, поздрави, s poštovanjem, lep pozdrav, srdačan pozdrav, με εκτίμηση,
  saygılarımla, iyi çalışmalar, salam(?: hormat)?, trân trọng
`)

const anyOf = (words: readonly string[]): string =>
  [...words]
    .sort((a, b) => b.length - a.length)
    .map(escaped)
    .join('|')
const escaped = (word: string): string =>
  word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&').replaceAll(' ', '\\s+')

const WORD_START = '(?<![\\p{L}\\p{N}])'
const WORD_END = '(?![\\p{L}\\p{N}])'

export const WROTE_PATTERN = new RegExp(
  `${WORD_START}(?:${WROTE_AT_END}|${anyOf(WROTE)})${WORD_END}|${anyOf(WROTE_UNSPACED)}`,
  'iu',
)
export const OPENING_PATTERN = new RegExp(
  `^[\\s"'*\\-–—]*(?:${anyOf(OPENERS)})(?=[\\s\\d])(?:[^\\d\\n]{0,30})\\d`,
  'u',
)
/** Matches an opener and a date after other text on the line. */
export const INNER_OPENING_PATTERN =
  /(?<=[\s\-.!?,])(?:On|Am|Le|El|Il|Em|Op|Den)\s(?=(?:\p{L}{2,10}[.,]{0,2}\s){0,2}\d)/u
/**
 * Matches up to three words and a number: an attribution in any language that starts with the date.
 */
export const DATE_OPENING_PATTERN =
  /^[\s"'*\-–—]*(?:[\p{L}\p{M}'’־]{1,12}(?:[.,،、]{1,2}\s?|\s)){0,3}[\p{L}־]{0,3}-?\d/u

const FIELD_BY_NAME: ReadonlyMap<string, QuotedField> = new Map(
  (Object.keys(FIELD_NAMES) as QuotedField[]).flatMap((field) =>
    FIELD_NAMES[field].map((name): [string, QuotedField] => [name, field]),
  ),
)
const FIELD_LINE = /^[\s*_]{0,20}([\p{L}][\p{L}\p{M} -]{0,24}?)[\s\u00a0]{0,3}[*_]{0,2}\s?[:：]/u

/** The header field on a line of a quoted header; null for other lines. */
export function quotedFieldOf(line: string): QuotedField | null {
  if (!line.includes(':') && !line.includes('：')) return null
  const name = FIELD_LINE.exec(line.length > 60 ? line.slice(0, 60) : line)?.[1]
  return name === undefined ? null : (FIELD_BY_NAME.get(name.toLowerCase()) ?? null)
}

export const ORIGINAL_PATTERN = new RegExp(
  `^\\s{0,9}[-_=*–—]{2,60}(?:\\s|&nbsp;){0,3}(?:original|${anyOf(ORIGINAL)})(?:[\\s:]|&nbsp;){0,3}[-_=*–—]{1,60}\\s*$|^\\s{0,9}[-_=*–—]{2,60}\\s{0,3}(?:${anyOf(ORIGINAL)})[\\s:]{0,3}$`,
  'iu',
)
/** Requests to reply above a line: verb or noun, position and line, in either order. */
const ANSWER_ABOVE = [
  '(?:reply|respond|answer|write|type)\\b.*\\babove this line',
  '(?:antwort|schreib|eingeben|eintrag).*(?:oberhalb|über) dieser (?:zeile|linie)',
  '(?:répon|écri|tapez).*(?:au[- ]dessus de|avant) cette ligne',
  '(?:resp[ou]|escrib).*(?:encima|arriba) de esta l[ií]nea',
  '(?:resp[ou]|digite|escreva).*acima desta linha',
  '(?:rispo|scriv|inseri).*sopra (?:a )?questa (?:riga|linea)',
  '(?:antwoord|typ|schrijf|reageer).*boven deze (?:regel|lijn)',
  '(?:odpowied|odpisz|wpisz).*(?:powyżej|nad) (?:tego wiersza|tej linii|tym wierszem|tą linią)',
  '(?:svar|skriv).*(?:ovanför|ovenfor|over|över) (?:den här|den|denne|denna) (?:raden|rad|linjen|linje)',
  'vasta.*(?:tämän|rivin) .*(?:ylä|pääll)',
  '(?:odpov|napi[sš]|zad[ae]j).*nad (?:tento|tuto|túto|týmto|tímto) (?:řád|riad|lini)',
  '(?:válasz|ír).*(?:e sor|ezen sor|a sor|vonal) (?:fölé|felett)',
  '(?:răspun|scrie).*deasupra acest',
  '(?:odgovor|upiši|napiši).*iznad (?:ove|te|ovog)',
  '(?:ответ|напишите).*(?:над|выше) этой (?:строк|лини)',
  '(?:відпов|напишіть).*(?:над|вище) (?:цим|цього|цією|цієї) (?:рядк|ліні)',
  '(?:отговор|напишете).*над този ред',
  '(?:yanıt|cevap).*bu (?:satır|çizgi).*(?:üst|üzer|yukar)',
  'απ[αά]ντ.*πάνω από (?:αυτή|τη)',
  '(?:balas|tulis).*di atas (?:baris|garis) ini',
  '(?:trả lời|viết|nhập).*trên dòng này',
  '(?:行|線|ライン)(?:よ|の).{0,4}上.*(?:返信|回答|記入|入力)',
  '(?:此|这一|這一|本)[行线線](?:的)?(?:上|之上|以上).*[回答]',
  '[줄선] ?위.*(?:회신|답장|답변|입력)',
  '(?:فوق|أعلى) هذا (?:السطر|الخط)',
  'מעל (?:ל?שורה|ל?קו) (?:זו|זה|הזו|הזה)',
  '(?:ตอบ|พิมพ์).*เหนือบรรทัดนี้',
].join('|')
const ANSWER_ABOVE_PATTERN = new RegExp(ANSWER_ABOVE, 'iu')
const ANSWER_ABOVE_ALONE = new RegExp(
  `^(?:[\\p{L}]+[\\s,]+){0,2}(?:${ANSWER_ABOVE})\\p{L}*[.!]?$`,
  'iu',
)

/** Maximum characters of a request to reply above; a longer line is the author's own sentence. */
const ANSWER_ABOVE_LENGTH_MAX = 100
const ANSWER_ABOVE_LENGTH_MIN = 8

/**
 * Whether the line asks to reply above it: between any punctuation, or (`isBelowRule`) as a single
 * sentence below a rule.
 */
export function asksToAnswerAbove(line: string, isBelowRule: boolean): boolean {
  const text = line.trim()
  if (text.length < ANSWER_ABOVE_LENGTH_MIN || text.length > ANSWER_ABOVE_LENGTH_MAX) return false
  if (!/^(?:[[(]|[^\p{L}\p{N}\s>"'‘“«]{2})/u.test(text)) {
    return isBelowRule && ANSWER_ABOVE_ALONE.test(text)
  }
  return /^##-.*-##$/.test(text) || ANSWER_ABOVE_PATTERN.test(text)
}

export const FORWARD_PATTERN = new RegExp(
  `^\\s{0,9}[-_=*–—>]{2,60}\\s{0,3}(?:${anyOf(FORWARDED)})|^\\s{0,9}(?:${anyOf(FORWARD_OPENINGS)}).{0,60}[:：]?\\s*$`,
  'iu',
)
const SENT_FROM_PATTERN = new RegExp(
  `^[*_<([]?(?:${anyOf(SENT_FROM)})|^(?:${anyOf(SENT_FROM_SUBJECTS)}).{2,40}(?:${anyOf(SENT_FROM_ENDINGS)})\\.?$`,
  'iu',
)
const SENT_FROM_STARTS = new Set(
  [...SENT_FROM, ...SENT_FROM_SUBJECTS].map((phrase) => phrase.slice(0, 2)),
)

/** Whether the trimmed line names the device or program that sent the message. */
export function isSentFrom(line: string): boolean {
  const first = line.charCodeAt(0)
  const isFramed =
    first === 0x2a || first === 0x5f || first === 0x3c || first === 0x28 || first === 0x5b
  const start = isFramed ? line.slice(1, 3) : line.slice(0, 2)
  return SENT_FROM_STARTS.has(start.toLowerCase()) && SENT_FROM_PATTERN.test(line)
}

export const CLOSING_PATTERN = new RegExp(`^(?:${CLOSINGS.join('|')})\\s?[,.!，！]{0,2}$`, 'iu')
/** The signature separator "-- " (RFC 3676 §4.3), possibly trimmed or with typographic dashes. */
export const SIGNATURE_LINES: ReadonlySet<string> = new Set(['--', '—', '––', '__'])
