#!/usr/bin/env node
// Starts Penstock on Node 24: the machine's own if it is new enough, otherwise the one that npm installed.
import { launch, mainFile } from './launch.js'

// With `npm start`, npm is the parent of this process. Any other parent may exit before its server,
// for example a shell that starts it in the background.
const stopsWithParent = process.env.npm_lifecycle_event === 'start' && process.argv[2] === 'try'
launch(mainFile, process.argv.slice(2), { stopsWithParent })
