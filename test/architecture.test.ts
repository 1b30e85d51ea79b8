// The house rules that a compiler does not know: which way imports run, and what a folder may hold.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { environment, nodeFlags } from '../bin/launch.js'
import { consoleActions } from '../src/execution/console-actions.ts'
import { isWrite } from '../src/operation/operation.ts'
import { operations } from '../src/operations.ts'
import { mutants, readMutated } from './mutants.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
const nouns = [
  'accounts',
  'activities',
  'idempotency',
  'installation',
  'invitations',
  'keys',
  'members',
  'organizations',
  'pipes',
  'private-endpoints',
  'progress',
  'prometheus',
  'services',
  'sessions',
]

/** What each folder may import; itself is always allowed. */
const allowed: Record<string, string[]> = {
  lib: [],
  database: ['lib'],
  operation: ['lib', 'database (types)', 'engine (types)', 'sources (types)'],
  http: ['lib', 'operation', 'database (types)'],
  execution: ['lib', 'database', 'operation', 'sources (types)', 'engine (types)', 'operations.ts', ...nouns],
  startup: ['lib', 'database', 'execution', 'http', 'operation', 'runner', 'config.ts', ...nouns],
  ...Object.fromEntries(nouns.map((noun) => [noun, ['lib', 'database', 'operation', 'sources (types)', ...nouns]])),
  services: ['lib', 'database', 'operation', 'engine', ...nouns],
  // The types of ClickHouse are part of what a pipe is described with.
  pipes: [
    'lib',
    'database',
    'operation',
    'sources (types)',
    'engine/type-grammar.ts',
    'engine/grammar-tokens.ts',
    ...nouns,
  ],
  progress: ['lib', 'database', 'operation', 'sources (types)', 'runner (types)', 'engine (types)', ...nouns],
  engine: ['lib'],
  'embedded-engine': ['lib', 'engine'],
  'embedded-postgres': ['lib'],
  runner: ['lib', 'database', 'engine', 'formats', 'sources', 'pipes', 'progress', 'services'],
  sources: ['lib', 'formats', 'pipes (types)'],
  // Still to be taken apart: what is encoded and what it is read from know each other's types.
  formats: ['lib', 'sources', 'engine (types)', 'pipes', 'runner/rows.ts', 'runner/delivery.ts'],
  client: [],
  doctor: ['lib', 'database', 'engine', 'config.ts', 'startup/open-egress.ts', ...nouns],
  cli: [
    'lib',
    'activities',
    'doctor',
    'embedded-engine',
    'embedded-postgres',
    'installation',
    'sessions',
    'client',
    'operation',
    'operations.ts',
    'app.ts',
    'startup/open-database.ts',
    'config.ts',
  ],
}

