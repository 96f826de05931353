// A failure whose message tells an operator everything; it needs no stack.

export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}
