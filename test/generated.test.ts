import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { generatedFiles } from './generated.ts'

describe('generated files', () => {
  for (const [path, text] of Object.entries(generatedFiles())) {
    it(`${path} is fresh (npm run generate)`, () => {
      // Not `equal`: both texts in full would bury the sentence.
      assert.ok(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8') === text, 'run "npm run generate"')
    })
  }

  it('openapi.json lints clean', async () => {
    // Every server of ours is the one that serves the document, so its URL is relative.
    const config = await createConfig({ extends: ['recommended-strict'], rules: { 'no-server-example.com': 'off' } })
    const problems = await lintFromString({ source: generatedFiles()['openapi.json']!, config })
    assert.deepEqual(
      problems.map((problem) => `${problem.ruleId}: ${problem.message} at ${problem.location[0]?.pointer}`),
      [],
    )
  })
})
