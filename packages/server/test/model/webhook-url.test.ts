import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkWebhookUrl, WEBHOOK_URL_LENGTH_MAX } from '#webhooks/model.ts'

const check = (url: string) => checkWebhookUrl(url, { allowPrivate: false })
const checkPrivate = (url: string) => checkWebhookUrl(url, { allowPrivate: true })

const GOOD = [
  ...['https://example.com', 'https://example.com/', 'https://EXAMPLE.com/mail?a=b&c=%20#d'],
  ...[
    'https://example.com:443/',
    'https://example.com:80/',
    'https://example.com:/',
    'HTTPS://a.b/',
  ],
  ...['https://8.8.8.8/', 'https://[2606:4700:4700::1111]/', 'https://xn--bcher-kva.example/'],
  ...[
    'https://bücher.example/',
    'https://example.com./',
    'https://example.com/a@b',
    'https://1e100.net',
  ],
  ...['https://example.com?user@host', 'https://localhost.example.com/', 'https://notlocalhost/'],
  ...['https://example.com/日本', "https://example.com/'", 'https://under_score.example/'],
]

/** Addresses of the machine and its neighbours, in spellings that URL parsers accept. */
const SPECIAL_HOSTS = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.0.0.1.', '127.255.255.254', '0x7f.1', '0x7f000001'],
  ...[
    '0x7F.0x0.0x0.0x1',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '0177.0.0.01',
    '0',
    '0.0.0.0',
  ],
  ...[
    '0x0',
    '00',
    '１２７.０.０.１',
    '127。0。0。1',
    '①②⑦.⓪.⓪.①',
    '%31%32%37.0.0.1',
    '127%2E0.0.1',
  ],
  ...[
    '10.0.0.1',
    '10.1',
    '0xa000001',
    '172.16.0.1',
    '192.168.1.1',
    '3232235777',
    '169.254.169.254',
  ],
  ...['2852039166', '0xA9FEA9FE', '100.64.0.1', '100.127.255.255', '198.18.0.1', '192.0.2.1'],
  ...[
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '4294967295',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
  ],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::FFFF:169.254.169.254]', '[::127.0.0.1]'],
  ...['[::ffff:0:127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::1]'],
  ...[
    '[2002:7f00:1::]',
    '[2002:a00:1::1]',
    '[fe80::1]',
    '[fe80::1%25eth0]',
    '[fc00::1]',
    '[fd12::1]',
  ],
  ...['[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[2001::1]', '[100::1]', '[3fff::1]'],
]

const OWN_NAMES = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.b.LocalHost.', 'ⓛocalhost'],
  ...['%6cocalhost', 'localhost%2e', 'ｌｏｃａｌｈｏｓｔ', 'lo\u00adcalhost'],
]

const MALFORMED = [
  ...[
    '',
    ' ',
    'example.com',
    '/mail',
    '//example.com/',
    'https:',
    'https://',
    'https:///',
    'https:/a.b/',
  ],
  ...['https:example.com', 'http:127.0.0.1', 'http:\\\\127.0.0.1\\', 'https:\\\\example.com\\'],
  ...['https://example.com\\@127.0.0.1/', 'https://exa mple.com/', ' https://example.com/'],
  ...[
    'https://example.com/ ',
    'https://exam\tple.com/',
    'https://example.com/\r\nX: y',
    'https://a\0b/',
  ],
  ...[
    'https://example.com/\u200b',
    'https://example.com/\u00a0',
    'https://exam<ple.com/',
    'https://a|b/',
  ],
  ...['https://[::1/', 'https://[1.2.3.4]/', 'https://256.256.256.256/', 'https://1.2.3.4.5/'],
  ...[
    'https://example.com:99999/',
    'https://example.com:a/',
    'https://example.com:0/',
    'https://../',
  ],
  ...['https://user@example.com/', 'https://user:secret@example.com/', 'https://@example.com/'],
  ...[
    'https://:@example.com/',
    'https://example.com:80@127.0.0.1/',
    'https://a%2fb/',
    'https://a@b@c/',
  ],
  ...['file:///etc/passwd', 'gopher://example.com/', 'ftp://example.com/', 'ws://example.com/'],
  ...[
    'javascript:alert(1)',
    'data:text/plain,x',
    'blob:https://example.com/1',
    'mailto:a@b.example',
  ],
]

const OTHER_PORTS = [22, 25, 587, 2525, 6379, 8080, 8443, 65535]

test('a webhook may have a URL of a public host', () => {
  for (const url of GOOD) {
    assert.equal(check(url), null, url)
    assert.equal(checkPrivate(url), null, url)
  }
})

test('every spelling of a special address is refused while private egress is blocked', () => {
  assert.ok(SPECIAL_HOSTS.length >= 45, `${SPECIAL_HOSTS.length} forms`)
  for (const host of [...SPECIAL_HOSTS, ...OWN_NAMES]) {
    for (const url of [`https://${host}/`, `https://${host}`, `https://${host}:443/a?b#c`]) {
      assert.equal(typeof check(url), 'string', url)
    }
  }
  assert.match(check('https://2130706433/') ?? '', /public Internet/)
  assert.match(check('https://localhost./') ?? '', /public Internet/)
})

test('anything but an absolute HTTPS URL is refused, whatever is allowed', () => {
  for (const url of MALFORMED) {
    assert.equal(typeof check(url), 'string', url)
    assert.equal(typeof checkPrivate(url), 'string', url)
  }
})

test('plain HTTP and other ports are for operators who allow private addresses', () => {
  assert.match(check('http://example.com/') ?? '', /https/)
  assert.equal(checkPrivate('http://example.com/'), null)
  for (const port of OTHER_PORTS) {
    assert.match(check(`https://example.com:${port}/`) ?? '', /port/)
    assert.equal(checkPrivate(`http://receiver:${port}/mail`), null)
  }
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '192.168.1.1', 'a.localhost', '127.1']) {
    assert.equal(checkPrivate(`http://${host}:8080/`), null, host)
  }
})

test('a URL has a maximum length, and none makes the check throw', () => {
  const longest = 'https://example.com/'.padEnd(WEBHOOK_URL_LENGTH_MAX, 'x')
  assert.equal(check(longest), null)
  assert.match(check(`${longest}x`) ?? '', /2000/)
  // Like all lengths of the API, that of a URL is in code points.
  const ofPairs = 'https://example.com/'.padEnd(2 * WEBHOOK_URL_LENGTH_MAX - 20, '😀')
  assert.equal([...ofPairs].length, WEBHOOK_URL_LENGTH_MAX)
  assert.equal(check(ofPairs), null)
  assert.match(check(`${ofPairs}x`) ?? '', /2000/)
  for (let code = 0; code < 0x3000; code += 1) {
    for (const allowPrivate of [false, true]) {
      checkWebhookUrl(`https://a${String.fromCharCode(code)}b.example/`, { allowPrivate })
      checkWebhookUrl(`https${String.fromCharCode(code)}://b.example/`, { allowPrivate })
    }
  }
})
