// R13 with the size of a test run: processes that receive SIGTERM under load.
import assert from 'node:assert/strict'
import { shutdownDrill } from '../../chaos/system/shutdown.ts'
import { testDrill } from '../harness/drill.ts'

const check = ({ answers = 0 }): void => assert.ok(answers > 0)
testDrill(shutdownDrill, { name: ', on SQLite', check })
testDrill(shutdownDrill, { name: ', on PostgreSQL', size: 2, more: { isOnPostgres: true }, check })
