// Entry point of the encoders, loaded when the first pipe runs.
export { makeObjectEncoder } from './object-encoder.ts'
export { makeRecordEncoder } from './record-encoder.ts'
