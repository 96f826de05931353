// The project's own set of mails with and without secrets. Values are made when it runs, from the forms that
// issuers document and a seed, so that no secret stands here; those with checksums nobody can make up are the
// published examples of their standards.

import { crc32 } from 'node:zlib'

export type SecretSample = {
  readonly name: string
  /** Null for a look-alike. */
  readonly kind: string | null
  readonly part: 'subject' | 'bodyText' | 'bodyHtml' | 'attachment:0'
  /** The text of the part. */
  readonly text: string
  /** Where the secret stands in it. */
  readonly offset: number
  readonly length: number
}

const ALPHABETS: Readonly<Record<string, string>> = {
  h: '0123456789abcdef',
  d: '0123456789',
  b: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
  l: '0123456789abcdefghijklmnopqrstuvwxyz',
  u: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  a: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
  w: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_',
  s: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/',
  t: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
}

/** Kind and form: `{b36}` are 36 random characters of the alphabet `b`; functions make the others. */
const SECRETS: readonly (readonly [kind: string, form: string])[] = [
  ['mailroom_key', 'mr_{b40}'],
  ['mailroom_approver_token', 'mra_{b40}'],
  ['webhook_secret', 'whsec_{s32}'],
  ['webhook_secret', 'whsec_{s43}='],
  ['github_token', 'ghp_{crc}'],
  ['github_token', 'gho_{crc}'],
  ['github_token', 'ghs_{crc}'],
  ['github_fine_grained_token', 'github_pat_11{b20}_{b59}'],
  ['gitlab_token', 'glpat-{b20}'],
  ['gitlab_token', 'glrt-{b20}'],
  ['bitbucket_token', 'ATBB{b24}{h8}'],
  ['atlassian_token', 'ATATT3xFfGF0{w171}={h8}'],
  ['npm_token', 'npm_{crc}'],
  ['pypi_token', 'pypi-AgEIcHlwaS5vcmc{w160}'],
  ['rubygems_key', 'rubygems_{h48}'],
  ['crates_io_token', 'cio{b31}7'],
  ['nuget_key', 'oy2{l42}5'],
  ['clojars_token', 'CLOJARS_{l60}'],
  ['docker_hub_token', 'dckr_pat_{b27}'],
  ['artifactory_token', 'AKCp8{b68}'],
  ['sonar_token', 'squ_{h40}'],
  ['circleci_token', 'CCIPAT_{b22}_{h40}'],
  ['buildkite_token', 'bkua_{h40}'],
  ['postman_key', 'PMAK-{h24}-{h34}'],
  ['sentry_token', 'sntryu_{h64}'],
  ['harness_token', 'pat.{b22}.{h24}.{b20}'],
  ['prefect_key', 'pnu_{b36}'],
  ['infracost_key', 'ico-{b31}7'],
  ['readme_key', 'rdme_{l70}'],
  ['aws_access_key', 'AKIA{t16}'],
  ['aws_access_key', 'ASIA{t16}'],
  ['aws_secret_key', 'aws_secret_access_key = <{b39}/>'],
  ['aws_secret_key', '"SecretAccessKey": "<{b38}+/>"'],
  ['aws_session_token', 'aws_session_token=<{s300}>'],
  ['aws_bedrock_key', 'ABSK{s130}=='],
  ['yandex_token', 'y0_{w55}'],
  ['google_api_key', 'AIzaSy{w33}'],
  ['google_oauth_client_secret', 'GOCSPX-{b28}'],
  ['google_refresh_token', '1//0{w80}'],
  ['google_access_token', 'ya29.{w150}'],
  ['firebase_server_key', 'AAAA{b7}:APA91b{w134}'],
  ['azure_storage_key', 'DefaultEndpointsProtocol=https;AccountName=store;<AccountKey={s86}==>;'],
  ['azure_shared_access_key', 'SharedAccessKeyName=root;<SharedAccessKey={s43}=>'],
  ['azure_sas_token', 'https://s.blob.core.example/c/f?sv=2024-11-04&sr=b&sp=r<&sig={b43}%3D>'],
  ['azure_client_secret', '{b3}8Q~{b34}'],
  ['azure_devops_token', '{b76}AZDO{b4}'],
  ['alibaba_access_key', 'LTAI{b20}'],
  ['tencent_access_key', 'AKID{b32}'],
  ['digitalocean_token', 'dop_v1_{h64}'],
  ['heroku_key', 'HRKU-{uuid}'],
  ['netlify_token', 'nfp_{b36}'],
  ['supabase_token', 'sbp_{h40}'],
  ['planetscale_token', 'pscale_tkn_{b43}'],
  ['fly_token', 'fm2_{s500}'],
  ['terraform_token', '{b14}.atlasv1.{b67}'],
  ['pulumi_token', 'pul-{h40}'],
  ['vault_token', 'hvs.{w95}'],
  ['doppler_token', 'dp.pt.{b43}'],
  ['onepassword_token', 'ops_eyJ{s250}'],
  ['onepassword_secret_key', 'A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}'],
  ['tailscale_key', 'tskey-auth-{b12}CNTRL-{b32}'],
  ['databricks_token', 'dapi{h32}'],
  ['databricks_token', 'dapi{h32}-2'],
  ['cloudflare_origin_ca_key', 'v1.0-{h24}-{h146}'],
  ['cloudflare_token', 'CLOUDFLARE_API_TOKEN=<{w40}>'],
  ['grafana_token', 'glsa_{b32}_{h8}'],
  ['new_relic_key', 'NRAK-{u27}'],
  ['dynatrace_token', 'dt0c01.{t24}.{t64}'],
  ['posthog_key', 'phx_{b43}'],
  ['datadog_key', 'DD_API_KEY: <{h32}>'],
  ['twilio_auth_token', 'TWILIO_AUTH_TOKEN="<{h32}>"'],
  ['anthropic_key', 'sk-ant-api03-{w93}AA'],
  ['openrouter_key', 'sk-or-v1-{h64}'],
  ['openai_key', 'sk-proj-{w74}T3BlbkFJ{w74}'],
  ['openai_key', 'sk-{b20}T3BlbkFJ{b20}'],
  ['ai_provider_key', 'sk-{h32}'],
  ['hugging_face_token', 'hf_{a34}'],
  ['groq_key', 'gsk_{b52}'],
  ['xai_key', 'xai-{b80}'],
  ['perplexity_key', 'pplx-{b48}'],
  ['replicate_token', 'r8_{b37}'],
  ['pinecone_key', 'pcsk_{b6}_{b63}'],
  ['langsmith_key', 'lsv2_pt_{h32}_{h10}'],
  ['stripe_key', 'sk_live_{b24}'],
  ['stripe_key', 'sk_live_51{b97}'],
  ['stripe_key', 'rk_live_{b24}'],
  ['stripe_key', 'sk_test_{b24}'],
  ['square_token', 'sq0atp-{w22}'],
  ['square_token', 'EAAA{w60}'],
  ['braintree_token', ['access_token', 'production', '{l16}', '{h32}'].join('$')],
  ['plaid_token', 'access-production-{uuid}'],
  ['flutterwave_key', 'FLWSECK-{h32}-X'],
  ['shippo_token', 'shippo_live_{h40}'],
  ['easypost_key', 'EZAK{b54}'],
  ['duffel_token', 'duffel_live_{w43}'],
  ['shopify_token', 'shpat_{h32}'],
  ['sendgrid_key', 'SG.{w22}.{w43}'],
  ['mailgun_key', 'key-{h32}'],
  ['mailgun_key', '{h32}-{h8}-{h8}'],
  ['mailchimp_key', '{h32}-us21'],
  ['brevo_key', 'xkeysib-{h64}-{b16}'],
  ['resend_key', 're_{b8}_{b24}'],
  ['twilio_key', 'SK{h32}'],
  ['slack_token', 'xoxb-{d12}-{d13}-{b24}'],
  ['slack_token', 'xoxp-{d12}-{d12}-{d13}-{h32}'],
  ['slack_app_token', 'xapp-1-A{u10}-{d13}-{h64}'],
  ['slack_webhook', 'https://<hooks.slack.com/services/T{u8}/B{u10}/{b24}>'],
  ['discord_webhook', 'https://<discord.com/api/webhooks/1{d18}/{w68}>'],
  ['discord_bot_token', '{discord}.{w6}.{w38}'],
  ['telegram_bot_token', '7{d9}:AA{w33}'],
  [
    'teams_webhook',
    'https://<acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}>',
  ],
  ['intercom_token', 'dG9rO{s54}=='],
  ['notion_token', 'ntn_{d11}{b35}'],
  ['notion_token', 'secret_{b43}'],
  ['linear_key', 'lin_api_{b40}'],
  ['figma_token', 'figd_{w40}'],
  ['airtable_token', 'pat{b14}.{h64}'],
  ['asana_token', '1/{d16}:{h32}'],
  ['hubspot_token', 'pat-na1-{uuid}'],
  ['typeform_token', 'tfp_{b44}_{b14}'],
  ['contentful_token', 'CFPAT-{w43}'],
  ['dropbox_token', 'sl.{w140}'],
  ['facebook_token', 'EAAC{b180}'],
  ['twitter_bearer_token', 'AAAAAAAAAAAAAAAAAAAAAA{b60}%3D{b30}'],
  ['mapbox_token', 'sk.eyJ{w60}.{w22}'],
  ['okta_token', 'Authorization: <SSWS 00{w40}>'],
  ['jwt', '{jwt}'],
  ['basic_auth', 'Authorization: <Basic {basic}>'],
  ['bearer_token', 'Authorization: <Bearer {b31}7>'],
  ['url_password', 'postgres://app:<{b14}>@db.internal:5432/app'],
  ['url_password', 'https://deploy:<{b20}>@git.example/acme/site.git'],
  ['totp_secret', 'otpauth://totp/Acme:ann?issuer=Acme&secret=<{t32}>'],
  ['wireguard_private_key', 'PrivateKey = <{s42}8=>'],
  ['jwk_private_key', '{"kty":"EC","crv":"P-256","x":"{w43}","y":"{w43}","d":"<{w43}>"}'],
  ['private_key', '{pem:RSA }'],
  ['private_key', '{pem:EC }'],
  ['private_key', '{pem:}'],
  ['private_key', '{pem:ENCRYPTED }'],
  ['openssh_private_key', '{pem:OPENSSH }'],
  ['pgp_private_key', '{pgp}'],
  [
    'putty_private_key',
    '<PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: laptop\nPrivate-Lines: 1\n{s20}>{s23}=',
  ],
  // Published examples of age, NIP-19, BIP 32 and the Bitcoin wiki.
  ['age_secret_key', 'AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX'],
  ['nostr_secret_key', 'nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5'],
  [
    'bitcoin_extended_key',
    'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi',
  ],
  ['bitcoin_private_key', '5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ'],
  ['card_number', '{card:4:16}'],
  ['card_number', '{card:4:16: }'],
  ['card_number', '{card:53:16:-}'],
  ['card_number', '{card:2221:16: }'],
  ['card_number', '{card:37:15}'],
  ['card_number', '{card:6011:16}'],
  ['card_number', '{card:3530:16}'],
  ['card_number', '{card:36:14}'],
  ['card_number', '{card:62:16: }'],
  ['iban', '{iban:DE:d18}'],
  ['iban', '{iban:GB:WESTd14: }'],
  ['iban', '{iban:NL:INGBd10: }'],
  ['iban', '{iban:FR:d23: }'],
  ['iban', '{iban:NO:d11}'],
  ['iban', '{iban:CH:d17: }'],
  ['iban', '{iban:PL:d24}'],
  ['iban', '{iban:BR:d23C1}'],
]

