#!/usr/bin/env node
// Starts Penstock on Node 24, whatever Node runs this file: the machine's own if it is new enough,
// otherwise the one that npm installed beside us.
import { launch, mainFile } from './launch.js'

// `npm start` runs this file in place of npm's shell, so that npm is its parent. Any other
// parent may end before its server: a shell that starts one in the background.
const stopsWithParent = process.env.npm_lifecycle_event === 'start' && process.argv[2] === 'try'
launch(mainFile, process.argv.slice(2), { stopsWithParent })
