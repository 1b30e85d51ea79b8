// S4: canary values, the encodings in which they may appear, and the data to search.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { consoleActions } from '../../src/execution/console-actions.ts'
import { isObject } from '../../src/lib/merge-patch.ts'
import type { Schema } from '../../src/lib/schema.ts'
import type { AnyConsoleAction } from '../../src/operation/console-action.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import type { TestApp, TestResponse } from './test-app.ts'

/** All canaries of a kind have a common prefix, so that one search finds any of them. */
export class Canaries {
  readonly marker = `c4n4ry${randomBytes(6).toString('hex')}`
  /** Where each canary was sent. */
  readonly planted = new Map<string, string>()

  /** Letters and digits only. */
  token(where: string): string {
    const token = `${this.marker}x${randomBytes(6).toString('hex')}`
    this.planted.set(token, where)
    return token
  }

  /** Contains characters that are escaped or encoded in many ways. */
  value(where: string): string {
    const token = this.token(where)
    return `${token}"\\/é+% ~${token}`
  }

  /** Locations of any canary, with its origin where it can be identified. */
  findIn(haystacks: Map<string, Buffer>): string[] {
    const forms = formsOf(this.marker)
    return [...haystacks].flatMap(([place, hay]) => {
      if (!forms.some((form) => hay.includes(form))) return []
      const text = hay.toString('latin1')
      const tokens = new Set(text.match(new RegExp(`${this.marker}x[0-9a-f]{12}`, 'g')))
      const known = [...tokens].flatMap((token) => this.planted.get(token) ?? [])
      return known.length > 0 ? [...new Set(known)].map((where) => `${where}: in ${place}`) : [`some form: in ${place}`]
    })
  }
}

