/** Smaller buffers are left to the garbage collector. */
const FREED_BYTES_MIN = 1024 * 1024

/** Nothing else may use `bytes`. Views of a part are left to the garbage collector. */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  if (isWhole && byteLength > FREED_BYTES_MIN) buffer.transfer(0)
}
