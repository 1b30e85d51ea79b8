// Fetches the embedded engine that tests use, when it is not there. Tests that start several at once find it (npm run test:real:install).
import { installLibrary } from '../src/embedded-engine/install.ts'
import { cacheFolder, testedLibrary } from './shared-engine.ts'

await installLibrary(testedLibrary(), { cacheFolder, out: process.stdout, stopping: AbortSignal.timeout(600_000) })
