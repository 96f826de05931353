/** Smaller ones are left to the garbage collector. */
const FREED_BYTES_MIN = 1024 * 1024

/**
 * Frees the memory of large `bytes` at once; the garbage collector would free it only after several of them. Views of a
 * part are left to it. Only for memory that nothing else uses, in the background either. A second call does nothing.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  if (isWhole && byteLength > FREED_BYTES_MIN) buffer.transfer(0)
}
