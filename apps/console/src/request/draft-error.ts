/** What was typed and can't be sent: names the field. */
export class DraftError extends Error {}
