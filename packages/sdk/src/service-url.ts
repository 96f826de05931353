// The URL and the key of the service, from the options or the environment.

type Environment = Readonly<Record<string, string | undefined>>

/** Browsers and some workers have none. */
function environment(): Environment {
  const { process } = globalThis as { process?: { env?: Environment } }
  return process?.env ?? {}
}

/** Without a slash at the end. Throws an error that says what to do. */
export function serviceUrl(given: string | undefined): string {
  const name = given === undefined ? 'MAILROOM_BASE_URL' : 'baseUrl'
  const text = given ?? environment().MAILROOM_BASE_URL
  if (text === undefined || text.trim() === '') {
    throw new TypeError(
      `${text === undefined ? 'The URL of the service is missing' : `${name} is empty`}. Set the environment variable MAILROOM_BASE_URL or the option baseUrl, for example to http://127.0.0.1:8080.`,
    )
  }
  const shown = JSON.stringify(text)
  if (!/^https?:\/\//i.test(text)) {
    const hint = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
      ? 'Only http and https are possible.'
      : `Did you mean ${isLocal(text) ? 'http' : 'https'}://${text.replace(/^\/+/, '')}?`
    throw new TypeError(`${name} must begin with http:// or https://, but is ${shown}. ${hint}`)
  }
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw new TypeError(`${name} is not a URL: ${shown}.`)
  if (url.username || url.password) {
    throw new TypeError(`${name} must not contain a user name or password. Set apiKey instead.`)
  }
  if (url.search || url.hash) {
    throw new TypeError(`${name} must not contain "?" or "#", but is ${shown}.`)
  }
  return text.replace(/\/+$/, '')
}

function isLocal(text: string): boolean {
  return /^\/*(?:localhost|127\.|\[::1\]|10\.|192\.168\.|[\w-]+(?::|$))/i.test(text)
}

/** Throws an error that says what to do, and never contains the key. */
export function serviceKey(given: string | undefined): string {
  const name = given === undefined ? 'MAILROOM_API_KEY' : 'apiKey'
  const key = given ?? environment().MAILROOM_API_KEY
  if (key === undefined || key.trim() === '') {
    throw new TypeError(
      `${key === undefined ? 'The API key is missing' : `${name} is empty`}. Set the environment variable MAILROOM_API_KEY or the option apiKey.`,
    )
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError(
      `${name} contains a space, a line break or another character that no key has. Check how it was copied.`,
    )
  }
  return key
}
