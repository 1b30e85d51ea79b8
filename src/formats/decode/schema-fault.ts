/** A schema that cannot be used. `what` completes a sentence such as `schema 12 …`. */
export class SchemaFault extends Error {
  readonly what: string

  constructor(what: string) {
    super(what)
    this.name = 'SchemaFault'
    this.what = what
  }
}
