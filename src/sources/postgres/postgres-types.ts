// Which type of the engine holds the values of which type of PostgreSQL, and what their text means.
//
//   boolean                          Bool
//   smallint, integer, bigint        Int16, Int32, Int64
//   oid                              UInt32
//   real, double precision           Float32, Float64
//   numeric(p, s)                    Decimal(p, s) up to 76 digits, else String; NaN, which it may hold, has no place there
//   numeric                          String: its digits have no limit
//   date                             Date32
//   timestamp                        DateTime64(6, 'UTC'): in the engine's own time zone some hours would not exist
//   timestamptz                      DateTime64(6, 'UTC')
//   uuid                             UUID
//   bytea                            String, of the bytes themselves
//   arrays                           Array(T), never Nullable: the engine has no such thing
//   domains                          as what they are made of
//   everything else                  String, as PostgreSQL prints it: text, json, time, interval, money, bit strings, network
//                                    addresses, geometry, ranges, text search, enums, composites, types of extensions
//
// An engine of before has no Bool, Date32 or DateTime64, and a Decimal of 38 digits at most: there a boolean is UInt8, and the others
// are text as PostgreSQL prints it.
// Dates and times outside of what the engine's types reach (1900 to 2299), and `infinity`, are for whoever writes them to judge.
// How many dimensions an array has is not in its type: PostgreSQL keeps `integer[]` and `integer[][]` apart in no way.

export interface PostgresType {
  /** As in pg_type. A domain is given as what it is made of. */
  name: string
  /** What types of extensions and users mean is not known here, whatever their name. */
  isBuiltIn: boolean
  /** What stands in parentheses after the type, as PostgreSQL packs it; -1 without. */
  modifier: number
  /** Of elements: what stands between them in an array that is printed; a comma unless told, and a semicolon between boxes. */
  delimiter?: string
  /** Only of arrays. Elements that are arrays themselves, by way of a domain, are text. */
  elements?: Omit<PostgresType, 'elements'>
}

export interface PostgresColumn {
  name: string
  type: PostgresType
  isNotNull: boolean
  /** In the primary key or in the sorting key, where the engine has no NULL. */
  isKey: boolean
}

export interface NullOptions {
  /** Otherwise a NULL becomes the default value of the type. */
  allowNullableColumns: boolean
}

/** What the engine has types for. */
export interface EngineAbilities {
  hasBool: boolean
  hasDate32: boolean
  hasDateTime64: boolean
  mostDecimalDigits: number
}

const ofToday: EngineAbilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

type Parse = (text: string) => unknown

const asText: Parse = (text) => text
const scalars = new Map<string, { type: string; parse: Parse }>([
  ['bool', { type: 'Bool', parse: (text) => text.startsWith('t') }],
  ['int2', { type: 'Int16', parse: Number }],
  ['int4', { type: 'Int32', parse: Number }],
  ['int8', { type: 'Int64', parse: BigInt }],
  ['oid', { type: 'UInt32', parse: Number }],
  ['float4', { type: 'Float32', parse: Number }],
  ['float8', { type: 'Float64', parse: Number }],
  ['date', { type: 'Date32', parse: asText }],
  ['timestamp', { type: "DateTime64(6, 'UTC')", parse: asText }],
  // Sessions are in UTC, and the engine reads no offset.
  ['timestamptz', { type: "DateTime64(6, 'UTC')", parse: (text) => text.replace(/\+00(?= BC$|$)/, '') }],
  ['uuid', { type: 'UUID', parse: asText }],
  ['bytea', { type: 'String', parse: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')) }],
])

/** The engine's type for a column; without abilities, those of an engine of today. */
export function destinationType(
  column: PostgresColumn,
  options: NullOptions & { abilities?: EngineAbilities },
): string {
  const { type, isNotNull, isKey } = column
  const { abilities = ofToday } = options
  const nullable = (plain: string): string => (options.allowNullableColumns ? `Nullable(${plain})` : plain)
  // Every element of an array may be NULL: PostgreSQL has no way to forbid it.
  if (type.elements) return `Array(${nullable(scalarType(type.elements, abilities))})`
  const plain = scalarType(type, abilities)
  return isNotNull || isKey ? plain : nullable(plain)
}

/** Of a value that is not an array, and never NULL. */
export function scalarType({ name, isBuiltIn, modifier }: PostgresType, abilities: EngineAbilities): string {
  if (!isBuiltIn) return 'String'
  if (name === 'numeric') return decimalType(modifier, abilities)
  if (name === 'bool' && !abilities.hasBool) return 'UInt8'
  if (name === 'date' && !abilities.hasDate32) return 'String'
  if (name.startsWith('timestamp') && !abilities.hasDateTime64) return 'String'
  return scalars.get(name)?.type ?? 'String'
}

function decimalType(modifier: number, { mostDecimalDigits }: EngineAbilities): string {
  if (modifier < 4) return 'String'
  const digits = ((modifier - 4) >> 16) & 0xffff
  // A signed number of eleven bits.
  const scale = (((modifier - 4) & 0x7ff) ^ 0x400) - 0x400
  // numeric(3, -2) has five digits before the point, numeric(3, 5) has five after it.
  const precision = Math.max(scale < 0 ? digits - scale : digits, scale)
  return precision > mostDecimalDigits ? 'String' : `Decimal(${precision}, ${Math.max(scale, 0)})`
}

/** The value that PostgreSQL prints in this way; an array is given as a list of what its elements print. */
export function parseValue(type: PostgresType, printed: unknown): unknown {
  if (Array.isArray(printed)) return printed.map((element: unknown) => parseValue(type.elements ?? type, element))
  if (typeof printed !== 'string' || !type.isBuiltIn) return printed
  return (scalars.get(type.name)?.parse ?? asText)(printed)
}

/** Whether the value has lists in lists, which no type tells of. */
export function hasDimensions(value: unknown): boolean {
  return Array.isArray(value) && value.some(Array.isArray)
}
