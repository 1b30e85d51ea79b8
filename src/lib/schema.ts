// Builds JSON Schema objects that carry the TypeScript type of their values: the single source of every shape. Only the keywords that
// our shapes use; `shape.ts` rejects any other. typebox costs 22 MB in each thread, and is used only in tests, to verify these schemas.

declare const described: unique symbol
declare const optional: unique symbol

// biome-ignore lint/suspicious/noExplicitAny: keywords of JSON Schema have values of every type.
export type Schema<Value = any> = { readonly [described]?: Value; [keyword: string]: any }
export type OptionalSchema<Value = unknown> = Schema<Value> & { readonly [optional]: true }
// biome-ignore lint/suspicious/noExplicitAny: stands for any fields.
export type ObjectSchema<Fields extends FieldSchemas = any> = Schema<ObjectOf<Fields>> & {
  properties: Fields
  required: string[]
}

type FieldSchemas = Record<string, Schema>

/** The type of the values that a schema describes. */
export type Static<S extends Schema> = S extends Schema<infer Value> ? Value : never

type OptionalNames<Fields extends FieldSchemas> = {
  [Name in keyof Fields]: Fields[Name] extends OptionalSchema ? Name : never
}[keyof Fields]
type Flat<T> = { [Name in keyof T]: T[Name] }
type ObjectOf<Fields extends FieldSchemas> = Flat<
  { [Name in Exclude<keyof Fields, OptionalNames<Fields>>]: Static<Fields[Name]> } & {
    [Name in OptionalNames<Fields>]?: Static<Fields[Name]>
  }
>

type Keywords = Record<string, unknown>

const optionalSchemas = new WeakSet<object>()

export const Type = {
  String: (keywords: Keywords = {}): Schema<string> => ({ type: 'string', ...keywords }),
  Integer: (keywords: Keywords = {}): Schema<number> => ({ type: 'integer', ...keywords }),
  Number: (keywords: Keywords = {}): Schema<number> => ({ type: 'number', ...keywords }),
  Boolean: (keywords: Keywords = {}): Schema<boolean> => ({ type: 'boolean', ...keywords }),
  Null: (): Schema<null> => ({ type: 'null' }),
  Enum: <const Values extends readonly string[]>(values: Values, keywords: Keywords = {}): Schema<Values[number]> => ({
    type: 'string',
    enum: values,
    ...keywords,
  }),
  Array: <Item extends Schema>(items: Item, keywords: Keywords = {}): Schema<Static<Item>[]> => ({
    type: 'array',
    items,
    ...keywords,
  }),
  /** One of several schemas; almost always a value or null. */
  Union: <Branches extends Schema[]>(
    branches: [...Branches],
    keywords: Keywords = {},
  ): Schema<Static<Branches[number]>> => ({ anyOf: branches, ...keywords }),
  /** Marks a field of an object that may be absent. */
  Optional: <Value>(schema: Schema<Value>): OptionalSchema<Value> => {
    const copy = { ...schema }
    optionalSchemas.add(copy)
    return copy as OptionalSchema<Value>
  },
  Object: <Fields extends FieldSchemas>(fields: Fields, keywords: Keywords = {}): ObjectSchema<Fields> => ({
    type: 'object',
    properties: fields,
    required: Object.keys(fields).filter((name) => !optionalSchemas.has(fields[name]!)),
    ...keywords,
  }),
}

/** A field that may be cleared. The description is that of the field, not of its value other than null. */
export function nullable<S extends Schema>(schema: S) {
  const { description, ...value } = schema
  const branches: [S, Schema<null>] = [value as S, Type.Null()]
  return Type.Union(branches, description === undefined ? {} : { description })
}
