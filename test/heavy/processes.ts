// Processes of a Penstock, including its engine and its database.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

interface RunningProcess {
  pid: number
  parent: number
  command: string
}

/** All processes on a data folder: they inherit its name in their environment, even when their parent has ended. */
export function listProcesses(dataFolder: string): RunningProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(`PENSTOCK_DATA=${dataFolder}`))
          return []
        const status = readFileSync(`/proc/${name}/status`, 'utf8')
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return { pid: Number(name), parent: Number(/^PPid:\s+(\d+)/m.exec(status)![1]), command }
      } catch {
        // It has ended, or belongs to another user.
        return []
      }
    })
}

/** Also removes the PostgreSQL cluster of the shop, which is elsewhere for root. */
export function removeDataFolder(dataFolder: string): void {
  for (const folder of [shopDirectory(dataFolder), dataFolder]) {
    if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

export function shopDirectory(dataFolder: string): string | undefined {
  const file = join(dataFolder, 'shop.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).directory : undefined
}
