// Downloads the embedded engine of the tests if it is missing, so that concurrent tests find it (npm run test:real:install).
import { installLibrary } from '../../src/embedded-engine/install.ts'
import { cacheFolder, testedLibrary } from '../harness/shared-engine.ts'

await installLibrary(testedLibrary(), { cacheFolder, out: process.stdout, stopping: AbortSignal.timeout(600_000) })
