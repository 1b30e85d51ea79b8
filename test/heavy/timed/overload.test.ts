// R14 with the size of a test run on two cores: more requests than Penstock can handle.
import { overloadOfPostgres, overloadOfSqlite } from '../../../chaos/system/overload.ts'
import { testDrill } from '../../harness/drill.ts'

for (const drill of [overloadOfSqlite, overloadOfPostgres]) testDrill(drill)
