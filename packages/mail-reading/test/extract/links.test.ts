import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textFromHtml } from '@mailroom/mail/html/text.ts'
import { extractFrom } from '#extract/extract.ts'
import type { LinkKind } from '#extract/find-links.ts'

function linksOf(text: string, html = '') {
  return extractFrom({ subject: '', text, html }).links
}
const urlsOf = (text: string, html = '') => linksOf(text, html).map(({ url }) => url)
const link = (url: string, text = 'Here') => `<a href="${url}">${text}</a>`

const BY_URL: readonly [string, LinkKind][] = [
  ['https://a.example/verify?token=abc', 'verify'],
  ['https://a.example/confirm-email/xYz', 'verify'],
  ['https://a.example/account/activate/1', 'verify'],
  ['https://a.example/magic-link?x=1', 'magic'],
  ['https://a.example/login/email?token=abcd1234', 'magic'],
  ['https://a.example/loginwithemail?state=x9', 'magic'],
  ['https://a.example/password/reset/abc', 'reset'],
  ['https://a.example/reset-password?t=1', 'reset'],
  ['https://a.example/forgot_password/x', 'reset'],
  ['https://a.example/unsubscribe?u=1', 'unsubscribe'],
  ['https://a.example/email/opt-out', 'unsubscribe'],
  ['https://a.example/', 'other'],
  ['https://a.example/login', 'other'],
  ['https://help.a.example/articles/how-to-verify-your-email', 'other'],
  ['https://verify.example/news', 'other'],
]
for (const [url, kind] of BY_URL) {
  test(`${url} is for ${kind}`, () => {
    assert.deepEqual(linksOf('', link(url)), [{ url, kind }])
    assert.deepEqual(linksOf(`See ${url}.`), [{ url, kind }])
  })
}

const BY_TEXT: readonly [string, LinkKind][] = [
  ['Verify your email', 'verify'],
  ['E-Mail-Adresse bestätigen', 'verify'],
  ['Confirmer mon adresse', 'verify'],
  ['Подтвердить адрес', 'verify'],
  ['メールアドレスを確認', 'verify'],
  ['验证邮箱', 'verify'],
  ['이메일 인증하기', 'verify'],
  ['تأكيد البريد', 'verify'],
  ['Reset your password', 'reset'],
  ['Passwort zurücksetzen', 'reset'],
  ['Réinitialiser le mot de passe', 'reset'],
  ['Restablecer contraseña', 'reset'],
  ['重置密码', 'reset'],
  ['Sign in', 'magic'],
  ['Jetzt anmelden', 'magic'],
  ['Se connecter', 'magic'],
  ['ログイン', 'magic'],
  ['Unsubscribe', 'unsubscribe'],
  ['Newsletter abbestellen', 'unsubscribe'],
  ['Se désabonner', 'unsubscribe'],
  ['Darse de baja', 'unsubscribe'],
  ['Отписаться', 'unsubscribe'],
  ['配信停止', 'unsubscribe'],
  ['수신거부', 'unsubscribe'],
  ['إلغاء الاشتراك', 'unsubscribe'],
  ['Read more', 'other'],
]
for (const [text, kind] of BY_TEXT) {
  test(`a link that says "${text}" is for ${kind}`, () => {
    const url = 'https://click.a.example/t/8f3kd92mfk2lq9d8fj3k'
    assert.deepEqual(linksOf('', `<p>${link(url, text)}</p>`), [{ url, kind }])
    assert.deepEqual(linksOf(`${text}:\n${url}`), [{ url, kind }])
  })
}

test('a public sign-in page is no magic link', () => {
  assert.deepEqual(linksOf('', link('https://a.example/signin', 'Sign in')), [
    { url: 'https://a.example/signin', kind: 'other' },
  ])
})

test('only http and https are links', () => {
  const hrefs =
    'mailto:a@b.example tel:1 javascript:alert(1) data:text/html,x ftp://a.example #a /a //b.example cid:1 JAVASCRIPT:x'
  const html = hrefs
    .split(' ')
    .map((href) => link(href))
    .join('')
  assert.deepEqual(linksOf(`${hrefs} mailto:x@y.example`, html), [])
})

test('a URL is reported as written, with its parameters', () => {
  const url =
    'https://A.example/Verify/%C3%A9?utm_source=x&utm_medium=mail&t=aB.c_d~e-f%3D&x=1,2#frag'
  assert.deepEqual(urlsOf('', link(url.replaceAll('&', '&amp;'))), [url])
  assert.deepEqual(urlsOf(`<${url}>`), [url])
})

test('links are reported in order, each once, those of the HTML before those found only in the text', () => {
  const html = `${link('https://a.example/1')} ${link('https://b.example/2')} ${link('https://a.example/1')}`
  assert.deepEqual(urlsOf('https://c.example/3 https://b.example/2', html), [
    'https://a.example/1',
    'https://b.example/2',
    'https://c.example/3',
  ])
  assert.equal(urlsOf(textFromHtml(html), html).length, 2)
})

test('invisible characters in a URL appear percent-encoded, as browsers request them', () => {
  const hidden = '\u{e0068}\u{e0069}\u202e\u200b'
  assert.deepEqual(urlsOf('', link(`https://a.example/x${hidden}`)), [
    `https://a.example/x${encodeURIComponent(hidden)}`,
  ])
})

test('the punctuation of a sentence is no part of an address', () => {
  const text =
    'See https://a.example/x, (https://a.example/y), "https://a.example/z". 访问https://a.example/w。请 https://a.example/p_(q)!'
  assert.deepEqual(
    urlsOf(text),
    ['x', 'y', 'z', 'w', 'p_(q)'].map((end) => `https://a.example/${end}`),
  )
})

test('however many links there are, each kind is represented among the fifty', () => {
  const others = Array.from({ length: 200 }, (_, index) => link(`https://a.example/${index}`))
  const last = link('https://a.example/unsubscribe')
  const verify = link('https://a.example/verify?t=1')
  const links = linksOf('', [...others, verify, last].join(' '))
  assert.equal(links.length, 50)
  assert.deepEqual(
    links.slice(-2).map(({ kind }) => kind),
    ['verify', 'unsubscribe'],
  )
  assert.equal(links[0]?.url, 'https://a.example/0')
  const crowd = Array.from({ length: 200 }, (_, index) => link(`https://a.example/unsub/${index}`))
  assert.ok(linksOf('', [...crowd, verify].join(' ')).some(({ kind }) => kind === 'verify'))
})

test('links of quoted history are not links of the message', () => {
  const html = `<p>Ok</p><blockquote type="cite">${link('https://a.example/verify')}</blockquote>`
  assert.deepEqual(linksOf('Ok\n> https://a.example/verify', html), [])
})
