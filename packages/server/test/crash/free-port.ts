// Ports of the loopback interface that nobody listens on.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Different ports, free a moment ago: all are held until the last is found. */
export async function findFreePorts(count: number): Promise<number[]> {
  const probes = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  const ports: number[] = []
  for (const probe of probes) {
    if (!probe.listening) await once(probe, 'listening')
    ports.push((probe.address() as AddressInfo).port)
  }
  for (const probe of probes) {
    probe.close()
    await once(probe, 'close')
  }
  return ports
}
