/** Thrown by a guard that cannot examine a message; the text is for the approver who decides. */
export class CannotExamine extends Error {}
