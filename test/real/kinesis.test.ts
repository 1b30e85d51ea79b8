import { kinesisConformance } from '../sources/kinesis-conformance.ts'
import { startMotoKinesis } from './servers/moto-kinesis.ts'

kinesisConformance(startMotoKinesis)
