import { foldLine, WordTable } from './word-tables.ts'

/** Maximum links that are examined and that are reported. */
export const EXTRACTED_LINKS_SEEN_MAX = 1_000
const EXTRACTED_LINKS_MAX = 50
/** Maximum characters of a URL; modern signed links have a thousand. */
const EXTRACTED_URL_LENGTH_MAX = 4_000

export type LinkKind = 'verify' | 'magic' | 'reset' | 'unsubscribe' | 'other'
export type FoundLink = { readonly url: string; readonly kind: LinkKind }

/** A link's address as written, and the text in or before the link. */
export type SeenLink = { readonly href: string; readonly text: string }

/** Links of each kind except `other` that are reported even among many other links. */
const KEPT_OF_A_KIND = 10

/**
 * The http and https links of a message in order of appearance, each URL once, at most
 * EXTRACTED_LINKS_MAX. If there are more, links with a kind take precedence. The text of a link
 * decides its kind. Addresses are kept as written and never followed. Addresses longer than
 * EXTRACTED_URL_LENGTH_MAX are dropped.
 */
export function findLinks(
  html: { readonly links: readonly SeenLink[]; readonly unseenHrefs: ReadonlySet<string> },
  fromText: readonly SeenLink[],
): FoundLink[] {
  const found = new Map<string, FoundLink>()
  // Text generated from the HTML repeats its links, with trailing punctuation.
  const known = new Set([...html.unseenHrefs].map((href) => bareUrl(urlOf(href) ?? href)))
  for (const [links, isText] of [
    [html.links, false],
    [fromText, true],
  ] as const) {
    for (const { href, text } of links) {
      const url = urlOf(href)
      if (url === null || (isText && known.has(bareUrl(url)))) continue
      known.add(bareUrl(url))
      const kind = kindOf(url, text)
      const before = found.get(url)
      if (before === undefined || (before.kind === 'other' && kind !== 'other')) {
        found.set(url, { url, kind })
      }
    }
  }
  return bounded([...found.values()])
}

/** Matches invisible characters in an address, which browsers percent-encode. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/gu

const HTTP_URL = /^https?:\/\/[^\s<>"\\^`{|}]+$/i

function urlOf(href: string): string | null {
  // Browsers also remove line breaks within an address.
  const url = href
    .trim()
    .replace(/[\t\r\n]+/g, '')
    .toWellFormed()
    .replace(UNSEEN, encodeURIComponent)
  if (url.length > EXTRACTED_URL_LENGTH_MAX || !HTTP_URL.test(url)) return null
  return URL.canParse(url) ? url : null
}

function bareUrl(url: string): string {
  return url.replace(/[).,;:!?'"\]>/]{1,20}$/, '')
}

/** Pages that explain how to do something. */
const ABOUT_PAGES =
  /(?:^|[./])(?:help|support|faq|docs?|blog|article|articles|hc|kb|learn|guide)[./]/
