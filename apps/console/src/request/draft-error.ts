/** What was typed or pasted and can't be sent: names the field in words, and says which input it is. */
export class DraftError extends Error {
  /**
   * @param label the field in words: `Call 1, value`
   * @param reason what is wrong with it
   * @param field its input, as `blocks.0.calls.0.value`; absent where the form has none for it
   */
  constructor(
    label: string,
    readonly reason: string,
    readonly field?: string,
  ) {
    super(`${label}: ${reason}`)
  }
}

/** A field while it is read: what it is called, and which input it is. */
export class FieldLabel {
  constructor(
    readonly label: string,
    readonly field: string,
  ) {}

  /** A field of what is here. */
  at(label: string, field: string): FieldLabel {
    return new FieldLabel(this.label === '' ? label : `${this.label}, ${label}`, `${this.field}.${field}`)
  }

  error(reason: string): DraftError {
    return new DraftError(this.label, reason, this.field)
  }
}
