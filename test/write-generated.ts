// `npm run generate`: writes the files that are made of the code.
import { writeFileSync } from 'node:fs'
import { generatedFiles } from './generated.ts'

for (const [path, text] of Object.entries(generatedFiles())) writeFileSync(new URL(`../${path}`, import.meta.url), text)
