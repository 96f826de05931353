// The words by which links are known for what they do, by language, in addresses and in the text of
// links.

import type { LinkKind } from './extracted.ts'
import { WordTable } from './word-table.ts'

type NamedKind = Exclude<LinkKind, 'other'>

/** In the path and query of a URL, lower case. */
const URL_WORDS: Readonly<Record<NamedKind, RegExp>> = {
  unsubscribe:
    /unsub|opt[-_]?out|abmelde|abbestell|austragen|desabonn|desinscri|darse-?de-?baja|cancelar-suscrip|annulla-?iscrizione|disiscri|cancella-iscrizione|descadastr|cancelar-(?:inscri|subscri)|afmelde|uitschrijv|wypisz|otpis|abonelikten|haishin-?teishi|tuiding|remove[-_]?me|list[-_]?manage\/?unsub|stop-?mail/,
  reset:
    /(?:reset|forgot|recover|change|set|new|restore|lost)[-_/]?(?:your[-_]?)?(?:password|passwd|pwd|pass\b|credential|account)|(?:password|passwd|pwd)s?[-_/](?:reset|recover|change|edit|forgot|new|set)|passwor[dt][-_]?(?:vergessen|zurueck|aendern)|reinitialis|restablecer|reset-?password|redefinir-senha|wachtwoord-(?:vergeten|herstel|reset)|reimposta|resetuj|account[-_/]recovery|recovery[-_/]/,
  magic:
    /magic|passwordless|one[-_]?(?:time|click)[-_]?(?:login|signin|sign-in|link)|login[-_]?link|signin[-_]?link|email[-_]?(?:login|signin|link)|(?:login|signin|sign-in|auth|sso|session)[-_/](?:email|token|otp|link|callback)|auto[-_]?login|connexion-directe|einmal-?link/,
  verify:
    /verif|confirm|activat|validat|bestaetig|bestatig|aktivier|double[-_]?opt[-_]?in|\bdoi\b|opt[-_]?in|activer|ativar|attiva|potwierd|aktywuj|bevestig|activeer|dogrula|etkinlestir|onayla|podtverd|aktivac/,
}

