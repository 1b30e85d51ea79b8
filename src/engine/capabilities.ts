// What an engine can do: engines are years apart, and refuse what they do not know.
import type { EngineClient } from './client.ts'
import { EngineError } from './engine.ts'

export interface Capabilities {
  /** The leading numbers of it. */
  version: readonly number[]
  hasSetting(name: string): boolean
  /** For the bodies of inserts. */
  hasFormat(name: string): boolean
  /** Whether `INSERT … SELECT … FROM input(…)` makes columns of the fields of a body. */
  canInput: boolean
  /** Whether it knows inserts again by a token, where the table keeps tokens. */
  hasTokens: boolean
  /** How many tokens a MergeTree keeps when its definition says nothing; undefined: it never keeps any. */
  defaultTokenWindow: number | undefined
  hasTtl: boolean
  /** Whether it knows `DROP … SYNC`, which is answered when the memory of the table is free. */
  canDropSync: boolean
  /** Whether it knows `ADD COLUMN IF NOT EXISTS`. */
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

function isAtLeast([major = 0, minor = 0]: readonly number[], wantedMajor: number, wantedMinor: number): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

/** Of a table that old engines do not have, nothing. */
async function ifKnown(lines: Promise<string[]>): Promise<string[]> {
  try {
    return await lines
  } catch (error) {
    if (error instanceof EngineError && error.kind === 'user') return []
    throw error
  }
}
