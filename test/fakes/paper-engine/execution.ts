// Common parts of the statements of the paper engine.
import type { SelectContext } from './select.ts'
import { knownSettings, loadTable, type PaperStorage, type PaperTable } from './storage.ts'
import { SqlError, type Tokens } from './tokens.ts'

export interface Execution {
  storage: PaperStorage
  database: string
  settings: Record<string, string>
  /** The body of an insert was interrupted. */
  isCut: boolean
}

export interface Outcome {
  answer: Buffer
}

export function contextOf({ storage, database }: Execution): SelectContext {
  return { storage, database }
}

export function takeSettings(tokens: Tokens, { settings }: Execution): void {
  if (!tokens.takeIf('SETTINGS')) return
  for (const [name, value] of takePairs(tokens)) {
    if (!knownSettings.includes(name)) throw new SqlError(115, `Unknown setting ${name}`)
    settings[name] = value
  }
}

export function takePairs(tokens: Tokens): [string, string][] {
  const pairs: [string, string][] = []
  while (pairs.length === 0 || tokens.takeIf(',')) {
    const name = tokens.takeName()
    tokens.must('=')
    pairs.push([name, tokens.take().value])
  }
  return pairs
}

export function takeTableName(tokens: Tokens, { database }: Execution): { database: string; name: string } {
  const first = tokens.takeName()
  return tokens.takeIf('.') ? { database: first, name: tokens.takeName() } : { database, name: first }
}

export function tableOf(tokens: Tokens, execution: Execution): PaperTable {
  const { database, name } = takeTableName(tokens, execution)
  return loadTable(execution.storage, database, name)
}
