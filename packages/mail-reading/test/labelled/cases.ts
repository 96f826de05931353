// Labelled cases by class. Every third of a class is held out: no rule is made to fit it.

import { extractFrom } from '#extract/extract.ts'
import { parseMessage } from '#parse-message.ts'
import { extractReply } from '#reply/reply-text.ts'
import { notice, onlyOf, RETURNED, read, standard } from '#test/report-samples.ts'
import { BOUNCE_WORDS, type BounceWords } from './bounce-words.ts'

/** `found` is made when it is asked for, and compared with `expected`. */
export type LabelledCase = {
  readonly name: string
  readonly expected: unknown
  readonly found: () => unknown
}

const codes = (text: string, expected: readonly string[], subject = 'Hello'): LabelledCase => ({
  name: text,
  expected: [...expected],
  found: () => extractFrom({ subject, text, html: '' }).codes.map(({ value }) => value),
})

const CODES: readonly LabelledCase[] = [
  codes('Geben Sie bitte den folgenden Code ein: 482913', ['482913'], 'Anmeldung bestätigen'),
  codes('Bitte gib diesen Code ein: 730 518', ['730 518'], 'Bestätige deine E-Mail-Adresse'),
  codes('Geben Sie den Code ein 551920', ['551920'], 'Ihre Anmeldung'),
  codes('Gib den Code ein, um dich anzumelden: 904417', ['904417'], 'Anmeldung'),
  codes(
    'Gib dazu diesen Code in der App ein:\n\n118204\n\nEr gilt 10 Minuten.',
    ['118204'],
    'Login bestätigen',
  ),
  codes(
    'Um die Registrierung abzuschließen, geben Sie bitte folgenden Code ein:\n\n66 01 42',
    ['66 01 42'],
    'Registrierung',
  ),
  codes('Tragen Sie den Sicherheitscode ein: 381920', ['381920'], 'Sicherheit'),
  codes('Loggen Sie sich mit dem Einmalcode ein: 2748', ['2748'], 'Login'),
  codes(
    'Ein Code wurde angefordert. Ihr Code ist ein einmaliger: 883104',
    ['883104'],
    'Anmeldung bestätigen',
  ),
  codes('Das ist ein Anmeldecode: 550217', ['550217'], 'Dein Code'),
  codes('Geben Sie 204981 ein, um sich anzumelden.', ['204981'], 'Anmeldung'),
  codes(
    'Setzen Sie diesen Code ein, um Ihr Konto zu bestätigen: 771034',
    ['771034'],
    'Konto bestätigen',
  ),
  codes('Employer Identification Number (EIN): 82-4821930', [], 'Verify your tax details'),
  codes('Our EIN is 824821930. Enter it on the form.', [], 'Confirm your tax form'),
  codes('EIN 82-4821930, sign in to see your form 1099.', [], 'Your tax form'),
  codes('THE MESSAGES ARE SECURITY CODED TO PREVENT THEM FROM BEING READ', [], 'NOTICE'),
  codes('YOUR LOGIN IS ENCODED TO KEEP YOUR DATA SAFE, CODE OF CONDUCT APPLIES', [], 'VERIFY'),
  codes('SECURITY CODE: THIS PROTECTS YOUR ACCOUNT', [], 'ACCOUNT'),
  codes('YOUR VERIFICATION CODE IS BELOW. PLEASE ENTER IT SOON', [], 'LOGIN'),
  codes('VERIFICATION CODES: NEVER SHARE THEM WITH ANYBODY', [], 'SECURITY'),
  codes('YOUR SECURITY CODE MUST NOT BE SHARED', [], 'SECURITY'),
  codes('YOUR VERIFICATION CODE IS 482913', ['482913'], 'LOGIN'),
  codes('SECURITY CODE: KXQZTWPB', ['KXQZTWPB'], 'Confirm your login'),
  codes('YOUR CODE IS KX7Q29', ['KX7Q29'], 'VERIFY YOUR LOGIN'),
  codes('Your verification code is BRMKTX.', ['BRMKTX'], 'Sign in'),
  codes('The security code is for SSH2 only.', [], 'Login by key'),
  codes('Your access code needs SSH2 or newer.', [], 'Sign in'),
  codes('Verification code: see the 32x64 icon', [], 'Confirm'),
  codes('The code for the 1920x1080 picture is in verify.ts', [], 'Re: login page'),
  codes('Security code storage: 2700GB', [], 'Your backup'),
  codes('With this code you get 2700GB of storage. Sign in to use it.', [], 'Your storage'),
  codes('Your code runs at 2400MHZ now. Verify the result.', [], 'Benchmark'),
  codes('The login code uses SHA256 and RSA2048.', [], 'Re: verify tokens'),
  codes('Verification code length: UTF8, BASE64', [], 'Docs'),
  codes('The code is 128BIT and needs AES256', [], 'Sign in with keys'),
  codes('Your verification code is A1B2C3', ['A1B2C3'], 'Sign in'),
  codes('Your one-time code: 32X64K', ['32X64K'], 'Sign in'),
  codes('Your login code is 7GB4K2', ['7GB4K2'], 'Sign in'),
  codes('Enter this code to verify your login: SSH29K', ['SSH29K'], 'Sign in'),
  codes('Code: HTTP2 is used for login', [], 'Changelog'),
  codes('The code was tested with WIN32 and MP4 files at 1080P. Verify it.', [], 'Build'),
  codes('Code review of ISO8859 in the login module', [], 'Re: encoding'),
  codes('482913 (valid for 10 minutes)\n\nEnter this code to sign in.', ['482913'], 'Sign in'),
  codes('Your login code is Tiger-Lamp-Ocean', ['Tiger-Lamp-Ocean'], 'Sign in'),
  codes('Phishers send "your code is 123456" to thousands.', [], 'Sign in safely'),
  codes('Thanks for your order! Confirmation code 4820-1937. Log in to track it.', []),
  codes('Join by phone, access code: 482913#. Please confirm.', [], 'Meeting'),
  codes('Your device code is below. Enter GHTY-PLQW to sign in.', ['GHTY-PLQW'], 'Device'),
]

