// Counts the connections and message memory of all servers on a port, in memory shared by their
// threads.

import { randomInt } from 'node:crypto'

/**
 * Slots for the addresses of other servers, chosen by a hash with a random seed. Addresses that
 * share a slot share its counts. With a thousand connections, one address in sixteen shares its
 * slot, rarely with an address that has many connections.
 */
const ADDRESS_SLOTS = 16_384
/** The seed of the hash precedes the rows. */
const HEAD = 1
/** Each row starts with the server's connections and octets. */
const TOTALS = 2
const ROW = TOTALS + 2 * ADDRESS_SLOTS

export function makePortCounts(servers: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer((HEAD + servers * ROW) * Int32Array.BYTES_PER_ELEMENT)
  new Int32Array(buffer)[0] = randomInt(2 ** 31)
  return buffer
}

/**
 * The counts of one server. Each server writes only its own row, and limits use the sum of all
 * rows. Two threads that count simultaneously may therefore exceed a limit by one.
 */
export class PortCounts {
  readonly #cells: Int32Array
  readonly #row: number
  /** Connections and octets by address on this server. */
  readonly #own = new Map<string, [connections: number, octets: number]>()

  constructor(buffer: SharedArrayBuffer, server: number) {
    this.#cells = new Int32Array(buffer)
    this.#row = HEAD + server * ROW
  }

  get connections(): number {
    return this.#sum(0)
  }

  connectionsOf(address: string): number {
    return this.#sumOf(address, 0)
  }

  get heldBytes(): number {
    return this.#sum(1)
  }

  heldBytesOf(address: string): number {
    return this.#sumOf(address, 1)
  }

  countConnection(address: string, by: 1 | -1): void {
    this.#add(0, by)
    this.#addOf(address, 0, by)
  }

  hold(address: string, growthBytes: number): void {
    this.#add(1, growthBytes)
    this.#addOf(address, 1, growthBytes)
  }

  /** Clears the row of a server that ended without closing its connections. */
  clear(): void {
    this.#cells.fill(0, this.#row, this.#row + ROW)
  }

  #sum(cell: number): number {
    let sum = 0
    for (let at = HEAD + cell; at < this.#cells.length; at += ROW) sum += this.#cells[at] ?? 0
    return sum
  }

  /** The count is exact for this server and by slot for other servers. */
  #sumOf(address: string, kind: 0 | 1): number {
    const cell = this.#slot(address) + kind * ADDRESS_SLOTS
    const inSlot = this.#cells[this.#row + cell] ?? 0
    return this.#sum(cell) - inSlot + (this.#own.get(address)?.[kind] ?? 0)
  }

  #addOf(address: string, kind: 0 | 1, by: number): void {
    this.#add(this.#slot(address) + kind * ADDRESS_SLOTS, by)
    const own = this.#own.get(address) ?? [0, 0]
    own[kind] += by
    if (own[0] === 0 && own[1] === 0) this.#own.delete(address)
    else this.#own.set(address, own)
  }

  #add(cell: number, by: number): void {
    Atomics.add(this.#cells, this.#row + cell, by)
  }

  /** Hashes with FNV-1a. */
  #slot(address: string): number {
    let hash = this.#cells[0] ?? 0
    for (let at = 0; at < address.length; at += 1) {
      hash = Math.imul(hash ^ address.charCodeAt(at), 0x01000193)
    }
    return TOTALS + ((hash ^ (hash >>> 15)) & (ADDRESS_SLOTS - 1))
  }
}
