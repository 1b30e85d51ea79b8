// No field of a pipe is accepted and ignored: docs/reference/pipe-fields.md describes each field and names a test for it. The
// list of fields comes from the shapes, so a new field fails here until it has a row.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Schema } from '../../src/lib/schema.ts'
import { Pipe, PipeCreate, PipePatch } from '../../src/pipes/pipe.ts'

const root = new URL('../..', import.meta.url)
const page = 'docs/reference/pipe-fields.md'
const heading = '## Fields'

interface Row {
  fields: string[]
  effect: string
  tests: { path: string; names: string[] }[]
}

/** Paths of all fields with a value; a list of objects has `[]` after its name. */
function fieldsOf(schema: Schema, path = ''): string[] {
  const { properties, items, anyOf } = schema as {
    properties?: Record<string, Schema>
    items?: Schema
    anyOf?: Schema[]
  }
  if (properties) {
    return Object.entries(properties).flatMap(([name, field]) =>
      fieldsOf(field, path === '' ? name : `${path}.${name}`),
    )
  }
  if (items?.properties) return fieldsOf(items, `${path}[]`)
  return anyOf ? anyOf.filter(({ type }) => type !== 'null').flatMap((branch) => fieldsOf(branch, path)) : [path]
}

/** A list that exists only in updates, such as tables to add, is one field: its items are documented where they are stored. */
function allFields(): string[] {
  const kept = new Set([...fieldsOf(Pipe), ...fieldsOf(PipeCreate)])
  const ofUpdate = fieldsOf(PipePatch).filter((field) => !kept.has(field))
  return [...kept, ...new Set(ofUpdate.map((field) => field.replace(/\[\].*/, '')))]
}

/** Rows of all tables below the heading. The heading of a table contains the prefix of its paths. */
function readRows(): Row[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  const [, section = ''] = text.split(`\n${heading}\n`)
  const rows: Row[] = []
  let beginning = ''
  for (const line of section.split(/\n## /)[0]!.split('\n')) {
    if (line.startsWith('### ')) beginning = /`([^`]+)`/.exec(line)?.[1] ?? ''
    const [, names, effect, shown] = /^\|(.+?)\|(.+)\|(.+)\|$/.exec(line) ?? []
    if (!names?.includes('`') || effect === undefined || shown === undefined) continue
    const fields = [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => (beginning ? `${beginning}.${name}` : name!))
    const tests = [...shown.matchAll(/`([^`]+\.ts)`((?:,? "[^"]+")*)/g)].map(([, path, quoted]) => ({
      path: path!,
      names: [...quoted!.matchAll(/"([^"]+)"/g)].map(([, name]) => name!),
    }))
    rows.push({ fields, effect: effect.trim(), tests })
  }
  return rows
}

/** Whether the file has a test or a suite with exactly this name. */
function hasTest(text: string, name: string): boolean {
  const quoted = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "\\\\?'")
  return new RegExp(`\\b(?:it|test|describe)\\(\\s*(['"\`])${quoted}\\1`).test(text)
}

describe(`the tables of fields in ${page}`, () => {
  const rows = readRows()
  const listed = rows.flatMap(({ fields }) => fields)

  it('list every field of a pipe exactly once', () => {
    assert.deepEqual(listed.toSorted(), allFields().toSorted())
  })

  it('describe each field', () => {
    assert.deepEqual(
      rows.filter(({ effect }) => effect === '').flatMap(({ fields }) => fields),
      [],
    )
  })

  it('name existing tests', () => {
    const wrong: string[] = []
    for (const { fields, tests } of rows) {
      if (tests.length === 0) wrong.push(`${fields.join(', ')}: no test`)
      for (const { path, names } of tests) {
        const file = new URL(path, root)
        const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined
        if (text === undefined || names.length === 0) {
          wrong.push(
            `${fields.join(', ')}: ${path} ${text === undefined ? 'is not there' : 'without the name of a test'}`,
          )
        } else {
          const missing = names.filter((name) => !hasTest(text, name))
          wrong.push(...missing.map((name) => `${fields.join(', ')}: ${path} has no "${name}"`))
        }
      }
    }
    assert.deepEqual(wrong, [])
  })
})
