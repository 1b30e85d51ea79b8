// Derives defaults, optional fields and patch fields from a group of fields.
import { nullable, type OptionalSchema, type Schema, type Static, Type } from './schema.ts'

/** The defaults of fields that have one. */
export function defaultsOf(fields: Record<string, Schema>): Record<string, unknown> {
  const defaults = Object.entries(fields).map(([name, schema]) => [name, schema.default])
  return Object.fromEntries(defaults.filter(([, value]) => value !== undefined))
}

type OptionalFields<Fields extends Record<string, Schema>> = {
  [Name in keyof Fields]: OptionalSchema<Static<Fields[Name]>>
}

/** The same fields, all optional. */
export function optionalFields<Fields extends Record<string, Schema>>(fields: Fields): OptionalFields<Fields> {
  const optional = Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)])
  return Object.fromEntries(optional) as OptionalFields<Fields>
}

/** The same fields, each absent (unchanged), null (reset to its default) or a value. */
export function patchOf<Fields extends Record<string, Schema>>(
  fields: Fields,
): { [Name in keyof Fields]: OptionalSchema<Static<Fields[Name]> | null> } {
  const patch = Object.entries(fields).map(([name, schema]) => [name, Type.Optional(nullable(schema))])
  return Object.fromEntries(patch) as ReturnType<typeof patchOf<Fields>>
}
