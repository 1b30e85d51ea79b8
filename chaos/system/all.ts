// All system drills. Pipe drills are in chaos/drills.ts.
import { diskFailures } from './disk-failures.ts'
import { diskFull } from './disk-full.ts'
import { diskSlow } from './disk-slow.ts'
import type { SystemDrill } from './drill.ts'
import { killDrill } from './kills.ts'
import { linearDrill } from './linear.ts'
import { nginxDrill } from './nginx.ts'
import { overloadOfPostgres, overloadOfSqlite } from './overload.ts'
import { powerOfPostgres, powerOfPostgresControl } from './power-postgres.ts'
import { powerOfSqlite, powerOfSqliteControl } from './power-sqlite.ts'
import { restartsDrill } from './restarts.ts'
import { shutdownDrill } from './shutdown.ts'
import { soakDrill } from './soak.ts'
import { guessStormDrill, slowStormDrill } from './storms.ts'
import {
  changingTablesDrill,
  changingTopicsDrill,
  damagedFilesDrill,
  fuzzDrill,
  hostileSourcesDrill,
  lastAdminDrill,
  modelDrill,
  strangersDrill,
} from './suites.ts'

export const systemDrills: SystemDrill[] = [
  killDrill,
  powerOfSqlite,
  powerOfSqliteControl,
  powerOfPostgres,
  powerOfPostgresControl,
  diskFailures,
  diskFull,
  diskSlow,
  restartsDrill,
  modelDrill,
  linearDrill,
  lastAdminDrill,
  damagedFilesDrill,
  changingTablesDrill,
  shutdownDrill,
  overloadOfSqlite,
  overloadOfPostgres,
  soakDrill,
  changingTopicsDrill,
  fuzzDrill,
  hostileSourcesDrill,
  strangersDrill,
  guessStormDrill,
  slowStormDrill,
  nginxDrill,
]
