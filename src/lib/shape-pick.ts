// Reduces a value to the fields that a shape lists: the allow-list of every answer.
import { isObject } from './merge-patch.ts'
import { bestBranch, shapeProblems } from './shape.ts'
import { isNullRule, isScalar, literals, own, type Rules, type Shape } from './shape-rules.ts'

/** A copy of the value with only the fields that the shape lists, so that no undeclared field is sent. */
export function pick(shape: Shape, value: unknown): unknown {
  const rules = shape as Rules
  if (value === null || value === undefined) return value
  if (rules.anyOf !== undefined && rules.properties === undefined) {
    const branches = rules.anyOf.filter((branch) => !isNullRule(branch))
    if (isScalar(value)) return branches.some((branch) => pick(branch, value) !== undefined) ? value : undefined
    const branch =
      branches.length > 1 ? bestBranch(branches, value, (each) => shapeProblems(each, value))?.branch : branches[0]
    return branch === undefined ? undefined : pick(branch, value)
  }
  if (rules.type === 'array' || rules.items !== undefined) {
    if (!Array.isArray(value)) return undefined
    const { items } = rules
    return items === undefined ? value : value.map((item) => pick(items, item))
  }
  if (rules.type === 'object' || rules.properties !== undefined || rules.additionalProperties !== undefined) {
    return isObject(value) ? pickObject(rules, value) : undefined
  }
  const listed = isScalar(value) || (rules.type === undefined && literals(rules) === undefined)
  return listed ? value : undefined
}

function pickObject(rules: Rules, value: Record<string, unknown>): Record<string, unknown> {
  const { properties = {}, additionalProperties = false } = rules
  const picked: Record<string, unknown> = {}
  for (const key of Object.keys(properties)) keep(picked, key, pick(properties[key]!, own(value, key)))
  if (additionalProperties === false) return picked
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key)) continue
    keep(picked, key, additionalProperties === true ? value[key] : pick(additionalProperties, value[key]))
  }
  return picked
}

function keep(object: Record<string, unknown>, key: string, value: unknown): void {
  // Assigning `__proto__` would replace the prototype instead of adding a property.
  if (value !== undefined && key !== '__proto__') object[key] = value
}
