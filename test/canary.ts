// S4: values that must never come out again, how they may look after a long way, and where to look for them.
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { consoleActions } from '../src/execution/console-actions.ts'
import { isObject } from '../src/lib/merge-patch.ts'
import type { Schema } from '../src/lib/schema.ts'
import type { AnyConsoleAction } from '../src/operation/console-action.ts'
import type { AnyOperation } from '../src/operation/operation.ts'
import { operations } from '../src/operations.ts'
import type { TestApp } from './harness.ts'

/** All canaries of a kind share their first letters: one search finds any of them. */
export class Canaries {
  readonly marker = `c4n4ry${randomBytes(6).toString('hex')}`
  /** What each was put into, by the canary. */
  readonly planted = new Map<string, string>()

  /** Letters and digits only. */
  token(where: string): string {
    const token = `${this.marker}x${randomBytes(6).toString('hex')}`
    this.planted.set(token, where)
    return token
  }

  /** With characters that are escaped and encoded in many ways. */
  value(where: string): string {
    const token = this.token(where)
    return `${token}"\\/é+% ~${token}`
  }

  /** Where any of them is found, and which it is where that can be told. */
  findIn(haystacks: Map<string, Buffer>): string[] {
    const forms = formsOf(this.marker)
    return [...haystacks].flatMap(([place, hay]) => {
      if (!forms.some((form) => hay.includes(form))) return []
      const text = hay.toString('latin1')
      const tokens = new Set(text.match(new RegExp(`${this.marker}x[0-9a-f]{12}`, 'g')))
      const told = [...tokens].flatMap((token) => this.planted.get(token) ?? [])
      return told.length > 0 ? [...new Set(told)].map((where) => `${where}: in ${place}`) : [`some form: in ${place}`]
    })
  }
}

/** Everything that a text may look like after having been escaped or encoded on its way. */
export function formsOf(text: string): Buffer[] {
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
  // Base64 looks different for each of the three places that the text may begin at; what depends on its neighbours is cut.
  for (let offset = 0; offset < 3; offset++) {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
    for (const encoding of ['base64', 'base64url'] as const)
      forms.push(whole.toString(encoding).slice(offset === 0 ? 0 : 4))
  }
  return [...new Set(forms)].map((form) => Buffer.from(form)).concat(Buffer.from(text, 'utf16le'))
}

/** The names of the places where the text is found in any form. */
export function placesOf(text: string, haystacks: Map<string, Buffer>): string[] {
  const forms = formsOf(text)
  return [...haystacks].filter(([, hay]) => forms.some((form) => hay.includes(form))).map(([name]) => name)
}

/** The paths of all fields that a shape marks as secret. An item of a list is `0`. */
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

/** A place in the body of an operation that takes a secret. */
export interface Slot {
  operation: AnyOperation
  path: string[]
  name: string
}

/** Every one of every operation. */
export const slots: Slot[] = operations.flatMap((operation) =>
  secretPaths(operation.body ?? {}).map((path) => ({ operation, path, name: `${operation.id} ${path.join('.')}` })),
)

/** The same of the actions of the console: names of fields in their bodies. */
export const actionSlots: { action: AnyConsoleAction; field: string; name: string }[] = consoleActions.flatMap(
  (action) =>
    secretPaths(action.body ?? {}).map((path) => {
      const [field, ...deeper] = path
      if (field === undefined || deeper.length > 0) throw new Error(`${action.id} has a secret that is not a field`)
      return { action, field, name: `${action.id} ${field}` }
    }),
)

export function nested(path: string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, name) => (name === '0' ? [inner] : { [name]: inner }), value) as object
}

/** A new object; what is in both is merged when it is an object, and else taken from the second. */
export function merged(into: Record<string, unknown>, from: object): Record<string, unknown> {
  const result = { ...into }
  for (const [key, value] of Object.entries(from)) {
    const old = result[key]
    result[key] = isObject(value) && isObject(old) ? merged(old, value) : value
  }
  return result
}

/** Every table of the database, each as one text. */
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

/** The files of SQLite as they lie there: the database, its WAL and what else there is. */
export function databaseFiles(folder: string): Map<string, Buffer> {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder).filter((file) => file.startsWith('penstock.db'))
  return new Map(files.map((file) => [`file ${file}`, readFileSync(join(folder, file))]))
}
