// Examines this Penstock with the settings of the server, and says what to do about what it finds.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { allowedToTry, type Config, readConfig, sampleFile } from '../config.ts'
import { examine } from '../doctor/examine.ts'
import { type CheckName, checkNames, type Finding, judge, plural, problem, withoutStop } from '../doctor/finding.ts'
import { StartError } from '../lib/start-error.ts'

export interface DoctorOptions {
  json?: boolean
  /** As `npm start` runs it, and not `penstock start`. */
  try?: boolean
}

const colours = { ok: 'green', warning: 'yellow', problem: 'red' } as const
/** With SQLite there is nothing to look at. */
const onlyOfPostgres: CheckName[] = ['transactions', 'connections']

/** Ends with 1 when there is a problem. */
export async function doctor({ json = false, try: isToTry = false }: DoctorOptions): Promise<void> {
  const findings: Finding[] = []
  const tell = (finding: Finding): void => {
    findings.push(finding)
    if (!json) console.log(lineOf(finding))
  }
  const config = readSettings(tell, isToTry)
  if (config) await examine(config, tell)
  const made = new Set(findings.map(({ check }) => check))
  const notChecked = checkNames.filter(
    (name) => !made.has(name) && !(config && !config.databaseUrl && onlyOfPostgres.includes(name)),
  )
  const count = (verdict: Finding['verdict']) => findings.filter((finding) => finding.verdict === verdict).length
  const [problems, warnings] = [count('problem'), count('warning')]
  if (json) console.log(JSON.stringify({ problems, warnings, findings, notChecked }, null, 2))
  else {
    console.log(`${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`)
    if (notChecked.length > 0) console.log(`Not checked, for what they need is missing: ${notChecked.join(', ')}.`)
  }
  if (problems > 0) process.exitCode = 1
}

function readSettings(tell: (finding: Finding) => void, isToTry: boolean): Config | undefined {
  try {
    const config = readConfig(process.env, { logLevel: 'warn' })
    const isSample = !isToTry && existsSync(join(config.dataFolder, sampleFile))
    const hint = '; "npm start" made this data and allows more: "penstock doctor --try" looks at it as that does'
    tell(judge('settings', `all are known and fit${isSample ? hint : ''}`, []))
    return isToTry ? { ...config, ...allowedToTry } : config
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const remedy = 'correct the environment of the server; docs/operating.md lists all settings'
    tell(judge('settings', '', [problem(withoutStop(error.message), remedy)]))
    return undefined
  }
}

const verdictWidth = 'problem'.length
const nameWidth = Math.max(...checkNames.map(({ length }) => length))

/** Coloured only for a terminal that wants it. */
function lineOf({ check, verdict, found, remedy }: Finding): string {
  const mark = styleText(colours[verdict], verdict.padEnd(verdictWidth), { stream: process.stdout })
  return `${mark}  ${check.padEnd(nameWidth)}  ${found}${remedy === undefined ? '' : `; remedy: ${remedy}`}`
}
