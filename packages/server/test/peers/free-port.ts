import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that systems assign for port 0 and for outgoing connections, which could take a port between two
 * runs of its service.
 */
const FIRST = 10_240
const COUNT = 22_000
const ATTEMPTS_MAX = 1_000

/**
 * Different TCP ports of the loopback interface that nobody listens on, and that no other call returns while this
 * process lives: each is claimed by a UDP socket of the same number.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let attempt = 0; ports.length < count; attempt++) {
    if (attempt === ATTEMPTS_MAX) throw new Error(`No free port in ${ATTEMPTS_MAX} attempts`)
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if ((await isClaimed(port)) && (await isFree(port))) ports.push(port)
  }
  return ports
}

async function isClaimed(port: number): Promise<boolean> {
  const claim = createSocket('udp4').unref()
  claim.bind({ port, address: '127.0.0.1', exclusive: true })
  try {
    await once(claim, 'listening')
    return true
  } catch {
    claim.close()
    return false
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  probe.listen({ port, host: '127.0.0.1', exclusive: true })
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
