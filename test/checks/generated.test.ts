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
