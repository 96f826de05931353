// The time of this machine against clocks elsewhere: that of the database's server, and of a time
// server where the operator names one (SNTP, RFC 4330 §5). Without either nothing can be told.

import { createSocket } from 'node:dgram'
import { systemClock } from '#platform/clock.ts'
import { type Aim, advice, bad, type Finding, good, unknown } from './finding.ts'

/** Receivers refuse signatures from the future, and webhooks' are good for five minutes. */
const OFF_MS_MAX = 60_000
const OFF_MS_ADVISED = 5_000
const NTP_PORT = 123
const NTP_PACKET_BYTES = 48
const CLIENT_VERSION_4 = 0x23
const TRANSMIT_OFFSET = 40
/** From 1900, where NTP counts from, to 1970. */
const NTP_EPOCH_SECONDS = 2_208_988_800

/** `aheadMs`: how far the other clock is ahead of this machine's. */
export function judgeClock(which: string, aheadMs: number): Finding {
  const aim: Aim = { check: 'clock', expected: `within ${OFF_MS_ADVISED / 1_000} s of ${which}` }
  const off = (Math.abs(aheadMs) / 1_000).toFixed(1)
  const found = `${off} s ${aheadMs > 0 ? 'behind' : 'ahead of'} ${which}`
  const fix = 'Synchronise both clocks with a time server, for example with chrony or timesyncd.'
  if (Math.abs(aheadMs) > OFF_MS_MAX) return bad(aim, found, fix)
  return Math.abs(aheadMs) > OFF_MS_ADVISED ? advice(aim, found, fix) : good(aim, found)
}

/** When nobody was asked. */
export function clockUnasked(): Finding {
  return unknown(
    { check: 'clock', expected: 'the correct time' },
    'no clock to compare with',
    'Run this with --ntp <server>, such as --ntp pool.ntp.org.',
  )
}

/** Asks `server`, a host with or without a port, once. Ends with `signal`, and then rejects. */
export async function checkTimeServer(server: string, signal: AbortSignal): Promise<Finding> {
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(server) ?? []
  const question = Buffer.alloc(NTP_PACKET_BYTES)
  question[0] = CLIENT_VERSION_4
  const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4', signal })
  const sentMs = systemClock.now()
  const answer = new Promise<Buffer>((resolve, reject) => {
    socket.on('message', resolve)
    socket.on('error', reject)
    socket.send(question, port === undefined ? NTP_PORT : Number(port), host, (error) => {
      if (error !== null) reject(error)
    })
  })
  const packet = await answer
  const middleMs = (sentMs + systemClock.now()) / 2
  const timeMs = readTransmitTime(packet)
  if (timeMs === null) {
    const aim: Aim = { check: 'clock', expected: `the time of ${server}` }
    return unknown(aim, 'it answered without a time', 'Name another time server.')
  }
  return judgeClock(`the time server ${server}`, Math.round(timeMs - middleMs))
}

/** Null for what is no answer, or one of a server that does not know the time itself (stratum 0). */
function readTransmitTime(packet: Buffer): number | null {
  const mode = (packet[0] ?? 0) & 0b111
  const stratum = packet[1] ?? 0
  if (packet.length < NTP_PACKET_BYTES || mode !== 4 || stratum === 0) return null
  const seconds = packet.readUInt32BE(TRANSMIT_OFFSET) - NTP_EPOCH_SECONDS
  const fraction = packet.readUInt32BE(TRANSMIT_OFFSET + 4) / 2 ** 32
  return (seconds + fraction) * 1_000
}
