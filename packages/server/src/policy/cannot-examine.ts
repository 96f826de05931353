/** Thrown by a guard that cannot examine a message. The approver sees the text. */
export class CannotExamine extends Error {}
