/** The generated files, each with its text as the formatters have it. */
export const files: Record<'typescript' | 'rust', { path: string; text(): string }>