/** Harmless text of similar forms, several mails of each line. */
const LOOK_ALIKES: readonly string[] = [
  // Identifiers
  '{uuid}',
  'urn:uuid:{uuid}',
  'request id {h32}',
  'commit {h40}',
  'https://github.com/acme/site/commit/{h40}',
  'sha256:{h64}',
  'image acme/app@sha256:{h64}',
  '"integrity": "sha512-{s86}=="',
  'ETag: "{h32}-12"',
  'Message-ID: <{b22}@mail.client.example>',
  'ULID 01{t24}',
  'https://youtu.be/{w11}',
  'trace {h32}-{h16}-01',
  'arn:aws:iam::{d12}:role/deploy',
  'AROA{t17}',
  'AIDA{t17}',
  'Account SID AC{h32}',
  'pk_live_{b24}',
  'pk_test_{b24}',
  'cus_{b14}, price_1{b23}, pi_3{b23}',
  'msg_{b22} in thr_{b22}',
  'pod web-{h10}-{l5}',
  'file {b11}.pdf, page 12',
  'https://docs.google.example/document/d/1{w43}/edit',
  'https://meet.example/abc-defg-hij',
  'UA-{d8}-1 and G-{u10}',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{s43} ann@laptop',
  'SHA256:{s43}',
  'age1{l58}',
  'transaction 0x{h64}',
  'address 0x{h40}',
  'address bc1q{l38}',
  // Numbers
  'order {d8}',
  'order number {d16x}',
  'invoice INV-2026-{d6}',
  'Amazon order {d3}-{d7}-{d7}',
  'UPS 1Z{u16}',
  'FedEx {d12}',
  'DHL {d10}, JJD{d18}',
  'USPS 94{d20}',
  '+49 30 {d8}',
  '+1 (202) 555-{d4}',
  '0044 20 {d4} {d4}',
  'ISBN 978-3-16-148410-0, 978{d10}',
  'EAN 4{d12}',
  'IMEI 35{d13}',
  'member 9{d15}',
  'at 17{d11} ms',
  'snowflake 11{d16}',
  'latitude 52.{d14}, longitude 13.{d14}',
  'card ending in {d4}, **** **** **** {d4}',
  'card {card!:4:16: }',
  'card {card!:55:16}',
  'ISO week 2026-W47, 2026-11-23 10:30:00',
  'VAT DE{d9}, FR{d11}',
  'BIC COBADEFFXXX, tax 12/345/{d5}',
  'IBAN {iban!:DE:d18: }',
  'IBAN {iban!:GB:WESTd14}',
  'DE00 0000 0000 0000 0000 00',
  'VIN WVWZZZ1JZ{u1}W{d6}',
  '2019 2020 2021 2022 2023 2024 2025 2026',
  '4200 5100 4300 5200 4400 5300 4500 5400 4600',
  'MAC 02:00:5e:10:00:01, 2001:db8::{h4}:{h4}',
  '192.0.2.{d2}, port 8443',
  'colour #{h6}, version 4.{d2}.{d1}',
  // Text of tests and instructions
  'sk_test_example',
  'sk_live_xxxxxxxxxxxxxxxxxxxxxxxx',
  'STRIPE_KEY=sk_live_your_key_here',
  'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  'ghp_{b36}',
  'npm_{b36}',
  'export GITHUB_TOKEN=ghp_...',
  'Tokens begin with ghp_, gho_ or github_pat_.',
  'AKIA{u4} is cut',
  'xoxb-your-token-here',
  'Bearer <your token>',
  'Authorization: Bearer $TOKEN',
  'Authorization: Basic <credentials>',
  'Basic information about your account',
  'postgres://user:password@localhost/db',
  'https://user:$PASSWORD@git.example/x',
  'https://client.example:8443/@ann/post',
  'mailto:ann@client.example',
  'password: correct horse battery staple',
  'a word like sk-ateboard, task-{d8}, risk-{h8}',
  '-----BEGIN PUBLIC KEY-----\n{s64}\n{s64}\n-----END PUBLIC KEY-----',
  '-----BEGIN CERTIFICATE-----\n{s64}\n{s64}\n-----END CERTIFICATE-----',
  '-----BEGIN PGP SIGNATURE-----\n\n{s64}\n-----END PGP SIGNATURE-----',
  '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
  'Files that begin with -----BEGIN RSA PRIVATE KEY----- are keys.',
  '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg (and so on)\n-----END PRIVATE KEY-----',
  'otpauth://totp/Acme:ann?issuer=Acme&secret=...',
  '{"kty":"EC","crv":"P-256","x":"{w43}","y":"{w43}"}',
  'eyJ is how JSON begins in base64: eyJhIjoxfQ',
  'data:image/png;base64,iVBORw0KGgo{s400}',
  '{s76}\n{s76}\n{s76}',
  'DKIM-Signature: v=1; a=rsa-sha256; bh={s43}=; b={s86}==',
  'https://click.client.example/ls/click?upn={w120}',
  'unsubscribe: https://client.example/u/{h32}?e={h16}',
  'utm_source=mail&utm_campaign={l12}&fbclid=Iw{w60}',
  'AccountKey=<key>; SharedAccessKey=<key>',
]

