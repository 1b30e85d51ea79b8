// Reads the Dockerfile and executes its steps without Docker: the same copies and commands, in folders of this machine.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const project = fileURLToPath(new URL('../..', import.meta.url))

export interface Instruction {
  keyword: string
  text: string
}

export interface Stage {
  base: string
  name: string
  instructions: Instruction[]
}

export interface Copy {
  /** Source stage; undefined: the project. */
  from: string | undefined
  sources: string[]
  target: string
}

export function readDockerfile(): Stage[] {
  const text = readFileSync(join(project, 'Dockerfile'), 'utf8')
  const lines = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, '')
  const stages: Stage[] = []
  for (const line of lines.split('\n').filter((each) => each.trim() !== '')) {
    const [, keyword = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (keyword === 'FROM') {
      const [base = '', , name = ''] = rest.split(' ')
      stages.push({ base, name, instructions: [] })
    } else if (keyword === '') throw new Error(`the Dockerfile has a line that is no instruction: ${line}`)
    else stages.at(-1)?.instructions.push({ keyword, text: rest })
  }
  return stages
}

export function listOf({ instructions }: Stage, keyword: string): string[] {
  return instructions.filter((each) => each.keyword === keyword).map(({ text }) => text)
}

export function copiesOf(stage: Stage): Copy[] {
  return listOf(stage, 'COPY').map((text) => {
    const words = text.split(' ')
    const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined
    const target = words.pop()
    if (target === undefined || words.length === 0) throw new Error(`COPY ${text} copies nothing`)
    return { from, sources: words, target }
  })
}

/** A JSON list, such as that of ENTRYPOINT. */
export function commandOf(stage: Stage, keyword: string): string[] {
  const [text = ''] = listOf(stage, keyword)
  return JSON.parse(text.slice(text.indexOf('['))) as string[]
}

export function environmentOf(stage: Stage): Record<string, string> {
  const words = listOf(stage, 'ENV').flatMap((text) => text.split(' ').filter((word) => word !== ''))
  return Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]))
}

/** Executes the copies and commands of a stage. Effects outside of its folder are left out. */
export function doStage(stage: Stage, folder: string, foldersOfStages: Record<string, string>): void {
  mkdirSync(folder, { recursive: true })
  const [workFolder = ''] = listOf(stage, 'WORKDIR')
  for (const { keyword, text } of stage.instructions) {
    if (keyword === 'COPY') {
      const [copy] = copiesOf({ ...stage, instructions: [{ keyword, text }] })
      doCopy(copy!, folder, foldersOfStages)
    }
    if (keyword === 'RUN' && !/ \//.test(text.replaceAll(` ${workFolder}/`, ' '))) {
      const environment = { PATH: process.env.PATH, HOME: process.env.HOME, npm_config_prefer_offline: 'true' }
      const { status, stdout, stderr } = spawnSync('/bin/sh', ['-ec', text], {
        cwd: folder,
        env: environment,
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(`${text}: exit code ${status}\n${stdout}${stderr}`)
    }
  }
}

function doCopy({ from, sources, target }: Copy, folder: string, foldersOfStages: Record<string, string>): void {
  for (const source of sources) {
    // Files of another stage are named by their path there, one level below the root.
    const origin = from === undefined ? join(project, source) : join(foldersOfStages[from] ?? '', basename(source))
    const isIgnored = (file: string): boolean => from === undefined && /\.test\.tsx?$|\/node_modules$/.test(file)
    cpSync(origin, target === './' ? join(folder, source) : join(folder, target), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => !isIgnored(file),
    })
  }
}
