import { testMadeUpRequests } from './made-up-requests.ts'

testMadeUpRequests('sqlite')
