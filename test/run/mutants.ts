// All intentional defects of Penstock, each of which must fail its tests: a test that stays green proves nothing. The product
// has no switch for this; test/run/mutate.ts rewrites the source as it is loaded.
import { activityMutants } from './mutants/activities.ts'
import { consoleMutants } from './mutants/console.ts'
import { deliveryMutants } from './mutants/delivery.ts'
import { durabilityMutants } from './mutants/durability.ts'
import { egressMutants } from './mutants/egress.ts'
import { isolationMutants } from './mutants/isolation.ts'
import { lifecycleMutants } from './mutants/lifecycle.ts'
import type { Mutant } from './mutants/mutant.ts'
import { operationMutants } from './mutants/operations.ts'
import { postgresMutants } from './mutants/postgres.ts'
import { rateLimitMutants } from './mutants/rate-limits.ts'
import { requestMutants } from './mutants/requests.ts'
import { secretMutants } from './mutants/secrets.ts'
import { signInMutants } from './mutants/sign-in.ts'
import { sourceMutants } from './mutants/sources.ts'

export const mutants: Mutant[] = [
  ...activityMutants,
  ...consoleMutants,
  ...deliveryMutants,
  ...durabilityMutants,
  ...egressMutants,
  ...isolationMutants,
  ...lifecycleMutants,
  ...operationMutants,
  ...postgresMutants,
  ...rateLimitMutants,
  ...requestMutants,
  ...secretMutants,
  ...signInMutants,
  ...sourceMutants,
]