/** Every escaped or encoded form that the text may have. */
function formsOf(text: string): Buffer[] {
  const escaped = JSON.stringify(text).slice(1, -1)
  const forms = [
    text,
    text.toUpperCase(),
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    escaped.replaceAll(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
    encodeURIComponent(text),
    encodeURIComponent(text).replaceAll('%20', '+'),
    Buffer.from(text).toString('hex'),
    Buffer.from(text).toString('hex').toUpperCase(),
  ]
  // Base64 has three alignments of the text; the characters that depend on neighbours are removed.
  for (let offset = 0; offset < 3; offset++) {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
    for (const encoding of ['base64', 'base64url'] as const)
      forms.push(whole.toString(encoding).slice(offset === 0 ? 0 : 4))
  }
  return [...new Set(forms)].map((form) => Buffer.from(form)).concat(Buffer.from(text, 'utf16le'))
}

/** Names of the haystacks that contain the text in any form. */
export function locationsOf(text: string, haystacks: Map<string, Buffer>): string[] {
  const forms = formsOf(text)
  return [...haystacks].filter(([, hay]) => forms.some((form) => hay.includes(form))).map(([name]) => name)
}

/** Proves the search: values that are there are found in every form, in every encoding and alignment. */
export function assertFoundInEveryEncoding(canaries: Canaries, value: string): void {
  const token = canaries.token('a form')
  for (const text of [value, token]) {
    for (const form of formsOf(text)) {
      const hay = new Map([['hay', Buffer.concat([Buffer.from('x'), form, Buffer.from('y')])]])
      assert.deepEqual(locationsOf(text, hay), ['hay'])
    }
  }
  for (const offset of [0, 1, 2]) {
    const hay = Buffer.from(`${'x'.repeat(offset)}${token}tail`)
    for (const encoding of ['base64', 'base64url', 'hex', 'latin1', 'utf16le'] as const) {
      const encoded =
        encoding === 'utf16le' ? Buffer.from(hay.toString(), encoding) : Buffer.from(hay.toString(encoding))
      assert.match(canaries.findIn(new Map([['hay', encoded]])).join(), /in hay$/, encoding)
    }
  }
}

/** Paths of all fields that a shape marks as secret. A list item is `0`. */
function secretPaths(shape: Schema, path: string[] = []): string[][] {
  const {
    secret,
    properties = {},
    items,
    anyOf = [],
  } = shape as {
    secret?: boolean
    properties?: Record<string, Schema>
    items?: Schema
    anyOf?: Schema[]
  }
  if (secret) return [path]
  return [
    ...Object.entries(properties).flatMap(([name, property]) => secretPaths(property, [...path, name])),
    ...(items ? secretPaths(items, [...path, '0']) : []),
    ...anyOf.flatMap((branch) => secretPaths(branch, path)),
  ]
}

/** A secret field in the body of an operation. */
export interface Slot {
  operation: AnyOperation
  path: string[]
  name: string
}

/** All secret fields of all operations. */
export const slots: Slot[] = operations.flatMap((operation) =>
  secretPaths(operation.body ?? {}).map((path) => ({ operation, path, name: `${operation.id} ${path.join('.')}` })),
)

/** Secret fields in the bodies of console actions. */
export const actionSlots: { action: AnyConsoleAction; field: string; name: string }[] = consoleActions.flatMap(
  (action) =>
    secretPaths(action.body ?? {}).map((path) => {
      const [field, ...deeper] = path
      if (field === undefined || deeper.length > 0) throw new Error(`${action.id} has a secret that is not a field`)
      return { action, field, name: `${action.id} ${field}` }
    }),
)

/** Bodies of a console action with a secret: well-formed, in a list, too long, and with too many or too few fields. */
export function actionBodies(base: object, field: string, token: (how: string) => string): unknown[] {
  return [
    { ...base, [field]: token('') },
    { ...base, [field]: [token(' in a list')] },
    { ...base, [field]: token(' too long').repeat(20) },
    { ...base, [field]: token(' beside more'), more: 1 },
    { [field]: token(' alone') },
  ]
}

/** Pages and lists that show what was stored. */
export function pagesOf(organizationId: string): string[] {
  const lists = ['services', 'keys', 'invitations']
  return ['/v1', '/docs', '/ready', '/nothing', ...lists.map((list) => `/v1/organizations/${organizationId}/${list}`)]
}

/** The text of every page of a list. */
export async function readList(path: string, get: (path: string) => Promise<TestResponse>): Promise<string[]> {
  const texts: string[] = []
  for (let next: string | undefined = `${path}?limit=1000`; next; ) {
    const response = await get(next)
    texts.push(response.text)
    next = /^<([^>]+)>/.exec(String(response.headers.link ?? ''))?.[1]
  }
  return texts
}

export function nested(path: string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, name) => (name === '0' ? [inner] : { [name]: inner }), value) as object
}

/** A new object; common members are merged if they are objects, otherwise taken from the second. */
export function merged(into: Record<string, unknown>, from: object): Record<string, unknown> {
  const result = { ...into }
  for (const [key, value] of Object.entries(from)) {
    const old = result[key]
    result[key] = isObject(value) && isObject(old) ? merged(old, value) : value
  }
  return result
}

/** Every table of the database as one text. */
export async function dumpTables(app: TestApp): Promise<Map<string, Buffer>> {
  const tables = await app.query<{ name: string }>(
    app.dialect === 'sqlite'
      ? "SELECT name FROM sqlite_master WHERE type = 'table'"
      : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  const dump = new Map<string, Buffer>()
  for (const { name } of tables) {
    const rows = await app.query<Record<string, unknown>>(`SELECT * FROM ${name}`)
    dump.set(`table ${name}`, Buffer.from(rows.flatMap((row) => Object.values(row)).join('\n')))
  }
  return dump
}

/** The database files of SQLite: the database, its WAL and others. */
export function databaseFiles(folder: string): Map<string, Buffer> {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder).filter((file) => file.startsWith('penstock.db'))
  return new Map(files.map((file) => [`file ${file}`, readFileSync(join(folder, file))]))
}
