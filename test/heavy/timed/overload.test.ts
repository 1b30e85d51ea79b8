// R14 in the size of a test run on two cores: more than Penstock can do.
import { overloadOfPostgres, overloadOfSqlite } from '../../../chaos/system/overload.ts'
import { testDrill } from '../../drill.ts'

for (const drill of [overloadOfSqlite, overloadOfPostgres]) testDrill(drill)
