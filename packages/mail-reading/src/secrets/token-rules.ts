// Token formats that are recognisable by a fixed part, usually their prefix, as documented by their
// issuers.

import { hasCrc32, isBase58CheckValid, isBech32Valid } from './checksums.ts'

export type TokenRule = {
  readonly kind: string
  /** A fixed part of every token of the kind. */
  readonly mark: string
  /** The characters before `mark`, at most LEAD_LENGTH_MAX; null for none. */
  readonly lead: RegExp | null
  readonly rest: RegExp
  /** Further checks on the token. */
  readonly isValid: (token: string) => boolean
}

export const LEAD_LENGTH_MAX = 80

/** Makes a rule for each fixed part. A token ends at any character but letters and digits. */
function rules(
  kind: string,
  marks: string,
  rest: string,
  { lead, isValid = isReal }: { lead?: string; isValid?: (token: string) => boolean } = {},
): TokenRule[] {
  return marks.split(' ').map((mark) => ({
    kind,
    mark,
    lead: lead === undefined ? null : new RegExp(`(?<![A-Za-z0-9])(?:${lead})$`),
    // The lookahead and its group match without backtracking, so that a long run is read once.
    rest: new RegExp(`(?=(${rest}))\\1(?![A-Za-z0-9])`, 'y'),
    isValid,
  }))
}

const PLACEHOLDER =
  /example|placeholder|redacted|change.?me|your[_-]|[_-]here|dummy|x{6}|0{8}|\*{3}|\.{3}/i