/** In the text of a link. */
const TEXT_WORDS: Readonly<Record<NamedKind, string>> = {
  unsubscribe: `unsubscribe, opt out, opt-out, stop receiving, remove me, abmelden, abbestellen, austragen, newsletter abbestellen,
    se désabonner, désabonner, désabonnement, se désinscrire, désinscription, désinscrire, darse de baja, darme de baja, cancelar suscripción, cancelar la suscripción,
    anular suscripción, annulla iscrizione, annulla l'iscrizione, disiscriviti, disiscrizione, cancellati, cancelar inscrição, cancelar subscrição, cancelar assinatura, descadastrar, descadastre,
    afmelden, uitschrijven, wypisz się, wypisz, zrezygnuj z subskrypcji, rezygnacja, отписаться, отписка, отказаться от рассылки, відписатися, abonelikten çık, aboneliği iptal,
    listeden çık, 配信停止, 購読解除, 登録解除, メール停止, 退订, 退訂, 取消订阅, 取消訂閱, 수신거부, 수신 거부, 구독 취소, 구독취소, إلغاء الاشتراك, الغاء الاشتراك, avprenumerera, avsluta prenumeration, avregistrera,
    afmeld, avmeld, peruuta tilaus, odhlásit, odhlásiť, leiratkoz, dezabon, berhenti berlangganan, hủy đăng ký, διαγραφή από, הסרה מרשימת, להסרה, सदस्यता समाप्त`,
  reset: `reset password, reset your password, reset my password, reset the password, change password, change your password, choose a new password, set a new password, set new password,
    create a new password, new password, recover account, recover your account, passwort zurücksetzen, kennwort zurücksetzen, passwort ändern, neues passwort, neues kennwort, zurücksetzen,
    réinitialiser, nouveau mot de passe, changer le mot de passe, modifier le mot de passe, restablecer, nueva contraseña, cambiar contraseña, cambiar la contraseña, recuperar contraseña,
    reimposta, reimpostare, nuova password, cambia password, recupera password, redefinir, nova senha, nova palavra-passe, alterar senha, recuperar senha, repor palavra-passe, repor a palavra-passe,
    wachtwoord herstellen, wachtwoord opnieuw, wachtwoord wijzigen, nieuw wachtwoord, wachtwoord resetten, zresetuj, resetuj hasło, nowe hasło, zmień hasło, ustaw hasło,
    сбросить пароль, сброс пароля, новый пароль, изменить пароль, восстановить пароль, восстановление пароля, скинути пароль, відновити пароль, şifremi sıfırla, şifre sıfırla, şifreyi sıfırla, şifrenizi sıfırla, parolayı sıfırla, yeni şifre,
    パスワードを再設定, パスワード再設定, パスワードをリセット, パスワードの変更, パスワードを変更, 重置密码, 重設密碼, 修改密码, 找回密码, 비밀번호 재설정, 비밀번호 변경, 비밀번호 초기화, إعادة تعيين, تغيير كلمة المرور, återställ lösenord, nulstil adgangskode, tilbakestill,
    vaihda salasana, obnovit heslo, atur ulang kata sandi, đặt lại mật khẩu, επαναφορά κωδικού`,
  magic: `magic link, sign in, sign in now, log in, log in now, login, log me in, sign me in, sign in to, log in to, click to sign in, click to log in, anmelden, jetzt anmelden, einloggen, jetzt einloggen,
    se connecter, connexion, me connecter, connectez-vous, iniciar sesión, inicia sesión, acceder, accedi, accedi ora, entra, entrar, iniciar sessão, acessar, inloggen, nu inloggen, log in bij,
    zaloguj, zaloguj się, войти, вход, увійти, giriş yap, oturum aç, ログイン, サインイン, 登录, 登入, 로그인, تسجيل الدخول, logga in, log ind, logg inn, kirjaudu, přihlásit se, masuk, đăng nhập, σύνδεση, כניסה`,
  verify: `verify, verify email, verify your email, verify my email, confirm, confirm email, confirm your email, confirm my email, confirm your address, activate, activate account, validate, confirm subscription, complete registration,
    bestätigen, e-mail bestätigen, aktivieren, konto aktivieren, verifizieren, freischalten, confirmer, vérifier, activer, valider, je confirme, confirmar, verificar, activar, validar, conferma, verifica, attiva, convalida,
    ativar, bevestigen, bevestig, verifiëren, activeren, activeer, potwierdź, potwierdzam, zweryfikuj, aktywuj, подтвердить, подтвердите, активировать, подтверждаю, підтвердити, активувати, doğrula, onayla, etkinleştir,
    確認する, 認証する, メールアドレスを確認, 有効化, 本登録, 验证, 驗證, 确认, 確認, 激活, 확인, 인증, 인증하기, تأكيد, تحقق, تفعيل, تأكيد البريد, bekräfta, verifiera, aktivera, bekræft, bekreft, vahvista, aktivoi, ověřit, potvrdit, aktivovat,
    konfirmasi, verifikasi, aktifkan, xác nhận, xác minh, kích hoạt, επιβεβαίωση, επαλήθευση, אישור, אימות, सत्यापित`,
}

export const LINK_KINDS: readonly NamedKind[] = ['unsubscribe', 'reset', 'magic', 'verify']

/** Whether the lower-case path and query of a URL name the kind. */
export function urlNames(kind: NamedKind, path: string): boolean {
  return URL_WORDS[kind].test(path)
}

let texts: WordTable<NamedKind> | null = null

/** The kinds that a folded text names. */
export function kindsNamedBy(text: string): Set<NamedKind> {
  texts ??= new WordTable(LINK_KINDS.map((kind) => [kind, [TEXT_WORDS[kind]]] as const))
  return new Set(texts.findAll(text).map(({ kind }) => kind))
}
