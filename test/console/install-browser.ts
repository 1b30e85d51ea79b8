// Installs Chromium of Debian if it is missing. Runs before the console tests.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromiumFile } from './browser.ts'

if (!existsSync(chromiumFile)) {
  const commands = ['apt-get update', 'apt-get install --yes --no-install-recommends chromium fonts-dejavu-core']
  if (process.getuid?.() !== 0) {
    console.error(`The tests of the console need Chromium at ${chromiumFile}. Run as root: ${commands.join(' && ')}`)
    process.exit(1)
  }
  for (const command of commands) {
    const [program, ...args] = command.split(' ')
    execFileSync(program!, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  }
}
