// Memory of large octets, given back when its owner knows that it is over.

export const JSON_BODY_BYTES_MAX = 1024 * 1024

/**
 * Frees the memory behind large `bytes` at once, where the garbage collector would come when several
 * of them have piled up; small ones, and views of a part, are left to it. Only for memory that is the
 * caller's alone: nothing that works in the background may use it any more. Called twice it is once.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  if (isWhole && byteLength > JSON_BODY_BYTES_MAX) buffer.transfer(0)
}
