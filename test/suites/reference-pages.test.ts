// The reference pages list what the code has: operations, activity types, metrics, codes of conflicts, settings, values of sources.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ServerMetrics } from '../../src/http/metrics.ts'
import { problems } from '../../src/lib/problem.ts'
import type { Schema } from '../../src/lib/schema.ts'
import { operations } from '../../src/operations.ts'
import { Scaling } from '../../src/pipes/scaling.ts'
import { Settings } from '../../src/pipes/settings.ts'
import { getOrganizationPrometheus } from '../../src/prometheus/get-organization-prometheus.ts'
import { getServicePrometheus } from '../../src/prometheus/get-service-prometheus.ts'
import { exposition, leftoversFamily } from '../../src/prometheus/prometheus.ts'
import { kafka } from '../../src/source-shapes/kafka-source.ts'
import { kinesis } from '../../src/source-shapes/kinesis-source.ts'
import { objectStorage } from '../../src/source-shapes/object-storage-source.ts'
import { postgres } from '../../src/source-shapes/postgres-source.ts'

type Fields = Record<string, Schema & { enum?: string[]; minimum?: number; maximum?: number; default?: unknown }>

function read(page: string): string {
  return readFileSync(new URL(`../../docs/reference/${page}`, import.meta.url), 'utf8')
}

/** The text from a heading to the next one of its level. */
function section(page: string, heading: string): string {
  const [, text] = read(page).split(`\n${heading}\n`)
  assert.ok(text, `${page} has no "${heading}"`)
  return text.split(new RegExp(`\\n#{1,${heading.indexOf(' ')}} `))[0]!
}

/** Rows of all tables: their cells, without the backticks of code. */
function rows(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')))
}

const names = (cell: string): string[] => cell.split(', ')

function boundsOf({ type, minimum, maximum, default: defaultValue }: Fields[string]): string {
  if (type === 'boolean') return 'boolean'
  if (type === 'string' && defaultValue === undefined) return ''
  return maximum === undefined || maximum === 2_147_483_647 ? `from ${minimum}` : `${minimum} to ${maximum}`
}

describe('the reference pages', () => {
  it('api.md lists every operation once', () => {
    const listed = rows(section('api.md', '## Operations')).flatMap(([ids]) => names(ids!))
    assert.deepEqual(listed.toSorted(), operations.map(({ id }) => id).toSorted())
  })

  it('organizations.md lists every activity type', () => {
    const listed = rows(section('organizations.md', '### Activity types')).flatMap(([, types]) => names(types!))
    const recorded = operations.flatMap(({ activity, prepare }) => [activity ?? [], prepare?.activity ?? []].flat())
    // Accepting an invitation is a console action, not an operation.
    assert.deepEqual(listed.toSorted(), [...new Set(recorded), 'invitation_accepted'].toSorted())
  })

  it('metrics.md lists every metric with its type', () => {
    const served = [
      getOrganizationPrometheus.example.result,
      getServicePrometheus.example.result,
      exposition([leftoversFamily('organization', 0)]),
      new ServerMetrics().text(),
    ].join('\n')
    const types = [...served.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`)
    const listed = rows(read('metrics.md'))
      .filter(([name]) => /^(penstock|process)_/.test(name!))
      .map(([name, type]) => `${name} ${type}`)
    assert.deepEqual(listed.toSorted(), [...new Set(types)].toSorted())
  })

  it('http.md lists every conflict and every status', () => {
    const text = section('http.md', '## Status codes')
    const codes = rows(text)
      .filter(([first]) => /^[a-z]/.test(first!))
      .flatMap(([first]) => names(first!))
    const conflicts = Object.entries(problems).filter(([, { status }]) => status === 409)
    assert.deepEqual(codes.toSorted(), conflicts.map(([code]) => code).toSorted())
    for (const { status } of Object.values(problems)) assert.match(text, new RegExp(`^\\| ${status} \\|`, 'm'))
  })

  const settingTables: [heading: string, fields: Fields, boundsAt: number][] = [
    ['## Settings', Settings.properties as Fields, 2],
    ['## Scaling', Scaling.properties as Fields, 1],
    ['## Settings of a PostgreSQL source', postgres.Shown.properties.settings.properties as Fields, 1],
  ]
  for (const [heading, fields, boundsAt] of settingTables) {
    it(`pipe-settings.md has the bounds and defaults of "${heading}"`, () => {
      const listed = rows(section('pipe-settings.md', heading))
      assert.deepEqual(listed.map(([name]) => name).toSorted(), Object.keys(fields).toSorted())
      for (const [name, ...cells] of listed) {
        const field = fields[name!]!
        const [bounds, defaultValue] = cells.slice(boundsAt - 1)
        if (field.enum)
          assert.ok(
            field.enum.every((value) => bounds!.includes(value)),
            name,
          )
        else assert.ok(bounds!.startsWith(boundsOf(field)), `${name}: ${bounds}`)
        assert.equal(defaultValue!.split(':')[0], field.default === undefined ? 'none' : String(field.default), name)
      }
    })
  }

  for (const [heading, kind] of Object.entries({
    '## Kafka': kafka,
    '## Kinesis': kinesis,
    '## Object storage': objectStorage,
    '## PostgreSQL': postgres,
  })) {
    it(`pipes.md has every field of "${heading}", with its values, and what an update may change`, () => {
      const listed = new Map(rows(section('pipes.md', heading)).map(([name, ...cells]) => [name!, cells]))
      const changeable = Object.keys(kind.Patch.properties)
      for (const [name, field] of Object.entries(kind.Create.properties as Fields)) {
        const found = [...listed].filter(([row]) => [name, `${name}[]`].includes(row) || row.startsWith(`${name}.`))
        assert.ok(found.length > 0, `${name} is missing`)
        for (const value of field.enum ?? []) assert.ok(found[0]![1][0]!.includes(value), `${name}: ${value}`)
        const isChangeable = found.some(([, cells]) => cells.at(-1) !== 'no')
        assert.equal(isChangeable, changeable.includes(name) || name === 'tableMappings', name)
      }
    })
  }
})
