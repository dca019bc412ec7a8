/** The generated files, each with its text in the formatter's style. */
export const files: Record<'typescript' | 'rust', { path: string; text(): string }>
