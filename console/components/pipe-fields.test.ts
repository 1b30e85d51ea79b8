import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectSchema, Schema } from '../../src/lib/schema.ts'
import { Scaling } from '../../src/pipes/scaling.ts'
import { Settings } from '../../src/pipes/settings.ts'
import { PipeState } from '../../src/progress/pipe-state.ts'
import { scalingFields, settingFields, stateNames } from './pipe-fields.ts'

const texts = new Set(['label', 'about', 'unit', 'isFractional'])

test('settings and scaling have the defaults and bounds of the API', () => {
  for (const [fields, schema] of [
    [settingFields, Settings],
    [scalingFields, Scaling],
  ] as const) {
    assert.deepEqual(withoutTexts(fields), boundsOf(schema))
  }
})

test('every state of the API has an explanation', () => {
  assert.deepEqual([...stateNames].sort(), [...(PipeState as unknown as { enum: string[] }).enum].sort())
})

function withoutTexts(fields: Record<string, object>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      Object.fromEntries(Object.entries(field).filter(([key]) => !texts.has(key))),
    ]),
  )
}

function boundsOf(schema: ObjectSchema): Record<string, object> {
  return Object.fromEntries(
    Object.entries<Schema>(schema.properties).map(([name, { default: value, minimum, maximum }]) => [
      name,
      minimum === undefined ? { default: value } : { default: value, minimum, maximum },
    ]),
  )
}
