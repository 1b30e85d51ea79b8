// `npm run generate`: writes the generated files.
import { writeFileSync } from 'node:fs'
import { generatedFiles } from './generated.ts'

for (const [path, text] of Object.entries(generatedFiles()))
  writeFileSync(new URL(`../../${path}`, import.meta.url), text)