/** The mails of the set; the same for one seed. */
export function writtenSecrets(seed = 1): SecretSample[] {
  const maker = new Maker(seed)
  const samples: SecretSample[] = []
  for (const [index, [kind, form]] of SECRETS.entries()) {
    for (const place of PLACES) samples.push(maker.sample(`${index} ${kind}`, kind, form, place))
  }
  for (const [index, form] of LOOK_ALIKES.entries()) {
    for (const place of PLACES) samples.push(maker.sample(`look-alike ${index}`, null, form, place))
  }
  return samples
}

type Place = {
  readonly part: SecretSample['part']
  readonly before: string
  readonly after: string
}

const PLACES: readonly Place[] = [
  { part: 'bodyText', before: 'Hello Ann,\n\nhere it is: ', after: '\n\nBest\nBob\n' },
  { part: 'bodyHtml', before: '<p>Hello &amp; welcome,</p><p><code>', after: '</code></p>' },
  { part: 'attachment:0', before: 'NAME=value\nVALUE="', after: '"\nOTHER=1\n' },
  { part: 'subject', before: 'Fwd: ', after: ' (as discussed)' },
]

class Maker {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  sample(name: string, kind: string | null, form: string, place: Place): SecretSample {
    const made = this.#make(place.part === 'subject' ? form.replaceAll('\n', ' ') : form)
    // `<…>` marks the secret in its surroundings, unless the whole is the secret.
    const marked = kind === null ? null : /^([\s\S]*?)<([^<>]*)>([\s\S]*)$/.exec(made)
    const [lead, secret, trail] = marked === null ? ['', made, ''] : marked.slice(1)
    const isHtml = place.part === 'bodyHtml'
    const [shownLead = '', shownSecret = '', shownTrail = ''] = [lead, secret, trail].map((text) =>
      isHtml ? escaped(text ?? '') : text,
    )
    const text = `${place.before}${shownLead}${shownSecret}${shownTrail}${place.after}`
    const offset = place.before.length + shownLead.length
    return {
      name: `${name} in ${place.part}`,
      kind,
      part: place.part,
      text,
      offset,
      length: shownSecret.length,
    }
  }

