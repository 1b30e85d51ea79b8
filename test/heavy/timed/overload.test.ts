// R14 in the size of a test run on two cores: more than Penstock can do.
import { overloadDrill } from '../../../chaos/system/overload.ts'
import { testDrill } from '../../drill.ts'

testDrill(overloadDrill, { name: ', on SQLite' })
testDrill(overloadDrill, { name: ', on PostgreSQL', more: { isOnPostgres: true } })