/** Whether a token is not a placeholder. Few distinct letters may still be a test key. */
export function isReal(token: string): boolean {
  return !PLACEHOLDER.test(token)
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/** GitHub and npm tokens with 36 characters after the mark end with a checksum. */
function isChecked(token: string): boolean {
  const body = token.slice(token.indexOf('_') + 1)
  return body.length === 36 ? hasCrc32(body) : isReal(token)
}

/** A bot token starts with the bot's numeric identifier in base64. */
function isDiscordToken(token: string): boolean {
  const id = Buffer.from(token.slice(0, token.indexOf('.')), 'base64').toString('latin1')
  return /^\d{17,20}$/.test(id)
}

/** Whether the token has two JSON objects, the first with the algorithm (RFC 7519). */
function isJwt(token: string): boolean {
  const [head = ''] = token.split('.')
  const text = Buffer.from(head, 'base64url').toString()
  return /^\{.*"alg"\s*:\s*"(?!none)/is.test(text) && isReal(token)
}

function isBasicPair(header: string): boolean {
  const pair = Buffer.from(header.slice(header.lastIndexOf(' ') + 1), 'base64').toString('latin1')
  return /^[\x21-\x39\x3b-\x7e]*:[\x20-\x7e]{4,}$/.test(pair) && !isPlaceholderWord(pair)
}

/** Whether the password in `user:password` is only a placeholder. */
export function isPlaceholderWord(pair: string): boolean {
  const password = pair.slice(pair.indexOf(':') + 1)
  if (PLACEHOLDER.test(password) || /^[$%<{[(]|[>})\]]$/.test(password)) return true
  return /^(?:x+|\.+|\*+|-+|pass(?:word|wd)?|passwort|pwd|pw|secret|token|api_?key|my_?\w*(?:pass|secret|token)\w*|changeit)$/i.test(
    password,
  )
}

const isAny = () => true

/** Rules in order of precedence: a later rule does not match a token of an earlier rule. */
export const TOKEN_RULES: readonly TokenRule[] = [
  // Keys of this service.
  ...rules('mailroom_key', 'mr_', '[A-Za-z0-9]{40}'),
  ...rules('mailroom_approver_token', 'mra_', '[A-Za-z0-9]{40}'),
  ...rules('webhook_secret', 'whsec_', '[A-Za-z0-9+/]{24,88}={0,2}'),
  // Keys with checksums.
  ...rules('age_secret_key', 'AGE-SECRET-KEY-1', '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}', {
    isValid: (key) => isBech32Valid('age-secret-key-', key.slice(16).toLowerCase()),
  }),
  ...rules('nostr_secret_key', 'nsec1', '[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{58}', {
    isValid: (key) => isBech32Valid('nsec', key.slice(5)),
  }),
  ...rules('bitcoin_extended_key', 'xprv yprv zprv tprv', '[1-9A-HJ-NP-Za-km-z]{107}', {
    isValid: isBase58CheckValid,
  }),
  // Source code and package services.
  ...rules('github_token', 'ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9]{36,255}', {
    isValid: isChecked,
  }),
  ...rules('github_fine_grained_token', 'github_pat_', '[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'),
  ...rules(
    'gitlab_token',
    'glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- GR1348941',
    '[A-Za-z0-9_-]{20,300}(?:\\.[A-Za-z0-9.]{2,20})?',
  ),
  ...rules('bitbucket_token', 'ATBB', '[A-Za-z0-9_=.-]{32}'),
  ...rules('atlassian_token', 'ATATT3 ATCTT3', '[A-Za-z0-9_=-]{160,260}'),
  ...rules('npm_token', 'npm_', '[A-Za-z0-9]{36}', { isValid: isChecked }),
  ...rules('pypi_token', 'pypi-AgE', '[A-Za-z0-9_-]{50,1000}'),
  ...rules('rubygems_key', 'rubygems_', '[0-9a-f]{48}'),
  ...rules('crates_io_token', 'cio', '[A-Za-z0-9]{32}', { isValid: hasLettersAndDigits }),
  ...rules('nuget_key', 'oy2', '[a-z0-9]{43}', { isValid: hasLettersAndDigits }),
  ...rules('clojars_token', 'CLOJARS_', '[a-z0-9]{60}'),
  ...rules('docker_hub_token', 'dckr_pat_ dckr_oat_', '[A-Za-z0-9_-]{27,32}'),
  ...rules('artifactory_token', 'AKCp', '[A-Za-z0-9]{69,73}'),
  ...rules('artifactory_token', 'cmVmdGtuO', '[A-Za-z0-9]{50,64}'),
  ...rules('sonar_token', 'squ_ sqp_ sqa_', '[0-9a-f]{40}'),
  ...rules('circleci_token', 'CCIPAT_ CCIPRJ_', '[A-Za-z0-9]{22}_[0-9a-f]{40}'),
  ...rules('buildkite_token', 'bkua_', '[0-9a-f]{40}'),
  ...rules('postman_key', 'PMAK-', '[0-9a-f]{24}-[0-9a-f]{34}'),
  ...rules('sentry_token', 'sntrys_eyJ', '[A-Za-z0-9+/=_-]{60,400}'),
  ...rules('sentry_token', 'sntryu_', '[0-9a-f]{64}'),
  ...rules('harness_token', 'pat. sat.', '[\\w-]{22}\\.[0-9a-f]{24}\\.[A-Za-z0-9]{20}'),
  ...rules('readme_key', 'rdme_', '[a-z0-9]{70}'),
  ...rules('prefect_key', 'pnu_ pnb_', '[A-Za-z0-9]{36}'),
  ...rules('infracost_key', 'ico-', '[A-Za-z0-9]{32}', { isValid: hasLettersAndDigits }),
  // Cloud services.
  ...rules('aws_access_key', 'AKIA ASIA ABIA ACCA', '[A-Z2-7]{16}', { isValid: isAny }),
  ...rules('aws_bedrock_key', 'ABSK', '[A-Za-z0-9+/]{109,269}={0,2}'),
  ...rules('google_api_key', 'AIza', '[\\w-]{35}'),
  ...rules('google_oauth_client_secret', 'GOCSPX-', '[\\w-]{28}'),
  ...rules('google_refresh_token', '1//0', '[\\w-]{40,200}'),
  ...rules('google_access_token', 'ya29.', '[\\w-]{30,400}'),
  ...rules('firebase_server_key', ':APA91b', '[\\w-]{134}', { lead: '[A-Z]{4}[\\w-]{7}' }),
  ...rules('azure_storage_key', 'AccountKey=', '[A-Za-z0-9+/]{86}=='),
  ...rules('azure_shared_access_key', 'SharedAccessKey=', '[A-Za-z0-9+/]{43}='),
  ...rules('azure_sas_token', '&sig= ?sig=', '[A-Za-z0-9+/%]{43,90}(?:=|%3D)'),
  ...rules('azure_client_secret', 'Q~', '[\\w~.-]{31,34}', { lead: '[\\w~.]{3}\\d' }),
  ...rules('azure_devops_token', 'AZDO', '[A-Za-z0-9]{4}', { lead: '[A-Za-z0-9]{76}' }),
  ...rules('alibaba_access_key', 'LTAI', '[A-Za-z0-9]{16,20}'),
  ...rules('tencent_access_key', 'AKID', '[A-Za-z0-9]{32}'),
  ...rules('digitalocean_token', 'dop_v1_ doo_v1_ dor_v1_', '[0-9a-f]{64}'),
  ...rules('heroku_key', 'HRKU-', `${UUID}|[\\w-]{50,64}`),
  ...rules('netlify_token', 'nfp_', '[A-Za-z0-9_]{36,40}'),
  ...rules('supabase_token', 'sbp_', '[0-9a-f]{40}'),
  ...rules('supabase_token', 'sb_secret_', '[\\w-]{22,40}'),
  ...rules('planetscale_token', 'pscale_tkn_ pscale_pw_ pscale_oauth_', '[\\w.=-]{32,64}'),
  ...rules('fly_token', 'fm1_ fm2_ fm1r_ fm1a_', '[A-Za-z0-9+/=,_-]{100,900}'),
  ...rules('fly_token', 'fo1_', '[\\w-]{43}'),
  ...rules('terraform_token', '.atlasv1.', '[\\w-]{60,70}', { lead: '[A-Za-z0-9]{14}' }),
  ...rules('pulumi_token', 'pul-', '[0-9a-f]{40}'),
  ...rules('vault_token', 'hvs. hvb. hvr.', '[\\w-]{24,300}'),
  ...rules('doppler_token', 'dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.', '[A-Za-z0-9]{40,44}'),
  ...rules('doppler_token', 'dp.st.', '(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}'),
  ...rules('onepassword_token', 'ops_eyJ', '[A-Za-z0-9+/=_-]{200,2000}'),
  ...rules(
    'onepassword_secret_key',
    'A3-',
    '[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}',
  ),
  ...rules('tailscale_key', 'tskey-', '[a-z]{3,10}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,40}'),
  ...rules('databricks_token', 'dapi', '[0-9a-f]{32}(?:-\\d)?'),
  ...rules('cloudflare_origin_ca_key', 'v1.0-', '[0-9a-f]{24}-[0-9a-f]{146}'),
  // Monitoring services.
  ...rules('grafana_token', 'glsa_', '[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}'),
  ...rules('grafana_token', 'glc_eyJ', '[A-Za-z0-9+/]{30,400}={0,2}'),
  ...rules('new_relic_key', 'NRAK-', '[A-Z0-9]{27}'),
  ...rules('new_relic_key', 'NRII-', '[\\w-]{32}'),
  ...rules('dynatrace_token', 'dt0c01. dt0s01. dt0s16.', '[A-Z2-7]{24}\\.[A-Z2-7]{64}'),
  ...rules('posthog_key', 'phx_', '[A-Za-z0-9]{40,50}'),
  // Services for language models.
  ...rules('anthropic_key', 'sk-ant-', '[a-z]{3,5}\\d{2}-[\\w-]{80,120}'),
  ...rules('openrouter_key', 'sk-or-v1-', '[0-9a-f]{64}'),
  ...rules('openai_key', 'sk-proj- sk-svcacct- sk-admin- sk-None-', '[\\w-]{40,200}'),
  ...rules('openai_key', 'T3BlbkFJ', '[A-Za-z0-9]{20}', { lead: 'sk-[A-Za-z0-9]{20}' }),
  ...rules('ai_provider_key', 'sk-', '[A-Za-z0-9]{32,64}'),
  ...rules('hugging_face_token', 'hf_ api_org_', '[A-Za-z]{34}'),
  ...rules('groq_key', 'gsk_', '[A-Za-z0-9]{52}'),
  ...rules('xai_key', 'xai-', '[A-Za-z0-9]{80}'),
  ...rules('perplexity_key', 'pplx-', '[A-Za-z0-9]{48}'),
  ...rules('replicate_token', 'r8_', '[A-Za-z0-9]{37}'),
  ...rules('pinecone_key', 'pcsk_', '[A-Za-z0-9]{5,6}_[A-Za-z0-9]{63}'),
  ...rules('langsmith_key', 'lsv2_pt_ lsv2_sk_', '[0-9a-f]{32}_[0-9a-f]{10}'),
  // Payment services.
  ...rules('stripe_key', 'sk_live_ rk_live_ sk_test_ rk_test_', '[A-Za-z0-9]{24,250}'),
  ...rules('square_token', 'sq0atp-', '[\\w-]{22}'),
  ...rules('square_token', 'sq0csp-', '[\\w-]{43}'),
  ...rules('square_token', 'EAAA', '[\\w-]{60}'),
  ...rules(
    'braintree_token',
    'access_token$',
    '(?:production|sandbox)\\$[0-9a-z]{16}\\$[0-9a-f]{32}',
  ),
  ...rules('plaid_token', 'access-production- access-development- access-sandbox-', UUID),
  ...rules('flutterwave_key', 'FLWSECK- FLWSECK_TEST-', '[0-9a-f]{32}-X'),
  ...rules('shippo_token', 'shippo_live_ shippo_test_', '[0-9a-f]{40}'),
  ...rules('easypost_key', 'EZAK EZTK', '[A-Za-z0-9]{54}'),
  ...rules('duffel_token', 'duffel_live_ duffel_test_', '[\\w-]{43}'),
  ...rules('shopify_token', 'shpat_ shpca_ shppa_ shpss_', '[0-9A-Fa-f]{32}'),
  // Mail and messaging services.
  ...rules('sendgrid_key', 'SG.', '[\\w-]{22}\\.[\\w-]{43}'),
  ...rules('mailgun_key', 'key-', '[0-9a-z]{32}', { isValid: hasLettersAndDigits }),
  ...rules('mailchimp_key', '-us', '\\d{1,2}', { lead: '[0-9a-f]{32}' }),
  ...rules('brevo_key', 'xkeysib- xsmtpsib-', '[0-9a-f]{64}-[A-Za-z0-9]{16}'),
  ...rules('resend_key', 're_', '[A-Za-z0-9]{8}_[A-Za-z0-9]{24}'),
  ...rules('twilio_key', 'SK', '[0-9a-f]{32}'),
  ...rules('slack_token', 'xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe.', '[A-Za-z0-9.-]{24,300}'),
  ...rules('slack_app_token', 'xapp-', '\\d-[A-Z0-9]{8,20}-\\d{8,20}-[0-9a-f]{32,128}'),
  ...rules(
    'slack_webhook',
    'hooks.slack.com/',
    '(?:services|workflows)/T[A-Z0-9]{7,}/[AB][A-Z0-9]{7,}/(?:\\d+/)?[A-Za-z0-9]{20,40}',
  ),
  ...rules(
    'discord_webhook',
    'discord.com/api/webhooks/ discordapp.com/api/webhooks/',
    '\\d{17,20}/[\\w-]{60,80}',
  ),
  ...rules(
    'teams_webhook',
    '.webhook.office.com/webhookb2/',
    `${UUID}@${UUID}/IncomingWebhook/[0-9a-z]{32}/${UUID}(?:/[\\w-]{20,60})?`,
    { lead: '[a-z0-9-]{1,40}' },
  ),
  ...rules('telegram_bot_token', ':AA', '[\\w-]{33}', { lead: '\\d{8,10}' }),
  // Office tools.
  ...rules('notion_token', 'ntn_', '\\d{11}[A-Za-z0-9]{35}'),
  ...rules('notion_token', 'secret_', '[A-Za-z0-9]{43}'),
  ...rules('linear_key', 'lin_api_ lin_oauth_', '[A-Za-z0-9]{40,64}'),
  ...rules('figma_token', 'figd_', '[\\w-]{40,64}'),
  ...rules('airtable_token', 'pat', '[A-Za-z0-9]{14}\\.[0-9a-f]{64}'),
  ...rules('asana_token', '1/ 2/', '\\d{13,19}(?:/\\d{13,19})?:[0-9a-f]{32}'),
  ...rules('hubspot_token', 'pat-na1- pat-na2- pat-eu1- pat-ap1-', UUID),
  ...rules('typeform_token', 'tfp_', '[\\w.=-]{44,60}'),
  ...rules('contentful_token', 'CFPAT-', '[\\w-]{43}'),
  ...rules('dropbox_token', 'sl.', '(?:u\\.)?[\\w-]{130,1400}'),
  ...rules('intercom_token', 'dG9rO', '[A-Za-z0-9+/_-]{50,60}={0,2}'),
  ...rules('okta_token', 'SSWS', ' 00[\\w-]{40}'),
  ...rules('facebook_token', 'EAA', '[A-Za-z0-9]{100,300}'),
  ...rules('twitter_bearer_token', 'AAAAAAAAAAAAAAAAAAAAA', '[A-Za-z0-9%]{30,120}'),
  ...rules('mapbox_token', 'sk.eyJ', '[\\w-]{30,200}\\.[\\w-]{20,40}'),
  ...rules('yandex_token', 'y0_ y1_ AQVN', '[\\w-]{36,90}'),
  // Tokens of no particular service.
  ...rules('basic_auth', 'Basic', ' [A-Za-z0-9+/]{8,400}={0,2}', { isValid: isBasicPair }),
  ...rules('bearer_token', 'Bearer', ' [\\w.~+/-]{24,2000}=*', { isValid: hasLettersAndDigits }),
]

/** Tokens without a fixed part, recognised by their complete form; these rules take precedence. */
export const UNMARKED_RULES: readonly Omit<TokenRule, 'mark' | 'lead'>[] = [
  {
    kind: 'discord_bot_token',
    rest: /(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])/g,
    isValid: isDiscordToken,
  },
  {
    kind: 'jwt',
    rest: /(?<![\w-])eyJ[\w-]{10,2000}\.eyJ[\w-]{5,8000}\.[\w-]{20,2000}/g,
    isValid: isJwt,
  },
  {
    kind: 'mailgun_key',
    rest: /(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])/g,
    isValid: isReal,
  },
  {
    kind: 'bitcoin_private_key',
    rest: /(?<![A-Za-z0-9])(?:5[1-9A-HJ-NP-Za-km-z]{50}|[KL][1-9A-HJ-NP-Za-km-z]{51})(?![A-Za-z0-9])/g,
    isValid: isBase58CheckValid,
  },
]

function hasLettersAndDigits(token: string): boolean {
  const body = token.slice(token.indexOf(' ') + 1)
  return isReal(body) && /\d/.test(body) && /[A-Za-z]/.test(body)
}
