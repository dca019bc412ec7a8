// The `sh` blocks of documents and of the READMEs of programs.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolders, root } from '../install.mjs'

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'infra/README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...packageFolders().map((folder) => `${folder}/README.md`),
]

/**
 * Each block, with the reason of a preceding `<!-- not run: … -->`, if any.
 * @returns {{ document: string, text: string, notRun?: string }[]}
 */
export function snippets() {
  return documents.flatMap((document) => {
    const blocks = textOf(document).matchAll(/(?:<!-- not run: ([^>]*?) -->\s*)?^( *)```sh\n([\s\S]*?)^ *```$/gm)
    return [...blocks].map(([, notRun, indent, text]) => ({
      document,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      ...(notRun && { notRun }),
    }))
  })
}

/** The code block that begins with the file's name. */
export function fileIn(text, name) {
  const blocks = [...text.matchAll(/```(?:[jt]s|json)\n\/\/ (\S+)\n([\s\S]*?)```/g)]
  return blocks.find(([, file]) => file === name)[2]
}

export function textOf(document) {
  try {
    return readFileSync(join(root, document), 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return ''
  }
}