function importsOf(file: string): { path: string; isType: boolean; isLazy: boolean }[] {
  const text = readFileSync(join(root, file), 'utf8')
  // Without a quote in between: a match that went on into the next statement would take its type for the first one's.
  const found = text.matchAll(/^(?:import|export)\s(type\s)?[^'"`;]*?from\s'([^']+)'|import\('([^']+)'\)/gm)
  return [...found]
    .map((match) => ({
      from: match[2] ?? match[3]!,
      isType: match[1] !== undefined,
      isLazy: match[2] === undefined,
    }))
    .filter(({ from }) => from.startsWith('.'))
    .map(({ from, ...how }) => ({ path: normalize(join(dirname(file), from)), ...how }))
}

/** With what they load in turn, and later, when they need it. */
function loadedBy(...entries: string[]): string[] {
  return reached(entries, ({ isType }) => !isType)
}

function loadedAtOnceBy(...entries: string[]): string[] {
  return reached(entries, ({ isType, isLazy }) => !isType && !isLazy)
}

function reached(entries: string[], counts: (one: ReturnType<typeof importsOf>[number]) => boolean): string[] {
  const found = new Set(entries)
  // A set that grows is walked to its end.
  for (const file of found) for (const one of importsOf(file)) if (counts(one)) found.add(one.path)
  return [...found]
}

const folderOf = (file: string): string => file.split('/')[1]!

describe('architecture', () => {
  it('imports run one way', () => {
    const wrong: string[] = []
    for (const file of files) {
      const folder = folderOf(file)
      const rules = allowed[folder]
      if (!rules) continue
      for (const { path, isType } of importsOf(file)) {
        const target = folderOf(path)
        const may =
          target === folder ||
          rules.includes(target) ||
          rules.includes(path.replace(/^src\//, '')) ||
          (isType && rules.includes(`${target} (types)`))
        if (!may) wrong.push(`${file} imports ${path}`)
      }
    }
    assert.deepEqual(wrong, [])
  })

  it('the client needs nothing but fetch', () => {
    const inClient = files.filter((file) => folderOf(file) === 'client')
    assert.ok(inClient.includes('src/client/client.ts'))
    for (const file of inClient) {
      assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /from '[^.]|\bimport\(|\b(?:process|Buffer)\./, file)
    }
  })

  it('the columns of a list stay the same object: other ones render each of its rows again', () => {
    const pages = globSync('console/**/*.tsx', { cwd: root })
    const lists = pages.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const shown = text.matchAll(/<ListTable\b[\s\S]*?\bcolumns=\{(\w*)/g)
      return [...shown].map(([, name = '']) => ({ file, text, name }))
    })
    assert.ok(lists.length > 8)
    const remade = lists.filter(
      ({ text, name }) =>
        name === '' || !(text.includes(`const ${name} = useMemo(`) || new RegExp(`^const ${name}\\b`, 'm').test(text)),
    )
    assert.deepEqual(
      remade.map(({ file }) => file),
      [],
    )
  })

  it('the console knows the client of the API, and nothing else of the server', () => {
    const pages = globSync('console/**/*.{ts,tsx}', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
    assert.ok(pages.includes('console/main.tsx'))
    const foreign = pages.flatMap((file) =>
      importsOf(file)
        .filter(({ path }) => !path.startsWith('console/') && !path.startsWith('src/client/'))
        .map(({ path }) => `${file} imports ${path}`),
    )
    assert.deepEqual(foreign, [])
    const inlined = pages.filter((file) => readFileSync(join(root, file), 'utf8').includes('dangerouslySetInnerHTML'))
    assert.deepEqual(inlined, [])
  })

  it('the server and the commands that call it load nothing of each other: one stays small, the other starts at once', () => {
    const server = loadedBy('src/cli/start.ts', 'src/execution/writer.ts')
    const commands = loadedBy('src/cli/call.ts', 'src/cli/login.ts')
    assert.ok(server.includes('src/app.ts') && commands.includes('src/client/transport.ts'))
    assert.deepEqual(
      server.filter((file) => /^src\/client\/|^src\/cli\/(?:call|login|credentials)/.test(file)),
      [],
    )
    assert.deepEqual(
      commands.filter((file) => /^src\/(?:app|execution\/writer|http\/server)\.ts$/.test(file)),
      [],
    )
  })

  it('an idle server loads nothing of what runs pipes', () => {
    const loaded = loadedAtOnceBy('src/cli/start.ts', 'src/execution/writer.ts')
    assert.ok(loaded.includes('src/app.ts') && loaded.includes('src/startup/lazy-runner.ts'))
    // Requests are checked against the types of ClickHouse.
    const typeGrammar = loadedAtOnceBy('src/engine/type-grammar.ts')
    assert.deepEqual(
      loaded.filter(
        (file) => ['runner', 'sources', 'formats', 'engine'].includes(folderOf(file)) && !typeGrammar.includes(file),
      ),
      [],
    )
    assert.deepEqual(typeGrammar.toSorted(), [
      'src/engine/grammar-tokens.ts',
      'src/engine/names.ts',
      'src/engine/type-grammar.ts',
    ])
  })

  it('a pipe loads the client of its own cloud, and of no other', () => {
    const loaded = loadedAtOnceBy('src/sources/object-storage/object-storage.ts')
    assert.ok(loaded.includes('src/sources/object-storage/open-location.ts'))
    const ofClouds = /^(?!import type)[^']*from '@(?:aws-sdk|azure)\//m
    assert.match(readFileSync(join(root, 'src/sources/object-storage/s3-store.ts'), 'utf8'), ofClouds)
    assert.deepEqual(
      loaded.filter((file) => ofClouds.test(readFileSync(join(root, file), 'utf8'))),
      [],
    )
  })

  it('only config.ts reads the environment', () => {
    const readers = files.filter((file) => /process\.env\b/.test(readFileSync(join(root, file), 'utf8')))
    assert.deepEqual(
      readers.filter((file) => !file.startsWith('src/cli/')),
      [],
    )
  })

  it('SQL stands only in store.ts and in the database folder', () => {
    const wrong = files.filter(
      (file) =>
        /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s\w/.test(readFileSync(join(root, file), 'utf8')) &&
        !file.endsWith('/store.ts') &&
        !file.startsWith('src/database/') &&
        // Another SQL: ClickHouse's, and that of PostgreSQL as a source.
        !file.startsWith('src/engine/') &&
        !/^src\/embedded-(?:engine|postgres)\//.test(file) &&
        // What the sample shows.
        !file.startsWith('src/cli/try') &&
        !file.startsWith('src/sources/postgres'),
    )
    assert.deepEqual(wrong, [])
  })

  it('an operation has one name: its file is the kebab-case of its id', () => {
    const names = new Set(files.map((file) => file.split('/').at(-1)!.replace(/\.ts$/, '')))
    for (const { id } of [...operations, ...consoleActions]) {
      const name = id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      assert.ok(names.has(name), `${id} should stand in ${name}.ts`)
    }
  })

  it('the container and the unit of systemd start Penstock as its command does', () => {
    const { NODE_COMPILE_CACHE: _, ...always } = environment as Record<string, string>
    const settings = Object.entries(always).map(([name, value]) => `${name}=${value}`)
    for (const file of ['Dockerfile', 'deploy/penstock@.service']) {
      const text = readFileSync(join(root, file), 'utf8')
      for (const part of [...settings, ...nodeFlags]) assert.ok(text.includes(part), `${file} has no ${part}`)
    }
  })

  it('every mutant still finds the text that it breaks', () => {
    for (const mutant of mutants) readMutated(root, mutant)
  })

  it('no page runs npx penstock, which outside of a checkout is a stranger’s package', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'deploy/*'], { cwd: root })
    assert.ok(pages.includes('README.md'))
    assert.deepEqual(
      pages.filter((file) => /npx penstock\b/.test(readFileSync(join(root, file), 'utf8'))),
      [],
    )
  })

  it('every operation that writes says what it is recorded as', () => {
    for (const operation of operations) {
      const { id, method, activity, access } = operation
      assert.equal(activity !== undefined, isWrite(operation), id)
      assert.equal(access, method === 'GET' ? 'developer' : 'admin', id)
    }
  })
})
