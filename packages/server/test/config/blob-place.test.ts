import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeMistake, readSettings } from '#config/read-settings.ts'

const KEYS = { AWS_ACCESS_KEY_ID: 'an-id', AWS_SECRET_ACCESS_KEY: 'a/secret+of=mine' }

function placeOf(url: string, env: Record<string, string> = KEYS) {
  const reading = readSettings({ MAILROOM_BLOB_URL: url, ...env })
  if (reading.kind === 'mistakes') return reading.mistakes.map(describeMistake).join('\n')
  return reading.settings.blobStore
}

test('a bucket is at AWS in its default region unless the URL says otherwise', () => {
  assert.deepEqual(placeOf('s3://mail'), {
    kind: 's3',
    endpoint: 'https://s3.us-east-1.amazonaws.com',
    region: 'us-east-1',
    bucket: 'mail',
    prefix: '',
    accessKeyId: 'an-id',
    secretAccessKey: 'a/secret+of=mine',
  })
  const frankfurt = placeOf('s3://mail/?region=eu-central-1')
  assert.equal(
    typeof frankfurt === 'string' ? frankfurt : frankfurt.endpoint,
    'https://s3.eu-central-1.amazonaws.com',
  )
})

test('endpoint, region, prefix and access key are read from the URL', () => {
  const url =
    's3://other-id:a%2Fsecret%2B@my.bucket-1/large/Of_mail.1/?endpoint=http%3A%2F%2F10.0.0.7:9000%2Fs3%2F&region=garage'
  assert.deepEqual(placeOf(url), {
    kind: 's3',
    endpoint: 'http://10.0.0.7:9000/s3',
    region: 'garage',
    bucket: 'my.bucket-1',
    prefix: 'large/Of_mail.1',
    accessKeyId: 'other-id',
    secretAccessKey: 'a/secret+',
  })
  const plain = placeOf('s3://mail?endpoint=https://s3.example:9000&region=x')
  assert.equal(typeof plain === 'string' ? plain : plain.endpoint, 'https://s3.example:9000')
})

test('a bucket without a whole access key is refused, by the names of the settings', () => {
  const halves: Record<string, string>[] = [
    {},
    { AWS_ACCESS_KEY_ID: 'an-id' },
    { ...KEYS, AWS_SECRET_ACCESS_KEY: ' ' },
  ]
  for (const env of halves) {
    assert.match(String(placeOf('s3://mail', env)), /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/)
  }
  // Half a key in the URL is neither completed by half of another key nor replaced by it.
  for (const url of ['s3://only-an-id@mail', 's3://:secret@mail', 's3://an%0Aid:secret@mail']) {
    assert.match(String(placeOf(url)), /AWS_SECRET_ACCESS_KEY/, url)
  }
})

test('a value that is no bucket is refused, and never shown', () => {
  const wrong = [
    's3://',
    's3://a',
    's3://Mail',
    's3://mail:9000',
    's3://mail/a//b',
    's3://mail/../b',
    's3://mail/a b',
    "s3://mail/it's",
    's3://mail/%2e%2e/b',
    's3://mail#part',
    's3://mail?region=',
    's3://mail?region=a/b',
    's3://mail?endpoint=ftp://host',
    's3://mail?endpoint=https://user:pass@host',
    's3://mail?endpoint=https://host/?a=b',
    's3://mail?endpiont=https://host',
    's3:mail',
    'https://host/mail',
    's3://id:%zz@mail',
    'disc',
  ]
  for (const url of wrong) {
    const told = placeOf(url)
    assert.match(String(told), /^MAILROOM_BLOB_URL: expected disk, database or s3:/, url)
    assert.ok(!String(told).includes(`(given`), url)
  }
})
