// Rules that the compiler does not check: the direction of imports, and the contents of folders.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { environment, nodeFlags } from '../../bin/launch.js'
import { consoleActions } from '../../src/execution/console-actions.ts'
import { isWrite } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import { readMutated } from '../run/mutants/mutant.ts'
import { mutants } from '../run/mutants.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
/** A noun imports only nouns before it, type imports included. */
const nounOrder = [
  'idempotency',
  'private-endpoints',
  'organizations',
  'members',
  'sessions',
  'activities',
  'invitations',
  'accounts',
  'keys',
  'services',
  'progress',
  'pipes',
  'prometheus',
  'installation',
]
/** Imports of a noun besides earlier nouns, `lib`, `database` and `operation`. */
const moreOfNoun: Record<string, string[]> = {
  services: ['engine'],
  progress: ['source-shapes', 'sources (types)', 'engine (types)'],
  // The types of ClickHouse are part of the description of a pipe.
  pipes: ['source-shapes', 'engine/type-grammar.ts', 'engine/grammar-tokens.ts'],
  installation: ['source-shapes'],
}

/** Allowed imports of each folder, besides itself. */
const allowed: Record<string, string[]> = {
  lib: [],
  database: ['lib'],
  'source-shapes': ['lib'],
  operation: ['lib', 'database (types)', 'engine (types)', 'source-shapes (types)'],
  http: ['lib', 'operation', 'database (types)'],
  execution: ['lib', 'database', 'operation', 'source-shapes (types)', 'engine (types)', 'operations.ts', ...nounOrder],
  startup: ['lib', 'database', 'execution', 'http', 'operation', 'runner', 'config.ts', ...nounOrder],
  ...Object.fromEntries(
    nounOrder.map((noun, index) => [
      noun,
      ['lib', 'database', 'operation', ...(moreOfNoun[noun] ?? []), ...nounOrder.slice(0, index)],
    ]),
  ),
  engine: ['lib'],
  'embedded-engine': ['lib', 'engine'],
  'embedded-postgres': ['lib'],
  runner: ['lib', 'database', 'engine', 'formats', 'sources', 'source-shapes', 'pipes', 'progress', 'services'],
  sources: ['lib', 'formats', 'source-shapes'],
  formats: ['lib', 'source-shapes', 'engine (types)'],
  client: [],
  doctor: ['lib', 'database', 'engine', 'config.ts', 'startup/open-egress.ts', ...nounOrder],
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
  // Excludes quotes in between: a match that continued into the next statement would attribute its `type` to this one.
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

/** With their transitive and dynamic imports. */
function loadedBy(...entries: string[]): string[] {
  return reached(entries, ({ isType }) => !isType)
}

function loadedAtOnceBy(...entries: string[]): string[] {
  return reached(entries, ({ isType, isLazy }) => !isType && !isLazy)
}

function reached(entries: string[], counts: (one: ReturnType<typeof importsOf>[number]) => boolean): string[] {
  const found = new Set(entries)
  // Iterating a set includes entries added during the iteration.
  for (const file of found) for (const one of importsOf(file)) if (counts(one)) found.add(one.path)
  return [...found]
}

/** Files that import each other, directly or through others; type imports included. */
function importCircles(): string[][] {
  const imports = new Map(files.map((file) => [file, importsOf(file).map(({ path }) => path)]))
  // A file without remaining imports is in no circle.
  for (let left = -1; left !== imports.size; ) {
    left = imports.size
    for (const [file, paths] of imports) if (!paths.some((path) => imports.has(path))) imports.delete(file)
  }
  const reachable = new Map([...imports.keys()].map((file) => [file, reachedFrom(file)]))
  function reachedFrom(file: string): Set<string> {
    const found = new Set(imports.get(file))
    for (const one of found) for (const path of imports.get(one) ?? []) found.add(path)
    return found
  }
  const circles = [...reachable].map(([file, found]) =>
    [...found].filter((other) => reachable.get(other)?.has(file)).sort(),
  )
  const inCircle = circles.filter((circle) => circle.length > 0)
  return [...new Map(inCircle.map((circle) => [circle.join(), circle])).values()]
}

const generated = ['src/client/shapes.ts', 'src/client/operations.ts']

const folderOf = (file: string): string => file.split('/')[1]!

describe('architecture', () => {
  it('imports follow the allowed directions', () => {
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

  it('every folder has import rules', () => {
    const folders = new Set(files.filter((file) => file.split('/').length > 2).map(folderOf))
    assert.deepEqual([...folders].sort(), Object.keys(allowed).sort())
  })

  it('no import circles', () => {
    assert.deepEqual(importCircles(), [])
  })

  it('the client depends on fetch only', () => {
    const inClient = files.filter((file) => folderOf(file) === 'client')
    assert.ok(inClient.includes('src/client/client.ts'))
    for (const file of inClient) {
      assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /from '[^.]|\bimport\(|\b(?:process|Buffer)\./, file)
    }
  })

  it('the columns of a list are constant objects, so that its rows are not rendered again', () => {
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

  it('the console imports the API client and nothing else of the server', () => {
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

  it('the server and the client commands load no code of each other', () => {
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

  it('an idle server does not load the code that runs pipes', () => {
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

  it('a server loads the reference and the guides when they are read', () => {
    const pages = ['src/http/reference.ts', 'src/http/guides.ts']
    const loaded = loadedAtOnceBy('src/cli/start.ts')
    assert.ok(pages.every((file) => loadedBy('src/cli/start.ts').includes(file)))
    assert.deepEqual(
      pages.filter((file) => loaded.includes(file)),
      [],
    )
    const readers = files.filter((file) => /from 'marked'/.test(readFileSync(join(root, file), 'utf8')))
    assert.deepEqual(readers, ['src/http/guides.ts'])
  })

  it('a pipe loads the client of its own cloud only', () => {
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

  it('SQL is only in store.ts files and in the database folder', () => {
    const wrong = files.filter(
      (file) =>
        /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s\w/.test(readFileSync(join(root, file), 'utf8')) &&
        !file.endsWith('/store.ts') &&
        !file.startsWith('src/database/') &&
        // Other SQL: that of ClickHouse, and of PostgreSQL as a source.
        !file.startsWith('src/engine/') &&
        !/^src\/embedded-(?:engine|postgres)\//.test(file) &&
        // Data of the sample.
        !file.startsWith('src/cli/try') &&
        !file.startsWith('src/sources/postgres'),
    )
    assert.deepEqual(wrong, [])
  })

  it('the file of an operation is named after its id in kebab-case', () => {
    const names = new Set(files.map((file) => file.split('/').at(-1)!.replace(/\.ts$/, '')))
    for (const { id } of [...operations, ...consoleActions]) {
      const name = id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      assert.ok(names.has(name), `${id} should stand in ${name}.ts`)
    }
  })

  it('the container and the systemd unit start Penstock like the penstock command', () => {
    const { NODE_COMPILE_CACHE: _, ...always } = environment as Record<string, string>
    const settings = Object.entries(always).map(([name, value]) => `${name}=${value}`)
    for (const file of ['Dockerfile', 'deploy/penstock@.service']) {
      const text = readFileSync(join(root, file), 'utf8')
      for (const part of [...settings, ...nodeFlags]) assert.ok(text.includes(part), `${file} has no ${part}`)
    }
  })

  it('no file has more than 400 lines', () => {
    const all = globSync('{src,console,test,chaos,bench,bin}/**/*.{ts,tsx}', { cwd: root })
    for (const file of [...generated, 'src/app.ts', 'console/main.tsx', 'chaos/run.ts'])
      assert.ok(all.includes(file), file)
    const lineCount = (file: string) => readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length
    assert.deepEqual(
      all.filter((file) => !generated.includes(file) && lineCount(file) > 400),
      [],
    )
  })

  it('every mutant applies to the current code', () => {
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

  it('every operation that writes declares its activity', () => {
    for (const operation of operations) {
      const { id, method, activity, access } = operation
      assert.equal(activity !== undefined, isWrite(operation), id)
      assert.equal(access, method === 'GET' ? 'developer' : 'admin', id)
    }
  })
})
