/** A schema that cannot be used. `what` is the rest of a sentence that begins with it: `schema 12 …`. */
export class SchemaFault extends Error {
  readonly what: string

  constructor(what: string) {
    super(what)
    this.name = 'SchemaFault'
    this.what = what
  }
}
