// Builds the console in a separate process, because the bundler needs more memory than Penstock.
import { spawn } from 'node:child_process'
import { join } from 'node:path'

/** `folder` holds the sources. Fast when they have not changed since the last build. */
export function buildConsole(folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(folder, 'build.ts')], { stdio: ['ignore', 'ignore', 'inherit'] })
    child.on('error', reject)
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the build ended with ${code}`))))
  })
}
