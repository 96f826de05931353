/**
 * Thrown by a guard that cannot examine a message, with a sentence for the approver who decides
 * instead.
 */
export class CannotExamine extends Error {}
