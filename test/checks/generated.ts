// Files generated from the code and committed, so that they can be read without running anything.
import { openApiDocument } from '../../src/http/openapi.ts'
import { problems } from '../../src/lib/problem.ts'
import { operations } from '../../src/operations.ts'
import { clientSource } from './client-source.ts'

/** By path from the root of the project. */
export function generatedFiles(): Record<string, string> {
  return {
    'openapi.json': `${JSON.stringify(openApiDocument(operations), null, 2)}\n`,
    'docs/errors.md': errorsPage(),
    ...clientSource(operations),
  }
}

function errorsPage(): string {
  const parts = [
    '# Errors\n',
    'Every error is `{"error": "CODE: sentence", "status": 400}`. With `Accept: application/problem+json` the same problem comes as',
    'RFC 9457, with a stable `code`, and with the fields that are wrong in `errors`. Each code has a heading here and a page at',
    '`/problems/<code>` of a running Penstock. This page is generated: `npm run generate`.\n',
  ]
  for (const [code, { status, title, help, example }] of Object.entries(problems)) {
    parts.push(`## ${code}\n`, `**${status}** ${title}. ${help}\n`, `> ${example}\n`)
  }
  return parts.join('\n')
}