type Kind = 'verify' | 'magic' | 'reset' | 'unsubscribe' | 'other'
const link = (url: string, text: string, expected: Kind): LabelledCase => ({
  name: `${text} <${url}>`,
  expected,
  found: () =>
    extractFrom({ subject: '', text: '', html: `<p>Hello</p><a href="${url}">${text}</a>` })
      .links[0]?.kind,
})

const LINKS: readonly LabelledCase[] = [
  link('https://a.example/u/9f8e7d6c5b4a39281706?x=1', 'Reset Password Now', 'reset'),
  link('https://a.example/ls/click?upn=u001.abcdefgh12345678', 'Reset it here', 'reset'),
  link(
    'https://a.example/auth/action?mode=resetPassword&oobCode=abc123def456',
    'Continue',
    'reset',
  ),
  link('https://a.example/auth/action?mode=signIn&oobCode=abc123def456', 'Continue', 'magic'),
  link('https://a.example/auth/action?mode=verifyEmail&oobCode=abc123def456', 'Continue', 'verify'),
  link(
    'https://a.example/password/edit?reset_password_token=abcdef12345',
    'Change my password',
    'reset',
  ),
  link(
    'https://a.example/users/confirmation?confirmation_token=abcdef',
    'Confirm my account',
    'verify',
  ),
  link('https://a.example/users/unlock?unlock_token=abcdef12345', 'Unlock my account', 'verify'),
  link('https://a.example/login?token=abcdef1234567890', 'Log in to your account', 'magic'),
  link('https://a.example/x?t=abcdef1234567890abcdef', 'Sign in to Harbor', 'magic'),
  link(
    'https://a.example/auth/v1/verify?token=pkce_abc&type=magiclink&redirect_to=x',
    'Log In',
    'magic',
  ),
  link('https://a.example/auth/v1/verify?token=pkce_abc&type=recovery', 'Reset Password', 'reset'),
  link(
    'https://a.example/auth/v1/verify?token=pkce_abc&type=signup',
    'Confirm your mail',
    'verify',
  ),
  link('https://a.example/auth/v1/verify?token=pkce_abc&type=recovery', 'Click here', 'reset'),
  link('https://a.example/auth/v1/verify?token=pkce_abc&type=magiclink', 'Click here', 'magic'),
  link('https://a.example/account/verify-login?token=abcdef1234567890', 'Verify sign-in', 'verify'),
  link('https://a.example/login', 'Sign in', 'other'),
  link('https://a.example/login?next=%2Freset-your-habits', 'Sign in', 'other'),
  link('https://a.example/blog/how-to-reset-a-password', 'How to reset a password', 'other'),
  link('https://a.example/shop?session_token=abcdef12345', 'Shop now', 'other'),
  link('https://a.example/settings/security', 'change your password', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Passwort jetzt ändern', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Neues Passwort festlegen', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Kennwort zurücksetzen', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Créer un nouveau mot de passe', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Choose a password', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Create a password', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Set up your password', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Update password', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Reset now', 'reset'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Continue to sign in', 'magic'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Sign in instantly', 'magic'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Sign-in link', 'magic'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Anmeldelink öffnen', 'magic'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Access my account', 'magic'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Open your magic link', 'magic'),
  link('https://a.example/a/Zx81kQpL02mNvBcDeF', 'Go to dashboard', 'other'),
  link('https://a.example/reset-filters?view=1', 'Show all offers', 'other'),
  link('https://a.example/newsletter/confirm-unsubscribe?id=1', 'Unsubscribe', 'unsubscribe'),
  link('https://a.example/changes/password-policy.pdf', 'our policy', 'other'),
  link('https://a.example/auth/callback?code=abcdefgh12345678', 'Sign in', 'magic'),
  link('https://a.example/account/recover?token=abcdef12345', 'Recover access', 'reset'),
]

const headers = (fields: readonly (string | Buffer)[]) =>
  parseMessage(
    Buffer.concat(
      [...fields, '', 'Hello'].map((field) =>
        Buffer.concat([
          typeof field === 'string' ? Buffer.from(field) : field,
          Buffer.from('\r\n'),
        ]),
      ),
    ),
  ).headers
const cc = (fields: readonly string[], expected: readonly string[]): LabelledCase => ({
  name: fields.join(' | '),
  expected: [...expected],
  found: () => {
    const read = headers(['From: a@x.example', ...fields])
    return [...read.to, ...read.cc].map(({ address }) => address)
  },
})
const name = (hex: string, expected: string, note: string): LabelledCase => ({
  name: note,
  expected,
  found: () =>
    headers([
      Buffer.concat([
        Buffer.from('From: "'),
        Buffer.from(hex, 'hex'),
        Buffer.from('" <a@x.example>'),
      ]),
    ]).from?.name,
})
const date = (field: string, expected: string | null): LabelledCase => ({
  name: field,
  expected,
  found: () => {
    const { date: found } = headers(['From: a@x.example', `Date: ${field}`])
    return found === null ? null : new Date(found).toISOString()
  },
})

const RECIPIENTS: readonly LabelledCase[] = [
  cc(['Cc: a@x.example', 'Cc: b@x.example'], ['a@x.example', 'b@x.example']),
  cc(
    ['To: t@x.example', 'Cc: a@x.example, b@x.example', 'CC: c@x.example'],
    ['t@x.example', 'a@x.example', 'b@x.example', 'c@x.example'],
  ),
  cc(['To: a@x.example', 'To: b@x.example'], ['a@x.example', 'b@x.example']),
  cc(
    ['Cc: a@x.example', 'Subject: x', 'Cc: A <a@x.example>, b@x.example'],
    ['a@x.example', 'b@x.example'],
  ),
  cc(['Cc:', 'Cc: b@x.example'], ['b@x.example']),
  cc(['Cc: undisclosed-recipients:;', 'cc: b@x.example'], ['b@x.example']),
  cc(
    ['To: a@x.example', 'Cc: c@x.example', 'To: b@x.example', 'Cc: d@x.example'],
    ['a@x.example', 'b@x.example', 'c@x.example', 'd@x.example'],
  ),
  cc(['Cc: "Broken <a@x.example>', 'Cc: b@x.example'], ['a@x.example', 'b@x.example']),
  cc(['Cc: a@x.example', 'Cc: a@X.EXAMPLE'], ['a@x.example']),
]

const NAMES: readonly LabelledCase[] = [
  name('4ac3bc7267656e20ff4dc3bc6c6c6572', 'Jürgen \ufffdMüller', 'one bad octet between words'),
  name('c3894c4f4449452044c3a9', 'ÉLODIE Dé', 'UTF-8 without a fault'),
  name('4ac3bc7267656e204dc3bc6c6c6572c3', 'Jürgen Müller\ufffd', 'a letter cut at its end'),
  name('e69da5e887aae5b79de58fa3e5ad90e6', '来自川口子\ufffd', 'Chinese cut at its end'),
  name('d098d0b2d0b0d0bd80d0bed0b2', 'Иван\ufffdов', 'Russian with a stray octet'),
  name('4ac3bc7267656e20c3284dc3bc6c6c6572', 'Jürgen \ufffd(Müller', 'a broken pair'),
  name('4afc7267656e204dfc6c6c6572', 'Jürgen Müller', 'windows-1252'),
  name('526ee9', 'Rné', 'windows-1252, one letter at the end'),
  name('c46e6720', 'Äng', 'windows-1252, one letter at the start'),
  name('4772fcdf652066fc7220c3a4', 'Grüße für Ã¤', 'windows-1252 that has one pair like UTF-8'),
  name('4dc3bc6c6c6572204de9', 'Müller Mé', 'UTF-8 with one letter of windows-1252'),
  name('93416c696365942042c3bc', '“Alice” Bü', 'UTF-8 with quotation marks of windows-1252'),
]

const DATES: readonly LabelledCase[] = [
  date('Fri, 20 Nov 2026 07:19:05 PM +0000', '2026-11-20T19:19:05.000Z'),
  date('Fri, 20 Nov 2026 07:19:05 AM +0000', '2026-11-20T07:19:05.000Z'),
  date('20 Nov 2026 12:05 AM +0000', '2026-11-20T00:05:00.000Z'),
  date('20 Nov 2026 12:05 PM +0000', '2026-11-20T12:05:00.000Z'),
  date('Fri, 20 Nov 2026 7:19:05 pm -0500', '2026-11-21T00:19:05.000Z'),
  date('Fri, 20 Nov 2026 11:19 p.m. EST', '2026-11-21T04:19:00.000Z'),
  date('Fri, 20 Nov 2026 07:19:5 +0000', '2026-11-20T07:19:05.000Z'),
  date('Fri, 20 Nov 2026 07:9:05 +0000', '2026-11-20T07:09:05.000Z'),
  date('Fri, 20 Nov 2026 7:9:5 +0100', '2026-11-20T06:09:05.000Z'),
  date('Fri, 20 Nov 2026 13:19:05 PM +0000', '2026-11-20T13:19:05.000Z'),
  date('Fri, 20 Nov 2026 07:19:05 PST', '2026-11-20T15:19:05.000Z'),
  date('Fri, 20 Nov 2026 07:19:05 PM PST', '2026-11-21T03:19:05.000Z'),
  date('Nov 20 2026 07:19:05 PM', null),
  date('Fri, 20 Nov 2026 27:19:05 PM +0000', null),
  date('Fri, 20 Nov 2026 07:19:05PM +0000', '2026-11-20T19:19:05.000Z'),
]

const bounce = (
  lines: readonly string[],
  expected: readonly [string, string, string],
  subject = 'Delivery Status Notification (Failure)',
): LabelledCase => ({
  name: lines.join(' / '),
  expected: [...expected],
  found: () => {
    const report = read(notice([...lines, '', ...RETURNED], { subject }))
    const one = report.kind === 'bounce' ? report.recipients[0] : undefined
    return one === undefined ? report.kind : [one.recipient, one.enhancedCode, one.bounceClass]
  },
})

const BOB = 'bob@far.example'
const BOUNCES: readonly LabelledCase[] = [
  bounce(
    [
      '** Address not found **',
      '',
      `Your message wasn't delivered to ${BOB} because the address couldn't be found, or is unable to receive mail.`,
    ],
    [BOB, '5.0.0', 'hard'],
  ),
  bounce(
    [
      'Address not found',
      '',
      `Your message wasn't delivered to ${BOB} because the address couldn't be found or is unable to receive email.`,
    ],
    [BOB, '5.0.0', 'hard'],
  ),
  bounce(
    [
      '** Message blocked **',
      '',
      `Your message to ${BOB} has been blocked. See technical details below.`,
    ],
    [BOB, '5.0.0', 'policy'],
  ),
  bounce(
    [
      '** Adresse nicht gefunden **',
      '',
      `Ihre Nachricht wurde nicht an ${BOB} zugestellt, weil die Adresse nicht gefunden wurde oder keine E-Mails empfangen kann.`,
    ],
    [BOB, '5.0.0', 'hard'],
  ),
  bounce(
    [
      '** Adresse introuvable **',
      '',
      `Votre message n'est pas parvenu à ${BOB}, car l'adresse est introuvable ou ne peut pas recevoir d'e-mails.`,
    ],
    [BOB, '5.0.0', 'hard'],
  ),
  bounce(
    [
      '** No se ha encontrado la dirección **',
      '',
      `Tu mensaje no se ha entregado a ${BOB} porque no se ha encontrado la dirección o esta no puede recibir correos.`,
    ],
    [BOB, '5.0.0', 'hard'],
  ),
  bounce(
    [
      `The following message to <${BOB}> was undeliverable.`,
      `The reason for the problem:`,
      `5.1.0 - Unknown address error 550-'No such user'`,
    ],
    [BOB, '5.1.0', 'hard'],
  ),
  bounce(
    [
      `<${BOB}>: host mx.far.example said: 550 #5.1.0 Address rejected ${BOB} (in reply to RCPT TO command)`,
    ],
    [BOB, '5.1.0', 'hard'],
  ),
  bounce([`<${BOB}>: 550 #5.1.0 Address rejected.`], [BOB, '5.1.0', 'hard']),
  bounce(
    [`<${BOB}>: host mx.far.example said: 550 #5.1.1 Address rejected`],
    [BOB, '5.1.1', 'hard'],
  ),
  bounce(
    [`<${BOB}>: host mx.far.example said: 554 #5.7.1 rejected by policy`],
    [BOB, '5.7.1', 'policy'],
  ),
  bounce([`<${BOB}>: host mx.far.example said: 452 #4.2.2 mailbox full`], [BOB, '4.2.2', 'full']),
  bounce(
    [`<${BOB}>: host mx.far.example said: 550 #5.1.0 Sender address rejected`],
    [BOB, '5.1.0', 'policy'],
  ),
  bounce(
    [`Could not deliver to ${BOB}:`, `#< #5.1.1 smtp;550 unknown user> #SMTP#`],
    [BOB, '5.1.1', 'hard'],
  ),
  bounce(
    [
      'There was a temporary problem while delivering your message to',
      `${BOB}. The mail system will retry for 45 hours.`,
    ],
    [BOB, '4.0.0', 'soft'],
    'Delivery Status Notification (Delay)',
  ),
]

const ANSWER = 'Tuesday suits me.\nShall I book the room?'
const reply = (quote: string, expected: string = ANSWER): LabelledCase => ({
  name: quote,
  expected,
  found: () => extractReply(`${ANSWER}\n\n${quote}`),
})
const kept = (text: string): LabelledCase => ({
  name: text,
  expected: text,
  found: () => extractReply(text),
})

const REPLIES: readonly LabelledCase[] = [
  reply(
    'On Tue, Nov 16, 2021 at 12:34 PM Ann Lee\n\n<\n\nmailto:Ann Lee <ann@example.org>\n\n> wrote:\n\nWhich day?\nAnn',
  ),
  reply('On Tue, Nov 16, 2021 at 12:34 PM, Ann Lee < ann@example.org > wrote:\n\nWhich day?'),
  reply(
    'On Tue, Nov 16, 2021 at 12:34 PM\n\nAnn Lee\n\n<\nann@example.org\n> wrote:\n\n> Which day?',
  ),
  reply('On Tue, Nov 16, 2021 at 12:34 PM, Ann Lee <\nann@example.org\n>\nwrote:\n\nWhich day?'),
  reply('On Nov 16, 2021, at 12:34 PM, Ann Lee\n\n<ann@example.org>\n\nwrote:\n\nWhich day?'),
  reply('On Tue, Nov 16, 2021 at 12:34 PM Ann Lee <mailto:ann@example.org> wrote:\n\nWhich day?'),
  reply('On Tue, Nov 16, 2021 at 12:34 PM Ann Lee <ann@example.org> wrote\n\n> Which day?'),
  reply('On Tue, Nov 16, 2021 at 12:34 PM Ann Lee <ann@example.org> wrote\n\nWhich day?\nAnn'),
  reply('On 16 November 2021 at 12:34, Ann Lee wrote\n> Which day?'),
  reply('Ann Lee <ann@example.org> wrote\n> Which day?'),
  reply('Am 16.11.2021 um 12:34 schrieb Ann Lee <ann@example.org>\n\n> Welcher Tag?'),
  reply('Le 16/11/2021 à 12:34, Ann Lee a écrit\n> Quel jour ?'),
  reply('On 2021-11-16 12:34, Ann Lee wrote\n\n> Which day?'),
  kept('On Tuesday at 12:34 the director wrote\n\nthat the room is free.'),
  kept('On page 12 Ann Lee wrote\na short note about 2021-11-16, 12:34 o’clock.'),
  kept('I read what she wrote\n\nOn 16 Nov 2021 we met.'),
  kept('In 2019 (page 12) she wrote\nthe book.'),
  kept('Notes of 16 Nov 2021, which Ann Lee <ann@example.org> wrote\nand Bo read:\n- one\n- two'),
]

export const CLASSES: Readonly<Record<string, readonly LabelledCase[]>> = {
  'verification codes': CODES,
  'purpose of links': LINKS,
  'repeated recipients': RECIPIENTS,
  'names in 8-bit octets': NAMES,
  dates: DATES,
  'reports of failure': BOUNCES,
  'words of servers about recipients': BOUNCE_WORDS.map(bounceWords),
  'quotes of replies': REPLIES,
}

function bounceWords([status, diagnostic, isDead]: BounceWords): LabelledCase {
  const fields = ['Final-Recipient: rfc822; bob@far.example', 'Action: failed']
  const words = [`Status: ${status}`, `Diagnostic-Code: ${diagnostic}`]
  return {
    name: `${status} ${diagnostic}`,
    expected: isDead,
    found: () => onlyOf(standard([...fields, ...words])).bounceClass === 'hard',
  }
}

export type Half = 'development' | 'held out'

export function halfOf(cases: readonly LabelledCase[], half: Half): LabelledCase[] {
  return cases.filter((_, index) => (index % 3 === 2) === (half === 'held out'))
}
