// `penstock doctor`: checks an installation with the server's settings and prints findings with remedies.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { allowedToTry, type Config, readConfig, sampleFile } from '../config.ts'
import { examine } from '../doctor/examine.ts'
import { type CheckName, checkNames, type Finding, plural, problem, toFinding, withoutStop } from '../doctor/finding.ts'
import { StartError } from '../lib/start-error.ts'

export interface DoctorOptions {
  json?: boolean
  /** Uses the settings of the try-it mode. */
  try?: boolean
}

const colours = { ok: 'green', warning: 'yellow', problem: 'red' } as const
/** Checks that do not apply to SQLite. */
const onlyOfPostgres: CheckName[] = ['transactions', 'connections']

/** Exit code 1 when there is a problem. */
export async function doctor({ json = false, try: isToTry = false }: DoctorOptions): Promise<void> {
  const findings: Finding[] = []
  const report = (finding: Finding): void => {
    findings.push(finding)
    if (!json) console.log(lineOf(finding))
  }
  const config = readSettings(report, isToTry)
  if (config) await examine(config, report)
  const made = new Set(findings.map(({ check }) => check))
  const notChecked = checkNames.filter(
    (name) => !made.has(name) && !(config && !config.databaseUrl && onlyOfPostgres.includes(name)),
  )
  const count = (verdict: Finding['verdict']) => findings.filter((finding) => finding.verdict === verdict).length
  const [problems, warnings] = [count('problem'), count('warning')]
  if (json) console.log(JSON.stringify({ problems, warnings, findings, notChecked }, null, 2))
  else {
    console.log(`${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`)
    if (notChecked.length > 0) console.log(`Not checked, because an earlier check failed: ${notChecked.join(', ')}.`)
  }
  if (problems > 0) process.exitCode = 1
}

function readSettings(report: (finding: Finding) => void, isToTry: boolean): Config | undefined {
  try {
    const config = readConfig(process.env, { logLevel: 'warn' })
    const isSample = !isToTry && existsSync(join(config.dataFolder, sampleFile))
    const hint = '; "npm start" made this data and allows more: "penstock doctor --try" checks it with those settings'
    report(toFinding('settings', `all are known and valid${isSample ? hint : ''}`, []))
    return isToTry ? { ...config, ...allowedToTry } : config
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const remedy = 'correct the environment of the server; docs/reference/settings.md lists all settings'
    report(toFinding('settings', '', [problem(withoutStop(error.message), remedy)]))
    return undefined
  }
}

const verdictWidth = 'problem'.length
const nameWidth = Math.max(...checkNames.map(({ length }) => length))

/** Coloured only on terminals that support it. */
function lineOf({ check, verdict, found, remedy }: Finding): string {
  const mark = styleText(colours[verdict], verdict.padEnd(verdictWidth), { stream: process.stdout })
  return `${mark}  ${check.padEnd(nameWidth)}  ${found}${remedy === undefined ? '' : `; remedy: ${remedy}`}`
}
