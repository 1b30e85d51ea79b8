// Checks values of changes that were made before a column got its current type. ClickHouse would accept values that its type cannot
// hold and drop the upper bits of an integer or the last digits of a decimal. A value is written only if the column's type can hold it
// and it has PostgreSQL's text format for that type. All others are rejected.
import type { Buffer } from 'node:buffer'
import { Undecodable } from '../../formats/undecodable.ts'
import type { Relation } from '../../sources/postgres/pgoutput.ts'
import type { ColumnValues, WriteValue } from './scalar-values.ts'
import type { TargetColumn } from './target.ts'
import { nullText } from './text-fields.ts'

type Fits = (text: string, typeId: number) => boolean

export function checkedValues(
  { values, typeId: ownTypeId }: Pick<TargetColumn, 'values' | 'typeId'>,
  { typeId }: Pick<Relation['columns'][number], 'typeId'>,
): ColumnValues {
  const fits = fitsType(values.type, ownTypeId)
  const write: WriteValue = (bytes, start, end, out) => {
    if (!fits(textOf(bytes, start, end), typeId)) {
      throw new Undecodable(`the value is of an earlier type of the column, and ${values.type} cannot hold it`)
    }
    values.write(bytes, start, end, out)
  }
  return { ...values, write }
}

/** Whether the engine would store another value than this field of a rejected line has. */
export function isCutBy(engineType: string, field: string): boolean {
  const type = withoutNullable(engineType)
  const isCut = /^(?:U?Int\d|Decimal\(|Date)/.test(type)
  return isCut && field !== nullText && !fitsType(type, 0)(field, 0)
}

function withoutNullable(type: string): string {
  return /^Nullable\((.*)\)$/.exec(type)?.[1] ?? type
}

function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', start, end)
}

const [boolId, byteaId, float4Id, float8Id] = [16, 17, 700, 701]
/** Integers up to these are exact. */
const [mostExact32, mostExact64] = [2 ** 24, Number.MAX_SAFE_INTEGER]

const forms: Record<string, RegExp> = {
  Bool: /^[tf]$/,
  UUID: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/,
  Date32: /^(?:-?infinity|\d{4,7}-\d\d-\d\d(?: BC)?)$/,
  DateTime64: /^(?:-?infinity|\d{4,7}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?(?:\+00)?(?: BC)?)$/,
}
const noNumber = /^(?:NaN|-?Infinity)$/

function fitsType(engineType: string, ownTypeId: number): Fits {
  const type = withoutNullable(engineType)
  const isOwn: Fits = (_text, typeId) => typeId === ownTypeId
  const [, family = type, first = ''] = /^([A-Za-z]+)(\d*)/.exec(type) ?? []
  // ClickHouse without Bool stores a number.
  if (ownTypeId === boolId) return (text) => forms.Bool!.test(text)
  if (type === 'String') return (_text, typeId) => typeId === ownTypeId || ![typeId, ownTypeId].includes(byteaId)
  if (family === 'Int' || family === 'UInt') return fitsInteger(Number(first), family === 'Int')
  if (family === 'Float') return fitsFloat(Number(first))
  if (family === 'Decimal') return fitsDecimal(type)
  const form = forms[family + first]
  return form ? (text) => form.test(text) : isOwn
}

function fitsInteger(bits: number, isSigned: boolean): Fits {
  return (text) => {
    // PostgreSQL prints no more than 19 digits of an integer.
    if (!/^-?\d{1,20}$/.test(text)) return false
    const value = BigInt(text)
    return value === (isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value))
  }
}

function fitsFloat(bits: number): Fits {
  const most = bits === 32 ? mostExact32 : mostExact64
  return (text, typeId) => {
    if (typeId === float4Id || (typeId === float8Id && bits === 64)) return true
    return /^-?\d{1,16}$/.test(text) && Math.abs(Number(text)) <= most
  }
}

function fitsDecimal(type: string): Fits {
  const [digits = 0, scale = 0] = type.match(/\d+/g)?.map(Number) ?? []
  return (text) => {
    if (noNumber.test(text)) return true
    const [whole = '', fraction = ''] = text.replace(/^-/, '').split('.')
    if (!/^\d+$/.test(whole) || !/^\d*$/.test(fraction)) return false
    return withoutZeros(whole, 'start') <= digits - scale && withoutZeros(fraction, 'end') <= scale
  }
}

/** Number of digits without the zeros at one side. */
function withoutZeros(digits: string, side: 'start' | 'end'): number {
  let [start, end] = [0, digits.length]
  if (side === 'start') while (start < end && digits[start] === '0') start++
  else while (end > start && digits[end - 1] === '0') end--
  return end - start
}
