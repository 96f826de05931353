/** Why a guard cannot examine a message, as a sentence for the person who decides instead. */
export class CannotExamine extends Error {}
