/** Invalid typed or pasted input. Names the field in words and identifies its input. */
export class DraftError extends Error {
  /**
   * @param label the field in words: `Call 1, value`
   * @param reason what is wrong with it
   * @param field its input, such as `blocks.0.calls.0.value`; absent if the form has no input for it
   */
  constructor(
    label: string,
    readonly reason: string,
    readonly field?: string,
  ) {
    super(`${label}: ${reason}`)
  }
}

/** A field being read: its label and its input. */
export class FieldLabel {
  constructor(
    readonly label: string,
    readonly field: string,
  ) {}

  /** A field inside this one. */
  at(label: string, field: string): FieldLabel {
    return new FieldLabel(this.label === '' ? label : `${this.label}, ${label}`, `${this.field}.${field}`)
  }

  error(reason: string): DraftError {
    return new DraftError(this.label, reason, this.field)
  }
}
