// Shapes for the tests of shapes.
import { Type } from 'typebox'
import type { Shape } from '../../src/lib/shape-rules.ts'

export const closed = { additionalProperties: false }
export const nullable = (shape: Shape) => Type.Union([shape, Type.Null()])

export const Role = Type.Union([Type.Literal('admin'), Type.Literal('developer')])
export const Port = Type.Integer({ minimum: 1, maximum: 65535 })
export const Name = Type.String({ minLength: 1, maxLength: 255 })
export const Slug = Type.String({ pattern: '^[a-z]+$', patternHint: 'lowercase letters' })
export const Tagged = Type.Union([
  Type.Object(
    { type: Type.Literal('kafka'), brokers: Type.String(), topic: Type.String(), group: Type.String() },
    closed,
  ),
  Type.Object({ type: Type.Literal('s3'), bucket: Type.String() }, closed),
])
