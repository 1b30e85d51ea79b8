// Detects the features of the connected ClickHouse: versions differ by years, and unknown settings are rejected.
import type { EngineClient } from './client.ts'
import { EngineError } from './engine.ts'

export interface Capabilities {
  /** Leading numbers of the version. */
  version: readonly number[]
  hasSetting(name: string): boolean
  /** Whether it reads the format in inserts. */
  hasFormat(name: string): boolean
  /** Whether it has the table function `input`, for `INSERT … SELECT … FROM input(…)`. */
  canInput: boolean
  /** Whether it has the setting `insert_deduplication_token`. It works where the table has a deduplication window. */
  hasTokens: boolean
  /** Default of `non_replicated_deduplication_window`; undefined when ClickHouse does not have the setting. */
  defaultTokenWindow: number | undefined
  hasTtl: boolean
  /** Whether it has `DROP … SYNC`, which waits until the memory of the table is free. */
  canDropSync: boolean
  /** Whether it has `ADD COLUMN IF NOT EXISTS`. */
  canAddIfMissing: boolean
  canRenameColumn: boolean
}

const versionStatement = 'SELECT version() FORMAT TabSeparated'
const settingsStatement = 'SELECT name FROM system.settings FORMAT TabSeparated'
const formatsStatement = 'SELECT name FROM system.formats WHERE is_input = 1 FORMAT TabSeparated'
const inputStatement = "SELECT name FROM system.table_functions WHERE name = 'input' FORMAT TabSeparated"
const tokenWindowStatement =
  "SELECT value FROM system.merge_tree_settings WHERE name = 'non_replicated_deduplication_window' FORMAT TabSeparated"

export async function loadCapabilities(client: EngineClient, signal?: AbortSignal): Promise<Capabilities> {
  const lines = async (text: string): Promise<string[]> =>
    (await client.query(text, { signal })).split('\n').filter((line) => line !== '')
  const [[versionText = ''], settings, formats, input, window] = await Promise.all([
    lines(versionStatement),
    lines(settingsStatement),
    lines(formatsStatement),
    ifKnown(lines(inputStatement)),
    ifKnown(lines(tokenWindowStatement)),
  ])
  const version = versionText.split('.').map((part) => Number.parseInt(part, 10) || 0)
  const [settingNames, formatNames] = [new Set(settings), new Set(formats)]
  return {
    version,
    hasSetting: (name) => settingNames.has(name),
    hasFormat: (name) => formatNames.has(name),
    canInput: input.length > 0,
    hasTokens: settingNames.has('insert_deduplication_token'),
    defaultTokenWindow: window[0] === undefined ? undefined : Number(window[0]) || 0,
    hasTtl: isAtLeast(version, 19, 6),
    canDropSync: isAtLeast(version, 21, 1),
    canAddIfMissing: isAtLeast(version, 19, 1),
    canRenameColumn: isAtLeast(version, 20, 4),
  }
}

function isAtLeast([major = 0, minor = 0]: readonly number[], leastMajor: number, leastMinor: number): boolean {
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

/** An empty list when older ClickHouse does not have the system table. */
async function ifKnown(lines: Promise<string[]>): Promise<string[]> {
  try {
    return await lines
  } catch (error) {
    if (error instanceof EngineError && error.kind === 'user') return []
    throw error
  }
}