  #make(form: string): string {
    return form.replace(
      /\{([a-z]+!?)(\d*)(x?)((?::[^}:]*)*)\}/g,
      (whole, type, count, mark, rest) => {
        const [, first = '', second = '', separator = ''] = String(rest).split(':')
        switch (type) {
          case 'uuid':
            return [8, 4, 4, 4, 12].map((length) => this.#random('h', length)).join('-')
          case 'crc':
            return withCrc(this.#random('b', 30))
          case 'discord':
            return Buffer.from(`1${this.#random('d', 17)}`)
              .toString('base64')
              .replace(/=+$/, '')
          case 'jwt':
            return this.#jwt()
          case 'basic':
            return Buffer.from(`ann:${this.#random('b', 12)}`).toString('base64')
          case 'pem':
            return this.#block(`${first}PRIVATE KEY`, 24)
          case 'pgp':
            return this.#block('PGP PRIVATE KEY BLOCK', 12)
          case 'card':
          case 'card!':
            return grouped(this.#card(first, Number(second), type === 'card'), separator)
          case 'iban':
          case 'iban!':
            return grouped(this.#iban(first, second, type === 'iban'), separator)
          default:
            if (mark === 'x') return this.#unissued(Number(count))
            return ALPHABETS[type] === undefined ? whole : this.#random(type, Number(count))
        }
      },
    )
  }

  /** A linear congruential generator is random enough for text. */
  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }

  #random(alphabet: string, length: number): string {
    const letters = ALPHABETS[alphabet] ?? ''
    return Array.from({ length }, () => letters[this.#below(letters.length)]).join('')
  }

  #jwt(): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { sub: this.#random('d', 10), exp: 1_800_000_000, jti: this.#random('h', 16) }
    return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}.${this.#random('w', 43)}`
  }

  #block(label: string, lines: number): string {
    const data = Array.from({ length: lines }, () => this.#random('s', 64))
    return [`-----BEGIN ${label}-----`, ...data, `-----END ${label}-----`].join('\n')
  }

  #card(prefix: string, length: number, isValid: boolean): string {
    const body = prefix + this.#random('d', length - prefix.length - 1)
    const right = [...'0123456789'].find((digit) => luhnSum(body + digit) % 10 === 0) ?? ''
    return body + (isValid ? right : String((Number(right) + 1 + this.#below(9)) % 10))
  }

  /** Digits that no issuer of cards uses. */
  #unissued(length: number): string {
    return `1${this.#random('d', length - 1)}`
  }

  #iban(country: string, account: string, isValid: boolean): string {
    const bban = account.replace(/d(\d+)/g, (_, count) => this.#random('d', Number(count)))
    const digits = [...`${bban}${country}00`].map((one) => Number.parseInt(one, 36)).join('')
    const check = 98n - (BigInt(digits) % 97n)
    const shown = isValid ? check : ((check - 1n) % 96n) + 2n
    return country + String(shown).padStart(2, '0') + bban
  }
}

function withCrc(body: string): string {
  let rest = BigInt(crc32(body))
  let check = ''
  for (; check.length < 6; rest /= 62n) check = (ALPHABETS.b ?? '')[Number(rest % 62n)] + check
  return body + check
}

function luhnSum(digits: string): number {
  return [...digits].reverse().reduce((sum, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    return sum + Math.floor(value / 10) + (value % 10)
  }, 0)
}

function grouped(text: string, separator: string): string {
  return separator === '' ? text : (text.match(/.{1,4}/g) ?? []).join(separator)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
