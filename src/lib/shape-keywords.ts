// Rejects keywords that `shape.ts` does not implement at start: they would be rules without effect.
import { isObject } from './merge-patch.ts'
import { expression } from './shape.ts'
import { formats } from './shape-formats.ts'
import { fieldPath, isScalar, kinds, type Shape } from './shape-rules.ts'

const annotations = new Set([
  '$id',
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'secret',
  'unquoted',
  'patternHint',
  // Documented as `pattern`; checked by other code, whose error says more.
  'checkedPattern',
])

/** Throws when the shape, or a shape inside it, has a keyword that is not implemented. */
export function assertKnownKeywords(shape: Shape): void {
  const unknown: string[] = []
  collectUnknown(shape, '', unknown)
  if (unknown.length > 0) throw new Error(`the shape has rules that are not implemented: ${unknown.join(', ')}`)
}

function collectUnknown(shape: unknown, path: string, unknown: string[]): void {
  const note = (what: string) => unknown.push(path === '' ? what : `${what} (at ${path})`)
  if (!isObject(shape)) {
    note('a shape that is not an object')
    return
  }
  // typebox hides its own keywords from Object.keys; two of them are rules.
  for (const key of Object.getOwnPropertyNames(shape)) {
    const rule = shape[key]
    if (key === '~refine' || key === '~codec') note(key)
    if (key.startsWith('~') || key.startsWith('x-') || annotations.has(key)) continue
    switch (key) {
      case 'type':
        if (typeof rule !== 'string' || !Object.hasOwn(kinds, rule)) note(`type ${JSON.stringify(rule)}`)
        break
      case 'format':
        if (typeof rule !== 'string' || !Object.hasOwn(formats, rule)) note(`format ${JSON.stringify(rule)}`)
        break
      case 'const':
        if (!isScalar(rule)) note('const of a value that is not a scalar')
        break
      case 'enum':
        if (!Array.isArray(rule) || !rule.every(isScalar)) note('enum of values that are not scalars')
        if (Object.hasOwn(shape, 'const')) note('enum beside const')
        break
      case 'pattern':
        if (typeof rule !== 'string') note('pattern that is not a string')
        else expression(rule)
        break
      case 'properties':
        for (const [name, property] of Object.entries(rule as object))
          collectUnknown(property, fieldPath(path, name), unknown)
        break
      case 'items':
        collectUnknown(rule, `${path}[]`, unknown)
        break
      case 'additionalProperties':
        if (typeof rule !== 'boolean') collectUnknown(rule, fieldPath(path, '*'), unknown)
        break
      case 'anyOf':
        if (Array.isArray(rule)) for (const branch of rule) collectUnknown(branch, path, unknown)
        else note('anyOf that is not a list')
        break
      case 'minimum':
      case 'maximum':
      case 'minLength':
      case 'maxLength':
      case 'minItems':
      case 'maxItems':
        if (typeof rule !== 'number') note(`${key} that is not a number`)
        break
      case 'uniqueItems':
      case 'required':
        break
      default:
        note(key)
    }
  }
}
