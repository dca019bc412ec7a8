import { readdirSync, readFileSync } from 'node:fs'

const at = (path: string) => new URL(path, import.meta.url)
const rust = readdirSync(at('../crates/bindings/src'))
  .filter((name) => name.endsWith('.rs') && name !== 'records.rs')
  .map((name) => readFileSync(at(`../crates/bindings/src/${name}`), 'utf8'))
  .join('\n')
const types = readFileSync(at('../index.d.cts'), 'utf8')

const words = (text: string) =>
  text
    .replaceAll(/^\s*(\/\/\/|\/?\*\*?\/?)|\*\/\s*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
const camel = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
const parameters = (text: string) =>
  [...text.replaceAll(/#\[[^\]]*\]/g, '').matchAll(/(\w+)\s*:/g)].map(([, name]) => camel(name!))

/** Each method with its docstring and parameters. */
function ofRust(): string[] {
  const methods = /((?: *\/\/\/.*\n)*) *#\[napi\([^\n]*catch_unwind\)\]\n *pub fn (\w+)\(([\s\S]*?)\)(?: ->| \{)/g
  return [...rust.matchAll(methods)].map(([, docs = '', name = '', given = '']) =>
    [name === 'new' ? 'constructor' : camel(name), ...parameters(given), words(docs)].join('|'),
  )
}

function ofTypes(): string[] {
  const body = types.slice(types.indexOf('class NativeEngine'), types.indexOf('\n}\n') + 1)
  const methods = /((?: *\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?) {2}(\w+)\(([^\n]*?)\)(?:: [^\n]*)?\n/g
  return [...body.matchAll(methods)].map(([, docs = '', name = '', given = '']) =>
    [name, ...parameters(given), words(docs)].join('|'),
  )
}

it('index.d.cts has the methods and docs of the crate (else run `npm run types`)', () => {
  expect(ofRust().length).toBeGreaterThan(10)
  expect(ofTypes()).toEqual(ofRust())
})
