#!/usr/bin/env node
// Starts Penstock on Node 24, whatever Node runs this file: the machine's own if it is new enough,
// otherwise the one that npm installed beside us.
import { launch, mainFile } from './launch.js'

launch(mainFile, process.argv.slice(2))