/** A recipient's token: a long word of letters and digits, or a parameter for one. */
const TOKEN =
  /[?&#](?:[a-z_]*token|code|passcode|password|key|otp|ticket|sig|signature|hash|k|t|jwt|nonce|oobcode|secret)=[^&]{4,}|[/=](?=[a-z_-]*\d)[a-z\d_.-]{16,}/

function kindOf(url: string, text: string): LinkKind {
  const lower = url.toLowerCase()
  const afterHost = lower.indexOf('/', lower.indexOf('//') + 2)
  const path = afterHost === -1 ? '' : lower.slice(afterHost)
  const named = kindsNamedBy(foldLine(text))
  const hasToken = TOKEN.test(path)
  if (!hasToken && ABOUT_PAGES.test(lower)) {
    return named.has('unsubscribe') ? 'unsubscribe' : 'other'
  }
  // The link's text takes precedence over its address, which may name all functions of a service.
  for (const kind of LINK_KINDS) {
    if (kind === 'unsubscribe' && urlNames(kind, path)) return kind
    if (!named.has(kind)) continue
    if (kind !== 'magic' || hasToken || urlNames('magic', path)) return kind
  }
  return LINK_KINDS.find((kind) => urlNames(kind, path)) ?? 'other'
}

function bounded(links: FoundLink[]): FoundLink[] {
  if (links.length <= EXTRACTED_LINKS_MAX) return links
  const kept = new Set<FoundLink>()
  for (const kind of LINK_KINDS) {
    for (const link of links.filter((one) => one.kind === kind).slice(0, KEPT_OF_A_KIND)) {
      kept.add(link)
    }
  }
  const named = links.filter(({ kind }) => kind !== 'other')
  for (const link of [...named, ...links]) {
    if (kept.size >= EXTRACTED_LINKS_MAX) break
    kept.add(link)
  }
  return links.filter((link) => kept.has(link))
}

/** Characters of scripts without spaces, and wide punctuation, end an address. */
const TEXT_URL =
  /https?:\/\/[^\s<>"\\^`{|}\u3000-\u303f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]{1,8000}/gi
const BEFORE_LENGTH_MAX = 120

export function linksOfText(lines: readonly string[]): SeenLink[] {
  const links: SeenLink[] = []
  let above = ''
  for (const line of lines) {
    if (line.includes('://') && !line.trimStart().startsWith('>')) {
      for (const match of line.matchAll(TEXT_URL)) {
        if (links.length >= EXTRACTED_LINKS_SEEN_MAX) return links
        const before = line.slice(0, match.index).slice(-BEFORE_LENGTH_MAX)
        const text = before.replace(/[\s<([]+$/, '') === '' ? above : before
        links.push({ href: withoutEnd(match[0]), text: text.slice(-BEFORE_LENGTH_MAX) })
      }
    }
    if (line.trim() !== '') above = line
  }
  return links
}

/** Removes sentence punctuation, and a closing bracket that the URL does not open. */
function withoutEnd(url: string): string {
  let end = url.length
  let closing = url.split(')').length - url.split('(').length
  while (end > 0) {
    const last = url.charAt(end - 1)
    if (last === ')' && closing > 0) closing--
    else if (!".,;:!?'*]’”»".includes(last)) break
    end--
  }
  return url.slice(0, end)
}

type NamedKind = Exclude<LinkKind, 'other'>

/** Words that occur in the lower-case path and query of a URL. */
const URL_WORDS: Readonly<Record<NamedKind, RegExp>> = {
  unsubscribe:
    /unsub|opt[-_]?out|abmelde|abbestell|austragen|desabonn|desinscri|darse-?de-?baja|cancelar-suscrip|annulla-?iscrizione|disiscri|cancella-iscrizione|descadastr|cancelar-(?:inscri|subscri)|afmelde|uitschrijv|wypisz|otpis|abonelikten|haishin-?teishi|tuiding|remove[-_]?me|list[-_]?manage\/?unsub|stop-?mail/,
  reset:
    /(?:reset|forgot|recover|change|set|new|restore|lost)[-_/]?(?:your[-_]?)?(?:password|passwd|pwd|pass\b|credential|account)|(?:password|passwd|pwd)s?[-_/](?:reset|recover|change|edit|forgot|new|set)|passwor[dt][-_]?(?:vergessen|zurueck|aendern)|reinitialis|restablecer|reset-?password|redefinir-senha|wachtwoord-(?:vergeten|herstel|reset)|reimposta|resetuj|account[-_/]recovery|recovery[-_/]|[?&](?:type|mode|action|flow)=(?:recovery|reset|forgot)/,
  magic:
    /magic|passwordless|(?:log|sign)[-_]?in[-_/]?(?:with|by|via)[-_/]?(?:e?mail|link|token)|one[-_]?(?:time|click)[-_]?(?:login|signin|sign-in|link)|login[-_]?link|signin[-_]?link|email[-_]?(?:login|signin|link)|(?<![?&])(?:login|signin|sign-in|auth|sso|session)[-_/](?:email|token|otp|link|callback)|auto[-_]?login|[?&](?:type|mode|action|flow)=(?:magic|sign-?in|log-?in)|connexion-directe|einmal-?link/,
  verify:
    /verif|confirm|activat|validat|unlock[-_/?]|bestaetig|bestatig|aktivier|double[-_]?opt[-_]?in|\bdoi\b|opt[-_]?in|activer|ativar|attiva|potwierd|aktywuj|bevestig|activeer|dogrula|etkinlestir|onayla|podtverd|aktivac/,
}

const TEXT_WORDS: Readonly<Record<NamedKind, string>> = {
  unsubscribe: `unsubscribe, opt out, opt-out, stop receiving, remove me, abmelden, abbestellen, austragen, newsletter abbestellen,
    se désabonner, désabonner, désabonnement, se désinscrire, désinscription, désinscrire, darse de baja, darme de baja, cancelar suscripción, cancelar la suscripción,
    anular suscripción, annulla iscrizione, annulla l'iscrizione, disiscriviti, disiscrizione, cancellati, cancelar inscrição, cancelar subscrição, cancelar assinatura, descadastrar, descadastre,
    afmelden, uitschrijven, wypisz się, wypisz, zrezygnuj z subskrypcji, rezygnacja, отписаться, отписка, отказаться от рассылки, відписатися, abonelikten çık, aboneliği iptal,
    listeden çık, 配信停止, 購読解除, 登録解除, メール停止, 退订, 退訂, 取消订阅, 取消訂閱, 수신거부, 수신 거부, 구독 취소, 구독취소, إلغاء الاشتراك, الغاء الاشتراك, avprenumerera, avsluta prenumeration, avregistrera,
    afmeld, avmeld, peruuta tilaus, odhlásit, odhlásiť, leiratkoz, dezabon, berhenti berlangganan, hủy đăng ký, διαγραφή από, הסרה מרשימת, להסרה, सदस्यता समाप्त`,
  reset: `reset it, reset now, reset here, reset link, recover access, reset password, reset your password, reset my password, reset the password, change password, change your password, choose a new password, set a new password, set new password,
    create a new password, new password, recover account, recover your account, passwort zurücksetzen, kennwort zurücksetzen, passwort ändern, neues passwort, neues kennwort, zurücksetzen,
    réinitialiser, nouveau mot de passe, changer le mot de passe, modifier le mot de passe, restablecer, nueva contraseña, cambiar contraseña, cambiar la contraseña, recuperar contraseña,
    reimposta, reimpostare, nuova password, cambia password, recupera password, redefinir, nova senha, nova palavra-passe, alterar senha, recuperar senha, repor palavra-passe, repor a palavra-passe,
    wachtwoord herstellen, wachtwoord opnieuw, wachtwoord wijzigen, nieuw wachtwoord, wachtwoord resetten, zresetuj, resetuj hasło, nowe hasło, zmień hasło, ustaw hasło,
    сбросить пароль, сброс пароля, новый пароль, изменить пароль, восстановить пароль, восстановление пароля, скинути пароль, відновити пароль, şifremi sıfırla, şifre sıfırla, şifreyi sıfırla, şifrenizi sıfırla, parolayı sıfırla, yeni şifre,
    パスワードを再設定, パスワード再設定, パスワードをリセット, パスワードの変更, パスワードを変更, 重置密码, 重設密碼, 修改密码, 找回密码, 비밀번호 재설정, 비밀번호 변경, 비밀번호 초기화, إعادة تعيين, تغيير كلمة المرور, återställ lösenord, nulstil adgangskode, tilbakestill,
    vaihda salasana, obnovit heslo, atur ulang kata sandi, đặt lại mật khẩu, επαναφορά κωδικού`,
  magic: `magic link, sign-in link, login link, log-in link, access my account, access your account, anmeldelink, anmelde-link, login-link, einmal-link, sign in, sign in now, log in, log in now, login, log me in, sign me in, sign in to, log in to, click to sign in, click to log in, anmelden, jetzt anmelden, einloggen, jetzt einloggen,
    se connecter, connexion, me connecter, connectez-vous, iniciar sesión, inicia sesión, acceder, accedi, accedi ora, entra, entrar, iniciar sessão, acessar, inloggen, nu inloggen, log in bij,
    zaloguj, zaloguj się, войти, вход, увійти, giriş yap, oturum aç, ログイン, サインイン, 登录, 登入, 로그인, تسجيل الدخول, logga in, log ind, logg inn, kirjaudu, přihlásit se, masuk, đăng nhập, σύνδεση, כניסה`,
  verify: `verify, unlock account, unlock my account, unlock your account, konto entsperren, verify email, verify your email, verify my email, confirm, confirm email, confirm your email, confirm my email, confirm your address, activate, activate account, validate, confirm subscription, complete registration,
    bestätigen, e-mail bestätigen, aktivieren, konto aktivieren, verifizieren, freischalten, confirmer, vérifier, activer, valider, je confirme, confirmar, verificar, activar, validar, conferma, verifica, attiva, convalida,
    ativar, bevestigen, bevestig, verifiëren, activeren, activeer, potwierdź, potwierdzam, zweryfikuj, aktywuj, подтвердить, подтвердите, активировать, подтверждаю, підтвердити, активувати, doğrula, onayla, etkinleştir,
    確認する, 認証する, メールアドレスを確認, 有効化, 本登録, 验证, 驗證, 确认, 確認, 激活, 확인, 인증, 인증하기, تأكيد, تحقق, تفعيل, تأكيد البريد, bekräfta, verifiera, aktivera, bekræft, bekreft, vahvista, aktivoi, ověřit, potvrdit, aktivovat,
    konfirmasi, verifikasi, aktifkan, xác nhận, xác minh, kích hoạt, επιβεβαίωση, επαλήθευση, אישור, אימות, सत्यापित`,
}

const LINK_KINDS: readonly NamedKind[] = ['unsubscribe', 'reset', 'magic', 'verify']

function urlNames(kind: NamedKind, path: string): boolean {
  return URL_WORDS[kind].test(path)
}

let texts: WordTable<NamedKind> | null = null

function kindsNamedBy(text: string): Set<NamedKind> {
  texts ??= new WordTable(LINK_KINDS.map((kind) => [kind, [TEXT_WORDS[kind]]] as const))
  const kinds = new Set(texts.findAll(text).map(({ kind }) => kind))
  if (isAboutNewPassword(text)) kinds.add('reset')
  return kinds
}

/** Longer texts mention a password but do not lead to a new one. */
const PASSWORD_TEXT_LENGTH_MAX = 60
const PASSWORD =
  /password|passwort|kennwort|mot de passe|contrasena|senha|palavra-passe|wachtwoord|haslo|парол|sifre|parola|losenord|adgangskode|passord|salasana|heslo|kata sandi/
/** Stems of verbs for changing, choosing or restoring. */
const CHANGING =
  /(?<![a-zа-я])(?:reset|chang|choos|creat|set|updat|new|forg|recover|restor|zuruck|ander|neu|festleg|vergeb|vergess|erstell|wahl|choisi|creer|nouveau|modifi|reinit|oubli|restabl|cambi|nueva|crea|elig|elegi|olvid|recuper|reimpost|nuov|impost|sceg|redefin|nova|alter|criar|defin|esquec|repor|herstel|wijzig|nieuw|instel|kies|vergeten|zmie|ustaw|nowe|сброс|нов|измен|созда|восстан|забы|sifirla|yeni|degis|aterstall|nytt|byt|valj|nulstil|skift|tilbakestill|endre|vaihda|uusi|zmen|obnov|nastav|atur)/
const DENYING = /(?<![a-z])(?:not|nicht|never|no longer|pas|didn't|haven't|wasn't|kein)(?![a-z])/

function isAboutNewPassword(text: string): boolean {
  if (text.length > PASSWORD_TEXT_LENGTH_MAX || !PASSWORD.test(text)) return false
  return CHANGING.test(text) && !DENYING.test(text)
}
