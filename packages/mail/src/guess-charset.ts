// Guesses the charset of octets without a helpful label. Each candidate is scored by how common its
// letters are: text in a wrong charset mixes scripts, cases and signs.

import { type Charset, charsetOf } from './charset-names.ts'

const GUESSED_BYTES_MAX = 16 * 1024
/** A non-Latin script is accepted only with this many letters and this score. */
const LETTERS_MIN = 4
const SCORE_MIN = 0.42
const DEFAULT = 'windows-1252'
const DEFAULT_BONUS = 0.05

type Candidate = {
  readonly label: string
  readonly script: RegExp
  /** The small letters of the charset's languages, weighted by frequency up to 1. */
  readonly usual: ReadonlyMap<string, number>
  readonly width: 1 | 2
}

/** `usual` lists the letters of most words in the charset's languages, most frequent half first. */
function candidate(label: string, script: RegExp, usual: string, width: 1 | 2 = 1): Candidate {
  const letters = [...usual]
  const weights = letters.map((letter, index): [string, number] => [
    letter,
    index * 2 <= letters.length ? 1 : 0.7,
  ])
  return { label, script, usual: new Map(weights.reverse()), width }
}

const LATIN = /\p{Script=Latin}/u
const CYRILLIC = /\p{Script=Cyrillic}/u
const HAN = /\p{Script=Han}/u
const KANA = /(?![\uff61-\uff9f])[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー]/u
const CYRILLIC_USUAL = 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщёієїґў'
const KANA_USUAL =
  'のにはをたがでてとしれさいるかなもすこまあらりくきだよつえけせうおんっゃゅょじどちみめわやそろねぶばごげびへほふひぐぎべぼぱぷむずぜざーンスイトルリアラドクシレタジメフロマカコサテチッュョャ'
const HAN_SIMPLIFIED =
  '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运您请谢附查收件邮附订单款发票周末'
const HAN_TRADITIONAL =
  '的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應向頭文體政美相見被利什二等產新己制身果加西月話合回特代內信表化老給世位次度門任常先海通教原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命金您請謝附查收訂單款郵'
const HANGUL_USUAL =
  '이다는에가의을를하고지은기사리한도로들있어나서시자인일그대아수해정보전제부스니습안녕요세주원성장상구유과여동조공으내만학신경오소해선간면라마미비거것적행중문발화생감위모러용관교연물방계통회금번당개바우국분야때년월명저등요음했됩입합첨파확청드렸까네께씨님진천'

/** On equal scores the first candidate wins. */
const CANDIDATES: readonly Candidate[] = [
  candidate('windows-1252', LATIN, 'éèàçêäöüßñáíóúãõøåæâîôûëïœ'),
  candidate('windows-1250', LATIN, 'ąćęłńóśźżáčéěířšžýůúďňťäöüőűăţş'),
  candidate('windows-1254', LATIN, 'ğışçöüâî'),
  candidate('windows-1257', LATIN, 'ąčęėįšųūžāēģīķļņ'),
  candidate('windows-1251', CYRILLIC, CYRILLIC_USUAL),
  candidate('koi8-r', CYRILLIC, CYRILLIC_USUAL),
  candidate('ibm866', CYRILLIC, CYRILLIC_USUAL),
  candidate('x-mac-cyrillic', CYRILLIC, CYRILLIC_USUAL),
  candidate('iso-8859-5', CYRILLIC, CYRILLIC_USUAL),
  candidate('windows-1253', /\p{Script=Greek}/u, 'αοιετσνηυρπκμλςίόάέήύώωγδθχ'),
  candidate('windows-1255', /\p{Script=Hebrew}/u, 'יוהלארתמבשםנעדחקפגטכזןץצסךף'),
  candidate('windows-1256', /\p{Script=Arabic}/u, 'ايلمنوتربكعدسهفحقشجصخةطىأإآذضظزثئءغیکپچگ'),
  candidate('windows-874', /\p{Script=Thai}/u, 'านรอกเงมยลวดทสตะปบคหแจพชขใไโผซถศณัีิ่้ำ็ืุูึ์๊ๆครับฉันภ'),
  candidate('shift_jis', KANA, KANA_USUAL, 2),
  candidate('euc-jp', KANA, KANA_USUAL, 2),
  candidate('euc-kr', /\p{Script=Hangul}/u, HANGUL_USUAL, 2),
  candidate('gbk', HAN, HAN_SIMPLIFIED, 2),
  candidate('big5', HAN, HAN_TRADITIONAL, 2),
]

function isEnough(text: string, score: number, { script, width }: Candidate): boolean {
  if (score < SCORE_MIN) return false
  const letters = text.match(/[^\x00-\x7f]/gu)?.filter((one) => script.test(one)) ?? []
  return letters.length * width >= LETTERS_MIN
}

export type Guess = { readonly charset: Charset; readonly score: number }

/**
 * Finds the charset that gives 8-bit octets the most plausible text: windows-1252 unless another
 * scores better.
 */
