// RFC 5321 §4.5.2 in a naive form, as text operations over the whole: the right result of DATA, and that of
// smtp-server. Both take everything after the line DATA as latin1 text.

export type DataModel = {
  /** Octets up to and including the end mark, or null when it is missing. */
  length: number | null
  /** Between DATA and the final dot, as sent. */
  raw: string
  content: string
  hasBareCarriageReturn: boolean
  bareLineFeeds: number
}

export function modelData(sent: string): DataModel {
  const framed = `\r\n${sent}`
  const at = framed.indexOf('\r\n.\r\n')
  const raw = at === -1 ? sent : sent.slice(0, at)
  const unstuffed = `\r\n${raw}`.replace(/\r\n\./g, '\r\n').slice(2)
  return {
    length: at === -1 ? null : at + 3,
    raw,
    content: unstuffed.replace(/(?<!\r)\n/g, '\r\n'),
    hasBareCarriageReturn: /\r(?!\n)/.test(raw),
    bareLineFeeds: unstuffed.match(/(?<!\r)\n/g)?.length ?? 0,
  }
}

/** The differences of smtp-server's content from the model, each with its reason. */
export const DATA_DIFFERENCES = {
  'a bare LF is stored as CRLF by us, kept by smtp-server': (raw: string) => /(?<!\r)\n/.test(raw),
  'a message with a bare CR is refused by us, kept by smtp-server': (raw: string) =>
    /\r(?!\n)/.test(raw),
  'a lone leading dot is removed by us as §4.5.2 says, kept by smtp-server': (raw: string) =>
    /(?:^|\r\n)\.(?!\.)/.test(raw),
  'a dot pair after a bare LF is content for us, unstuffed by smtp-server': (raw: string) =>
    /(?<!\r)\n\.\./.test(raw),
}

/** The content that smtp-server hands over for `raw`: only pairs lose a dot, after any LF but one at offset 0. */
export function modelSmtpServer(raw: string): string {
  return raw.replace(/(^|\n)\.(?=\.)/g, (pair, start: string, offset: number) =>
    start === '\n' && offset === 0 ? pair : start,
  )
}
