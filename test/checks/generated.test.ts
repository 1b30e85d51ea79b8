import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { generatedFiles } from './generated.ts'

describe('generated files', () => {
  for (const [path, text] of Object.entries(generatedFiles())) {
    it(`${path} is up to date (npm run generate)`, () => {
      // Not `equal`: it would print both texts in full.
      assert.ok(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8') === text, 'run "npm run generate"')
    })
  }

  it('openapi.json describes every property and every parameter', () => {
    const document = JSON.parse(generatedFiles()['openapi.json']!) as Node
    assert.deepEqual(undescribed(document, document), [])
  })

  it('openapi.json has no lint errors', async () => {
    // The document is served by the server that it describes, so the server URL is relative.
    const config = await createConfig({ extends: ['recommended-strict'], rules: { 'no-server-example.com': 'off' } })
    const problems = await lintFromString({ source: generatedFiles()['openapi.json']!, config })
    assert.deepEqual(
      problems.map((problem) => `${problem.ruleId}: ${problem.message} at ${problem.location[0]?.pointer}`),
      [],
    )
  })
})

type Node = { [key: string]: unknown }

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null

/** Pointers to properties of schemas, and to parameters, without a description of their own or of the schema they refer to. */
function undescribed(document: Node, node: Node, pointer = '#'): string[] {
  const isUndescribed = (it: unknown): boolean => {
    const { description, $ref } = it as { description?: string; $ref?: string }
    return !description?.trim() && ($ref === undefined || isUndescribed(followed(document, $ref)))
  }
  return Object.entries(node).flatMap(([key, value]) => {
    if (!isNode(value) || /^(examples?|default)$/.test(key)) return []
    const path = `${pointer}/${key}`
    const missing =
      key === 'properties' || key === 'parameters' ? Object.entries(value).filter(([, it]) => isUndescribed(it)) : []
    return [...missing.map(([name]) => `${path}/${name}`), ...undescribed(document, value, path)]
  })
}

function followed(document: Node, $ref: string): unknown {
  const steps = $ref.slice('#/'.length).split('/')
  return steps.reduce<unknown>((at, step) => (at as Node)[step], document)
}