export function guessCharset(octets: Uint8Array): Guess {
  const sample = octets.subarray(0, GUESSED_BYTES_MAX)
  let best: Guess = { charset: charsetOf(DEFAULT) as Charset, score: -Infinity }
  for (const one of CANDIDATES) {
    const charset = charsetOf(one.label)
    if (charset === null) continue
    const text = charset.decode(sample)
    const score = scoreOf(text, one)
    if (score > best.score && (one.script === LATIN || isEnough(text, score, one))) {
      best = { charset, score }
    }
  }
  return best
}

/**
 * Score of the octets in the charset, at most 1; null if the charset is not among the candidates.
 */
export function scoreAs(octets: Uint8Array, { name, decode }: Charset): number | null {
  const known = CANDIDATES.find(({ label }) => label === name)
  return known === undefined ? null : scoreOf(decode(octets.subarray(0, GUESSED_BYTES_MAX)), known)
}

/** Below this score the text is so implausible that another charset may be meant. */
export const SCORE_DOUBTED = 0.5
/** The margin by which a guess must beat a doubtful label. */
const SCORE_MARGIN = 0.4
const CHARACTERS_SURE = 4

/**
 * Whether the guess is so good that a label with the score `labelled` must be wrong. Latin letters
 * are no evidence: Icelandic letters are Turkish ones in another charset.
 */
export function isSurer({ score, charset }: Guess, octets: Uint8Array, labelled: number): boolean {
  if (CANDIDATES.some(({ label, script }) => label === charset.name && script === LATIN))
    return false
  if (labelled >= SCORE_DOUBTED || score < labelled + SCORE_MARGIN) return false
  const sample = charset.decode(octets.subarray(0, GUESSED_BYTES_MAX))
  if (FAULT.test(sample)) return false
  return (sample.match(/[^\x00-\x7f]/gu)?.length ?? 0) >= CHARACTERS_SURE
}

const WORD = /[\p{L}\p{M}]+/gu
/** Matches a word in one case, with an initial capital only, or of a script without cases. */
const USUAL_CASE = /^(?:\p{Lu}?[^\p{Lu}]*|\p{Lu}+)$/u
const PUNCTUATION = /[\s\u00a0–—‘’“”„…€«»‹›•·°§£№©®™、。，！？：；（）「」『』～・％ᄀ￥¿¡]/u

/** The score of a text, at most 1, relative to its number of non-ASCII characters. */
function scoreOf(text: string, { label, script, usual, width }: Candidate): number {
  const foreign = text.match(/[^\x00-\x7f]/gu) ?? []
  let score = 0
  for (const one of foreign) {
    const weight = usual.get(one.toLowerCase())
    if (weight !== undefined) score += weight
    else if (script.test(one)) score += width === 2 ? 0.45 : 0.4
    else if (PUNCTUATION.test(one)) score += 0.5
    else if (width === 2 && /[\p{S}\p{N}\p{P}]/u.test(one)) score += 0.2
    else if (FAULT.test(one)) score -= 4
    else if (width === 2 && EAST_ASIAN.test(one)) score += 0.3
    else score -= 1
  }
  if (width === 1) for (const [word] of text.matchAll(WORD)) score -= oddities(word, script)
  score -= (text.match(SIGN_WITHIN_WORD)?.length ?? 0) * 0.5
  if (script !== LATIN) score -= text.match(WITHIN_LATIN)?.length ?? 0
  return score / foreign.length + (label === DEFAULT ? DEFAULT_BONUS : 0)
}

const FAULT = /[\ufffd\x80-\x9f]/
/**
 * Chinese charsets also contain the letters of neighbouring scripts. Half-width letters are
 * excluded, because Latin letters turn into them in a wrong charset.
 */
const EAST_ASIAN =
  /(?![\uff61-\uff9f])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]/u
/** Accented letters in Latin words become these characters in a wrong charset. */
const WITHIN_LATIN = /(?<=[A-Za-z])[^\x00-\x7f](?=[A-Za-z])/gu
const SIGN_WITHIN_WORD =
  /(?<=\p{L})[^\p{L}\p{M}\p{P}\p{Z}\p{N}\x00-\x7f](?=\p{L})|[a-z][¿¡¹²³¼½¾](?=[a-z])|[^\x00-\x7f\P{L}](?=\d)|[£¤¥¦](?=\p{L})/gu

/** Penalty for a capital within a word; Hebrew in a wrong charset becomes all capitals. */
const CAPITAL_COST = 0.1

/**
 * Penalty for a word of one letter: wrong charsets produce many, and languages have few. East Asian
 * text is not divided into words.
 */
const SINGLE_LETTER_COST = 0.5

/** Letters that suggest a wrong charset: mixed cases or scripts, long runs of accents. */
function oddities(word: string, script: RegExp): number {
  const foreign = word.match(/[^\x00-\x7f]/gu)?.length ?? 0
  if (foreign === 0) return 0
  if (script === LATIN) {
    const isOdd = (foreign > 2 && foreign * 2 > word.length) || !USUAL_CASE.test(word)
    return isOdd ? foreign : 0
  }
  if (!USUAL_CASE.test(word) || /[A-Za-z]/.test(word)) return foreign
  if (word.length === 1) return SINGLE_LETTER_COST
  return (word.slice(1).match(/\p{Lu}/gu)?.length ?? 0) * CAPITAL_COST
}
